// Package faulty breaks another bucket on purpose, by a plan: calls fail, are applied
// without an answer, late or twice, are refused although they were applied, and reads
// return damaged or stale objects. It is for tests of code that uses a bucket.
//
// All random choices come from the plan's seed, and every decision is in
// [Bucket.Trace]: the same order of calls gives the same trace. Nothing waits for real
// time; a delay is a number of further calls.
package faulty

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// ErrInjected is the cause of failures that have no error of their own.
var ErrInjected = errors.New("broken on purpose")

// Bucket is a bucket around another one.
type Bucket struct {
	inner bucket.Bucket
	plan  Plan
	past  *past // nil if the plan has no use for it

	mu      sync.Mutex // guards what follows
	random  *rand.Rand
	calls   int
	matched []int // per rule
	calm    bool  // no faults any more
	cut     bool
	cutTo   int // the last call that is cut off; 0 until Heal
	flying  []flight
	trace   []string
	count   map[Fault]int
}

// flight is a write that is applied later.
type flight struct {
	due int // when this call begins
	w   write
}

// write is a call that changes something.
type write struct {
	call, key string
	data      []byte
	old       bucket.Tag
}

// New returns a bucket that breaks b by a plan.
func New(b bucket.Bucket, plan Plan) *Bucket {
	f := &Bucket{inner: b, plan: plan, random: rand.New(rand.NewPCG(plan.Seed, 0)), matched: make([]int, len(plan.Rules)), count: map[Fault]int{}}
	if slices.ContainsFunc(plan.Rules, func(r Rule) bool { return r.Fault == Stale || r.Fault == Old }) {
		f.past = &past{versions: map[string][]version{}}
	}
	return f
}

// decision is what becomes of one call.
type decision struct {
	call   int // its number
	verb   string
	what   string
	fault  Fault // or ""
	n      int
	chance uint64
}

// begin numbers a call, applies what is due by now, and decides.
func (b *Bucket) begin(ctx context.Context, call, key string) decision {
	b.mu.Lock()
	b.calls++
	d := decision{call: b.calls, verb: call, what: call + " " + key}
	for i, r := range b.plan.Rules {
		if !b.calm && r.covers(call, key) && b.fires(i, r) && d.fault == "" {
			d.fault, d.n = r.Fault, r.number()
		}
	}
	b.judgeCut(&d)
	if d.fault != "" {
		d.chance = b.random.Uint64()
	}
	if !isRead(d.fault) {
		b.note(d, "")
	}
	due := b.takeDue(b.calls)
	b.mu.Unlock()
	b.land(ctx, due)
	return d
}

// fires reports whether a rule applies to the present call, which it covers.
func (b *Bucket) fires(i int, r Rule) bool {
	b.matched[i]++
	if r.Percent > 0 && b.random.Float64()*100 >= r.Percent {
		return false
	}
	return r.At == 0 || r.At == b.matched[i]
}

// judgeCut begins, keeps or ends the cut-off.
func (b *Bucket) judgeCut(d *decision) {
	if b.cut && b.cutTo > 0 && d.call > b.cutTo {
		b.cut = false
	}
	if d.fault == Cut && !b.cut {
		b.cut, b.cutTo = true, 0
		if d.n > 0 {
			b.cutTo = d.call + d.n - 1
		}
	}
	if b.cut {
		d.fault = Cut
	}
}

// isRead reports whether the fault is in the result of a read: only afterwards is it
// known whether there is anything to break.
func isRead(f Fault) bool { return f == Short || f == Flip || f == Stale || f == Old }

// note records a decision, with what kept the fault from having an effect. The
// caller holds the lock.
func (b *Bucket) note(d decision, without string) {
	line := fmt.Sprintf("%d %s", d.call, d.what)
	if d.fault != "" {
		line += ": " + string(d.fault)
	}
	if without != "" {
		line += " (" + without + ")"
	} else if d.fault != "" {
		b.count[d.fault]++
	}
	b.trace = append(b.trace, line)
}

func (b *Bucket) noteRead(d decision, without string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(d, without)
}

