package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	hash    *backend.Hash // of the draft, if it has an idempotency key
	pending []backend.Write
	bytes   int // of the fields of pending
	left    int // how many writes were left alone: they changed nothing or were not admitted
	row     commitRow
	written bool // the commit's row

	evolved bool                  // the types were changed
	changed []onto.SchemaVersion  // the newest versions of those types
	ended   map[onto.TypeName]int // the last version of types that are no more

	sourceErr error // what the sequence itself, or Admit, failed with
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
	if s.draft.Evolve != nil {
		if err := s.evolve(); err != nil {
			return onto.Result{}, err
		}
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

// begin judges the expectations and prepares the commit's row.
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
	err := s.insertCommit()
	if err == nil {
		err = s.insertVersions()
	}
	clear(s.pending) // so that large fields are not kept
	s.pending, s.bytes = s.pending[:0], 0
	return err
}

// decideOne adds a write to the chunk if it is admitted and changes something.
// An identity that an earlier chunk had is noticed in one of two ways: what it
// changed is in the projection under this commit's id, what it left alone is in
// a temporary table.
func (s *stream) decideOne(w *backend.Write) error {
	current := s.current[w.Identity]
	if current != nil && current.Commit == s.row.ID {
		first := backend.Write{Identity: w.Identity, Op: current.Op}
		if current.Live() {
			first.Fields = current.Fields
		}
		return backend.SameTwice(&first, w)
	}
	if s.left > 0 && (s.draft.Admit != nil || backend.Changes(w, current)) {
		if twice, err := s.leftBefore(w); twice || err != nil {
			return err
		}
	}
	admitted, err := s.admit(w, current)
	if err != nil {
		return err
	}
	if !admitted || !backend.Changes(w, current) {
		return s.leaveAlone(w)
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

// leftBefore reports whether an earlier chunk has left the identity alone. It
// fails if that wanted something else of it.
func (s *stream) leftBefore(w *backend.Write) (bool, error) {
	row, ok, err := s.w.queryRow(`SELECT want FROM temp.onto_left WHERE type = ? AND a = ? AND b = ? AND c = ?`, identityRow(w)...)
	if err != nil || !ok || s.draft.Admit != nil && bytes.Equal(row.bytes(0), wantHash(w)) {
		return ok, err
	}
	return true, backend.SameTwice(&backend.Write{Identity: w.Identity}, w)
}

// leaveAlone remembers an identity that the stream has and that gets no
// version. Without Admit it is as the stream wants it; otherwise what was
// wanted has to be remembered too.
func (s *stream) leaveAlone(w *backend.Write) error {
	if s.left == 0 {
		err := s.w.script(`CREATE TEMP TABLE IF NOT EXISTS onto_left (type, a, b, c, want, PRIMARY KEY (type, a, b, c)) WITHOUT ROWID;
			DELETE FROM temp.onto_left`)
		if err != nil {
			return err
		}
	}
	s.left++
	var want any
	if s.draft.Admit != nil {
		want = wantHash(w)
	}
	return s.w.exec(`INSERT OR IGNORE INTO temp.onto_left VALUES (?, ?, ?, ?, ?)`, append(identityRow(w), want)...)
}

// wantHash stands for what a write wants of its identity.
func wantHash(w *backend.Write) []byte {
	sum := sha256.Sum256(append([]byte(w.Op), w.Fields...))
	return sum[:]
}

// identityRow is the identity as a row of onto_left. An entity's empty right key
// tells it from a relation, which always has one.
func identityRow(w *backend.Write) []any {
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
	if err := s.finish(); err != nil || s.row.Operations == 0 {
		return onto.Result{}, err
	}
	if s.hash != nil {
		s.row.hash = s.hash.Sum()
	}
	err := s.w.exec(`UPDATE commits SET operations = ?, draft_hash = ? WHERE id = ?`, s.row.Operations, orNull(s.row.hash), s.row.ID)
	return onto.Result{Commit: s.row.Commit}, err
}
