package lake

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// Group commit: callers that want to write stand in a group. Whoever gets the
// lead publishes for all who stand there by then: one round, one swap.

// group is the callers that want to write.
type group struct {
	lead chan struct{} // held by whoever publishes

	mu      sync.Mutex // guards waiting
	waiting []*member
}

// member is one caller. It wants a draft or a registration.
type member struct {
	ctx          context.Context // of the caller
	draft        *draft
	registration *backend.Registration

	result onto.Result
	named  []onto.SchemaVersion
	err    error         // why it is refused
	panic  any           // what its Admit panicked with; nil if it did not
	barred error         // why it may not write, or not with the lease that it carries
	kept   *onto.Lease   // the write lease, if it was taken for the member; nil otherwise
	done   chan struct{} // closed when it has its verdict
}

// decide gives a member its verdict on the ground.
func (m *member) decide(g *ground) {
	m.result, m.named, m.panic = onto.Result{}, nil, nil
	defer func() {
		if m.panic = recover(); m.panic != nil { // it is the caller's own
			m.err = errPanicked
		}
	}()
	switch {
	case m.draft != nil:
		m.result, m.err = g.append(m.draft, m.barred)
	case m.barred != nil:
		m.err = m.barred
	default:
		m.named, m.err = g.register(m.registration)
	}
}

// decided reports whether a member has its verdict.
func (m *member) decided() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// verdict is what the caller of a draft is told.
func (m *member) verdict(err error) (onto.Result, error) {
	if err != nil {
		return onto.Result{}, err
	}
	return m.result, nil
}

// mayWrite tells why a member may not write on top of a tip; nil if it may.
func (m *member) mayWrite(ctx context.Context, l *log, t *tip) error {
	var carried *onto.Lease
	if m.draft != nil {
		carried = m.draft.Lease
	}
	if m.kept == nil {
		return l.mayWrite(ctx, t, carried)
	}
	if err := l.mayWrite(ctx, t, m.kept); err != nil {
		return err
	}
	return l.carries(ctx, t, carried)
}

// submit lets a caller write and returns when it is published or refused.
func (b *Backend) submit(ctx context.Context, m *member) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	m.ctx, m.done = ctx, make(chan struct{})
	b.group.mu.Lock()
	b.group.waiting = append(b.group.waiting, m)
	b.group.mu.Unlock()
	select {
	case <-m.done:
	case <-ctx.Done():
		if b.group.leave(m) {
			return ctx.Err()
		}
	case b.group.lead <- struct{}{}:
		defer func() { <-b.group.lead }()
		if err := b.leadGroup(ctx, m); err != nil {
			return err
		}
	}
	<-m.done // if it is being published it stays to the end
	if m.panic != nil {
		panic(m.panic)
	}
	return m.err
}

// leadGroup publishes for all who stand in the group when it is this process's turn.
// It fails if the turn does not come; then only its own member, the leader, leaves
// the group.
func (b *Backend) leadGroup(ctx context.Context, m *member) error {
	done, err := b.turn(ctx, m)
	if err != nil {
		b.group.leave(m) // nobody else can be publishing for it
		return err
	}
	defer done()
	for !m.decided() { // a round may not have room for all who wait
		members := b.group.take()
		if len(members) == 0 {
			break
		}
		b.publish(members)
	}
	return nil
}

// turn waits for the turn of this process where processes take turns. Meanwhile it
// looks up what the member needs, and in the end what others have published: without
// that the swap would be lost. The holder of the write lease does not wait, since the
// others may be waiting for it.
func (b *Backend) turn(ctx context.Context, m *member) (done func(), err error) {
	local, ok := b.log.b.(bucket.Local)
	if !ok || m.decided() || m.keepsOut() {
		return func() {}, nil
	}
	done, err = local.Turn(ctx, b.opts.Patience, func() { b.prepare(ctx, m) })
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, onto.Errorf(onto.LockContention, "it was not this writer's turn in time: %w", err).
			WithHint("try again, or let fewer programs write")
	}
	_, _ = b.log.refresh(ctx) // if it fails, so will the publication
	return done, nil
}

