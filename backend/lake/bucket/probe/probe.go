// Package probe finds out whether a bucket can be trusted with a lake. Some
// services accept conditional writes and ignore the condition: on these, two
// writers would overwrite each other's commits without a word.
package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/backoff"
)

// Probe runs all checks on a bucket, with objects of its own in a new folder below the
// prefix, and deletes them. What the bucket does wrong is in the report; the error says
// that the checks could not be run.
func Probe(ctx context.Context, b bucket.Bucket, prefix string) (Report, error) {
	if prefix != "" && prefix[len(prefix)-1] != '/' {
		prefix += "/"
	}
	p := &probe{b: b, folder: prefix + "probe-" + rand.Text() + "/", made: map[string]bool{}}
	if err := bucket.CheckKey(p.folder + "a"); err != nil {
		return Report{}, fmt.Errorf("probe the bucket: %w", err)
	}
	var r Report
	for _, q := range p.questions() {
		verdict, seen := q.ask(ctx)
		if err := cmp.Or(ctx.Err(), p.full); err != nil {
			p.cleanUp(ctx)
			return r, fmt.Errorf("probe the bucket: %s: %w", q.name, err)
		}
		r.Checks = append(r.Checks, Check{q.name, verdict, seen, q.meaning})
	}
	verdict, seen := p.cleanUp(ctx)
	r.Checks = append(r.Checks, Check{"clean up", verdict, seen, "objects of the probe that stay cost room and nothing else"})
	r.Whole = true
	return r, nil
}

// question is one check.
type question struct {
	name    string
	meaning string
	ask     func(context.Context) (Verdict, string)
}

func (p *probe) questions() []question {
	return []question{
		{"read what was written", "a commit that was acknowledged must be there, whole", p.readBack},
		{"tag of a write", "the next swap rests on the tag that a write or a read returned", p.sameTag},
		{"create twice", "a second create must not replace the first commit's objects", p.createTwice},
		{"swap", "a commit is a swap of the head, and the next reader must see it", p.swaps},
		{"stale swap", "a writer who read an older head must not overwrite a newer one", p.staleSwap},
		{"swap of a missing object", "a head that is gone must be noticed, not made anew", p.missingSwap},
		{"parts of an object", "queries read parts of large files", p.parts},
		{"conditional get", "readers ask whether the head is still the same", p.conditionalGet},
		{"create after delete", "what is written after a delete must stay", p.recreate},
		{"list after write", "listings find what can be cleaned up; no commit and no read rests on them", p.listing},
		{"race of creates", "of writers who begin at the same moment, one may win", p.raceCreates},
		{"race of swaps", "of writers who commit at the same moment, one may win", p.raceSwaps},
	}
}

// probe is one run.
type probe struct {
	b      bucket.Bucket
	folder string

	mu   sync.Mutex // guards what follows
	made map[string]bool
	full error // that there is no room; nothing follows from it about what the bucket promises
}

const (
	cleanUpTime = 30 * time.Second
	maxAttempts = 30 // of a call after ErrConflict or ErrThrottled
	firstPause  = 2 * time.Millisecond
	maxPause    = 500 * time.Millisecond
)

// retry repeats a call while the bucket asks for it. If a failed try was applied all
// the same, the next answer shows that, and the check fails.
func retry(ctx context.Context, call func() error) error {
	for attempt, pause := 1, firstPause; ; attempt, pause = attempt+1, min(2*pause, maxPause) {
		err := call()
		if attempt == maxAttempts || !errors.Is(err, bucket.ErrConflict) && !errors.Is(err, bucket.ErrThrottled) {
			return err
		}
		if err := backoff.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// wrote notes that the bucket is full.
func (p *probe) wrote(err error) error {
	if onto.CodeOf(err) == onto.Full {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.full = err
	}
	return err
}

func (p *probe) create(ctx context.Context, name string, data []byte) (tag bucket.Tag, err error) {
	p.mu.Lock()
	p.made[p.folder+name] = true
	p.mu.Unlock()
	err = retry(ctx, func() error {
		tag, err = p.b.Create(ctx, p.folder+name, data)
		return err
	})
	return tag, p.wrote(err)
}

func (p *probe) swap(ctx context.Context, name string, data []byte, old bucket.Tag) (tag bucket.Tag, err error) {
	p.mu.Lock()
	p.made[p.folder+name] = true
	p.mu.Unlock()
	err = retry(ctx, func() error {
		tag, err = p.b.Swap(ctx, p.folder+name, data, old)
		return err
	})
	return tag, p.wrote(err)
}

func (p *probe) get(ctx context.Context, name string, r bucket.Range, ifNot bucket.Tag) (o bucket.Object, err error) {
	err = retry(ctx, func() error {
		o, err = p.b.Get(ctx, p.folder+name, r, ifNot)
		return err
	})
	return o, err
}

// holds says what is wrong with an object, or "".
func (p *probe) holds(ctx context.Context, name string, data []byte) string {
	o, err := p.get(ctx, name, bucket.Range{}, "")
	switch {
	case err != nil:
		return fmt.Sprintf("the read failed: %v", err)
	case int64(len(o.Data)) != o.Size:
		return fmt.Sprintf("the read returned %d bytes and says that there are %d", len(o.Data), o.Size)
	case len(o.Data) != len(data):
		return fmt.Sprintf("the read returned %d bytes of %d that were written", len(o.Data), len(data))
	case !bytes.Equal(o.Data, data):
		return "the read returned other bytes than were written"
	}
	return ""
}

// cleanUp deletes what the probe made, also if the context has ended.
func (p *probe) cleanUp(ctx context.Context) (Verdict, string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	var last error
	failed := 0
	for key := range p.made {
		if err := retry(ctx, func() error { return p.b.Delete(ctx, key) }); err != nil {
			last = err
			failed++
		}
	}
	if failed > 0 {
		return Reported, fmt.Sprintf("%d of %d objects below %s were not deleted: %v", failed, len(p.made), p.folder, last)
	}
	return OK, fmt.Sprintf("%d objects were deleted", len(p.made))
}
