package foldkeep

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
)

// afterAll sorts after every attribute.
const afterAll = "~"

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// facts returns the live facts about a subject, in no order, with the headers of their
// drafts.
func (k *Keeper) facts(ctx context.Context, typ, subject string) ([]fold.Entry, error) {
	q := &backend.Query{Kind: onto.KindFact, Type: typ, At: backend.Head, LeftKeys: []string{subject}}
	return k.Entries(ctx, k.Backend.Scan(ctx, q))
}

// Entries makes entries of versions of facts.
func (k *Keeper) Entries(ctx context.Context, versions iter.Seq2[onto.Version, error]) ([]fold.Entry, error) {
	var list []fold.Entry
	for v, err := range versions {
		if err != nil {
			return nil, err
		}
		f, err := onto.FactOf(&v)
		if err != nil {
			return nil, err
		}
		list = append(list, fold.Entry{Fact: f})
	}
	for i := range list {
		var err error
		if list[i].Draft, err = k.header(ctx, list[i].Fact.Asserted); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// replayed is what a replay makes of the facts about a subject.
type replayed struct {
	is   *onto.Version  // the state as it is; nil for none
	want *backend.Write // the state as it should be; nil for none
}

// same reports whether the state is as it should be, as far as the program knows its
// fields.
func (r *replayed) same() bool {
	if r.is == nil || r.want == nil {
		return r.is == nil && r.want == nil
	}
	if r.want.Known == nil {
		return bytes.Equal(r.is.Fields, r.want.Fields)
	}
	return bytes.Equal(r.want.Known.Part(r.is.Fields), r.want.Fields)
}

// replay folds the facts about subjects, which are sorted, from their beginning, as of a
// commit.
func (k *Keeper) replay(ctx context.Context, types *catalog.Catalog, f *fold.Fold, at int64, subjects []string) ([]replayed, error) {
	t, err := typeOf(types, f)
	if err != nil {
		return nil, err
	}
	list := make([]replayed, len(subjects))
	for v, err := range k.Backend.Scan(ctx, &backend.Query{Kind: onto.KindEntity, Type: f.State, At: at, Keys: subjects}) {
		if err != nil {
			return nil, err
		}
		if i, ok := slices.BinarySearch(subjects, v.Key); ok {
			list[i].is = &v
		}
	}
	all, err := k.Entries(ctx, k.Backend.Scan(ctx, &backend.Query{Kind: onto.KindFact, Type: f.Facts, At: at, LeftKeys: subjects}))
	if err != nil {
		return nil, err
	}
	bySubject := map[string][]fold.Entry{}
	for _, e := range all {
		bySubject[e.Fact.Subject] = append(bySubject[e.Fact.Subject], e)
	}
	for i, subject := range subjects {
		entries := bySubject[subject]
		if len(entries) == 0 {
			continue
		}
		fold.Sort(entries)
		w, err := f.Run(ctx, k.Timeout, &fold.Input{Type: &t.Type, Subject: subject, Entries: entries})
		if err != nil {
			return nil, err
		}
		list[i].want = &w
	}
	return list, nil
}

// refold is the writes that bring states in line with a replay, and fences on what they
// replace.
func refold(list []replayed, f *fold.Fold, t *catalog.Type, subjects []string) (writes []backend.Write, fences []onto.Expectation) {
	for i := range list {
		r := &list[i]
		if r.same() {
			continue
		}
		id, at := onto.EntityID(f.State, subjects[i]), int64(0)
		if r.is != nil {
			at = r.is.Commit
		}
		fences = append(fences, onto.Expectation{Identity: id, Commit: at})
		if r.want != nil {
			writes = append(writes, *r.want)
		} else {
			writes = append(writes, backend.Write{Identity: id, Op: onto.Delete, SchemaVersion: t.Version, Derived: true})
		}
	}
	return writes, fences
}

// subjectsAfter returns the next subjects with facts or states as of a commit, in order,
// and whether there are more.
func (k *Keeper) subjectsAfter(ctx context.Context, f *fold.Fold, at int64, after string, most int) (list []string, more bool, err error) {
	facts := &backend.Query{Kind: onto.KindFact, Type: f.Facts, At: at}
	states := &backend.Query{Kind: onto.KindEntity, Type: f.State, At: at}
	if after != "" {
		facts.After = &backend.Place{Identity: onto.FactID(f.Facts, after, afterAll, afterAll)}
		states.After = &backend.Place{Identity: onto.EntityID(f.State, after)}
	}
	var found [2][]string
	for i, q := range []*backend.Query{facts, states} {
		for v, err := range k.Backend.Scan(ctx, q) {
			if err != nil {
				return nil, false, err
			}
			subject := v.Left + v.Key // one of them is empty
			if n := len(found[i]); n > 0 && found[i][n-1] == subject {
				continue
			}
			if len(found[i]) > most {
				break
			}
			found[i] = append(found[i], subject)
		}
	}
	list = append(found[0], found[1]...)
	slices.Sort(list)
	list = slices.Compact(list)
	if more = len(list) > most; more {
		list = list[:most]
	}
	return list, more, nil
}

// changedAfter returns the subjects with versions of facts in commits after one and up to
// another, that come after a subject: the first of them, in order, and whether there are
// more.
func (k *Keeper) changedAfter(ctx context.Context, facts string, since, upto int64, after string, most int) (list []string, more bool, err error) {
	found := map[string]bool{}
	q := &backend.Query{Kind: onto.KindFact, Type: facts, Mode: backend.History, Since: since, At: upto}
	for v, err := range k.Backend.Scan(ctx, q) {
		if err != nil {
			return nil, false, err
		}
		if v.Left <= after || found[v.Left] {
			continue
		}
		if found[v.Left] = true; len(found) > 2*most {
			found, more = cut(found, most), true
		}
	}
	list = sortedNames(found)
	if len(list) > most {
		list, more = list[:most], true
	}
	return list, more, nil
}

// cut keeps the first subjects.
func cut(found map[string]bool, most int) map[string]bool {
	kept := make(map[string]bool, most)
	for _, s := range sortedNames(found)[:most] {
		kept[s] = true
	}
	return kept
}