// prepare reads what a member is decided on, so that less is left to be read when it
// is its turn.
func (b *Backend) prepare(ctx context.Context, m *member) {
	t, err := b.log.refresh(ctx)
	if err != nil {
		return // whoever publishes finds out
	}
	s, err := b.shelve(ctx, t)
	if err != nil {
		return
	}
	b.recent.follow(s)
	_, _ = b.groundOn(ctx, s, []*member{m})
}

// keepsOut reports whether the member has the write lease, so that nobody else can
// commit.
func (m *member) keepsOut() bool {
	return m.kept != nil || m.draft != nil && m.draft.Lease != nil && m.draft.Lease.Name == onto.WriteLease
}

// errPanicked is the verdict of a member whose Admit has panicked.
var errPanicked = errors.New("the caller panicked")

// leave takes a member out of the group. It reports false if somebody is
// publishing for it.
func (g *group) leave(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// takenBytes is how many bytes of metadata and comments one round has room for, so
// that its manifest can be read again.
const takenBytes = maxDocument / 4

// take takes those who wait, as many as one round has room for, in their order.
func (g *group) take() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, bytes := 0, 0
	for n < len(g.waiting) && (n == 0 || bytes <= takenBytes) {
		if d := g.waiting[n].draft; d != nil {
			bytes += len(d.Metadata) + len(d.Comment) + 1<<10
		}
		n++
	}
	members := g.waiting[:n:n]
	g.waiting = slices.Clone(g.waiting[n:])
	return members
}

// publish publishes what members want as one round and gives each its verdict.
// If the head is swapped by somebody else first, all verdicts are reached anew.
func (b *Backend) publish(members []*member) {
	ctx, end := wanted(members)
	defer end()
	err := b.usable(ctx)
	if err == nil {
		var g *ground
		var files []dataFile
		var t *tip
		t, err = b.log.publish(ctx, func(t *tip, attempt string) (p *proposal, err error) {
			p, g, files, err = b.propose(ctx, members, t, attempt)
			return p, err
		})
		switch {
		case err != nil:
		case g != nil:
			b.adopt(ctx, t, g, files)
		default:
			for _, m := range members {
				m.err = cmp.Or(m.err, m.vouch(ctx, b.log, t))
			}
		}
	}
	for _, m := range members {
		if m.err == nil {
			m.err = err
		}
		close(m.done)
	}
}

