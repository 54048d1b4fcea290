package lake

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/derived"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/groupcommit"
	"github.com/ontologia/onto/internal/lease"
	"github.com/ontologia/onto/internal/refusal"
)

// member is one caller that wants to write a draft or a registration. Callers share
// one round, and so one swap.
type member struct {
	groupcommit.Member
	draft        *backend.Draft
	registration *backend.Registration

	result onto.Result
	named  []onto.SchemaVersion
	err    error       // why it is refused
	barred error       // why it may not write, or not with the lease that it carries
	kept   *onto.Lease // the write lease, if it was taken for the member; nil otherwise
}

// decide gives a member its verdict in a round.
func (m *member) decide(r *decide.Round) {
	m.result, m.named = onto.Result{}, nil
	ok := m.Run(func() { // Admit is the caller's code
		switch {
		case m.draft != nil:
			m.result, m.err = r.Append(m.draft, m.barred)
		case m.barred != nil:
			m.err = m.barred
		default:
			m.named, m.err = r.Register(m.registration)
		}
	})
	if !ok {
		m.err = errPanicked
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
func (m *member) mayWrite(ctx context.Context, l *protocol.Leases, t *protocol.Tip) error {
	var carried *onto.Lease
	if m.draft != nil {
		carried = m.draft.Lease
	}
	if m.kept == nil {
		return l.MayWrite(ctx, t, carried)
	}
	if err := l.MayWrite(ctx, t, m.kept); err != nil {
		return err
	}
	return l.Carries(ctx, t, carried)
}

// submit queues a caller's write and returns when it is published or refused.
func (w *writer) submit(ctx context.Context, m *member) error {
	if err := w.usable(ctx); err != nil {
		return err
	}
	err := w.queue.Do(ctx, m, m.size())
	switch {
	case errors.Is(err, groupcommit.ErrClosed):
		return refusal.Closed()
	case err == nil:
		return m.err
	}
	return err
}

// groupBounds bound one round. The bytes are those of metadata and comments, so that
// its manifest can be read again.
func groupBounds() groupcommit.Bounds {
	return groupcommit.Bounds{Callers: 1024, Writes: 65_536, Bytes: protocol.MaxDocument / 4}
}

// size is how much of a round the member takes.
func (m *member) size() groupcommit.Size {
	if m.draft == nil {
		return groupcommit.Size{}
	}
	return groupcommit.Size{Writes: len(m.draft.Writes), Bytes: len(m.draft.Metadata) + len(m.draft.Comment) + 1<<10}
}

// leadGroup publishes a group of callers when it is this process's turn.
func (w *writer) leadGroup(leader *member) error {
	ctx := leader.Context()
	if err := w.publishing.acquire(ctx); err != nil {
		return err
	}
	defer w.publishing.release()
	done, err := w.turn(ctx, leader)
	if err != nil {
		return err
	}
	defer done()
	if group := w.queue.Take(); len(group) > 0 {
		w.publish(group)
	}
	return nil
}

// exclusive is a lock that can be waited for until a context ends.
type exclusive chan struct{}

func (e exclusive) acquire(ctx context.Context) error {
	select {
	case e <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e exclusive) release() { <-e }

// turn waits for the turn of this process where processes take turns. Meanwhile it
// looks up what the member needs, and at the end the head that others have published:
// on an older one the swap would be lost. The holder of the write lease does not wait
// for a turn, since the processes in line may be waiting for the lease.
func (w *writer) turn(ctx context.Context, m *member) (done func(), err error) {
	local, ok := w.bucket.(bucket.Local)
	if !ok || m.keepsOut() {
		return func() {}, nil
	}
	done, err = local.Turn(ctx, w.opts.Patience, func() { w.prepare(ctx, m) })
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, onto.Errorf(onto.LockContention, "it was not this writer's turn in time: %w", err).
			WithHint("try again, or let fewer programs write")
	}
	_, _ = w.log.Refresh(ctx) // if it fails, so will the publication
	return done, nil
}

// prepare reads what the decision on a member needs, so that less is left to read
// during its turn.
func (w *writer) prepare(ctx context.Context, m *member) {
	t, err := w.log.Refresh(ctx)
	if err != nil {
		return // the publication fails then
	}
	s, err := w.shelve(ctx, t)
	if err != nil {
		return
	}
	_, _ = w.roundOn(ctx, s, []*member{m})
}

// keepsOut reports whether the member holds the write lease.
func (m *member) keepsOut() bool {
	return m.kept != nil || m.draft != nil && lease.KeepsOut(m.draft.Lease)
}

// errPanicked is the verdict of a member whose Admit has panicked.
var errPanicked = errors.New("the caller panicked")

// publish publishes what members want as one round and gives each its verdict. If
// another writer swaps the head first, all members are decided again.
func (w *writer) publish(members []*member) {
	ctx, end := groupcommit.Wanted(members)
	defer end()
	err := w.usable(ctx)
	if err == nil {
		var d *decided
		var t *protocol.Tip
		t, err = w.publisher.Publish(ctx, func(t *protocol.Tip, attempt string) (p *protocol.Proposal, err error) {
			p, d, err = w.propose(ctx, members, t, attempt)
			return p, err
		})
		switch {
		case err != nil:
		case d != nil:
			w.adopt(ctx, t, d)
		default:
			for _, m := range members {
				m.err = cmp.Or(m.err, m.vouch(ctx, w.publisher, t))
			}
		}
	}
	for _, m := range members {
		if m.err = cmp.Or(m.err, err); onto.CodeOf(err) == onto.CopyUnfinished { // a verdict on an older head means nothing
			m.err = err
		}
	}
}

// decided is a round with the files that it becomes.
type decided struct {
	*decide.Round
	byType map[onto.TypeName][]onto.Version
	files  []protocol.DataFile
}

// propose decides what members want on top of a tip.
func (w *writer) propose(ctx context.Context, members []*member, t *protocol.Tip, attempt string) (*protocol.Proposal, *decided, error) {
	s, err := w.shelve(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	r, err := w.roundOn(ctx, s, members)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		m.decide(r)
	}
	types, evolved, err := s.Types.With(r.Types)
	if err != nil || len(r.Commits) == 0 && evolved == nil {
		return nil, nil, err
	}
	d := &decided{Round: r, byType: byType(r.Versions)}
	if d.files, err = w.filesOf(types, d.byType); err != nil {
		return nil, nil, err
	}
	p := w.publisher.Propose(t, newRound(r, d.files), evolved, attempt)
	p.Once = slices.ContainsFunc(members, func(m *member) bool { return m.draft != nil && m.draft.Evolve != nil })
	return p, d, nil
}

// newRound is the commits that were decided, with their files; nil for none.
func newRound(r *decide.Round, files []protocol.DataFile) *protocol.Round {
	if len(r.Commits) == 0 {
		return nil
	}
	commits := make([]protocol.CommitEntry, len(r.Commits))
	for i := range r.Commits {
		commits[i] = newCommitEntry(&r.Commits[i])
	}
	return &protocol.Round{Commits: commits, Files: files}
}

// adopt records what this process has published, so that it need not be read.
func (w *writer) adopt(ctx context.Context, t *protocol.Tip, d *decided) {
	if len(d.Commits) > 0 {
		w.files.Adopt(t.Manifest.Files, d.files)
		for i := range d.files {
			f := &t.Manifest.Files[i]
			w.files.Note(f, d.byType[f.TypeName()])
		}
	}
	if s := w.deriveAfter(ctx, t); s != nil {
		w.recent.adopt(s, d.Versions)
	}
}

// deriveAfter updates what is derived from a publication: the shelf, which it returns
// if there is one, the derived objects, and at times a checkpoint.
func (w *writer) deriveAfter(ctx context.Context, t *protocol.Tip) *protocol.Shelf {
	ctx = context.WithoutCancel(ctx)
	w.marked.Do(func() { // an older lake may lack it
		w.aside.Go(func() { _ = w.publisher.MarkEngine(ctx) }) // if it fails, the next handle tries again
	})
	s, err := w.shelve(ctx, t)
	w.mu.Lock()
	newest := w.shelf // of the tip, or of a later one
	w.mu.Unlock()
	touched, schemaChanged := derived.TouchedBy(t)
	w.derive(ctx, newest, touched, schemaChanged)
	if err != nil {
		return nil // the next question fails
	}
	if m := t.Manifest; m != nil && m.Round%protocol.CheckpointRounds == 0 {
		w.aside.Go(func() { _ = w.publisher.Checkpoint(ctx) }) // if it fails, the next one does more
	}
	return s
}

// derive brings the derived objects up to date with a shelf, beside the caller.
func (b *Backend) derive(ctx context.Context, s *protocol.Shelf, touched []onto.TypeName, schemaChanged bool) {
	b.deriver.Announce()
	b.aside.Go(func() { b.deriver.Derive(context.WithoutCancel(ctx), s, touched, schemaChanged) })
}

// Append implements [backend.Backend].
func (b *Backend) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if d.Evolve != nil {
		return onto.Result{}, onto.Errorf(onto.Invalid, "only a stream can evolve types").WithHint("append the draft as a stream")
	}
	if err := refusal.NoBus(d); err != nil {
		return onto.Result{}, err
	}
	m := &member{draft: d}
	return m.verdict(b.writer.submitFree(ctx, m, b.writer.submit))
}

// submitFree writes with a function such as submit, and retries whenever another holder
// has released the write lease, until it has waited too long.
func (w *writer) submitFree(ctx context.Context, m *member, submit func(context.Context, *member) error) error {
	wait := lease.Patiently(w.opts.LockTimeout, w.opts.MigrationWait)
	for {
		err := submit(ctx, m)
		if err == nil || err != m.barred || onto.CodeOf(err) != onto.LockContention {
			return err
		}
		t := w.log.Last()
		held, failed := w.leases.Holder(ctx, t)
		if failed != nil {
			return failed
		}
		left := wait.Left(held)
		if left <= 0 {
			return err
		}
		if err := w.leases.AwaitWrite(ctx, t, left); err != nil {
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
	if decide.Registered(s.Types.All, r) {
		return decide.Named(s.Types.All, r), nil
	}
	m := &member{registration: r}
	err = b.writer.submitFree(ctx, m, b.writer.submit)
	return m.named, err
}

// vouch makes durable what a member's answer depends on if it has no commit of its own.
func (m *member) vouch(ctx context.Context, p *protocol.Publisher, t *protocol.Tip) error {
	if m.draft == nil || m.err != nil {
		return nil
	}
	err := p.Durable(ctx, t)
	switch {
	case err == nil || onto.CodeOf(err) == onto.Closed:
		return err
	case m.result.Repeated:
		return onto.Errorf(onto.OutcomeUnknown, "commit %d has this idempotency key, and is not known to survive a power failure: %w", m.result.ID, err).
			WithHint("%s", protocol.UnsyncedHint)
	}
	return unvouched(err)
}

// unvouched is the error for what was there already, and may be undone.
func unvouched(err error) error {
	return onto.Errorf(onto.Unavailable, "nothing changed, but what is stored is not known to survive a power failure: %w", err).
		WithHint("%s", protocol.UnsyncedHint)
}
