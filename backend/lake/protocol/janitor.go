package protocol

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/parallel"
)

// Janitor finds and removes objects that are not needed.
type Janitor struct {
	log         *Log
	foreignFile ForeignFile
}

// ForeignFile tells why an object is not a data file of a type written by a store; ""
// if it is one, or is gone.
type ForeignFile func(ctx context.Context, e bucket.Entry, t onto.TypeName, store string) (string, error)

// NewJanitor is the janitor of a log. Foreign recognises data files.
func NewJanitor(l *Log, f ForeignFile) *Janitor { return &Janitor{l, f} }

// LeastGrace is the least age at which an object may be removed: no attempt lasts as
// long.
func (j *Janitor) LeastGrace() time.Duration { return graceTimes * j.log.set.Patience }

// ReadyTimes is how many times the patience files may lie in the bucket before they
// are published. A janitor leaves them for longer.
const ReadyTimes = 60

// graceTimes is how many times its patience an attempt can last from one object
// that it writes to the next, and to its end.
const graceTimes = ReadyTimes + createTimes + swapTimes

// Plan finds objects that no head leads to and that are older than a grace period,
// which must be longer than any attempt can last. Listings only propose candidates; the
// head decides what is needed.
func (j *Janitor) Plan(ctx context.Context, grace time.Duration) (*backend.OrphanPlan, error) {
	entries, err := j.removable(ctx)
	if err != nil {
		return nil, err
	}
	t, err := j.log.Load(ctx) // after the listing: what was published before the listing is known now
	if err != nil {
		return nil, err
	}
	needed, err := j.needed(ctx, t)
	if err != nil {
		return nil, err
	}
	plan := needed.orphans(entries, grace)
	return plan, j.spare(ctx, plan, needed, t.Head.StoreID)
}

// spare removes from a plan what the store has not written.
func (j *Janitor) spare(ctx context.Context, plan *backend.OrphanPlan, n *need, store string) error {
	why := make([]string, len(plan.Orphans))
	err := parallel.Do(sweptAtOnce, len(why), func(i int) (err error) {
		why[i], err = j.foreign(ctx, entryOf(&plan.Orphans[i]), n, store)
		return err
	})
	if err != nil {
		return err
	}
	own := plan.Orphans[:0]
	plan.Bytes = 0
	for i, o := range plan.Orphans {
		if why[i] != "" {
			plan.Foreign = append(plan.Foreign, backend.ForeignObject{Key: o.Key, Size: o.Size, Reason: why[i]})
			continue
		}
		own = append(own, o)
		plan.Bytes += o.Size
	}
	plan.Orphans = own
	slices.SortFunc(plan.Foreign, func(a, b backend.ForeignObject) int { return strings.Compare(a.Key, b.Key) })
	return nil
}

// sweptAtOnce is how many objects are checked, or removed, at the same time.
const sweptAtOnce = 16

