package sqlite

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/decide"
)

// The limits of one piece of a stream: writes, and bytes of them.
const (
	chunk      = 1024
	chunkBytes = 4 << 20
)

// AppendStream applies writes that need not fit in memory as one commit. It
// holds the write lock until the stream has ended.
func (b *Backend) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	w, s, err := b.writer.beginWrite(ctx, b.deadline(), starter{lease: d.Lease})
	if err != nil {
		return onto.Result{}, driver.Wrap(b.at.Path, err)
	}
	defer b.writer.writing.release()
	defer b.writer.rollbackOpen(w) // also when the sequence panics
	st := &stream{ctx: ctx, draft: d, round: newRound(b.writer, w, s)}
	defer st.forget()
	res, err := st.run(writes)
	switch {
	case st.refusal != nil:
		return onto.Result{}, st.refusal
	case err != nil:
	case st.evolved:
		err = b.writer.commit(w)
	case res.Changed() && !res.Repeated, st.wrote():
		err = b.writer.commitTo(w, s, st.Head())
	default:
		b.writer.rollback(w)
		err = b.writer.vouch(s)
	}
	if err != nil {
		return onto.Result{}, driver.Wrap(b.at.Path, err)
	}
	return res, nil
}

// stream is a commit whose writes come in pieces.
type stream struct {
	*round
	*decide.Candidate
	ctx     context.Context
	draft   *backend.Draft
	made    []decide.Version // by the chunk that was decided last
	written bool             // the commit's row
	sum     int64            // of the checksums of what the pieces so far have made

	evolved bool                 // the types were changed
	changed []onto.SchemaVersion // the newest versions of those types

	refusal error // of the sequence, of Admit or of a write; it is returned as it is
}

func (s *stream) run(writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if err := s.fetch([]*member{{draft: s.draft}}); err != nil {
		return onto.Result{}, err
	}
	c, repeated, err := s.Begin(s.draft, checkLease(s.w, s.draft.Lease))
	if c == nil {
		if err == nil {
			err = s.writeBus(nil)
		}
		return repeated, err
	}
	s.Candidate = c
	if s.draft.Evolve != nil {
		if err := s.evolve(); err != nil {
			return onto.Result{}, err
		}
	}
	for writes, err := range decide.Pieces(s.ctx, writes, chunk, chunkBytes) {
		if err != nil {
			s.refusal = err
			return onto.Result{}, err
		}
		if err := s.writePiece(writes); err != nil {
			return onto.Result{}, err
		}
	}
	return s.end()
}

// writePiece decides some writes and writes what they make. The commit's row comes before
// the first versions, which refer to it; without any, SQLite would skip its id.
func (s *stream) writePiece(writes []backend.Write) error {
	clear(s.Newest)
	var ids identities
	ids.add(&backend.Draft{Writes: writes})
	if err := s.lookup(ids); err != nil {
		return err
	}
	if s.made, s.refusal = s.Chunk(s.made[:0], writes); s.refusal != nil {
		return s.refusal
	}
	if len(s.made) > 0 {
		c := s.Commit()
		s.sum += layout.VersionSums(s.w, c.ID, 1, s.made)[0]
		if !s.written {
			s.written = true
			if err := layout.InsertCommits(s.w, []decide.Commit{*c}, []int64{s.sum}); err != nil {
				return err
			}
		}
	}
	err := s.insertVersions(s.made)
	clear(s.made) // so that large fields are not kept
	return err
}

// end writes what is known only at the end.
func (s *stream) end() (onto.Result, error) {
	if err := s.ctx.Err(); err != nil {
		return onto.Result{}, err
	}
	if s.evolved { // what the flags of the changed types ask for
		if err := layout.Derive(s.ctx, s.w, s.changed, nil); err != nil {
			return onto.Result{}, err
		}
	}
	res := s.End()
	if err := s.writeBus(nil); err != nil || !res.Changed() {
		return res, err
	}
	return res, layout.UpdateCommit(s.w, s.Commit(), s.sum)
}
