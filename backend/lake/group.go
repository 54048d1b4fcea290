package lake

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
)

// Group commit: callers that want to write stand in a group. Whoever gets the
// turn publishes for all who stand there by then: one round, one swap.

// group is the callers that want to write.
type group struct {
	turn chan struct{} // held by whoever publishes

	mu      sync.Mutex // guards waiting
	waiting []*member
}

// member is one caller.
type member struct {
	write func(h *memory.Backend) error // what it wants, done to a fork of the replica
	err   error                         // why it is refused
	done  chan struct{}                 // closed when it has its verdict
}

// errStale is a planner's: the replica is beyond the tip.
var errStale = errors.New("the head is another by now")

// submit lets a caller write and returns when it is published or refused.
func (b *Backend) submit(ctx context.Context, write func(h *memory.Backend) error) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	m := &member{write: write, done: make(chan struct{})}
	b.group.mu.Lock()
	b.group.waiting = append(b.group.waiting, m)
	b.group.mu.Unlock()
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		if b.group.leave(m) {
			return ctx.Err()
		}
		<-m.done // its turn has come: it stays to the end
		return m.err
	case b.group.turn <- struct{}{}:
	}
	defer func() { <-b.group.turn }()
	if members := b.group.take(); len(members) > 0 {
		b.publish(members)
	}
	<-m.done
	return m.err
}

// leave takes a member out of the group. It reports false if its turn has come.
func (g *group) leave(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// take takes everybody who waits.
func (g *group) take() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	members := g.waiting
	g.waiting = nil
	return members
}

// publish publishes what members want as one round and gives each its verdict.
// If the head is swapped by somebody else first, all verdicts are reached anew.
func (b *Backend) publish(members []*member) {
	ctx := context.Background() // a round is nobody's own
	err := b.usable(ctx)
	if err == nil {
		var t *tip
		var tail memory.Tail
		t, err = b.log.publish(ctx, func(t *tip, attempt string) (p *proposal, err error) {
			p, tail, err = b.propose(ctx, members, t, attempt)
			return p, err
		})
		if err == nil {
			b.adopt(t, tail)
		}
	}
	for _, m := range members {
		if m.err == nil {
			m.err = err
		}
		close(m.done)
	}
	if t := b.log.last(); err == nil && t.manifest != nil && t.manifest.Round%checkpointRounds == 0 {
		b.aside.Go(func() { _ = b.log.checkpoint(ctx) }) // if it fails, the next one does more
	}
}

// adopt lets the replica follow a round of its own, which need not be read. It
// does so only if the round comes right after what the replica has.
func (b *Backend) adopt(t *tip, tail memory.Tail) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.head.Sequence != b.sequence+1 || len(tail.Schemas) == 0 || !slices.Equal(purgedTypes(t.catalog), b.purged) {
		return // the next sync reads it
	}
	if b.replica.Extend(tail) == nil {
		b.sequence = t.head.Sequence
	}
}

// propose decides what members want on top of a tip.
func (b *Backend) propose(ctx context.Context, members []*member, t *tip, attempt string) (*proposal, memory.Tail, error) {
	if err := b.sync(ctx, t); err != nil {
		return nil, memory.Tail{}, err
	}
	fork, err := b.fork(t)
	if err != nil {
		return nil, memory.Tail{}, err
	}
	h := fork.Open()
	for _, m := range members {
		m.err = m.write(h)
	}
	tail := fork.Tail(t.head.CommitID)
	c := *t.catalog
	c.Types = []schemaEntry{}
	for i := range tail.Schemas {
		c.Types = append(c.Types, newSchemaEntry(&tail.Schemas[i]))
	}
	evolved := !sameTypes(c.Types, t.catalog.Types)
	if len(tail.Commits) == 0 && !evolved {
		return nil, memory.Tail{}, nil
	}
	return b.proposal(t, &tail, &c, evolved, attempt), tail, nil
}

// fork returns a copy of the replica, which must be as of the tip.
func (b *Backend) fork(t *tip) (*memory.Store, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sequence != t.head.Sequence {
		return nil, errStale
	}
	return b.replica.Fork(), nil
}

// proposal puts commits and types on top of a tip, in one head.
func (b *Backend) proposal(t *tip, tail *memory.Tail, c *catalog, evolved bool, attempt string) *proposal {
	p := &proposal{next: &tip{head: t.head.next(t.body, attempt, b.log.set.runtime, b.log.now()), manifest: t.manifest, catalog: t.catalog}}
	if len(tail.Commits) > 0 {
		r := &round{files: filesOf(b.enc, tail.Versions)}
		for i := range tail.Commits {
			r.commits = append(r.commits, newCommitEntry(&tail.Commits[i]))
		}
		p = b.log.proposeRound(t, r, attempt)
	}
	if evolved {
		h := p.next.head
		c.Attempt, h.Catalog = attempt, catalogPath(h.Sequence, attempt)
		p.objects = append(p.objects, object{h.Catalog, encode(c)})
		p.next.catalog = c
	}
	return p
}

// Append implements [backend.Backend].
func (b *Backend) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if d.Evolve != nil {
		return onto.Result{}, onto.Errorf(onto.Invalid, "only a stream can evolve types").WithHint("append the draft as a stream")
	}
	var res onto.Result
	err := b.submitDraft(ctx, d, func(h *memory.Backend) (err error) {
		res, err = h.Append(context.Background(), d)
		return err
	})
	return res, err
}

// AppendStream implements [backend.Backend]. It reads the whole sequence first:
// what others publish meanwhile may mean that it is decided more than once.
func (b *Backend) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if err := b.usable(ctx); err != nil {
		return onto.Result{}, err
	}
	var list []backend.Write
	for w, err := range writes {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return onto.Result{}, err
		}
		w.Fields = bytes.Clone(w.Fields)
		list = append(list, w)
	}
	var res onto.Result
	err := b.submitDraft(ctx, d, func(h *memory.Backend) (err error) {
		res, err = h.AppendStream(context.Background(), d, func(yield func(backend.Write, error) bool) {
			for _, w := range list {
				if !yield(w, nil) {
					return
				}
			}
		})
		return err
	})
	return res, err
}

// submitDraft refuses what a lake cannot do yet, then submits.
func (b *Backend) submitDraft(ctx context.Context, d *backend.Draft, write func(h *memory.Backend) error) error {
	if d.Lease != nil {
		return onto.Errorf(onto.Unsupported, "a lake keeps no leases").WithHint("leave out the lease")
	}
	return b.submit(ctx, write)
}

// Register implements [backend.Backend].
func (b *Backend) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	var list []onto.SchemaVersion
	err := b.submit(ctx, func(h *memory.Backend) (err error) {
		list, err = h.Register(context.Background(), r)
		return err
	})
	return list, err
}
