package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/segment"
)

// Round is commits to be published together, decided on top of one tip.
type Round struct {
	Commits []CommitEntry // with the ids and times that they were decided with; proposeRound adds those that are missing
	Files   []DataFile
}

// DataFile is the versions of one type, encoded. Its rows carry commit ids, so it
// is good for one tip only.
type DataFile struct {
	Kind          onto.Kind
	Type          string
	Version       int
	Rows          int64
	Typed, Unique bool
	Identities    string     // as its entry has it
	Level         int        // how often its rows were compacted
	Part          int        // of those that its type has in the round, from 0 on
	Key           string     // where it was uploaded before; "" if it is uploaded with the round
	Body          []byte     // nil if it is on disk
	Stored        StoredBody // nil if it is in memory
}

// StoredBody is the body of a data file that is not held in memory.
type StoredBody interface {
	Read() ([]byte, error)
	SHA256() string // of all
	Size() int64
}

// Content returns the body, wherever it is.
func (f *DataFile) Content() ([]byte, error) {
	if f.Stored != nil {
		return f.Stored.Read()
	}
	return f.Body, nil
}

// Path is where a data file of an attempt is.
func (f *DataFile) Path(commit int64, attempt string) string {
	var part string
	if f.Part > 0 {
		part = fmt.Sprintf("%d/", f.Part+1)
	}
	return fmt.Sprintf("commits/%d-%s/%s%s/%s.parquet", commit, attempt, part, FolderOf(f.Kind), segment.Escape(f.Type))
}

// entry is how a manifest names the file, for a range of commits.
func (f *DataFile) entry(path string, first, last int64) FileEntry {
	e := FileEntry{
		Kind: f.Kind, Type: f.Type, Path: path, Rows: f.Rows, Version: f.Version, First: first, Last: last, Typed: f.Typed, Unique: f.Unique,
		Identities: f.Identities, Level: f.Level,
	}
	if f.Stored != nil {
		e.SHA256, e.Bytes = f.Stored.SHA256(), f.Stored.Size()
	} else {
		e.SHA256, e.Bytes = HashOf(f.Body), int64(len(f.Body))
	}
	return e
}

// FolderOf is what the folder of a kind is called.
func FolderOf(k onto.Kind) string {
	switch k {
	case onto.KindFact:
		return "facts"
	case onto.KindRelation:
		return "relations"
	}
	return "entities"
}

// proposeRound puts a round on top of a tip.
func (l *Publisher) proposeRound(t *Tip, r *Round, attempt string) *Proposal {
	now := l.now()
	first := t.Head.CommitID + 1
	m := &Manifest{
		First: first, CommitID: t.Head.CommitID + int64(len(r.Commits)), CreatedAt: now, RuntimeID: l.set.Runtime,
		StoreID: t.Head.StoreID, Attempt: attempt, Round: 1, Encoding: "parquet", Metadata: []byte("{}"), Files: []FileEntry{}, Ancestors: []RoundEntry{},
		Copy: t.Head.Copy,
	}
	if before := t.Manifest; before != nil {
		path := manifestPath(before.CommitID, before.Attempt)
		m.Parent, m.ParentPath, m.Round = &before.CommitID, &path, before.Round+1
		m.Ancestors = append([]RoundEntry{before.Entry()}, before.Ancestors[:min(len(before.Ancestors), Ancestors-1)]...)
		m.LastTouched = before.LastTouched
		if last := before.Commits[len(before.Commits)-1].Time; last > now { // a clock may go back
			now = last
		}
	}
	for i, c := range r.Commits {
		if c.ID = first + int64(i); c.Time == "" {
			c.Time = now
		}
		m.Commits = append(m.Commits, c)
		if c.Metadata != nil {
			m.Metadata = c.Metadata
		}
	}
	p := &Proposal{}
	for i := range r.Files {
		f := &r.Files[i]
		path := cmp.Or(f.Key, f.Path(m.CommitID, attempt))
		m.Files = append(m.Files, f.entry(path, m.First, m.CommitID))
		if f.Key == "" {
			p.objects = append(p.objects, Object{path, f.Body})
		}
	}
	m.LastTouched = Touch(m.LastTouched, m.Files, m.CommitID)
	path := manifestPath(m.CommitID, attempt)
	p.objects = append(p.objects, Object{path, encodeSealed(m)})
	h := t.Head.next(t.body, attempt, l.set.Runtime, l.now())
	h.CommitID, h.ManifestPath = m.CommitID, &path
	p.next = &Tip{Head: h, Manifest: m, Catalog: t.Catalog}
	return p
}