// takeDue removes the writes that are due at a call. The caller holds the lock.
func (b *Bucket) takeDue(call int) []flight {
	var due, rest []flight
	for _, f := range b.flying {
		if f.due <= call {
			due = append(due, f)
		} else {
			rest = append(rest, f)
		}
	}
	b.flying = rest
	return due
}

// land applies delayed writes. Their callers were answered before.
func (b *Bucket) land(ctx context.Context, due []flight) {
	for _, f := range due {
		_, err := b.apply(context.WithoutCancel(ctx), f.w)
		b.mu.Lock()
		b.trace = append(b.trace, fmt.Sprintf("%d late %s %s: %v", b.calls, f.w.call, f.w.key, err))
		b.mu.Unlock()
	}
}

// Land applies all delayed writes.
func (b *Bucket) Land(ctx context.Context) {
	b.mu.Lock()
	due := b.flying
	b.flying = nil
	b.mu.Unlock()
	b.land(ctx, due)
}

// Cut lets no call arrive until Heal.
func (b *Bucket) Cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut, b.cutTo = true, 0
}

// Heal ends the cut-off.
func (b *Bucket) Heal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = false
}

// Calm ends all faults and applies the delayed writes.
func (b *Bucket) Calm(ctx context.Context) {
	b.mu.Lock()
	b.calm, b.cut = true, false
	b.mu.Unlock()
	b.Land(ctx)
}

// Trace returns what was decided, one line per call and per late write.
func (b *Bucket) Trace() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.trace)
}

// Count returns how often each fault had an effect.
func (b *Bucket) Count() map[Fault]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.count)
}

// refused is the error of a call that is not applied, or nil.
func (b *Bucket) refused(ctx context.Context, d decision, isWrite bool) error {
	var err error
	switch d.fault {
	case Fail:
		err = ErrInjected
	case Throttled, Conflict, Changed, Missing:
		err = refusal(d)
	case Cut:
		if err = ErrInjected; isWrite {
			err = fmt.Errorf("%w: %w", bucket.ErrUnknown, ErrInjected)
		}
	case Delay:
		if b.plan.Sleep != nil {
			err = b.plan.Sleep(ctx, time.Duration(d.n)*time.Millisecond)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.what, err)
	}
	return nil
}

// refusal is what a call is refused with, applied or not.
func refusal(d decision) error {
	switch d.fault {
	case Throttled, DoneThrottled:
		return bucket.ErrThrottled
	case Changed, DoneChanged:
		if d.verb == callCreate {
			return bucket.ErrExists
		}
		return bucket.ErrChanged
	case Missing, DoneMissing:
		return bucket.ErrNotFound
	}
	return bucket.ErrConflict
}

// dawdle waits before an answer that comes late. The call was applied.
func (b *Bucket) dawdle(ctx context.Context, d decision) {
	if d.fault == Slow && b.plan.Sleep != nil {
		_ = b.plan.Sleep(ctx, time.Duration(d.n)*time.Millisecond)
	}
}

// wrongTag is a tag that no object has.
const wrongTag bucket.Tag = "no object has this tag"

// Create writes an object where there is none.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	return b.write(ctx, write{callCreate, key, data, ""})
}

// Swap replaces the object that has the tag.
func (b *Bucket) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	return b.write(ctx, write{callSwap, key, data, old})
}

// Delete removes an object.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	_, err := b.write(ctx, write{callDelete, key, nil, ""})
	return err
}

func (b *Bucket) write(ctx context.Context, w write) (bucket.Tag, error) {
	if err := errors.Join(ctx.Err(), bucket.CheckKey(w.key)); err != nil {
		return "", err
	}
	d := b.begin(ctx, w.call, w.key)
	if err := b.refused(ctx, d, true); err != nil {
		return "", err
	}
	if d.fault == Late {
		w.data = bytes.Clone(w.data)
		b.mu.Lock()
		b.flying = append(b.flying, flight{d.call + d.n + 1, w})
		b.mu.Unlock()
		return "", fmt.Errorf("%s: %w: %w", d.what, bucket.ErrUnknown, ErrInjected)
	}
	tag, err := b.apply(ctx, w)
	switch d.fault {
	case Lost:
		return "", fmt.Errorf("%s: %w: %w", d.what, bucket.ErrUnknown, ErrInjected)
	case Unsynced:
		return "", fmt.Errorf("%s: %w: %w", d.what, bucket.ErrUnsynced, ErrInjected)
	case Twice:
		b.apply(ctx, w)
	case Again:
		tag, err = b.apply(ctx, w)
	case DoneConflict, DoneThrottled, DoneChanged, DoneMissing:
		return "", fmt.Errorf("%s: %w", d.what, refusal(d))
	case Mistag:
		if err == nil {
			tag = wrongTag
		}
	}
	b.dawdle(ctx, d)
	return tag, err
}

