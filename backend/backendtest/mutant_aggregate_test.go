package backendtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/typelist"
)

// searchMutants lists the mistakes about search and flags.
func searchMutants() []mutant {
	return []mutant{
		{"search finds any of the words", "stories histories", around(func(b backend.Backend) anyWord { return anyWord{b} })},
		{"all words are prefixes", "stories histories", asked(func(q *backend.Query) {
			q.Search = slices.Clone(q.Search)
			for i := range q.Search {
				q.Search[i].Prefix = true
			}
		})},
		{"prefixes are words", "stories histories", asked(func(q *backend.Query) {
			q.Search = slices.Clone(q.Search)
			for i := range q.Search {
				q.Search[i].Prefix = false
			}
		})},
		{"search in the past finds the words of today", "stories histories", around(func(b backend.Backend) upToDate { return upToDate{b} })},
		{"search finds what was there before", "stories histories", around(func(b backend.Backend) nostalgic { return nostalgic{b} })},
		{"search finds all where nothing is marked", "stories histories", asked(func(q *backend.Query) {
			if q.Schema == nil || !slices.ContainsFunc(q.Schema.Fields, func(f onto.Field) bool { return f.Search }) {
				q.Search = nil
			}
		})},
		{"what was there when a field was marked is not found", "stories histories", newUnfilled()},
		{"flags stay as they were", "stories histories", around(func(b backend.Backend) rigid { return rigid{b} })},
		{"flags make a version", "stories histories", around(func(b backend.Backend) versioning { return versioning{b} })},
		{"flags are known to their handle only", "stories histories", around(func(b backend.Backend) *secretive { return &secretive{Backend: b} })},
	}
}

// aggregateMutants lists the mistakes about groups.
func aggregateMutants() []mutant {
	return []mutant{
		{"sums go through floats", "stories histories", computed(func(o onto.Operand, v json.RawMessage) json.RawMessage {
			if f, err := strconv.ParseFloat(string(v), 64); err == nil && o.Func == onto.FuncSum {
				return strconv.AppendFloat(nil, f, 'f', -1, 64)
			}
			return v
		})},
		{"sums of nothing are 0", "stories histories", computed(func(o onto.Operand, v json.RawMessage) json.RawMessage {
			if v == nil && o.Func == onto.FuncSum {
				return json.RawMessage("0")
			}
			return v
		})},
		{"averages are whole numbers", "stories histories", computed(func(o onto.Operand, v json.RawMessage) json.RawMessage {
			if f, err := strconv.ParseFloat(string(v), 64); err == nil && o.Func == onto.FuncAvg {
				return strconv.AppendInt(nil, int64(f), 10)
			}
			return v
		})},
		{"the least and the greatest are numbers", "stories histories", computed(func(o onto.Operand, v json.RawMessage) json.RawMessage {
			if (o.Func == onto.FuncMin || o.Func == onto.FuncMax) && len(v) > 0 && v[0] == '"' {
				return nil
			}
			return v
		})},
		{"null is one of the different values", "stories histories", computed(func(o onto.Operand, v json.RawMessage) json.RawMessage {
			if n, err := strconv.Atoi(string(v)); err == nil && o.Func == onto.FuncCountDistinct {
				return strconv.AppendInt(nil, int64(max(1, n)), 10)
			}
			return v
		})},
		{"weeks are months", "stories", reckoned(func(a *backend.Aggregation) {
			a.By = slices.Clone(a.By)
			for i := range a.By {
				if a.By[i].Per == onto.PerWeek {
					a.By[i].Per = onto.PerMonth
				}
			}
		})},
		{"a sum that is too large is no error", "stories histories", around(func(b backend.Backend) blithe { return blithe{b} })},
		{"the group of null is missing", "stories histories", regrouped(func(a *backend.Aggregation, list []onto.Group) []onto.Group {
			return slices.DeleteFunc(list, func(g onto.Group) bool { return slices.ContainsFunc(g.By, isNull) })
		})},
		{"over nothing there is no group", "stories histories", regrouped(func(a *backend.Aggregation, list []onto.Group) []onto.Group {
			if len(a.By) == 0 && len(list) == 1 && string(list[0].Values[0]) == "0" {
				return nil
			}
			return list
		})},
		{"groups begin with null", "stories histories", regrouped(func(a *backend.Aggregation, list []onto.Group) []onto.Group {
			slices.SortStableFunc(list, func(x, y onto.Group) int {
				if len(x.By) == 0 || isNull(x.By[0]) == isNull(y.By[0]) {
					return 0
				}
				return map[bool]int{true: -1, false: 1}[isNull(x.By[0])]
			})
			return list
		})},
		{"groups are always those of the head", "stories histories", reckoned(func(a *backend.Aggregation) { a.At = backend.Head })},
		{"groups of a history lack deletes", "stories histories", reckoned(func(a *backend.Aggregation) {
			if a.Mode == backend.History && a.Kind == onto.KindEntity {
				a.Where = onto.And{orTrue(a.Where), onto.Path("id").IsNotNull()}
			}
		})},
		{"groups ignore keys", "stories histories", reckoned(func(a *backend.Aggregation) { a.Keys, a.LeftKeys = nil, nil })},
		{"explaining fails", "histories optional", around(func(b backend.Backend) mute { return mute{b} })},
	}
}

