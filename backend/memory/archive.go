package memory

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/typelist"
)

// Origin implements [backend.LogSource].
func (b *Backend) Origin(ctx context.Context) (string, error) {
	_, err := b.moment(ctx)
	return b.store.id, err
}

// LogHead implements [backend.LogSource].
func (b *Backend) LogHead(ctx context.Context) (int64, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return 0, err
	}
	return now.head(), nil
}

// LogSize implements [backend.LogSource].
func (b *Backend) LogSize(ctx context.Context, since, until int64) (backend.LogSize, error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return backend.LogSize{}, err
	}
	now := b.store.log
	until, err := refusal.LogSpan(since, until, now.head())
	if err != nil {
		return backend.LogSize{}, err
	}
	size := backend.LogSize{Head: now.head(), Commits: until - since, Notes: b.store.notes()}
	for _, v := range now.versions {
		if v.Commit > since && v.Commit <= until {
			size.Versions++
			size.Bytes += int64(len(v.Key) + len(v.Left) + len(v.Right) + len(v.Instance) + len(v.Fields))
		}
	}
	return size, nil
}

// notes counts what a copy will not have. The store is locked.
func (s *Store) notes() []backend.LogNote {
	counts := map[backend.LogNote]int64{}
	for _, e := range s.bus.events {
		counts[backend.LogNote{Code: backend.EventsStay, Of: e.Namespace}]++
	}
	for name, c := range s.bus.claims {
		status := onto.EventClaimed
		if !c.Dead.IsZero() {
			status = onto.EventDead
		} else if !c.Acked.IsZero() {
			status = onto.EventAcked
		}
		counts[backend.LogNote{Code: backend.ClaimsStay, Of: name.handler + " " + string(status)}]++
	}
	for _, i := range s.work.items {
		counts[backend.LogNote{Code: backend.WorkStays, Of: string(i.Status)}]++
	}
	codes := []backend.NoteCode{backend.EventsStay, backend.ClaimsStay, backend.WorkStays}
	var list []backend.LogNote
	for n, count := range counts {
		n.Count = count
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b backend.LogNote) int {
		return cmp.Or(cmp.Compare(slices.Index(codes, a.Code), slices.Index(codes, b.Code)), strings.Compare(a.Of, b.Of))
	})
	return list
}

// Log implements [backend.LogSource].
func (b *Backend) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return each(ctx, b, func(l log) ([]backend.LogEntry, error) {
		if since < 0 || since > l.head() {
			return nil, refusal.NoCommit(since, l.head())
		}
		var list []backend.LogEntry
		versions := l.versions
		for _, r := range l.commits {
			n := 0
			for n < len(versions) && versions[n].Commit == r.commit.ID {
				n++
			}
			if r.commit.ID > since {
				list = append(list, backend.LogEntry{Commit: &backend.LogCommit{Commit: r.commit, Metadata: bytes.Clone(r.metadata), Digest: r.digest, EventSum: r.eventSum}})
				for _, v := range versions[:n] {
					list = append(list, backend.LogEntry{Version: handOut(v)})
				}
			}
			versions = versions[n:]
		}
		return list, nil
	})
}

// CopyState implements [backend.Archive].
func (b *Backend) CopyState(ctx context.Context) (backend.CopyState, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return backend.CopyState{}, err
	}
	return now.copy, nil
}

