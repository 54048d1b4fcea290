package backendtest_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/internal/typelist"
)

// evolveMutants lists mistakes with types that evolve.
func evolveMutants() []mutant {
	return []mutant{
		{"a write replaces what it does not know", "stories histories", around(func(b backend.Backend) replacing { return replacing{through{b}} })},
		{"types change although the stream failed", "stories histories", streaming(changedAnyway)},
		{"types change before the rows", "stories histories", streaming(typesFirst)},
		{"types alone do not evolve", "stories histories", streaming(rowsOnly)},
		{"an evolution is done in part", "stories", streaming(changedInPart)},
		{"an evolution fits all types", "stories histories", streaming(baseless)},
		{"a repeated key evolves once more", "stories histories", streaming(evolvedAgain)},
		{"an evolution expects nothing", "stories histories", streaming(hopeless)},
		{"a draft in memory evolves", "stories", around(func(b backend.Backend) evolvingDraft { return evolvingDraft{through{b}} })},
		{"upgraders are not kept", "stories histories", streaming(editing(func(e *backend.Evolution) {
			e.Add = slices.Clone(e.Add)
			for i := range e.Add {
				e.Add[i].Upgrader = nil
			}
		}))},
		{"an evolution tells nothing of who and why", "stories", streaming(editing(func(e *backend.Evolution) { e.Actor, e.Comment = onto.Actor{}, "" }))},
		{"upgraders are not learnt", "stories histories", streaming(editing(func(e *backend.Evolution) { e.Learn = nil }))},
		{"what is known is learnt again", "stories", streaming(relearnt)},
		{"flags of a new version are lost", "stories histories", streaming(editing(func(e *backend.Evolution) {
			e.Add = slices.Clone(e.Add)
			for i, a := range e.Add {
				e.Add[i].Schema = unflagged(a.Schema)
			}
		}))},
		{"versions begin one commit late", "stories histories", listing(func(all []onto.SchemaVersion) {
			for i := range all {
				all[i].Since++
			}
		})},
		{"versions begin with the commit before", "stories histories", listing(func(all []onto.SchemaVersion) {
			for i := range all {
				all[i].Since = max(1, all[i].Since-1)
			}
		})},
		{"a type that begins again has no past", "stories histories", listing(func(all []onto.SchemaVersion) {
			for i := range all {
				if i > 0 && all[i-1].Schema.TypeName() == all[i].Schema.TypeName() {
					all[i-1].End = nil
				}
			}
		})},
		{"a type that begins again is version 1", "stories histories", listing(func(all []onto.SchemaVersion) {
			for i := 1; i < len(all); i++ {
				if all[i-1].End != nil && all[i].Schema.Name == all[i-1].Schema.Name {
					all[i].Version = 1
				}
			}
		})},
		{"an end does not tell the new name", "stories", streaming(editing(func(e *backend.Evolution) {
			e.End = slices.Clone(e.End)
			for i := range e.End {
				e.End[i].RenamedTo = ""
			}
		}))},
		{"a type that ended takes writes", "stories histories", around(func(b backend.Backend) revived { return revived{through{b}} })},
		{"a type that ends loses puts", "stories", streaming(putsLost)},
		{"outdated stamps are brought up to date", "stories histories", around(func(b backend.Backend) restamped { return restamped{through{b}} })},
		{"rows get the newest stamp", "stories histories", around(func(b backend.Backend) modern { return modern{through{b}} })},
		{"a handle remembers the types", "stories histories", around(func(b backend.Backend) *settled { return &settled{through: through{b}} })},
		{"a purge is a drop", "stories histories", streaming(editing(func(e *backend.Evolution) {
			e.End = slices.Clone(e.End)
			for i := range e.End {
				e.End[i].Purge = false
			}
		}))},
		{"a purge leaves past rows", "stories histories", inCommon(func(b backend.Backend, rows *purgedRows) backend.Backend { return reluctant{through{b}, rows} })},
		{"a purge leaves the counts of commits", "stories histories", inCommon(func(b backend.Backend, c *oldCounts) backend.Backend { return miscounting{through{b}, c} })},
	}
}

// through passes everything on, also optional interfaces.
type through struct{ backend.Backend }

func (b through) Unwrap() backend.Backend { return b.Backend }

// sender appends a stream to a backend.
type sender = func(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error)

// streaming plants a mistake into streams that evolve.
func streaming(send sender) planting {
	return around(func(b backend.Backend) evolver { return evolver{through{b}, send} })
}

type evolver struct {
	through
	send sender
}

func (b evolver) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	if d.Evolve == nil {
		return b.Backend.AppendStream(ctx, d, w)
	}
	return b.send(ctx, b.Backend, d, w)
}