// admitMutants lists the mistakes about admission.
func admitMutants() []mutant {
	return []mutant{
		{"admission is ignored", "stories histories", admitted(func(backend.Backend, admission) admission { return nil })},
		{"what was deleted is nothing for admission", "stories", admitted(func(_ backend.Backend, admit admission) admission {
			return func(w *backend.Write, newest *onto.Version) (bool, error) {
				if newest != nil && !newest.Live() {
					newest = nil
				}
				return admit(w, newest)
			}
		})},
		{"an error of admission drops the write", "stories", admitted(func(_ backend.Backend, admit admission) admission {
			return func(w *backend.Write, newest *onto.Version) (bool, error) {
				ok, err := admit(w, newest)
				return ok && err == nil, nil
			}
		})},
		{"an error of admission is wrapped", "stories", admitted(func(_ backend.Backend, admit admission) admission {
			return func(w *backend.Write, newest *onto.Version) (bool, error) {
				ok, err := admit(w, newest)
				if err != nil {
					err = errors.Join(err)
				}
				return ok, err
			}
		})},
		{"only what changes is asked about", "stories", admitted(func(_ backend.Backend, admit admission) admission {
			return func(w *backend.Write, newest *onto.Version) (bool, error) {
				if !backend.Changes(w, newest) {
					return false, nil
				}
				return admit(w, newest)
			}
		})},
		{"admission is asked before twins are merged", "stories", around(func(b backend.Backend) hastyAdmission { return hastyAdmission{b} })},
	}
}

type anyWord struct{ backend.Backend }

func (b anyWord) Scan(ctx context.Context, q *backend.Query) versions {
	found := map[place]bool{}
	for _, word := range q.Search {
		one := bare(q)
		one.Search = []backend.Word{word}
		for v, err := range b.Backend.Scan(ctx, one) {
			if err != nil {
				return replay[onto.Version](nil, err)
			}
			found[place{v.Identity, v.Commit}] = true
		}
	}
	return among(ctx, b.Backend, q, func(v onto.Version) bool { return found[place{v.Identity, v.Commit}] })
}

// upToDate has one index of words, that of the head.
type upToDate struct{ backend.Backend }

func (b upToDate) Scan(ctx context.Context, q *backend.Query) versions {
	head := bare(q)
	head.Search, head.At, head.Mode = q.Search, backend.Head, backend.State
	return found(ctx, b.Backend, q, head)
}

// nostalgic never forgets a word.
type nostalgic struct{ backend.Backend }

