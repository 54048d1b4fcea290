package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// What follows is the false answers of a world: it refuses what it has applied or will
// not apply, answers after others have continued, returns tags that no object has, and
// lets heads pass that no client has seen.

// applied marks a refusal of a write that was applied.
const applied = ", applied"

// refusals are the answers by which a storage, or a proxy before it, says that a write
// was not applied.
func refusals() []string {
	var list []string
	for _, f := range []string{"conflict", "throttled", "changed", "not found"} {
		list = append(list, f, f+applied)
	}
	return list
}

// refuse answers a write with a refusal, true or not. It reports false if the
// fault is another one.
func (w *world) refuse(k *call, how string) (answer, bool) {
	what, done := strings.CutSuffix(how, applied)
	if !slices.Contains(refusals(), what) {
		return answer{}, false
	}
	a := answer{err: declined(k, what)}
	if !done {
		return a, true
	}
	if w.apply(k).err == nil && k.op == "swap" && k.key == HeadKey && w.r.IntN(6) == 0 {
		w.leap()
	}
	return a, true
}

// declined is the error of a refusal.
func declined(k *call, what string) error {
	switch what {
	case "conflict":
		return bucket.ErrConflict
	case "throttled":
		return bucket.ErrThrottled
	case "changed":
		if k.op == "create" {
			return bucket.ErrExists
		}
		return bucket.ErrChanged
	}
	if k.op == "create" {
		return errors.New("the answer to a create is 404")
	}
	return bucket.ErrNotFound
}

// heldAnswer is a delayed answer.
type heldAnswer struct {
	k   *call
	a   answer
	due time.Time
}

// send answers a call, at once or later: others continue meanwhile, and the caller's
// patience may be over when the answer comes.
func (w *world) send(k *call, a answer) {
	if w.calm || w.r.IntN(40) > 0 {
		k.answer <- a
		return
	}
	w.fault["late answer"]++
	w.held = append(w.held, heldAnswer{k, a, time.Now().Add(w.patience * time.Duration(1+w.r.IntN(25)) / 10)})
}

// deliver delivers the answers that are due.
func (w *world) deliver() {
	w.held = slices.DeleteFunc(w.held, func(h heldAnswer) bool {
		due := !time.Now().Before(h.due)
		if due {
			h.k.answer <- h.a
		}
		return due
	})
}

// leap lets many heads pass that change nothing, as if others had published them:
// as many as are remembered, about as many, or far more.
func (w *world) leap() {
	sizes := []int{1, RecentAttempts - 1, RecentAttempts, RecentAttempts + 1, RecentAttempts + 2, 1000}
	n := sizes[w.r.IntN(len(sizes))]
	if w.pass(n) && n > RecentAttempts {
		w.fault["forgotten heads"]++
	}
}

// pass lets heads pass that change nothing. Only the last of them is made. It
// reports false if there is no head yet.
func (w *world) pass(n int) bool {
	v, ok := w.newest(HeadKey)
	if !ok {
		return false
	}
	h, err := ParseHead(v.body)
	if err != nil {
		panic(err)
	}
	w.passed++
	name := func(i int) string { return fmt.Sprintf("others%03d.%d", w.passed, i) }
	before := v.body
	if n > 1 {
		before = []byte(name(n - 1))
	}
	next := h.next(before, name(n), "others", h.UpdatedAt)
	next.Sequence = h.Sequence + int64(n)
	var recent []string
	for i := n - 1; i > 0; i-- {
		recent = append(recent, name(i))
	}
	recent = append(append(recent, h.Attempt), h.Recent...)
	next.Recent = recent[:min(len(recent), RecentAttempts)]
	w.put(HeadKey, encodeSealed(next))
	w.trace = append(w.trace, fmt.Sprintf("%d heads pass", n))
	return true
}