// Propose puts a round and another catalog on top of a tip, in one head. Either may be
// nil, for none.
func (l *Publisher) Propose(t *Tip, r *Round, c *Catalog, attempt string) *Proposal {
	var p *Proposal
	if r != nil {
		p = l.proposeRound(t, r, attempt)
	} else {
		p = &Proposal{next: &Tip{Head: t.Head.next(t.body, attempt, l.set.Runtime, l.now()), Manifest: t.Manifest, Catalog: t.Catalog}}
	}
	if c != nil {
		h := p.next.Head
		c.Attempt, h.Catalog = attempt, catalogPath(h.Sequence, attempt)
		h.Format = max(h.Format, c.format())
		p.objects = append(p.objects, Object{h.Catalog, encodeSealed(c)})
		p.next.Catalog = c
	}
	return p
}

// now is the time as it is stored.
func (l *Log) now() string { return codec.FormatTime(l.set.Now().UTC().Truncate(time.Microsecond)) }

// checkClock fails if the time cannot be stored.
func (l *Log) checkClock() error { return refusal.CheckClock(l.set.Now()) }

// change publishes another catalog. The commits stay as they are. Edit is given
// a copy and returns false if nothing is to be changed.
func (l *Publisher) change(ctx context.Context, edit func(c *Catalog, commit int64) (bool, error)) (*Catalog, error) {
	t, err := l.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
		c := *t.Catalog
		c.Types = append([]SchemaEntry(nil), c.Types...)
		changed, err := edit(&c, t.Head.CommitID)
		if err != nil || !changed {
			return nil, err
		}
		return l.Propose(t, nil, &c, attempt), nil
	})
	if err != nil {
		return nil, err
	}
	return t.Catalog, nil
}

// MakeLake makes a lake where there is none. If another process makes one first, that
// one is used.
func (l *Publisher) MakeLake(ctx context.Context, store string) (*Tip, error) {
	if t, err := l.Load(ctx); onto.CodeOf(err) != onto.Uninitialized {
		return t, err
	}
	if err := l.checkClock(); err != nil {
		return nil, err
	}
	attempt := l.set.Attempt()
	h := &Head{
		Format: formatFirst, StoreID: store, Sequence: 1, Attempt: attempt, Recent: []string{},
		UpdatedAt: l.now(), RuntimeID: l.set.Runtime, Catalog: catalogPath(1, attempt),
	}
	c := &Catalog{StoreID: store, Attempt: attempt, Types: []SchemaEntry{}, Checkpoints: []CheckpointEntry{}}
	if err := l.claim(ctx); err != nil {
		return nil, err
	}
	if err := l.Create(ctx, Object{h.Catalog, encodeSealed(c)}); err != nil {
		return nil, err
	}
	wait := l.Waiter()
	for {
		_, err := l.b.Create(ctx, HeadKey, encodeSealed(h))
		if errors.Is(err, bucket.ErrExists) { // another process has made it, and may not have synced it
			err = l.b.Sync(ctx, HeadKey)
		}
		if err == nil {
			var t *Tip
			if t, err = l.Load(ctx); onto.CodeOf(err) != onto.Uninitialized {
				return t, err // by this process or another
			}
		} else if Definite(err) {
			return nil, err
		}
		if late := wait.Wait(ctx); late != nil {
			return nil, errors.Join(err, late)
		}
	}
}