// editing changes what an evolution asks for.
func editing(edit func(*backend.Evolution)) sender {
	return func(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
		c, e := *d, *d.Evolve
		edit(&e)
		c.Evolve = &e
		return b.AppendStream(ctx, &c, w)
	}
}

// unflagged returns a schema without flags.
func unflagged(s onto.Schema) onto.Schema {
	s.Fields = slices.Clone(s.Fields)
	for i := range s.Fields {
		s.Fields[i].Index, s.Fields[i].Search = false, false
	}
	return s
}

// listing plants a mistake into the list of types.
func listing(edit func([]onto.SchemaVersion)) planting {
	return around(func(b backend.Backend) lister { return lister{through{b}, edit} })
}

type lister struct {
	through
	edit func([]onto.SchemaVersion)
}

func (b lister) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	all, err := b.Backend.Schemas(ctx)
	b.edit(all)
	return all, err
}

// AppendStream applies an evolution to the types as this backend lists them.
func (b lister) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	if d.Evolve == nil {
		return b.Backend.AppendStream(ctx, d, w)
	}
	listed, err := b.Schemas(ctx)
	if err != nil || typelist.Hash(listed) != d.Evolve.Base {
		return b.Backend.AppendStream(ctx, d, w)
	}
	return baseless(ctx, b.Backend, d, w)
}

// types evolves types without rows.
func types(ctx context.Context, b backend.Backend, e backend.Evolution) (result, error) {
	return b.AppendStream(ctx, &backend.Draft{Evolve: &e}, replay[backend.Write](nil, nil))
}

func changedAnyway(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	r, err := b.AppendStream(ctx, d, w)
	if err != nil {
		_, _ = types(ctx, b, *d.Evolve)
	}
	return r, err
}

func typesFirst(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	if _, err := types(ctx, b, *d.Evolve); err != nil {
		return result{}, err
	}
	c := *d
	c.Evolve = nil
	return b.AppendStream(ctx, &c, w)
}

func rowsOnly(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	list, err := all(w)
	if err == nil && len(list) == 0 {
		return result{}, nil
	}
	return b.AppendStream(ctx, d, replay(list, err))
}

func changedInPart(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	r, err := b.AppendStream(ctx, d, w)
	if errors.Is(err, onto.Conflict) || errors.Is(err, onto.NotFound) {
		_, _ = types(ctx, b, backend.Evolution{Base: d.Evolve.Base, Add: d.Evolve.Add[:min(1, len(d.Evolve.Add))]})
	}
	return r, err
}

func baseless(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	all, err := b.Schemas(ctx)
	if err != nil {
		return result{}, err
	}
	return editing(func(e *backend.Evolution) { e.Base = typelist.Hash(all) })(ctx, b, d, w)
}

func evolvedAgain(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	r, err := b.AppendStream(ctx, d, w)
	if r.Repeated {
		_, _ = baseless(ctx, b, &backend.Draft{Evolve: d.Evolve}, replay[backend.Write](nil, nil))
	}
	return r, err
}

func hopeless(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	c := *d
	c.Expect = nil
	return b.AppendStream(ctx, &c, w)
}

type evolvingDraft struct{ through }

func (b evolvingDraft) Append(ctx context.Context, d *backend.Draft) (result, error) {
	if d.Evolve == nil {
		return b.Backend.Append(ctx, d)
	}
	c := *d
	c.Writes = nil
	return b.Backend.AppendStream(ctx, &c, replay(d.Writes, nil))
}

func relearnt(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	r, err := b.AppendStream(ctx, d, w)
	if errors.Is(err, onto.Conflict) && len(d.Evolve.Learn) > 0 {
		return editing(func(e *backend.Evolution) { e.Learn = nil })(ctx, b, d, w)
	}
	return r, err
}

// putsLost drops puts of a type that ends.
func putsLost(ctx context.Context, b backend.Backend, d *backend.Draft, w writes) (result, error) {
	list, err := all(w)
	list = slices.DeleteFunc(list, func(w backend.Write) bool {
		return w.Op == onto.Put && slices.ContainsFunc(d.Evolve.End, func(t backend.EndedType) bool { return t.Type == w.Type })
	})
	return b.AppendStream(ctx, d, replay(list, err))
}

// revived begins a type again when it is written.
type revived struct{ through }

func (b revived) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if !errors.Is(err, onto.SchemaOutdated) {
		return r, err
	}
	c := *d
	c.Writes = slices.Clone(d.Writes)
	stored, _ := b.Schemas(ctx)
	for _, v := range typelist.Last(stored) {
		for i, w := range c.Writes {
			if v.End == nil || w.TypeName() != v.Schema.TypeName() {
				continue
			}
			if _, err := b.Register(ctx, &backend.Registration{Schemas: []onto.Schema{v.Schema}}); err != nil {
				return result{}, err
			}
			c.Writes[i].SchemaVersion = v.Version + 1
		}
	}
	return b.Backend.Append(ctx, &c)
}