func (b nostalgic) Scan(ctx context.Context, q *backend.Query) versions {
	ever := bare(q)
	ever.Search, ever.Mode = q.Search, backend.History
	return found(ctx, b.Backend, q, ever)
}

// found answers a query with the identities that another one finds.
func found(ctx context.Context, b backend.Backend, q, other *backend.Query) versions {
	ids := map[onto.Identity]bool{}
	for v, err := range b.Scan(ctx, other) {
		if err != nil {
			return replay[onto.Version](nil, err)
		}
		ids[v.Identity] = true
	}
	return among(ctx, b, q, func(v onto.Version) bool { return ids[v.Identity] })
}

// among answers a query with its own idea of what search finds.
func among(ctx context.Context, b backend.Backend, q *backend.Query, match func(onto.Version) bool) versions {
	if len(q.Search) == 0 {
		return b.Scan(ctx, q)
	}
	list, err := all(b.Scan(ctx, bare(q)))
	list = slices.DeleteFunc(list, func(v onto.Version) bool { return !match(v) })
	other := *q
	other.Search = nil
	ends := misled{b, func(q *backend.Query, v *onto.Version, get getter) [2]json.RawMessage {
		return [2]json.RawMessage{get(q.Left, v.Left, momentOf(q, v)), get(q.Right, v.Right, momentOf(q, v))}
	}}
	return exec.Select(&other, replay(list, err), ends.endpoints(ctx, q))
}

// place tells one version from the others.
type place struct {
	onto.Identity
	commit int64
}

// unfilled knows words only of what was written since flags changed.
type unfilled struct {
	backend.Backend
	since *atomic.Int64
}

func newUnfilled() planting {
	var places sync.Map
	return wrapped(func(b backend.Backend, p *backendtest.Place) backend.Backend {
		since, _ := places.LoadOrStore(p.Name, new(atomic.Int64))
		return unfilled{b, since.(*atomic.Int64)}
	})
}

func (b unfilled) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	before, _ := b.Backend.Schemas(ctx)
	list, err := b.Backend.Register(ctx, r)
	if head, headErr := b.Resolve(ctx, onto.Point{}); err == nil && headErr == nil && len(typelist.Retuned(before, r.Schemas)) > 0 {
		b.since.Store(head.ID)
	}
	return list, err
}

func (b unfilled) Scan(ctx context.Context, q *backend.Query) versions {
	if len(q.Search) == 0 || q.At != backend.Head || q.Mode != backend.State {
		return b.Backend.Scan(ctx, q)
	}
	list, err := all(b.Backend.Scan(ctx, q))
	return replay(slices.DeleteFunc(list, func(v onto.Version) bool { return v.Commit <= b.since.Load() }), err)
}

// rigid registers types with the flags they have.
type rigid struct{ backend.Backend }

func (b rigid) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	stored, _ := b.Backend.Schemas(ctx)
	other := *r
	other.Schemas = slices.Clone(r.Schemas)
	for i, s := range other.Schemas {
		for _, v := range stored {
			if v.Schema.Name == s.Name {
				other.Schemas[i] = s.WithFlags(v.Schema)
			}
		}
	}
	return b.Backend.Register(ctx, &other)
}

// versioning counts types whose flags changed as new versions.
type versioning struct{ backend.Backend }

func (b versioning) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	list, err := b.Backend.Schemas(ctx)
	for i, v := range list {
		if string(v.JSON) != string(v.Schema.JSON()) {
			list[i].Version++
		}
	}
	return list, err
}

// secretive shows the types as it saw them first, until it registers some.
type secretive struct {
	backend.Backend
	seen atomic.Pointer[[]onto.SchemaVersion]
}

func (b *secretive) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	if list := b.seen.Load(); list != nil && ctx.Err() == nil {
		return slices.Clone(*list), nil
	}
	list, err := b.Backend.Schemas(ctx)
	if err == nil {
		kept := slices.Clone(list)
		b.seen.Store(&kept)
	}
	return list, err
}