// Restore implements [backend.Archive]. It reads the log before it takes the write lock.
func (b *Backend) Restore(ctx context.Context, r *backend.Restoration) error {
	if _, err := b.moment(ctx); err != nil {
		return err
	}
	var entries []backend.LogEntry
	if r.Log != nil {
		for e, err := range r.Log {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
	}
	if err := b.lockWrite(ctx, nil); err != nil {
		return err
	}
	s := b.store
	defer s.mu.Unlock()
	if r.Since != s.log.head() {
		return refusal.HeadMismatch(r.Since, s.log.head())
	}
	next, err := s.log.withTypes(r.Types)
	for i := 0; err == nil && i < len(entries); i++ {
		err = next.replay(&entries[i])
	}
	if err == nil {
		err = next.counted()
	}
	if err != nil {
		return err
	}
	next.copy = r.Copy()
	s.log = next
	s.wrote()
	return nil
}

// withTypes returns the log with the types of a restoration, without the versions that they
// say were purged. The log itself stays as it is.
func (l log) withTypes(given []onto.SchemaVersion) (log, error) {
	next := l
	next.schemas = typelist.Copy(given)
	next.commits, next.versions = slices.Clone(l.commits), slices.Clone(l.versions)
	next.turns++
	for i := 1; i < len(given); i++ {
		if typelist.Compare(given[i-1], given[i]) >= 0 {
			return log{}, refusal.TypesDisordered(&given[i])
		}
	}
	purged := func(v *onto.SchemaVersion) bool { return v.End != nil && v.End.Purged }
	before := map[onto.TypeName]int{} // up to which version the types had been purged
	for _, was := range l.schemas {
		i := slices.IndexFunc(next.schemas, func(v onto.SchemaVersion) bool { return typelist.Compare(v, was) == 0 })
		if i < 0 {
			return log{}, refusal.OtherType(&was)
		}
		v := &next.schemas[i]
		ended := was.End != nil && (v.End == nil || v.End.Commit != was.End.Commit)
		if v.Hash != was.Hash || v.Since != was.Since || ended || purged(&was) && !purged(v) {
			return log{}, refusal.OtherType(v)
		}
		v.JSON, v.Created, v.Runtime, v.Reason, v.Actor, v.Comment = was.JSON, was.Created, was.Runtime, was.Reason, was.Actor, was.Comment
		if purged(&was) {
			before[was.Schema.TypeName()] = was.Version
		}
	}
	for i := range next.schemas {
		if v := &next.schemas[i]; purged(v) && v.Version > before[v.Schema.TypeName()] {
			next.purge(v.Schema.TypeName())
		}
	}
	return next, nil
}

// replay appends an entry.
func (l *log) replay(e *backend.LogEntry) error {
	if e.Commit == nil {
		return l.replayVersion(&e.Version)
	}
	c := e.Commit
	if err := l.counted(); err != nil {
		return err
	}
	if c.ID != l.head()+1 {
		return refusal.LogGap(c.ID, l.head()+1)
	}
	if n := len(l.commits); n > 0 && c.Time.Before(l.commits[n-1].commit.Time) {
		return refusal.LogGoesBack(c, l.commits[n-1].commit.Time)
	}
	if err := c.Check(); err != nil {
		return err
	}
	if used, ok := l.keyed(c.IdempotencyKey); ok {
		return refusal.LogKeyUsed(c, used.commit.ID)
	}
	r := record{commit: c.Commit, digest: c.Digest, eventSum: c.EventSum}
	if len(c.Metadata) > 0 {
		r.metadata = bytes.Clone(c.Metadata)
	}
	r.commit.Metadata = nil
	l.commits = append(l.commits, r)
	return nil
}

func (l *log) replayVersion(v *onto.Version) error {
	if v.Commit != l.head() || v.Commit == 0 {
		return refusal.LogStray(v)
	}
	if n := len(l.versions); n > 0 && l.versions[n-1].Commit == v.Commit && l.versions[n-1].Identity.Compare(v.Identity) >= 0 {
		return refusal.LogDisordered(v)
	}
	known := func(s onto.SchemaVersion) bool {
		return s.Schema.TypeName() == v.TypeName() && s.Version == v.SchemaVersion
	}
	if !slices.ContainsFunc(l.schemas, known) {
		return refusal.LogMisstamped(v)
	}
	l.versions = append(l.versions, handOut(*v))
	return nil
}

// counted fails if the newest commit does not have as many versions as it says.
func (l *log) counted() error {
	if len(l.commits) == 0 {
		return nil
	}
	c := &l.commits[len(l.commits)-1].commit
	n := 0
	for _, v := range slices.Backward(l.versions) {
		if v.Commit != c.ID {
			break
		}
		n++
	}
	if n != c.Operations {
		return refusal.LogMiscounted(&backend.LogCommit{Commit: *c}, n)
	}
	return nil
}