// wanted is a context that ends when the callers of all members have given up: a
// round belongs to all of them.
func wanted(members []*member) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	var waiting atomic.Int64
	waiting.Store(int64(len(members)))
	stops := make([]func() bool, len(members))
	for i, m := range members {
		stops[i] = context.AfterFunc(m.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// propose decides what members want on top of a tip.
func (b *Backend) propose(ctx context.Context, members []*member, t *tip, attempt string) (*proposal, *ground, []dataFile, error) {
	s, err := b.shelve(ctx, t)
	if err != nil {
		return nil, nil, nil, err
	}
	b.recent.follow(s)
	g, err := b.groundOn(ctx, s, members)
	if errors.Is(err, errReplaced) {
		err = errStale
	}
	if err != nil {
		return nil, nil, nil, err
	}
	for _, m := range members {
		m.decide(g)
	}
	c := *t.catalog
	c.Types = typeEntries(g.types)
	evolved := !sameTypes(c.Types, t.catalog.Types)
	if len(g.commits) == 0 && !evolved {
		return nil, nil, nil, nil
	}
	types := s.types
	if evolved {
		if types, err = newTypes(&c); err != nil {
			return nil, nil, nil, err
		}
	}
	files, err := filesOf(types, g.versions)
	if err != nil {
		return nil, nil, nil, err
	}
	p := b.proposal(t, g, files, &c, evolved, attempt)
	p.once = slices.ContainsFunc(members, func(m *member) bool { return m.draft != nil && m.draft.Evolve != nil })
	return p, g, files, nil
}

// proposal puts commits and types on top of a tip, in one head.
func (b *Backend) proposal(t *tip, g *ground, files []dataFile, c *catalog, evolved bool, attempt string) *proposal {
	p := &proposal{next: &tip{head: t.head.next(t.body, attempt, b.log.set.runtime, b.log.now()), manifest: t.manifest, catalog: t.catalog}}
	if len(g.commits) > 0 {
		p = b.log.proposeRound(t, &round{commits: g.commits, files: files}, attempt)
	}
	if evolved {
		h := p.next.head
		c.Attempt, h.Catalog = attempt, catalogPath(h.Sequence, attempt)
		p.objects = append(p.objects, object{h.Catalog, encodeSealed(c)})
		p.next.catalog = c
	}
	return p
}

// adopt notes what a round of its own has published, so that it need not be read.
func (b *Backend) adopt(ctx context.Context, t *tip, g *ground, files []dataFile) {
	if len(g.commits) > 0 {
		b.adoptFiles(t, files)
		for i := range files {
			if f := &t.manifest.Files[i]; f.Bytes <= smallFile {
				b.files.note(f.Path, g.of(f.TypeName()))
			}
		}
	}
	if s := b.deriveAfter(ctx, t); s != nil {
		b.recent.adopt(s, g)
	}
}

// adoptFiles keeps local copies of the files of a round of its own.
func (b *Backend) adoptFiles(t *tip, files []dataFile) {
	for i := range files {
		if body, err := files[i].content(); err == nil { // else it is fetched when it is needed
			b.files.cache.Put(t.manifest.Files[i].object(), body)
		}
	}
}

// deriveAfter lets all follow that is derived from what was published: the shelf,
// which it returns if there is one, the derived objects, and at times a checkpoint.
func (b *Backend) deriveAfter(ctx context.Context, t *tip) *shelf {
	ctx = context.WithoutCancel(ctx)
	s, err := b.shelve(ctx, t)
	b.deriveAside(ctx, t)
	if err != nil {
		return nil // whoever asks next finds out
	}
	if m := t.manifest; m != nil && m.Round%checkpointRounds == 0 {
		b.aside.Go(func() { _ = b.log.checkpoint(ctx) }) // if it fails, the next one does more
	}
	return s
}

// deriveAside lets the derived objects follow what was published.
func (b *Backend) deriveAside(ctx context.Context, t *tip) {
	b.mu.Lock()
	s := b.shelf // of the tip, or of a later one
	b.mu.Unlock()
	touched, schemaChanged := touchedBy(t)
	b.deriver.announce()
	b.aside.Go(func() { b.deriver.derive(ctx, s, touched, schemaChanged) })
}

// Append implements [backend.Backend].
func (b *Backend) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if d.Evolve != nil {
		return onto.Result{}, onto.Errorf(onto.Invalid, "only a stream can evolve types").WithHint("append the draft as a stream")
	}
	m := &member{draft: &draft{d, d.Writes}}
	return m.verdict(b.submitFree(ctx, m, b.submit))
}

// submitFree lets a caller write with a function such as submit, and again for as
// long as somebody else holds the write lease and there is time.
func (b *Backend) submitFree(ctx context.Context, m *member, submit func(context.Context, *member) error) error {
	end := time.Now().Add(b.opts.LockTimeout)
	for {
		err := submit(ctx, m)
		left := time.Until(end)
		if err == nil || err != m.barred || onto.CodeOf(err) != onto.LockContention || left <= 0 {
			return err
		}
		if err := b.log.awaitWrite(ctx, b.log.last(), left); err != nil {
			return err
		}
	}
}

// Register implements [backend.Backend].
func (b *Backend) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return nil, err
	}
	if backend.Registered(s.types.all, r) {
		return backend.Named(s.types.all, r), nil
	}
	m := &member{registration: r}
	err = b.submitFree(ctx, m, b.submit)
	return m.named, err
}
