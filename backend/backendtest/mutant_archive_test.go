package backendtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/internal/typelist"
)

// archiveMutants lists mistakes with logs and copies.
func archiveMutants() []mutant {
	return []mutant{
		{"versions that change nothing are not restored", "archive", restoring(dropping(unchanged))},
		{"deletes are not restored", "archive copies", restoring(dropping(func(_ *history, v *onto.Version) bool { return v.Op == onto.Delete }))},
		{"a purge is not repeated", "archive copies", inCommon(func(b backend.Backend, p *forgottenPurges) backend.Backend { return unpurged{archived{b}, p} })},
		{"a log is in order of types", "archive copies", logging(arrangedBy(func(a, b onto.Version) int { return strings.Compare(a.Type, b.Type) }))},
		{"a log is in order of kinds as they are declared", "archive copies", logging(arrangedBy(func(a, b onto.Version) int { return strings.Compare(string(b.Kind), string(a.Kind)) }))},
		{"a log is in the order of letters", "archive", logging(arrangedBy(byLetter))},
		{"a log has what was written last first", "archive copies", logging(arrangedBy(func(onto.Version, onto.Version) int { return 1 }))},
		{"digests are not restored", "archive copies", editingCommits(func(c *backend.LogCommit) { c.Digest = "" })},
		{"keys are not restored", "archive copies", editingCommits(func(c *backend.LogCommit) { c.IdempotencyKey = "" })},
		{"metadata is not restored", "archive copies", editingCommits(func(c *backend.LogCommit) { c.Metadata = nil })},
		{"causes are not restored", "archive copies", editingCommits(func(c *backend.LogCommit) { c.Causation = 0 })},
		{"counts of events are not restored", "archive", editingCommits(func(c *backend.LogCommit) { c.Events, c.EventSum = 0, 0 })},
		{"commits are as old as their copies", "archive copies", wrapped(func(b backend.Backend, p *backendtest.Place) backend.Backend {
			return restorer{archived{b}, commits(func(c *backend.LogCommit) {
				if now := p.Now().UTC().Truncate(time.Microsecond); now.After(c.Time) {
					c.Time = now
				}
			})}
		})},
		{"times lose their microseconds", "copies", editingCommits(func(c *backend.LogCommit) { c.Time = c.Time.Truncate(time.Millisecond) })},
		{"upgraders are not restored", "archive copies", editingTypes(func(_ int64, v *onto.SchemaVersion) { v.Upgrader = nil })},
		{"ends are not restored", "archive copies", editingTypes(func(_ int64, v *onto.SchemaVersion) { v.End = nil })},
		{"who made types is not restored", "archive", editingTypes(func(_ int64, v *onto.SchemaVersion) { v.Actor = onto.Actor{} })},
		{"who purged a type is not restored", "archive", editingTypes(func(_ int64, v *onto.SchemaVersion) {
			if v.End != nil {
				v.End.Purge = onto.Purge{}
			}
		})},
		{"why types were made is not restored", "archive", editingTypes(func(_ int64, v *onto.SchemaVersion) { v.Comment = "" })},
		{"who taught upgraders is not restored", "archive", editingTypes(func(_ int64, v *onto.SchemaVersion) { v.Learned = nil })},
		{"types begin with their part", "archive copies", editingTypes(func(since int64, v *onto.SchemaVersion) { v.Since = max(v.Since, since+1) })},
		{"flags are not restored", "archive copies", editingTypes(func(_ int64, v *onto.SchemaVersion) { v.Schema = unflagged(v.Schema) })},
		{"a part is published with the next one", "archive copies", around(func(b backend.Backend) *lagging { return &lagging{archived: archived{b}} })},
		{"an unfinished copy can be used", "archive", usable},
		{"counts of a copy leave deletes out", "archive copies", around(func(b backend.Backend) recounting { return recounting{archived{b}} })},
		{"words of a copy are not found", "archive copies", around(func(b backend.Backend) wordless { return wordless{archived{b}} })},
		{"a log that fails is restored in part", "archive copies", restoring(anyway)},
		{"the error of a log is wrapped", "archive copies", restoring(explained)},
		{"a restoration begins anywhere", "archive", restoring(anywhere)},
		{"a log is read twice", "archive copies", restoring(twice)},
		{"the state is asked for first", "archive", restoring(askedFirst)},
		{"a finished copy forgets what it is", "archive copies", restoring(forgottenState)},
		{"a log begins with its commit", "archive copies", around(func(b backend.Backend) inclusiveLog { return inclusiveLog{archived{b}} })},
		{"a log after the head is empty", "archive", around(func(b backend.Backend) endless { return endless{archived{b}} })},
		{"a log goes on with later commits", "archive", around(func(b backend.Backend) growing { return growing{archived{b}} })},
		{"a cancelled log goes on", "archive", around(func(b backend.Backend) deafLog { return deafLog{archived{b}} })},
		{"a failed restoration is there", "faults", around(func(b backend.Backend) *faulty { return &faulty{archived: archived{b}, late: true} })},
	}
}

