package lake

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/lease"
	"github.com/ontologia/onto/internal/refusal"
)

// DefaultStreamBytes is how much of a stream is held in memory.
const DefaultStreamBytes = 16 << 20

// A short stream joins the group like any draft. A long one is decided piece by piece
// into data files on disk, and is published alone. Both are decided again if others
// publish meanwhile.

// AppendStream implements [backend.Backend].
func (b *Backend) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if err := b.usable(ctx); err != nil {
		return onto.Result{}, err
	}
	if err := refusal.NoBus(d); err != nil {
		return onto.Result{}, err
	}
	list, all, err := readShort(ctx, writes, b.opts.StreamBytes)
	if err != nil {
		return onto.Result{}, err
	}
	m := &member{draft: withCopies(*d)}
	if all {
		m.draft.Writes = list
		return m.verdict(b.writer.submitFree(ctx, m, b.writer.submit))
	}
	s := &stream{backend: b, member: m, writes: writes}
	defer s.forget()
	return m.verdict(b.whileOpen(ctx, s.append))
}

// readShort reads a stream into memory if it takes no more than a limit, and reports
// whether that is all of it.
func readShort(ctx context.Context, writes iter.Seq2[backend.Write, error], limit int64) (list []backend.Write, all bool, err error) {
	bytes := int64(0)
	for w, err := range writes {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, false, err
		}
		list = append(list, w)
		if bytes += sizeOf(&w); bytes > limit {
			return nil, false, nil
		}
	}
	return list, true, nil
}

// writeOverhead is what a write takes in memory besides its texts.
const writeOverhead = 160

func sizeOf(w *backend.Write) int64 {
	return int64(len(w.Key)+len(w.Left)+len(w.Right)+len(w.Instance)+len(w.Fields)) + writeOverhead
}

// stream is a long stream that is being appended.
type stream struct {
	*member
	backend *Backend
	writes  iter.Seq2[backend.Write, error]
	decided bool // at least once
	ready   *readyStream
	last    *protocol.Proposal // nil before the first
}

// readyStream is a stream as it was decided on one tip. It is good for others as
// well that have the same commits and types, such as after a compaction.
type readyStream struct {
	on    *protocol.Shelf
	round *decide.Round
	types *protocol.Types // that it leaves behind
	files []protocol.DataFile
	disk  *datafile.Disk // with the files

	uploaded time.Time // when the last of them was; zero before
}

// errOutrun is returned by a planner: others have committed while a long stream was
// decided.
var errOutrun = errors.New("others were faster than the stream")

// append publishes the stream. If others commit first it is decided again, under the
// write lease so that they wait. A lease that it carries is renewed: the stream may take
// longer than the lease lasts.
func (s *stream) append(ctx context.Context) error {
	defer s.backend.leases.Keep(ctx, s.draft.Lease)()
	err := s.backend.writer.submitFree(ctx, s.member, s.publish)
	if !errors.Is(err, errOutrun) {
		return err
	}
	lease, release, err := s.backend.writer.keepOut(ctx)
	if err != nil {
		return err
	}
	defer release()
	s.kept = &lease
	return s.backend.writer.submitFree(ctx, s.member, s.publish)
}

// publish decides and publishes the stream.
func (s *stream) publish(ctx context.Context, m *member) error {
	b := s.backend
	if err := b.writer.publishing.acquire(ctx); err != nil {
		return err
	}
	defer b.writer.publishing.release()
	if err := b.usable(ctx); err != nil {
		return err
	}
	t, err := b.publisher.Publish(ctx, func(t *protocol.Tip, attempt string) (*protocol.Proposal, error) { return s.propose(ctx, t, attempt) })
	if err == nil {
		err = m.err
	}
	if err == nil && s.ready == nil {
		err = m.vouch(ctx, b.publisher, t)
	}
	switch {
	case err == nil && s.ready != nil:
		if t.Manifest != nil { // an evolution of an empty store may make no commit
			b.files.Adopt(t.Manifest.Files, s.ready.files)
		}
		b.writer.deriveAfter(ctx, t)
	case err != nil && onto.CodeOf(err) != onto.OutcomeUnknown && (s.last == nil || s.last.Refusal == nil):
		s.discard(ctx)
	}
	return err
}

