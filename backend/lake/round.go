package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/codec"
)

// round is commits to be published together, decided on top of one tip.
type round struct {
	commits []commitEntry // with the ids and times that they were decided with; proposeRound adds those that are missing
	files   []dataFile
}

// dataFile is the versions of one type, encoded. Its rows carry commit ids, so it
// is good for one tip only.
type dataFile struct {
	kind          onto.Kind
	typ           string
	version       int
	rows          int64
	typed, unique bool
	identities    string     // as its entry has it
	level         int        // how often its rows were compacted
	part          int        // of those that its type has in the round, from 0 on
	key           string     // where it was written before; "" if it is written with the round
	body          []byte     // nil if it is on disk
	stored        storedBody // nil if it is in memory
}

// storedBody is the body of a data file that is not held in memory.
type storedBody interface {
	Read() ([]byte, error)
	SHA256() string // of all
	Size() int64
}

// content returns the body, wherever it is.
func (f *dataFile) content() ([]byte, error) {
	if f.stored != nil {
		return f.stored.Read()
	}
	return f.body, nil
}

// path is where a data file of an attempt is.
func (f *dataFile) path(commit int64, attempt string) string {
	var part string
	if f.part > 0 {
		part = fmt.Sprintf("%d/", f.part+1)
	}
	return fmt.Sprintf("commits/%d-%s/%s%s/%s.parquet", commit, attempt, part, folderOf(f.kind), bucket.Escape(f.typ))
}

// entry is how a manifest names the file, for a range of commits.
func (f *dataFile) entry(path string, first, last int64) fileEntry {
	e := fileEntry{
		Kind: f.kind, Type: f.typ, Path: path, Rows: f.rows, Version: f.version, First: first, Last: last, Typed: f.typed, Unique: f.unique,
		Identities: f.identities, Level: f.level,
	}
	if f.stored != nil {
		e.SHA256, e.Bytes = f.stored.SHA256(), f.stored.Size()
	} else {
		e.SHA256, e.Bytes = hashOf(f.body), int64(len(f.body))
	}
	return e
}

// folderOf is what the folder of a kind is called.
func folderOf(k onto.Kind) string {
	if k == onto.KindRelation {
		return "relations"
	}
	return "entities"
}

// proposeRound puts a round on top of a tip.
func (l *publisher) proposeRound(t *tip, r *round, attempt string) *proposal {
	now := l.now()
	first := t.head.CommitID + 1
	m := &manifest{
		First: first, CommitID: t.head.CommitID + int64(len(r.commits)), CreatedAt: now, RuntimeID: l.set.runtime,
		StoreID: t.head.StoreID, Attempt: attempt, Round: 1, Encoding: "parquet", Metadata: []byte("{}"), Files: []fileEntry{}, Ancestors: []roundEntry{},
	}
	if before := t.manifest; before != nil {
		path := manifestPath(before.CommitID, before.Attempt)
		m.Parent, m.ParentPath, m.Round = &before.CommitID, &path, before.Round+1
		m.Ancestors = append([]roundEntry{before.entry()}, before.Ancestors[:min(len(before.Ancestors), ancestors-1)]...)
		m.LastTouched = before.LastTouched
		if last := before.Commits[len(before.Commits)-1].Time; last > now { // a clock may go back
			now = last
		}
	}
	for i, c := range r.commits {
		if c.ID = first + int64(i); c.Time == "" {
			c.Time = now
		}
		m.Commits = append(m.Commits, c)
		if c.Metadata != nil {
			m.Metadata = c.Metadata
		}
	}
	p := &proposal{}
	for i := range r.files {
		f := &r.files[i]
		path := cmp.Or(f.key, f.path(m.CommitID, attempt))
		m.Files = append(m.Files, f.entry(path, m.First, m.CommitID))
		if f.key == "" {
			p.objects = append(p.objects, object{path, f.body})
		}
	}
	m.LastTouched = touch(m.LastTouched, m.Files, m.CommitID)
	path := manifestPath(m.CommitID, attempt)
	p.objects = append(p.objects, object{path, encodeSealed(m)})
	h := t.head.next(t.body, attempt, l.set.runtime, l.now())
	h.CommitID, h.ManifestPath = m.CommitID, &path
	p.next = &tip{head: h, manifest: m, catalog: t.catalog}
	return p
}

// propose puts a round and another catalog on top of a tip, in one head. Either may be
// nil, for none.
func (l *publisher) propose(t *tip, r *round, c *catalog, attempt string) *proposal {
	var p *proposal
	if r != nil {
		p = l.proposeRound(t, r, attempt)
	} else {
		p = &proposal{next: &tip{head: t.head.next(t.body, attempt, l.set.runtime, l.now()), manifest: t.manifest, catalog: t.catalog}}
	}
	if c != nil {
		h := p.next.head
		c.Attempt, h.Catalog = attempt, catalogPath(h.Sequence, attempt)
		p.objects = append(p.objects, object{h.Catalog, encodeSealed(c)})
		p.next.catalog = c
	}
	return p
}

// now is the time as it is stored.
func (l *log) now() string { return codec.FormatTime(l.set.now().UTC().Truncate(time.Microsecond)) }

// checkClock fails if the time cannot be stored.
func (l *log) checkClock() error { return backend.CheckClock(l.set.now()) }

// change publishes another catalog. The commits stay as they are. Edit is given
// a copy and returns false if nothing is to be changed.
func (l *publisher) change(ctx context.Context, edit func(c *catalog, commit int64) (bool, error)) (*catalog, error) {
	t, err := l.publish(ctx, func(t *tip, attempt string) (*proposal, error) {
		c := *t.catalog
		c.Types = append([]schemaEntry(nil), c.Types...)
		changed, err := edit(&c, t.head.CommitID)
		if err != nil || !changed {
			return nil, err
		}
		return l.propose(t, nil, &c, attempt), nil
	})
	if err != nil {
		return nil, err
	}
	return t.catalog, nil
}

// makeLake makes a lake where there is none. If somebody else makes one first,
// that one is taken.
func (l *publisher) makeLake(ctx context.Context, store string) (*tip, error) {
	if t, err := l.load(ctx); onto.CodeOf(err) != onto.Uninitialized {
		return t, err
	}
	if err := l.checkClock(); err != nil {
		return nil, err
	}
	attempt := l.set.attempt()
	h := &head{
		Format: Format, StoreID: store, Sequence: 1, Attempt: attempt, Recent: []string{},
		UpdatedAt: l.now(), RuntimeID: l.set.runtime, Catalog: catalogPath(1, attempt),
	}
	c := &catalog{StoreID: store, Attempt: attempt, Types: []schemaEntry{}, Checkpoints: []checkpointEntry{}}
	if err := l.create(ctx, object{h.Catalog, encodeSealed(c)}); err != nil {
		return nil, err
	}
	wait := l.waiter()
	for {
		_, err := l.b.Create(ctx, headKey, encodeSealed(h))
		if errors.Is(err, bucket.ErrExists) { // another process has made it, and may not have synced it
			err = l.b.Sync(ctx, headKey)
		}
		if err == nil {
			var t *tip
			if t, err = l.load(ctx); onto.CodeOf(err) != onto.Uninitialized {
				return t, err // whoever made it
			}
		} else if definite(err) {
			return nil, err
		}
		if late := wait.pause(ctx); late != nil {
			return nil, errors.Join(err, late)
		}
	}
}
