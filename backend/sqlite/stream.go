package sqlite

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// chunk is how many writes of a stream are decided and written at a time.
const chunk = 1024

// AppendStream applies writes that need not fit in memory as one commit. It
// holds the write lock until the stream has ended.
func (b *Backend) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	until := b.deadline()
	if err := b.writing.acquire(ctx, until, b.path); err != nil {
		return onto.Result{}, err
	}
	defer b.writing.release()
	w, s, err := b.beginWrite(ctx, until)
	if err != nil {
		return onto.Result{}, wrap(b.path, err)
	}
	defer b.rollbackOpen(w) // also when the sequence panics
	st := &stream{ctx: ctx, draft: d, group: newGroup(b, w, s)}
	res, err := st.run(writes)
	switch {
	case st.sourceErr != nil:
		return onto.Result{}, st.sourceErr
	case err != nil:
		return onto.Result{}, wrap(b.path, err)
	case !res.Changed() || res.Repeated:
		return res, nil
	}
	if err := b.commit(w); err != nil {
		return onto.Result{}, wrap(b.path, err)
	}
	return res, nil
}

// stream is a commit whose writes come one after the other.
type stream struct {
	*group
	ctx     context.Context
	draft   *backend.Draft
	hash    *backend.Hash // of the draft, if it has an idempotency key
	pending []backend.Write
	same    int // how many writes changed nothing
	row     commitRow

	sourceErr error // what the sequence itself failed with
}

func (s *stream) run(writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if key := s.draft.Commit.IdempotencyKey; key != "" {
		s.hash = backend.NewHash(s.draft)
		used, ok, err := s.keyUsed(key)
		if err != nil {
			return onto.Result{}, err
		}
		if ok {
			return s.repeat(writes, used)
		}
	}
	if err := s.begin(); err != nil {
		return onto.Result{}, err
	}
	if err := s.each(writes, s.take); err != nil {
		return onto.Result{}, err
	}
	return s.end()
}

// each reads the sequence to its end, or to the first error.
func (s *stream) each(writes iter.Seq2[backend.Write, error], f func(backend.Write) error) error {
	for w, err := range writes {
		if err != nil {
			s.sourceErr = err
			return err
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if s.hash != nil {
			s.hash.Add(&w)
		}
		if err := f(w); err != nil {
			return err
		}
	}
	return nil
}

// repeat reads the stream only to learn whether it is the same draft again.
func (s *stream) repeat(writes iter.Seq2[backend.Write, error], used usedKey) (onto.Result, error) {
	if err := s.each(writes, func(backend.Write) error { return nil }); err != nil {
		return onto.Result{}, err
	}
	if err := backend.CheckRepeat(s.draft.Commit.IdempotencyKey, used.hash, s.hash.Sum(), used.commit.ID); err != nil {
		return onto.Result{}, err
	}
	return onto.Result{Commit: used.commit, Repeated: true}, nil
}

// begin judges the expectations and writes the commit's row, which the
// versions refer to.
func (s *stream) begin() error {
	var ids identities
	ids.addExpected(s.draft.Expect)
	if err := s.lookup(ids); err != nil {
		return err
	}
	if err := s.check(s.draft); err != nil {
		return err
	}
	row, err := newCommitRow(s.draft, "", s.head+1, s.time())
	if err != nil {
		return err
	}
	s.row = row
	return insertCommits(s.w, []commitRow{s.row})
}

// take accepts one write.
func (s *stream) take(w backend.Write) error {
	if err := s.b.types.checkStamp(&w); err != nil {
		return err
	}
	s.pending = append(s.pending, w)
	if len(s.pending) < chunk {
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
	seen := make(map[onto.Identity]*backend.Write, len(s.pending))
	for i := range s.pending {
		w := &s.pending[i]
		first, twice := seen[w.Identity]
		var err error
		if twice {
			err = backend.SameTwice(first, w)
		} else {
			seen[w.Identity] = w
			err = s.decideOne(w)
		}
		if err != nil {
			return err
		}
	}
	s.pending = s.pending[:0]
	return s.insertVersions()
}

// decideOne adds a write to the chunk if it changes something. An identity
// that an earlier chunk had is noticed in one of two ways: what it changed is
// in the projection under this commit's id, what it left alone is in a
// temporary table.
func (s *stream) decideOne(w *backend.Write) error {
	current := s.current[w.Identity]
	if current != nil && current.Commit == s.row.ID {
		first := backend.Write{Identity: w.Identity, Op: current.Op}
		if current.Live() {
			first.Fields = current.Fields
		}
		return backend.SameTwice(&first, w)
	}
	if !backend.Changes(w, current) {
		return s.leaveAlone(w)
	}
	if s.same > 0 {
		n, err := s.w.queryInt(`SELECT count(*) FROM temp.onto_same WHERE type = ? AND a = ? AND b = ? AND c = ?`, sameArgs(w)...)
		if err != nil {
			return err
		}
		if n > 0 {
			other := backend.Write{Identity: w.Identity}
			return backend.SameTwice(&other, w)
		}
	}
	s.row.Operations++
	s.add(w, s.row.ID)
	return nil
}

// leaveAlone remembers an identity that the stream has and that needs no version.
func (s *stream) leaveAlone(w *backend.Write) error {
	if s.same == 0 {
		err := s.w.script(`CREATE TEMP TABLE IF NOT EXISTS onto_same (type, a, b, c, PRIMARY KEY (type, a, b, c)) WITHOUT ROWID;
			DELETE FROM temp.onto_same`)
		if err != nil {
			return err
		}
	}
	s.same++
	return s.w.exec(`INSERT OR IGNORE INTO temp.onto_same VALUES (?, ?, ?, ?)`, sameArgs(w)...)
}

// sameArgs is the identity as a row of onto_same. An entity's empty right key
// tells it from a relation, which always has one.
func sameArgs(w *backend.Write) []any {
	if w.Kind == onto.KindEntity {
		return []any{w.Type, w.Key, "", ""}
	}
	return []any{w.Type, w.Left, w.Right, w.Instance}
}

// end writes the rest and what is known only now.
func (s *stream) end() (onto.Result, error) {
	if err := s.flush(); err != nil {
		return onto.Result{}, err
	}
	if err := s.ctx.Err(); err != nil {
		return onto.Result{}, err
	}
	if s.row.Operations == 0 {
		return onto.Result{}, nil
	}
	if s.hash != nil {
		s.row.hash = s.hash.Sum()
	}
	err := s.w.exec(`UPDATE commits SET operations = ?, draft_hash = ? WHERE id = ?`, s.row.Operations, orNull(s.row.hash), s.row.ID)
	return onto.Result{Commit: s.row.Commit}, err
}
