package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// record is a commit as it is kept.
type record struct {
	commit   onto.Commit     // without metadata
	metadata json.RawMessage // nil for none
	digest   string          // of the draft
	eventSum int64           // the sum of the checksums of the events that ride in it
}

// handOut returns the commit with metadata of its own.
func (r record) handOut() onto.Commit {
	c := r.commit
	if r.metadata != nil {
		c.Metadata, _ = codec.DecodeObject(r.metadata) // decoded once before it was kept
	}
	return c
}

// Append implements [backend.Backend].
func (b *Backend) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if d.Evolve != nil {
		return onto.Result{}, onto.Errorf(onto.Invalid, "only a stream can evolve types").WithHint("append the draft as a stream")
	}
	return b.append(ctx, d, d.Writes, nil)
}

// AppendStream implements [backend.Backend]. It reads the whole sequence
// before it takes the write lock, so the sequence may use the store.
func (b *Backend) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if _, err := b.moment(ctx); err != nil {
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
		list = append(list, w)
	}
	return b.append(ctx, d, list, d.Admit)
}

// admission is the type of Draft.Admit.
type admission = func(*backend.Write, *onto.Version) (bool, error)

// append decides what a draft means and keeps it, all under the lock.
func (b *Backend) append(ctx context.Context, d *backend.Draft, writes []backend.Write, admit admission) (onto.Result, error) {
	if err := b.lockWrite(ctx, d.Lease); err != nil {
		return onto.Result{}, err
	}
	s := b.store
	defer s.mu.Unlock()
	if used, ok := s.log.keyed(d.IdempotencyKey); ok {
		if used.digest != d.Digest {
			return onto.Result{}, refusal.KeyConflict(d.IdempotencyKey, used.commit.ID)
		}
		if s.bus.applyDraft(d, s.stamp()) {
			s.wrote()
		}
		return onto.Result{Commit: used.handOut(), At: used.commit.ID, Repeated: true}, nil
	}
	if err := s.checkLease(d.Lease); err != nil {
		return onto.Result{}, err
	}
	if err := s.bus.checkDraft(d); err != nil {
		return onto.Result{}, err
	}
	if d.Causation > s.log.head() {
		return onto.Result{}, refusal.NoCause(d.Causation, s.log.head())
	}
	if err := s.log.checkExpectations(d.Expect); err != nil {
		return onto.Result{}, err
	}
	for _, e := range d.Fence {
		if err := s.log.checkExpectations([]onto.Expectation{e}); err != nil {
			return onto.Result{}, refusal.Stale(err)
		}
	}
	next := s.log // the log if nothing fails
	if d.Evolve != nil {
		var err error
		if next, err = next.evolved(d.Evolve, s.stamp()); err != nil {
			return onto.Result{}, err
		}
	}
	if d.Begin != nil {
		d.Begin()
	}
	changes, err := next.changes(d.Evolve, writes, admit)
	if err != nil {
		return onto.Result{}, err
	}
	said, err := d.Header.Commit()
	if err != nil {
		return onto.Result{}, err
	}
	s.log = next
	now := s.stamp()
	if s.bus.applyDraft(d, now) || d.Evolve != nil || len(changes) > 0 {
		s.wrote()
	}
	if len(changes) == 0 {
		if len(d.Acks) > 0 {
			s.bus.emit(d.Events, 0, now)
		}
		return onto.Result{At: s.log.head()}, nil
	}
	riding := s.bus.emit(d.Events, s.log.head()+1, now)
	made := s.keep(d, said, changes, riding).handOut()
	return onto.Result{Commit: made, At: made.ID}, nil
}

// checkExpectations fails if one does not hold.
func (l log) checkExpectations(expect []onto.Expectation) error {
	for _, e := range expect {
		if e.Head && e.Commit != l.head() {
			return refusal.HeadMismatch(e.Commit, l.head())
		}
	}
	for _, e := range expect {
		var at int64
		if v, ok := l.newest(e.Identity, l.head()); ok && v.Live() {
			at = v.Commit
		}
		if !e.Head && e.Commit != at {
			return refusal.VersionMismatch(e, at)
		}
	}
	return nil
}

// changes returns the writes that make a version, or why the draft is refused.
// The log has the types that the draft leaves behind.
func (l log) changes(e *backend.Evolution, writes []backend.Write, admit admission) ([]backend.Write, error) {
	for _, w := range writes {
		if err := l.checkStamp(&w, e); err != nil {
			return nil, err
		}
	}
	current := l.current(l.head())
	var changes []backend.Write
	for _, w := range writes {
		newest := current[w.Identity]
		given := w
		w, err := l.merged(w, newest)
		if err != nil {
			if _, refused := admits(admit, given, newest); refused != nil {
				err = refused
			}
			return nil, err
		}
		admitted, err := admits(admit, w, newest)
		if err != nil {
			return nil, err
		}
		if !admitted {
			continue
		}
		if w.Once && newest != nil {
			if !tellsTheSame(w, newest) {
				return nil, refusal.FactKnown(&w, newest)
			}
			continue
		}
		if differs(w, newest) {
			changes = append(changes, w)
		}
	}
	return changes, nil
}

