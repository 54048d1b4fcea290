package sqlite

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/bus"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/groupcommit"
)

// Operations of the bus join the queue of commits, and so share their transactions. A
// transaction decides and writes drafts first, then what is emitted, settlements, signs
// of life, and claims. A holder of the write lease stops drafts and not these.

var (
	_ backend.Bus       = (*Backend)(nil)
	_ backend.Positions = (*Backend)(nil)
)

// operation is what a member wants of the bus, and the answer.
type operation struct {
	emit     *backend.Emission
	emitted  []onto.Event
	settle   []backend.Settlement
	verdicts []error
	beat     *backend.Beat
	lost     []onto.Claim
	claim    *backend.ClaimRequest
	claimed  backend.Claimed
	more     bool // the claim is to be repeated
	advance  *onto.Advance
	work     *labour // or of the work queue
}

// size is how much it writes, about.
func (o *operation) size() int {
	n := len(o.settle)
	if o.emit != nil {
		n += len(o.emit.Events) + len(o.emit.Resolve)
	}
	if o.beat != nil {
		n += len(o.beat.Claims)
	}
	if o.claim != nil {
		n += o.claim.Limit
	}
	if o.work != nil {
		n += o.work.size()
	}
	return n
}

// do carries out an operation.
func (b *Backend) do(ctx context.Context, o *operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := b.submit(ctx, &member{op: o, until: b.deadline()}, groupcommit.Size{Writes: o.size()})
	return err
}

// Emit implements [backend.Bus].
func (b *Backend) Emit(ctx context.Context, e *backend.Emission) ([]onto.Event, error) {
	o := &operation{emit: e}
	err := b.do(ctx, o)
	return o.emitted, err
}

// Claim implements [backend.Bus].
func (b *Backend) Claim(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
	o := &operation{claim: r, settle: r.Settle}
	var settled []error
	for {
		if err := b.do(ctx, o); err != nil {
			return backend.Claimed{Verdicts: settled}, err
		}
		settled = o.verdicts
		if !o.more {
			break
		}
		o.settle = nil // settled by now
	}
	o.claimed.Verdicts = settled
	return o.claimed, nil
}

// Settle implements [backend.Bus].
func (b *Backend) Settle(ctx context.Context, list []backend.Settlement) ([]error, error) {
	if len(list) == 0 {
		return nil, ctx.Err()
	}
	o := &operation{settle: list}
	if err := b.do(ctx, o); err != nil {
		return nil, err
	}
	return o.verdicts, nil
}

// Beat implements [backend.Bus].
func (b *Backend) Beat(ctx context.Context, beat *backend.Beat) ([]onto.Claim, error) {
	o := &operation{beat: beat}
	err := b.do(ctx, o)
	return o.lost, err
}

// Advance implements [backend.Positions].
func (b *Backend) Advance(ctx context.Context, a onto.Advance) error {
	return b.do(ctx, &operation{advance: &a})
}

// Positions implements [backend.Positions].
func (b *Backend) Positions(ctx context.Context) ([]onto.Position, error) {
	var list []onto.Position
	err := b.readBus(ctx, func(r *reading) (err error) {
		list, err = bus.Positions(&r.Moment)
		return err
	})
	return list, err
}

// Events implements [backend.Bus].
func (b *Backend) Events(ctx context.Context, q *backend.EventQuery) iter.Seq2[backend.EventState, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(backend.EventState) error) error {
		return bus.Events(&r.Moment, b.now(), q, push)
	})
}

// DeadLetters implements [backend.Bus].
func (b *Backend) DeadLetters(ctx context.Context, q *backend.DeadLetterQuery) iter.Seq2[onto.DeadLetter, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(onto.DeadLetter) error) error {
		return bus.DeadLetters(&r.Moment, q, push)
	})
}

// Namespaces implements [backend.Bus].
func (b *Backend) Namespaces(ctx context.Context, ttl time.Duration) ([]backend.Namespace, error) {
	var list []backend.Namespace
	err := b.readBus(ctx, func(r *reading) (err error) {
		list, err = bus.Namespaces(&r.Moment, b.now(), ttl)
		return err
	})
	return list, err
}

// Types implements [backend.Bus].
func (b *Backend) Types(ctx context.Context, namespace string) ([]string, error) {
	var list []string
	err := b.readBus(ctx, func(r *reading) (err error) {
		list, err = bus.Types(&r.Moment, namespace)
		return err
	})
	return list, err
}

// readBus runs f in a read transaction.
func (b *Backend) readBus(ctx context.Context, f func(r *reading) error) error {
	return b.reader.read(ctx, f)
}