// restamped takes a write for an older version as one for the newest.
type restamped struct{ through }

func (b restamped) Append(ctx context.Context, d *backend.Draft) (result, error) {
	stored, err := b.Schemas(ctx)
	if err != nil {
		return result{}, err
	}
	c := *d
	c.Writes = slices.Clone(d.Writes)
	for i, w := range c.Writes {
		if newest := newestOf(stored, w.Identity); w.SchemaVersion > 0 && w.SchemaVersion < newest {
			c.Writes[i].SchemaVersion = newest
		}
	}
	return b.Backend.Append(ctx, &c)
}

// newestOf returns the last version of an identity's type, or 0.
func newestOf(stored []onto.SchemaVersion, id onto.Identity) int {
	return typelist.NextVersion(stored, id.TypeName()) - 1
}

type modern struct{ through }

func (b modern) Scan(ctx context.Context, q *backend.Query) versions {
	stored, err := b.Schemas(ctx)
	if err != nil {
		return b.Backend.Scan(ctx, q)
	}
	return edit(b.Backend.Scan(ctx, q), func(v *onto.Version) { v.SchemaVersion = newestOf(stored, v.Identity) })
}

// settled reads the types once, and again when it registers some.
type settled struct {
	through
	mu    sync.Mutex // guards known
	known []onto.SchemaVersion
}

func (b *settled) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known != nil {
		return slices.Clone(b.known), nil
	}
	all, err := b.Backend.Schemas(ctx)
	b.known = all
	return slices.Clone(all), err
}

func (b *settled) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	b.forget()
	return b.Backend.Register(ctx, r)
}

func (b *settled) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	r, err := b.Backend.AppendStream(ctx, d, w)
	if d.Evolve != nil {
		b.forget()
	}
	return r, err
}

func (b *settled) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known = nil
}

// inCommon plants a mistake that all handles on a store have in common.
func inCommon[T any](wrap func(b backend.Backend, common *T) backend.Backend) planting {
	var stores sync.Map // from the name of a place to its *T
	return wrapped(func(b backend.Backend, p *backendtest.Place) backend.Backend {
		common, _ := stores.LoadOrStore(p.Name, new(T))
		return wrap(b, common.(*T))
	})
}

type purgedRows struct {
	mu     sync.Mutex // guards purged
	purged []onto.Version
}

// reluctant still finds purged rows when it is asked for the past.
type reluctant struct {
	through
	*purgedRows
}

func (b reluctant) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	var found []onto.Version
	if d.Evolve != nil {
		for _, t := range d.Evolve.End {
			list, _ := all(b.Backend.Scan(ctx, &backend.Query{Kind: t.Kind, Type: t.Type, At: backend.Head, Mode: backend.History}))
			if t.Purge {
				found = append(found, list...)
			}
		}
	}
	r, err := b.Backend.AppendStream(ctx, d, w)
	if err == nil && !r.Repeated {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.purged = append(b.purged, found...)
	}
	return r, err
}

func (b reluctant) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	v, err := b.Backend.Get(ctx, id, at)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range slices.Backward(b.purged) {
		if errors.Is(err, onto.NotFound) && p.Identity == id && p.Commit <= at {
			return p, nil
		}
	}
	return v, err
}

type oldCounts struct {
	mu     sync.Mutex // guards counts
	counts map[int64]int
}

// miscounting remembers how many operations commits had.
type miscounting struct {
	through
	*oldCounts
}

func (b miscounting) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	before, _ := all(b.Backend.Commits(ctx, &backend.CommitQuery{Until: backend.Head}))
	r, err := b.Backend.AppendStream(ctx, d, w)
	if d.Evolve != nil && err == nil && !r.Repeated {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.counts == nil {
			b.counts = map[int64]int{}
		}
		for _, c := range before {
			b.counts[c.ID] = max(c.Operations, b.counts[c.ID])
		}
	}
	return r, err
}

func (b miscounting) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	return edit(b.Backend.Commits(ctx, q), func(c *onto.Commit) {
		b.mu.Lock()
		defer b.mu.Unlock()
		c.Operations = max(c.Operations, b.counts[c.ID])
	})
}

// replacing takes writes for whole ones.
type replacing struct{ through }

func (b replacing) Append(ctx context.Context, d *backend.Draft) (result, error) {
	c := *d
	c.Writes = slices.Clone(d.Writes)
	for i := range c.Writes {
		c.Writes[i].Known = nil
	}
	return b.Backend.Append(ctx, &c)
}
