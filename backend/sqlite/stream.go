package sqlite

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// A stream's writes are decided and written so many at a time, or so many bytes
// of them.
const (
	chunk      = 1024
	chunkBytes = 4 << 20
)

// AppendStream applies writes that need not fit in memory as one commit. It
// holds the write lock until the stream has ended.
func (b *Backend) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	w, s, err := b.beginFor(ctx, b.deadline(), d.Lease)
	if err != nil {
		return onto.Result{}, wrap(b.path, err)
	}
	defer b.writing.release()
	defer b.rollbackOpen(w) // also when the sequence panics
	st := &stream{ctx: ctx, draft: d, group: newGroup(b, w, s)}
	defer st.forget()
	res, err := st.run(writes)
	switch {
	case st.sourceErr != nil:
		return onto.Result{}, st.sourceErr
	case err != nil:
		return onto.Result{}, wrap(b.path, err)
	case !st.evolved && (!res.Changed() || res.Repeated):
		b.rollback(w)
		if err := b.vouch(s); err != nil {
			return onto.Result{}, err
		}
		return res, nil
	}
	if err := b.commit(w); err != nil {
		return onto.Result{}, wrap(b.path, err)
	}
	if !st.evolved {
		b.durable.reached(standpoint{res.ID, s.schemas, s.derived})
	}
	return res, nil
}

// stream is a commit whose writes come one after the other.
type stream struct {
	*group
	ctx     context.Context
	draft   *backend.Draft
	pending []backend.Write
	bytes   int // of the fields of pending
	row     commitRow
	written bool // the commit's row

	evolved bool                  // the types were changed
	changed []onto.SchemaVersion  // the newest versions of those types
	ended   map[onto.TypeName]int // the last version of types that are no more

	sourceErr error // what the sequence itself, or Admit, failed with
}

func (s *stream) run(writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if key := s.draft.IdempotencyKey; key != "" {
		used, ok, err := s.keyUsed(key)
		if err == nil && ok {
			err = backend.CheckRepeat(key, used.hash, s.draft.Digest, used.commit.ID)
		}
		if err != nil {
			return onto.Result{}, err
		}
		if ok {
			return onto.Result{Commit: used.commit, Repeated: true}, nil
		}
	}
	if err := s.begin(); err != nil {
		return onto.Result{}, err
	}
	if s.draft.Evolve != nil {
		if err := s.evolve(); err != nil {
			return onto.Result{}, err
		}
	}
	if s.draft.Begin != nil {
		s.draft.Begin()
	}
	for w, err := range writes {
		if err != nil {
			s.sourceErr = err
			return onto.Result{}, err
		}
		if err := s.ctx.Err(); err != nil {
			return onto.Result{}, err
		}
		if err := s.take(w); err != nil {
			return onto.Result{}, err
		}
	}
	return s.end()
}

// begin judges the expectations and prepares the commit's row.
func (s *stream) begin() error {
	var ids identities
	ids.addExpected(s.draft)
	if err := s.lookup(ids); err != nil {
		return err
	}
	if err := s.check(s.draft); err != nil {
		return err
	}
	row, err := newCommitRow(s.draft, s.head+1, s.time())
	if err != nil {
		return err
	}
	s.row = row
	return nil
}

// insertCommit writes the commit's row before the first versions, which refer
// to it. Without any it is not written: SQLite would skip its id.
func (s *stream) insertCommit() error {
	if s.written || len(s.entities)+len(s.relations) == 0 {
		return nil
	}
	s.written = true
	return insertCommits(s.w, []commitRow{s.row})
}

// take accepts one write.
func (s *stream) take(w backend.Write) error {
	if err := s.checkStamp(&w); err != nil {
		return err
	}
	s.pending = append(s.pending, w)
	s.bytes += len(w.Fields)
	if len(s.pending) < chunk && s.bytes < chunkBytes {
		return nil
	}
	return s.flush()
}

// flush decides and writes what is pending.
func (s *stream) flush() error {
	clear(s.current)
	var ids identities
	for i := range s.pending {
		ids.add(&s.pending[i].Identity)
	}
	if err := s.lookup(ids); err != nil {
		return err
	}
	s.entities, s.relations = s.entities[:0], s.relations[:0]
	for i := range s.pending {
		if err := s.decideOne(&s.pending[i]); err != nil {
			return err
		}
	}
	err := s.insertCommit()
	if err == nil {
		err = s.insertVersions()
	}
	clear(s.pending) // so that large fields are not kept
	s.pending, s.bytes = s.pending[:0], 0
	return err
}

// decideOne adds a write to the chunk if it is admitted and changes something.
func (s *stream) decideOne(w *backend.Write) error {
	current := s.current[w.Identity]
	admitted, err := s.admit(w, current)
	if err != nil || !admitted || !backend.Changes(w, current) {
		return err
	}
	s.row.Operations++
	s.add(w, s.row.ID)
	return nil
}

// admit asks the draft about a write.
func (s *stream) admit(w *backend.Write, current *onto.Version) (bool, error) {
	if s.draft.Admit == nil {
		return true, nil
	}
	ok, err := s.draft.Admit(w, current)
	s.sourceErr = err
	return ok, err
}

// end writes the rest and what is known only now.
func (s *stream) end() (onto.Result, error) {
	if err := s.flush(); err != nil {
		return onto.Result{}, err
	}
	if err := s.ctx.Err(); err != nil {
		return onto.Result{}, err
	}
	if err := s.finish(); err != nil || s.row.Operations == 0 {
		return onto.Result{}, err
	}
	err := s.w.exec(`UPDATE commits SET operations = ? WHERE id = ?`, s.row.Operations, s.row.ID)
	return onto.Result{Commit: s.row.Commit}, err
}
