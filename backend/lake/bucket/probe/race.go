package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ontologia/onto/backend/lake/bucket"
)

const (
	racers = 16
	rounds = 12
)

// outcome is how a round ended.
type outcome struct {
	won     []int // racers that were told that they won
	unknown []int // racers with an unknown outcome
	tag     bucket.Tag
	err     error // an answer that the contract does not have
}

// race calls from all racers at the same moment. Losers must be told so.
func race(lost error, call func(racer int) (bucket.Tag, error)) outcome {
	tags, errs := make([]bucket.Tag, racers), make([]error, racers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			<-start
			tags[i], errs[i] = call(i)
		})
	}
	close(start)
	wg.Wait()
	var o outcome
	for i, err := range errs {
		switch {
		case err == nil:
			o.won, o.tag = append(o.won, i), tags[i]
		case errors.Is(err, bucket.ErrUnknown):
			o.unknown = append(o.unknown, i)
		case !errors.Is(err, lost):
			o.err = err
		}
	}
	return o
}

// judge says what is wrong with a round, or "". The object must be that of the winner,
// or of a racer with an unknown outcome if there is no winner.
func (p *probe) judge(ctx context.Context, name string, o outcome, body func(int) []byte) string {
	switch {
	case o.err != nil:
		return fmt.Sprintf("one of %d writers at once failed: %v", racers, o.err)
	case len(o.won) > 1:
		return fmt.Sprintf("%d of %d writers at once were told that they won", len(o.won), racers)
	case len(o.won)+len(o.unknown) == 0:
		return fmt.Sprintf("none of %d writers at once won", racers)
	}
	candidates := o.won
	if len(candidates) == 0 {
		candidates = o.unknown
	}
	wrong := ""
	for _, i := range candidates {
		if wrong = p.holds(ctx, name, body(i)); wrong == "" {
			return ""
		}
	}
	return fmt.Sprintf("after a race of %d writers the winner's object is not there: %s", racers, wrong)
}

func (p *probe) raceCreates(ctx context.Context) (Verdict, string) {
	for round := range rounds {
		name := fmt.Sprintf("race-%d", round)
		body := func(i int) []byte { return fmt.Appendf(nil, "racer %d of round %d", i, round) }
		o := race(bucket.ErrExists, func(i int) (bucket.Tag, error) { return p.create(ctx, name, body(i)) })
		if wrong := p.judge(ctx, name, o, body); wrong != "" {
			return failed("in round %d, %s", round+1, wrong)
		}
	}
	return OK, fmt.Sprintf("in each of %d rounds, one of %d creates at once won", rounds, racers)
}

func (p *probe) raceSwaps(ctx context.Context) (Verdict, string) {
	tag, err := p.create(ctx, "race", []byte("start"))
	if err != nil {
		return failed("the create failed: %v", err)
	}
	for round := range rounds {
		body := func(i int) []byte { return fmt.Appendf(nil, "racer %d of round %d", i, round) }
		o := race(bucket.ErrChanged, func(i int) (bucket.Tag, error) { return p.swap(ctx, "race", body(i), tag) })
		if wrong := p.judge(ctx, "race", o, body); wrong != "" {
			return failed("in round %d, %s", round+1, wrong)
		}
		if tag = o.tag; tag == "" { // the winner has an unknown outcome
			now, err := p.get(ctx, "race", bucket.Range{}, "")
			if err != nil {
				return failed("the read after round %d failed: %v", round+1, err)
			}
			tag = now.Tag
		}
	}
	return OK, fmt.Sprintf("in each of %d rounds, one of %d swaps at once won", rounds, racers)
}
