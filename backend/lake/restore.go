package lake

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/spool"
)

// A restoration becomes one round. Its log is read once, sorted as data files want it, and
// then published like a long stream; no version is looked up. If others change the types
// meanwhile, the types are compared again, and if they commit, it is refused.

// Restore implements [backend.Archive].
func (b *Backend) Restore(ctx context.Context, wanted *backend.Restoration) error {
	r := &restoration{member: &member{}, backend: b, wanted: wanted}
	defer r.forget()
	err := b.whileOpen(ctx, func(ctx context.Context) error { return b.writer.submitFree(ctx, r.member, r.publish) })
	if err != nil && r.ready != nil && onto.CodeOf(err) != onto.OutcomeUnknown && (r.last == nil || r.last.Refusal == nil) {
		r.ready.discard(ctx, b)
	}
	if r.failed != nil {
		return r.failed
	}
	return err
}

// restoration is a part of a log that is being appended.
type restoration struct {
	*member
	backend *Backend
	wanted  *backend.Restoration
	ready   *readyStream // nil until the log was read
	copy    backend.CopyState
	last    *protocol.Proposal // nil before the first
	failed  error              // why the log could not be read
}

// forget frees disk space.
func (r *restoration) forget() {
	if r.ready != nil && r.ready.disk != nil {
		r.ready.disk.Close()
	}
}

// publish decides and publishes the restoration.
func (r *restoration) publish(ctx context.Context, m *member) error {
	b := r.backend
	if err := b.writer.publishing.acquire(ctx); err != nil {
		return err
	}
	defer b.writer.publishing.release()
	if err := b.usable(ctx); err != nil {
		return err
	}
	var proposed *protocol.Proposal // last
	t, err := b.publisher.Publish(ctx, func(t *protocol.Tip, attempt string) (p *protocol.Proposal, err error) {
		p, err = r.propose(ctx, t, attempt)
		proposed = p
		return p, err
	})
	switch {
	case err != nil:
		return err
	case m.err != nil:
		return m.err
	case proposed == nil: // all of it is there already
		if err = b.publisher.Durable(ctx, t); err != nil && onto.CodeOf(err) != onto.Closed {
			err = unvouched(err)
		}
		return err
	}
	b.writer.deriveAfter(ctx, t)
	return nil
}

// propose puts the restoration on top of a tip.
func (r *restoration) propose(ctx context.Context, t *protocol.Tip, attempt string) (*protocol.Proposal, error) {
	b := r.backend
	s, err := b.shelve(ctx, t)
	if err != nil {
		return nil, err
	}
	if r.barred = r.mayWrite(ctx, b.leases, t); r.barred != nil {
		r.err = r.barred
		return nil, nil
	}
	round, err := b.writer.emptyRound(s)
	if err != nil {
		return nil, err
	}
	var replay *decide.Replay
	if replay, r.err = round.Replay(r.logged()); r.err != nil { // certain only if the tip is the newest
		return nil, nil
	}
	types, evolved, err := s.Types.With(replay.Types)
	if err != nil {
		return nil, err
	}
	if r.ready == nil {
		if err := r.decide(ctx, s, round, replay, types); err != nil {
			return nil, err
		}
	}
	if len(r.ready.round.Commits) == 0 && evolved == nil && r.copy == t.Head.Copy.State() {
		return nil, nil
	}
	if r.ready.disk != nil {
		if err := r.ready.upload(ctx, b); err != nil {
			return nil, err
		}
	}
	r.last = b.publisher.ProposeCopy(t, newRound(r.ready.round, r.ready.files), evolved, attempt, r.copy)
	return r.last, nil
}