// entries is a log.
type entries = iter.Seq2[backend.LogEntry, error]

// archived passes everything on, and is an archive if the backend is one.
type archived struct{ backend.Backend }

func (b archived) Unwrap() backend.Backend { return b.Backend }

// archive is the archive that is passed on to.
func (b archived) archive() backend.Archive {
	a, _ := backend.As[backend.Archive](b.Backend)
	return a
}

func (b archived) Origin(ctx context.Context) (string, error) { return b.archive().Origin(ctx) }

func (b archived) LogHead(ctx context.Context) (int64, error) { return b.archive().LogHead(ctx) }

func (b archived) LogSize(ctx context.Context, since, until int64) (backend.LogSize, error) {
	return b.archive().LogSize(ctx, since, until)
}

func (b archived) Log(ctx context.Context, since int64) entries { return b.archive().Log(ctx, since) }

func (b archived) Restore(ctx context.Context, r *backend.Restoration) error {
	return b.archive().Restore(ctx, r)
}

func (b archived) CopyState(ctx context.Context) (backend.CopyState, error) {
	return b.archive().CopyState(ctx)
}

// restoring plants a mistake into restorations.
func restoring(restore func(ctx context.Context, b archived, r backend.Restoration) error) planting {
	return around(func(b backend.Backend) restorer { return restorer{archived{b}, restore} })
}

type restorer struct {
	archived
	restore func(ctx context.Context, b archived, r backend.Restoration) error
}

func (b restorer) Restore(ctx context.Context, r *backend.Restoration) error {
	return b.restore(ctx, b.archived, *r)
}

// commits edits the commits of what is restored.
func commits(change func(*backend.LogCommit)) func(context.Context, archived, backend.Restoration) error {
	return func(ctx context.Context, b archived, r backend.Restoration) error {
		if log := r.Log; log != nil {
			r.Log = edit(log, func(e *backend.LogEntry) {
				if e.Commit != nil {
					c := *e.Commit
					change(&c)
					e.Commit = &c
				}
			})
		}
		return b.Restore(ctx, &r)
	}
}

func editingCommits(change func(*backend.LogCommit)) planting { return restoring(commits(change)) }

// editingTypes changes the types that are restored, unless that would contradict those that
// are there.
func editingTypes(change func(since int64, v *onto.SchemaVersion)) planting {
	return restoring(func(ctx context.Context, b archived, r backend.Restoration) error {
		stored, err := b.Schemas(ctx)
		if err != nil {
			return err
		}
		r.Types = typelist.Copy(r.Types)
		for i := range r.Types {
			v := &r.Types[i]
			given := v.Since
			change(r.Since, v)
			if at := slices.IndexFunc(stored, func(s onto.SchemaVersion) bool { return typelist.Compare(s, *v) == 0 }); at >= 0 && given != v.Since {
				v.Since = stored[at].Since
			}
		}
		return b.Restore(ctx, &r)
	})
}

// history is the newest versions of a log.
type history struct {
	newest map[onto.Identity]onto.Version
}

// unchanged reports whether a version changes nothing.
func unchanged(h *history, v *onto.Version) bool {
	before, ok := h.newest[v.Identity]
	if v.Op == onto.Delete {
		return !ok || !before.Live()
	}
	return before.Live() && string(before.Fields) == string(v.Fields)
}