// removable lists the objects that attempts and probes write, needed or not.
func (j *Janitor) removable(ctx context.Context) ([]bucket.Entry, error) {
	var entries []bucket.Entry
	for _, prefix := range []string{"commits/", "meta/catalog/", "meta/checkpoints/", transientFolder, probeFolder, "snapshots/"} {
		for e, err := range j.log.Each(ctx, prefix) {
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// orphans is those of the listed objects that are not needed and that are older than a
// grace period. Objects with names that no writer gives are foreign, at any age.
func (n *need) orphans(entries []bucket.Entry, grace time.Duration) *backend.OrphanPlan {
	plan := &backend.OrphanPlan{}
	age := ages(entries)
	for _, e := range entries {
		if why := formed(e.Key); why != "" && !n.live[e.Key] {
			plan.Foreign = append(plan.Foreign, backend.ForeignObject{Key: e.Key, Size: e.Size, Reason: why})
			continue
		}
		reason := n.unneeded(e.Key, age, grace)
		if reason != "" && age[e.Key] > grace {
			plan.Orphans = append(plan.Orphans, backend.Orphan{Key: e.Key, Size: e.Size, Age: age[e.Key], Reason: reason})
		}
	}
	slices.SortFunc(plan.Orphans, func(a, b backend.Orphan) int { return strings.Compare(a.Key, b.Key) })
	return plan
}

// ages tells how old objects are, relative to the newest of them, so that no machine's
// clock matters. The objects of one attempt are as old as the newest of them: a long
// commit may still be adding to them.
func ages(entries []bucket.Entry) map[string]time.Duration {
	newest := time.Time{}
	for _, e := range entries {
		if e.Modified.After(newest) {
			newest = e.Modified
		}
	}
	attempts := map[string]time.Duration{}
	for _, e := range entries {
		name, age := AttemptOf(e.Key), newest.Sub(e.Modified)
		if known, ok := attempts[name]; !ok || age < known {
			attempts[name] = age
		}
	}
	list := make(map[string]time.Duration, len(entries))
	for _, e := range entries {
		list[e.Key] = attempts[AttemptOf(e.Key)]
	}
	return list
}

// need is what a head leads to.
type need struct {
	attempts map[string]bool // of all rounds, checkpoints, files and of the catalog
	live     map[string]bool // data files
	tables   map[onto.TypeName][]FileEntry
	replaced map[string]FileEntry // data files that a compaction has replaced
	purged   map[string]bool      // data files without rows that still exist
}

// unneeded tells why an object may be removed; "" if it may not. A file that was
// replaced is kept until its replacement is older than the grace period: a reader may
// still be about to read it.
func (n *need) unneeded(key string, age map[string]time.Duration, grace time.Duration) string {
	switch {
	case n.live[key]:
		return ""
	case n.purged[key]:
		return "purged"
	}
	old, replaced := n.replaced[key]
	if !replaced {
		if n.attempts[AttemptOf(key)] {
			return ""
		}
		var snapshot name
		snapshot, replaced = parseKey(key)
		replaced = replaced && snapshot.role == snapshotRole
		old = FileEntry{Kind: snapshot.Kind, Type: snapshot.Name, First: snapshot.first, Last: snapshot.number}
	}
	if !replaced {
		return "abandoned"
	}
	for _, f := range n.tables[old.TypeName()] {
		if f.First <= old.First && old.Last <= f.Last {
			if since, ok := age[f.Path]; !ok || since <= grace {
				return ""
			}
			return "replaced"
		}
	}
	return "abandoned"
}

// keeps reports whether an object must stay.
func (n *need) keeps(key string) bool {
	if n.live[key] || n.purged[key] {
		return n.live[key]
	}
	_, replaced := n.replaced[key]
	return !replaced && n.attempts[AttemptOf(key)]
}

// needed is what a head leads to.
func (j *Janitor) needed(ctx context.Context, t *Tip) (*need, error) {
	n := &need{
		attempts: map[string]bool{t.Head.Attempt: true, t.Catalog.Attempt: true},
		live:     map[string]bool{}, replaced: map[string]FileEntry{}, purged: map[string]bool{},
	}
	for name, epoch := range t.Head.Locks {
		n.live[transientKey(name, epoch)] = true
	}
	if t.Manifest == nil {
		return n, nil
	}
	n.attempts[t.Manifest.Attempt] = true
	s, err := j.log.Shelve(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	n.tables = s.Files
	add := func(f FileEntry, live bool) {
		switch {
		case f.Version <= s.Types.Purged[f.TypeName()]:
			n.purged[f.Path] = true
		case live:
			n.live[f.Path], n.attempts[AttemptOf(f.Path)] = true, true
		case !n.live[f.Path]:
			n.replaced[f.Path] = f
		}
	}
	for _, files := range s.Files {
		for _, f := range files {
			add(f, true)
		}
	}
	rounds, err := j.log.since(ctx, t, 0)
	for _, r := range rounds {
		n.attempts[AttemptOf(r.Path)] = true
		for _, f := range r.files {
			add(f, false)
		}
	}
	return n, errors.Join(err, j.log.eachCheckpoint(ctx, t.Catalog.Checkpoints, func(e *CheckpointEntry) { n.attempts[AttemptOf(e.Path)] = true }))
}

// eachCheckpoint names all checkpoints, of every level.
func (l *Log) eachCheckpoint(ctx context.Context, entries []CheckpointEntry, name func(*CheckpointEntry)) error {
	for i := range entries {
		name(&entries[i])
		if entries[i].Level == 0 {
			continue
		}
		doc, err := l.readCheckpoint(ctx, &entries[i])
		if err == nil {
			err = l.eachCheckpoint(ctx, doc.Children, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entryOf is an orphan as it is listed.
func entryOf(o *backend.Orphan) bucket.Entry { return bucket.Entry{Key: o.Key, Size: o.Size} }

// AttemptOf is the attempt that wrote an object, as its key tells: what stands
// after the last dash, without the ending.
func AttemptOf(key string) string {
	part := strings.Split(key, "/")
	name := part[len(part)-1]
	if strings.HasPrefix(key, "commits/") {
		name = part[1]
	}
	name, _, _ = strings.Cut(name[strings.LastIndexByte(name, '-')+1:], ".")
	return name
}

// Sweep removes what a plan names, after making sure once more that no head
// leads to it and that the store has written it. It returns how many objects it
// removed.
func (j *Janitor) Sweep(ctx context.Context, plan *backend.OrphanPlan) (int, error) {
	t, err := j.log.Load(ctx)
	if err != nil {
		return 0, err
	}
	needed, err := j.needed(ctx, t)
	if err != nil {
		return 0, err
	}
	var removed atomic.Int64
	err = parallel.Do(sweptAtOnce, len(plan.Orphans), func(i int) error {
		o := &plan.Orphans[i]
		if needed.keeps(o.Key) {
			return nil
		}
		if why, err := j.foreign(ctx, entryOf(o), needed, t.Head.StoreID); why != "" || err != nil {
			return err
		}
		if err := j.log.b.Delete(ctx, o.Key); err != nil {
			return err
		}
		removed.Add(1)
		return nil
	})
	return int(removed.Load()), err
}