// apply does a write, and remembers what it replaced.
func (b *Bucket) apply(ctx context.Context, w write) (tag bucket.Tag, err error) {
	b.look(ctx, w.key)
	switch w.call {
	case callCreate:
		tag, err = b.inner.Create(ctx, w.key, w.data)
	case callSwap:
		tag, err = b.inner.Swap(ctx, w.key, w.data, w.old)
	case callDelete:
		err = b.inner.Delete(ctx, w.key)
	}
	b.look(ctx, w.key)
	return tag, err
}

// Get returns an object or a part of it.
func (b *Bucket) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if err := errors.Join(ctx.Err(), bucket.CheckKey(key)); err != nil {
		return bucket.Object{}, err
	}
	d := b.begin(ctx, callGet, key)
	if err := b.refused(ctx, d, false); err != nil {
		return bucket.Object{}, err
	}
	b.look(ctx, key)
	if d.fault == Stale {
		if v, found := b.past.stale(key, d); found {
			b.noteRead(d, "")
			return v.get(d.what, r, ifNot)
		}
		b.noteRead(d, "nothing is older")
	}
	o, err := b.inner.Get(ctx, key, r, ifNot)
	b.dawdle(ctx, d)
	if d.fault == Mistag && err == nil {
		o.Tag = wrongTag
	}
	if d.fault != Short && d.fault != Flip {
		return o, err
	}
	if len(o.Data) == 0 {
		b.noteRead(d, "nothing to break")
		return o, err
	}
	at := int(d.chance % uint64(len(o.Data)))
	if d.fault == Short {
		o.Data = o.Data[:at]
	} else {
		o.Data[at] ^= 1 << (d.chance >> 61)
	}
	b.noteRead(d, "")
	return o, err
}

// List returns objects in order of their keys.
func (b *Bucket) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	if err := errors.Join(ctx.Err(), bucket.CheckPrefix(prefix)); err != nil {
		return nil, err
	}
	d := b.begin(ctx, callList, prefix)
	if err := b.refused(ctx, d, false); err != nil {
		return nil, err
	}
	if d.fault != Old || limit < 1 {
		if d.fault == Old {
			b.noteRead(d, "nothing to break")
		}
		list, err := b.inner.List(ctx, prefix, after, limit)
		b.dawdle(ctx, d)
		return list, err
	}
	recent := b.past.recent(prefix, after, d)
	list, err := b.inner.List(ctx, prefix, after, limit+len(recent))
	if err != nil || len(recent) == 0 {
		b.noteRead(d, "nothing is older")
		return list, err
	}
	b.noteRead(d, "")
	list = before(list, recent)
	return list[:min(limit, len(list))], nil
}

// Sync makes an object durable.
func (b *Bucket) Sync(ctx context.Context, key string) error {
	if err := errors.Join(ctx.Err(), bucket.CheckKey(key)); err != nil {
		return err
	}
	d := b.begin(ctx, callSync, key)
	if err := b.refused(ctx, d, false); err != nil {
		return err
	}
	if d.fault == Unsynced {
		return fmt.Errorf("%s: %w: %w", d.what, bucket.ErrUnsynced, ErrInjected)
	}
	return b.inner.Sync(ctx, key)
}

// Close drops delayed writes and closes the inner bucket.
func (b *Bucket) Close() error {
	b.mu.Lock()
	b.flying = nil
	b.mu.Unlock()
	return b.inner.Close()
}