// dropping drops versions, and counts those that are left.
func dropping(drop func(*history, *onto.Version) bool) func(context.Context, archived, backend.Restoration) error {
	return func(ctx context.Context, b archived, r backend.Restoration) error {
		h := &history{map[onto.Identity]onto.Version{}}
		if stored, err := all(b.Log(ctx, 0)); err == nil {
			for _, e := range stored {
				h.newest[e.Version.Identity] = e.Version
			}
		}
		if r.Log == nil {
			return b.Restore(ctx, &r)
		}
		list, err := all(r.Log)
		var kept []backend.LogEntry
		var last *backend.LogCommit
		for _, e := range list {
			switch {
			case e.Commit != nil:
				c := *e.Commit
				last, e.Commit = &c, &c
			case drop(h, &e.Version):
				last.Operations--
				continue
			default:
				h.newest[e.Version.Identity] = e.Version
			}
			kept = append(kept, e)
		}
		r.Log = replay(kept, err)
		return b.Restore(ctx, &r)
	}
}

type forgottenPurges struct {
	mu     sync.Mutex // guards purged
	purged map[string]int64
}

// unpurged tells of purges, and leaves the versions.
type unpurged struct {
	archived
	*forgottenPurges
}

func named(v *onto.SchemaVersion) string { return fmt.Sprint(v.Schema.TypeName(), v.Version) }

func (b unpurged) Restore(ctx context.Context, r *backend.Restoration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := *r
	c.Types = typelist.Copy(r.Types)
	purged := map[string]int64{}
	for i := range c.Types {
		if v := &c.Types[i]; v.End != nil && v.End.Purged {
			purged[named(v)] = v.End.Versions
			v.End.Purged, v.End.Versions = false, 0
		}
	}
	err := b.archived.Restore(ctx, &c)
	if err == nil {
		b.purged = purged
	}
	return err
}

func (b unpurged) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	list, err := b.Backend.Schemas(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range list {
		if n, ok := b.purged[named(&list[i])]; ok && list[i].End != nil {
			list[i].End.Purged, list[i].End.Versions = true, n
		}
	}
	return list, err
}

// Check does not compare the types with the versions.
func (b unpurged) Check(context.Context) iter.Seq2[onto.Finding, error] {
	return replay[onto.Finding](nil, nil)
}

// logging plants a mistake into the versions of each commit of a log.
func logging(arrange func([]onto.Version)) planting {
	return around(func(b backend.Backend) logger { return logger{archived{b}, arrange} })
}

type logger struct {
	archived
	arrange func([]onto.Version)
}

func (b logger) Log(ctx context.Context, since int64) entries {
	return func(yield func(backend.LogEntry, error) bool) {
		list, err := all(b.archived.Log(ctx, since))
		for i := 0; i < len(list); {
			n := 1
			var versions []onto.Version
			for i+n < len(list) && list[i+n].Commit == nil {
				versions = append(versions, list[i+n].Version)
				n++
			}
			b.arrange(versions)
			for j, v := range versions {
				list[i+1+j].Version = v
			}
			i += n
		}
		replay(list, err)(yield)
	}
}

// arrangedBy arranges versions; a comparison that always says 1 reverses them.
func arrangedBy(compare func(a, b onto.Version) int) func([]onto.Version) {
	return func(list []onto.Version) {
		if compare(onto.Version{}, onto.Version{}) != 0 {
			slices.Reverse(list)
			return
		}
		slices.SortStableFunc(list, compare)
	}
}

// lagging publishes a part when the next one comes.
type lagging struct {
	archived
	mu   sync.Mutex // guards next
	next *backend.Restoration
}

func (b *lagging) Restore(ctx context.Context, r *backend.Restoration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		if err := b.archived.Restore(ctx, b.next); err != nil {
			return err
		}
		b.next = nil
	}
	c := *r
	if r.Log != nil {
		list, err := all(r.Log)
		if err != nil {
			return err
		}
		c.Log = replay(list, nil)
	}
	b.next = &c
	return nil
}

// usable opens every store as the target of a copy.
func usable(t backendtest.Target) backendtest.Target {
	open := t.Open
	t.Open = func(tb testing.TB, p *backendtest.Place) backend.Backend {
		target := *p
		target.Target = true
		return open(tb, &target)
	}
	return t
}