// differs reports whether a write changes anything.
func differs(w backend.Write, newest *onto.Version) bool {
	exists := newest != nil && newest.Op == onto.Put
	if w.Op == onto.Delete || !exists {
		return exists != (w.Op == onto.Put)
	}
	return string(w.Fields) != string(newest.Fields)
}

// tellsTheSame reports whether a write says of a fact what its newest version says.
func tellsTheSame(w backend.Write, newest *onto.Version) bool {
	if newest.Op != w.Op {
		return false
	}
	given, _ := codec.DecodeObject(w.Fields)
	known, _ := codec.DecodeObject(newest.Fields)
	for _, fields := range []map[string]any{given, known} {
		delete(fields, onto.FactSeq)
		delete(fields, onto.FactAsserted)
	}
	return reflect.DeepEqual(given, known)
}

// checkStamp fails if a write was not made for the newest version of its type or one
// that it continues, or, if its draft ends the type, is no delete for its last one.
func (l log) checkStamp(w *backend.Write, e *backend.Evolution) error {
	if v := l.existing(w.TypeName()); v != nil {
		if w.SchemaVersion != v.Version && (e != nil || !l.continues(w.TypeName(), w.SchemaVersion)) {
			return refusal.StampMismatch(w, v.Version)
		}
		return nil
	}
	if e == nil || !slices.ContainsFunc(e.End, func(t backend.EndedType) bool { return t.TypeName() == w.TypeName() }) {
		return refusal.StampMismatch(w, 0)
	}
	if last := l.last(w.TypeName()).Version; w.Op != onto.Delete || w.SchemaVersion != last {
		return refusal.TypeEnds(w, last)
	}
	return nil
}

// admits calls Admit for a write, with copies that it may keep.
func admits(admit admission, w backend.Write, newest *onto.Version) (bool, error) {
	if admit == nil {
		return true, nil
	}
	w.Fields = bytes.Clone(w.Fields)
	if newest != nil {
		v := handOut(*newest)
		newest = &v
	}
	return admit(&w, newest)
}

// keep adds a commit to the log. The store is locked.
func (s *Store) keep(d *backend.Draft, said onto.Commit, changes []backend.Write, riding []onto.Event) record {
	r := record{commit: said, digest: d.Digest}
	if len(d.Metadata) > 0 {
		r.metadata = bytes.Clone(d.Metadata)
	}
	r.commit.ID = s.log.head() + 1
	r.commit.Time = s.commitTime()
	r.commit.Operations, r.commit.Events = len(changes), len(riding)
	for i := range riding {
		r.eventSum += backend.EventSum(&riding[i])
	}
	r.commit.Metadata = nil
	for _, w := range changes {
		v := onto.Version{
			Identity: w.Identity, Op: w.Op, Commit: r.commit.ID,
			SchemaVersion: w.SchemaVersion, Fields: bytes.Clone(w.Fields),
		}
		if w.Op == onto.Delete {
			v.Fields = json.RawMessage("{}")
		}
		s.log.versions = append(s.log.versions, v)
	}
	s.log.commits = append(s.log.commits, r)
	return r
}

// commitTime returns the time of the next commit: now, but never before the
// head's, also if the clock went back.
func (s *Store) commitTime() time.Time {
	now := s.stamp()
	if n := len(s.log.commits); n > 0 && now.Before(s.log.commits[n-1].commit.Time) {
		return s.log.commits[n-1].commit.Time
	}
	return now
}

// stamp returns the present time as it is stored.
func (s *Store) stamp() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// keyed returns the commit that has an idempotency key.
func (l log) keyed(key string) (record, bool) {
	for _, r := range l.commits {
		if key != "" && r.commit.IdempotencyKey == key {
			return r, true
		}
	}
	return record{}, false
}

// Resolve implements [backend.Backend].
func (b *Backend) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return onto.Commit{}, err
	}
	id := now.head()
	if c, ok := p.Commit(); ok {
		if c < 0 || c > now.head() {
			return onto.Commit{}, refusal.NoCommit(c, now.head())
		}
		id = c
	}
	if t, ok := p.Time(); ok {
		id = now.lastUntil(t)
	}
	if id == 0 {
		return onto.Commit{}, nil
	}
	return now.commits[id-1].handOut(), nil
}

// lastUntil returns the last commit whose time is not after t, or 0.
func (l log) lastUntil(t time.Time) int64 {
	var id int64
	for _, r := range l.commits {
		if !r.commit.Time.After(t) {
			id = r.commit.ID
		}
	}
	return id
}

// Commits implements [backend.Backend].
func (b *Backend) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	return each(ctx, b, func(l log) ([]onto.Commit, error) {
		var list []onto.Commit
		for _, r := range l.commits {
			if r.commit.ID > q.Since && r.commit.ID <= l.reach(q.Until) && (q.Key == "" || q.Key == r.commit.IdempotencyKey) &&
				(q.IDs == nil || slices.Contains(q.IDs, r.commit.ID)) {
				list = append(list, r.handOut())
			}
		}
		if q.Newest {
			slices.Reverse(list)
		}
		return first(list, q.Limit), nil
	})
}