// Clean implements [backend.Bus]. It removes events in many transactions, so that
// commits and claims go on between them.
func (b *Backend) Clean(ctx context.Context, c *backend.Cleaning, progress func(done, total int64)) (backend.CleanPlan, error) {
	var plan backend.CleanPlan
	err := b.readBus(ctx, func(r *reading) (err error) {
		plan, err = bus.PlanCleaning(&r.Moment, c)
		return err
	})
	if err != nil || !c.Apply {
		return plan, err
	}
	total := plan.Events
	var done backend.CleanPlan
	walk := bus.NewCleaner(c)
	for !walk.Done() {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		err := b.writer.changeLeases(ctx, b.deadline(), func(w *driver.Conn) error { return walk.Step(bus.Begin(w, b.now()), &done) })
		if err != nil {
			return done, err
		}
		if progress != nil {
			progress(done.Events, max(total, done.Events))
		}
	}
	return done, nil
}

// wantsBus reports whether a draft is decided on what the bus has.
func wantsBus(d *backend.Draft) bool { return len(d.Events) > 0 || len(d.Acks) > 0 || d.Advance != nil }

// onBus is the bus in the round's transaction.
func (g *round) onBus() (*bus.Tx, error) {
	if g.bus != nil {
		return g.bus, nil
	}
	g.bus = bus.Begin(g.w, g.Now())
	err := g.bus.Catch()
	g.LastEvent = g.bus.LastTime()
	return g.bus, err
}

// wantBus looks up the claims and the positions that drafts are decided on.
func (g *round) wantBus(members []*member) error {
	var acks []onto.Claim
	wanted := false
	for _, m := range members {
		if m.draft == nil || !wantsBus(m.draft) {
			continue
		}
		wanted = true
		acks = append(acks, m.draft.Acks...)
		if m.draft.Advance != nil {
			if err := g.wantPosition(m.draft.Advance.Name); err != nil {
				return err
			}
		}
	}
	if !wanted {
		return nil
	}
	t, err := g.onBus()
	if err != nil {
		return err
	}
	return t.Held(acks, g.Claims)
}

// wantPosition looks up a position, unless the round knows it.
func (g *round) wantPosition(name string) error {
	if _, known := g.Positions[name]; known {
		return nil
	}
	at, err := bus.Position(g.w, name)
	g.Positions[name] = at
	return err
}

// writeBus writes what drafts have decided about the bus, and carries out operations.
func (g *round) writeBus(members []*member) error {
	ops := slices.ContainsFunc(members, func(m *member) bool { return m.op != nil && m.op.work == nil })
	if g.bus == nil && !ops {
		return nil
	}
	t, err := g.onBus()
	if err != nil {
		return err
	}
	if err := t.Ack(g.Acks); err != nil {
		return err
	}
	for _, step := range []func(*bus.Tx, *member) error{g.advanceOp, g.emitOp} {
		if err := eachOp(t, members, step); err != nil {
			return err
		}
	}
	for _, p := range g.Moved {
		if err := t.Move(p); err != nil {
			return err
		}
	}
	if err := g.insertEvents(t); err != nil {
		return err
	}
	if err := eachOp(t, members, g.settleOp); err != nil {
		return err
	}
	if err := g.insertEvents(t); err != nil { // of dead letters
		return err
	}
	if err := g.wr.reached("events"); err != nil {
		return err
	}
	return eachOp(t, members, claimOp)
}

// insertEvents writes the events of the round that are not written yet.
func (g *round) insertEvents(t *bus.Tx) error {
	err := t.Insert(g.Events[g.inserted:])
	g.inserted = len(g.Events)
	return err
}

func eachOp(t *bus.Tx, members []*member, f func(*bus.Tx, *member) error) error {
	for _, m := range members {
		if m.op == nil || m.err != nil {
			continue
		}
		if err := f(t, m); err != nil {
			return err
		}
	}
	return nil
}

func (g *round) advanceOp(_ *bus.Tx, m *member) error {
	a := m.op.advance
	if a == nil {
		return nil
	}
	if err := g.wantPosition(a.Name); err != nil {
		return err
	}
	m.err = g.Advance(*a)
	return nil
}

func (g *round) emitOp(t *bus.Tx, m *member) error {
	e := m.op.emit
	if e == nil {
		return nil
	}
	ok, refused, err := t.Resolve(e)
	if m.err = refused; ok {
		m.op.emitted = g.Round.Emit(e.Events, 0)
	}
	return err
}

func (g *round) settleOp(t *bus.Tx, m *member) (err error) {
	o := m.op
	if len(o.settle) > 0 {
		o.verdicts, err = t.Settle(o.settle, func(n *backend.NewEvent) error {
			g.Round.Emit([]backend.NewEvent{*n}, 0)
			return nil
		})
	}
	if err == nil && o.beat != nil {
		o.lost, err = t.Beat(o.beat)
	}
	return err
}

func claimOp(t *bus.Tx, m *member) (err error) {
	o := m.op
	if o.claim == nil {
		return nil
	}
	var next time.Time
	o.claimed.Claims, next, o.more, err = t.Claim(o.claim)
	o.claimed.Next = next
	return err
}