// propose decides the stream on top of a tip.
func (s *stream) propose(ctx context.Context, t *protocol.Tip, attempt string) (*protocol.Proposal, error) {
	b := s.backend
	sh, err := b.shelve(ctx, t)
	if err != nil {
		return nil, err
	}
	s.err = nil
	if !s.ready.goodFor(sh) {
		s.discard(ctx)
		if s.decided && !s.keepsOut() {
			return nil, errOutrun
		}
		if err := s.decide(ctx, sh); err != nil || s.ready == nil {
			return nil, err
		}
	} else if s.barred = s.mayWrite(ctx, b.leases, t); s.barred != nil {
		s.err = s.barred
		return nil, nil
	}
	if err := s.ready.upload(ctx, b); err != nil {
		return nil, err
	}
	_, evolved, err := sh.Types.With(s.ready.types.Judge)
	if err != nil {
		return nil, err
	}
	p := b.publisher.Propose(t, newRound(s.ready.round, s.ready.files), evolved, attempt)
	p.Once = s.draft.Evolve != nil
	s.last = p
	return p, nil
}

// goodFor reports whether the prepared stream can be published on top of a shelf.
func (r *readyStream) goodFor(sh *protocol.Shelf) bool {
	return r != nil && r.on.Tip.Head.CommitID == sh.Tip.Head.CommitID && protocol.SameTypes(r.on.Tip.Catalog.Types, sh.Tip.Catalog.Types)
}

// upload writes the files that are ready, unless they were written lately.
func (r *readyStream) upload(ctx context.Context, b *Backend) error {
	if !r.uploaded.IsZero() && time.Since(r.uploaded) < protocol.ReadyTimes*b.opts.Patience {
		return nil
	}
	err := datafile.Upload(ctx, b.publisher, r.files, r.on.Tip.Head.CommitID+int64(len(r.round.Commits)), newAttempt())
	r.uploaded = time.Now()
	return err
}

// discard removes what was uploaded. It certainly was not published: a head was read that
// proves it, or no swap was sent.
func (r *readyStream) discard(ctx context.Context, b *Backend) {
	var objects []protocol.Object
	for _, f := range r.files {
		if f.Key != "" {
			objects = append(objects, protocol.Object{Key: f.Key})
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.opts.Patience)
	defer cancel()
	b.publisher.Discard(ctx, objects)
}

// discard drops what is prepared, and removes it where it was uploaded.
func (s *stream) discard(ctx context.Context) {
	if s.ready != nil {
		s.ready.discard(ctx, s.backend)
		s.forget()
	}
}

// decide prepares what is to be published on top of a shelf; nothing, if the stream is
// a no-op or refused.
func (s *stream) decide(ctx context.Context, sh *protocol.Shelf) error {
	b := s.backend
	r, err := b.writer.roundOn(ctx, sh, []*member{s.member})
	if err != nil {
		return err
	}
	c, repeated, err := r.Begin(s.draft, s.member.barred)
	if c == nil {
		s.result, s.err = repeated, err
		return nil
	}
	ready := &readyStream{on: sh, round: r}
	var evolved *protocol.Catalog
	if ready.types, evolved, err = sh.Types.With(c.Types); err != nil {
		return err
	}
	if ready.disk, err = b.files.Disk(); err != nil {
		return err
	}
	defer func() {
		if s.ready == nil {
			ready.disk.Close()
		}
	}()
	p := &pieces{Candidate: c, round: r, backend: b, shelf: sh, out: typeWriter{disk: ready.disk, types: ready.types, limit: 2 * b.opts.StreamBytes}}
	err = p.run(ctx, s.writes)
	files, failed := p.out.end()
	if err == nil {
		err = failed
	}
	switch {
	case p.refusal != nil: // certain only if the tip is the newest
		s.result, s.err = onto.Result{}, p.refusal
		return nil
	case err != nil:
		return err
	}
	s.decided = true
	s.result = c.End()
	if s.result.Changed() || evolved != nil {
		ready.files, s.ready = files, ready
	}
	return nil
}

// forget frees the disk space of the decided stream.
func (s *stream) forget() {
	if s.ready != nil {
		s.ready.disk.Close()
		s.ready = nil
	}
}

// keepOut takes the write lease and renews it until it is released. If it is lost, the
// commit fails.
func (w *writer) keepOut(ctx context.Context) (kept onto.Lease, release func(), err error) {
	held, err := lease.Take(ctx, w.leases, &backend.LeaseRequest{
		Name: onto.WriteLease, Owner: "a long commit of " + w.opts.Runtime, TTL: keepOutTime, Wait: w.opts.LockTimeout,
	})
	if err != nil {
		return kept, nil, err
	}
	stop := held.Keeping(ctx, func() {})
	return held.Current(), func() {
		_ = stop()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opts.Patience)
		defer cancel()
		_ = held.Release(ctx) // if it fails, the lease expires
	}, nil
}

// keepOutTime is how long other writers wait if the program that holds the lease is
// killed.
const keepOutTime = time.Minute
