package upkeep

import (
	"context"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/audit"
)

// DefaultSessionTTL is after how long without a sign of life a session is dead.
const DefaultSessionTTL = time.Minute

// busSurvey reports events that nothing is done about. Unless it is to be quick, it also
// looks for claims of sessions that are dead: that reads all events of a namespace that
// has such sessions.
func busSurvey(ctx context.Context, b backend.Bus, opts *Options) iter.Seq2[onto.Finding, error] {
	return func(yield func(onto.Finding, error) bool) {
		spaces, err := b.Namespaces(ctx, opts.sessionTTL())
		switch onto.CodeOf(err) {
		case onto.Unsupported: // a file of an older format that is only read
			return
		case onto.Corrupt: // the check, which follows, tells more
			f := audit.CheckStopped.Finding("what waits for handlers could not be examined: %v", err)
			f.Remedy = onto.HintOf(err)
			yield(f, nil)
			return
		}
		if err != nil {
			yield(onto.Finding{}, err)
			return
		}
		for _, n := range spaces {
			found, err := surveyNamespace(ctx, b, &n, opts)
			for _, f := range found {
				if !yield(f, nil) {
					return
				}
			}
			if err != nil {
				yield(onto.Finding{}, err)
				return
			}
		}
	}
}

func surveyNamespace(ctx context.Context, b backend.Bus, n *backend.Namespace, opts *Options) (found []onto.Finding, err error) {
	for _, t := range n.Types {
		if t.Handled {
			continue
		}
		if f, ok := audit.Unhandled(n.Name, t.Name, t.Events); ok {
			found = append(found, f)
		}
	}
	if n.DeadLetters > 0 {
		for oldest, err := range b.DeadLetters(ctx, &backend.DeadLetterQuery{Namespace: n.Name, Limit: 1}) {
			if err != nil {
				return found, err
			}
			found = append(found, audit.DeadLetters(n.Name, n.DeadLetters, oldest))
		}
	}
	if opts.Quick {
		return found, nil
	}
	held, err := heldByDead(ctx, b, n)
	if err != nil {
		return found, err
	}
	for _, s := range n.Dead {
		if f, ok := audit.Session(s, held[s.ID]); ok {
			found = append(found, f)
		}
	}
	return found, nil
}

// heldByDead counts the claims that sessions held to their end: those that are not
// settled and whose lease was to last beyond the last sign of life.
func heldByDead(ctx context.Context, b backend.Bus, n *backend.Namespace) (map[string]int64, error) {
	last := map[string]time.Time{}
	for _, s := range n.Dead {
		last[s.ID] = s.Beat
	}
	held := map[string]int64{}
	if len(last) == 0 {
		return held, nil
	}
	for e, err := range b.Events(ctx, &backend.EventQuery{Namespace: n.Name}) {
		if err != nil {
			return nil, err
		}
		for _, c := range e.Claims {
			if beat, dead := last[c.Session]; dead && c.Acked.IsZero() && c.Dead.IsZero() && c.Until.After(beat) {
				held[c.Session]++
			}
		}
	}
	return held, nil
}