func (b *secretive) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	b.seen.Store(nil)
	list, err := b.Backend.Register(ctx, r)
	_, _ = b.Schemas(ctx)
	return list, err
}

func isNull(v json.RawMessage) bool { return v == nil }

func orTrue(f onto.Filter) onto.Filter {
	if f == nil {
		return onto.And{}
	}
	return f
}

// reckoning computes another aggregation than asked for, or answers with other groups.
type reckoning struct {
	backend.Backend
	ask    func(*backend.Aggregation)
	answer func(*backend.Aggregation, []onto.Group) []onto.Group
}

func (b reckoning) Aggregate(ctx context.Context, a *backend.Aggregation) groups {
	other := *a
	b.ask(&other)
	return func(yield func(onto.Group, error) bool) {
		list, err := all(b.Backend.Aggregate(ctx, &other))
		replay(b.answer(a, list), err)(yield)
	}
}

func reckoned(ask func(*backend.Aggregation)) planting {
	return around(func(b backend.Backend) reckoning {
		return reckoning{b, ask, func(_ *backend.Aggregation, list []onto.Group) []onto.Group { return list }}
	})
}

func regrouped(answer func(*backend.Aggregation, []onto.Group) []onto.Group) planting {
	return around(func(b backend.Backend) reckoning { return reckoning{b, func(*backend.Aggregation) {}, answer} })
}

func computed(change func(onto.Operand, json.RawMessage) json.RawMessage) planting {
	return regrouped(func(a *backend.Aggregation, list []onto.Group) []onto.Group {
		for _, g := range list {
			for i, o := range a.Compute {
				g.Values[i] = change(o, g.Values[i])
			}
		}
		return list
	})
}

// blithe leaves out what it cannot compute.
type blithe struct{ backend.Backend }

func (b blithe) Aggregate(ctx context.Context, a *backend.Aggregation) groups {
	list, err := all(b.Backend.Aggregate(ctx, a))
	if errors.Is(err, onto.TooLarge) {
		err = nil
	}
	return replay(list, err)
}

// mute cannot explain its answers about the past.
type mute struct{ backend.Backend }

func (mute) Explain(_ context.Context, q *backend.Query, a *backend.Aggregation) (backend.Explanation, error) {
	if a != nil {
		q = &a.Query
	}
	if q.At >= 0 {
		return backend.Explanation{}, errors.New("no such index")
	}
	return backend.Explanation{Statement: "SELECT", Plan: []string{"SCAN"}}, nil
}

type admission = func(*backend.Write, *onto.Version) (bool, error)

// lenient calls Admit in its own way.
type lenient struct {
	backend.Backend
	change func(backend.Backend, admission) admission
}

func admitted(change func(backend.Backend, admission) admission) planting {
	return around(func(b backend.Backend) lenient { return lenient{b, change} })
}

func (b lenient) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	other := *d
	if d.Admit != nil {
		other.Admit = b.change(b.Backend, d.Admit)
	}
	return b.Backend.AppendStream(ctx, &other, w)
}

// hastyAdmission calls Admit while it reads the stream.
type hastyAdmission struct{ backend.Backend }

func (b hastyAdmission) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	if d.Admit == nil {
		return b.Backend.AppendStream(ctx, d, w)
	}
	other := *d
	other.Admit = nil
	return b.Backend.AppendStream(ctx, &other, func(yield func(backend.Write, error) bool) {
		for w, err := range w {
			var newest *onto.Version
			if v, getErr := b.Get(ctx, w.Identity, backend.Head); getErr == nil {
				newest = &v
			}
			admitted := err == nil
			if admitted {
				admitted, err = d.Admit(&w, newest)
			}
			if (admitted || err != nil) && !yield(w, err) {
				return
			}
		}
	})
}