// logged is the restoration with a log that notes its error.
func (r *restoration) logged() *backend.Restoration {
	w := *r.wanted
	if log := r.wanted.Log; log != nil {
		w.Log = func(yield func(backend.LogEntry, error) bool) {
			for e, err := range log {
				if err != nil {
					r.failed = err
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
	return &w
}

const (
	// maxRestored is how many commits a restoration may have: the keys of the rounds that
	// one checkpoint lists must fit into it.
	maxRestored = 10_000
	// A piece is read at a time.
	pieceVersions = 4096
	pieceBytes    = 4 << 20
)

// decide reads the log and makes the round of it, on top of a shelf that is that of the
// newest head.
func (r *restoration) decide(ctx context.Context, s *protocol.Shelf, round *decide.Round, replay *decide.Replay, types *protocol.Types) error {
	b := r.backend
	if now, err := b.log.Refresh(ctx); err != nil {
		return err
	} else if now.Head.Sequence != s.Tip.Head.Sequence {
		return protocol.ErrStale // the log is read once, so what refuses it must be certain
	}
	versions := spool.NewSorter(spool.Versions(datafile.Compare), b.opts.StreamBytes, func() (spool.File, error) { return b.files.Scratch() })
	defer versions.Close()
	seen, bytes := 0, 0
	for piece, err := range replay.Pieces(ctx, pieceVersions, pieceBytes) {
		if err == nil {
			bytes, err = r.check(ctx, s, round.Commits[seen:], seen, bytes)
		}
		seen = len(round.Commits)
		for i := 0; i < len(piece) && err == nil; i++ {
			v := piece[i].Version
			err = versions.Add(&v)
		}
		if err != nil {
			return notStale(err)
		}
	}
	replay.End()
	if err := r.ask(); err != nil {
		return err
	}
	ready := &readyStream{on: s, round: round, types: types}
	err := versions.End()
	if err == nil && versions.Spilled() {
		err = ready.store(ctx, b, versions)
	} else if err == nil {
		err = ready.hold(ctx, b, versions)
	}
	if err != nil && ready.disk != nil {
		ready.disk.Close()
	}
	if err == nil {
		r.ready = ready
	}
	return err
}

// notStale hides from the publisher that the log of another lake was stale: that is no
// reason to read it again.
func notStale(err error) error {
	if errors.Is(err, protocol.ErrStale) || errors.Is(err, protocol.ErrReplaced) {
		return onto.Errorf(onto.Unavailable, "%v", err)
	}
	return err
}

// check refuses commits that cannot be part of the round: bytes is what the texts of those
// before them take. The keys of earlier rounds are known from one reading of the
// checkpoints and the rounds after them; only for a key that has the hash of another one a
// round is looked up.
func (r *restoration) check(ctx context.Context, s *protocol.Shelf, commits []decide.Commit, before, bytes int) (int, error) {
	for i := range commits {
		c := &commits[i]
		bytes += len(c.Metadata) + len(c.Comment) + len(c.IdempotencyKey)
		if before+i >= maxRestored || bytes > protocol.MaxDocument {
			return bytes, onto.Errorf(onto.TooLarge, "commits %d to %d are too many for one round of a lake, which has room for %d, and for %d MiB of what they say",
				s.Tip.Head.CommitID+1, c.ID, maxRestored, protocol.MaxDocument>>20).WithHint("restore fewer at a time")
		}
		if c.IdempotencyKey == "" {
			continue
		}
		used, err := r.backend.writer.keys.Find(ctx, s.Tip, c.IdempotencyKey)
		if err != nil {
			return bytes, err
		}
		if used != nil {
			return bytes, refusal.LogKeyUsed(&backend.LogCommit{Commit: c.Commit}, used.ID)
		}
	}
	return bytes, nil
}

// ask asks what the lake says from then on.
func (r *restoration) ask() error {
	r.copy = r.wanted.Copy()
	for _, text := range []string{r.copy.Origin, r.copy.Flags, r.copy.Sum} {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return onto.Errorf(onto.Invalid, "%.80q cannot be said of a copy: it is no text", text)
		}
	}
	return nil
}

// hold makes data files in memory.
func (r *readyStream) hold(ctx context.Context, b *Backend, versions *spool.Sorter[*onto.Version]) (err error) {
	lists := map[onto.TypeName][]onto.Version{}
	for v, err := range versions.Sorted(ctx) {
		if err != nil {
			return err
		}
		t := v.TypeName()
		lists[t] = append(lists[t], *v)
	}
	r.files, err = b.writer.filesOf(r.types, lists)
	return err
}

// store makes data files on disk.
func (r *readyStream) store(ctx context.Context, b *Backend, versions *spool.Sorter[*onto.Version]) (err error) {
	if r.disk, err = b.files.Disk(); err != nil {
		return err
	}
	out := &typeWriter{disk: r.disk, types: r.types, limit: b.opts.StreamBytes}
	for v, err := range versions.Sorted(ctx) {
		if err == nil {
			err = out.write(v)
		}
		if err != nil {
			return err
		}
	}
	r.files, err = out.end()
	return err
}