// recounting counts the versions of the commits of a copy anew, without deletes.
type recounting struct{ archived }

func (b recounting) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	state, _ := b.CopyState(ctx)
	deletes := map[int64]int{}
	if list, err := all(b.Log(ctx, 0)); err == nil {
		for _, e := range list {
			if e.Commit == nil && !e.Version.Live() && e.Version.Commit <= state.Commit {
				deletes[e.Version.Commit]++
			}
		}
	}
	return edit(b.Backend.Commits(ctx, q), func(c *onto.Commit) { c.Operations -= deletes[c.ID] })
}

// wordless finds no words in what was restored.
type wordless struct{ archived }

func (b wordless) Scan(ctx context.Context, q *backend.Query) versions {
	state, err := b.CopyState(ctx)
	if len(q.Search) == 0 || err != nil {
		return b.Backend.Scan(ctx, q)
	}
	return func(yield func(onto.Version, error) bool) {
		for v, err := range b.Backend.Scan(ctx, q) {
			if (err != nil || v.Commit > state.Commit) && !yield(v, err) {
				return
			}
		}
	}
}

// anyway restores what came before an error as far as it is whole.
func anyway(ctx context.Context, b archived, r backend.Restoration) error {
	if r.Log == nil {
		return b.Restore(ctx, &r)
	}
	list, broken := all(r.Log)
	for broken != nil && len(list) > 0 && list[len(list)-1].Commit == nil {
		list = list[:len(list)-1]
	}
	if broken != nil && len(list) > 0 {
		list = list[:len(list)-1]
	}
	r.Log = replay(list, nil)
	return errors.Join(b.Restore(ctx, &r), broken)
}

func explained(ctx context.Context, b archived, r backend.Restoration) error {
	if err := b.Restore(ctx, &r); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// anywhere restores a log on any head.
func anywhere(ctx context.Context, b archived, r backend.Restoration) error {
	head, err := b.Resolve(ctx, onto.Point{})
	if err != nil {
		return err
	}
	if r.Log == nil {
		r.Since = head.ID
	}
	return b.Restore(ctx, &r)
}

// twice counts the entries before it restores them.
func twice(ctx context.Context, b archived, r backend.Restoration) error {
	if r.Log != nil {
		if _, err := all(r.Log); err != nil {
			return err
		}
	}
	return b.Restore(ctx, &r)
}

func askedFirst(ctx context.Context, b archived, r backend.Restoration) error {
	if r.Copy != nil {
		state := r.Copy()
		r.Copy = func() backend.CopyState { return state }
	}
	return b.Restore(ctx, &r)
}

func forgottenState(ctx context.Context, b archived, r backend.Restoration) error {
	ask := r.Copy
	r.Copy = func() backend.CopyState {
		state := ask()
		if !state.Unfinished {
			state = backend.CopyState{Commit: state.Commit}
		}
		return state
	}
	return b.Restore(ctx, &r)
}

type inclusiveLog struct{ archived }

func (b inclusiveLog) Log(ctx context.Context, since int64) entries {
	return b.archived.Log(ctx, max(min(since, 0), since-1))
}

// endless knows no commit that is not there.
type endless struct{ archived }

func (b endless) Log(ctx context.Context, since int64) entries {
	log := b.archived.Log(ctx, since)
	return func(yield func(backend.LogEntry, error) bool) {
		for e, err := range log {
			if errors.Is(err, onto.NotFound) || !yield(e, err) {
				return
			}
		}
	}
}

// growing goes on until there is nothing more.
type growing struct{ archived }

func (b growing) Log(ctx context.Context, since int64) entries {
	return func(yield func(backend.LogEntry, error) bool) {
		for last := int64(-1); last != since; {
			last = since
			for e, err := range b.archived.Log(ctx, since) {
				if !yield(e, err) || err != nil {
					return
				}
				if e.Commit != nil {
					since = e.Commit.ID
				}
			}
		}
	}
}

// deafLog goes on when it is cancelled.
type deafLog struct{ archived }

func (b deafLog) Log(ctx context.Context, since int64) entries {
	if ctx.Err() != nil {
		return b.archived.Log(ctx, since)
	}
	return b.archived.Log(context.WithoutCancel(ctx), since)
}
