package filtertest_test

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter/filtertest"
	"github.com/ontologia/onto/internal/effort"
)

// wrong is a backend that changes questions or answers of another.
type wrong struct {
	backend.Backend
	run    bool // Run asks such questions too
	query  func(*backend.Query)
	answer func(*backend.Query, []onto.Version) []onto.Version
	groups func([]onto.Group) []onto.Group
}

func (w wrong) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		changed := *q
		if w.query != nil {
			w.query(&changed)
		}
		list, err := all(w.Backend.Scan(ctx, &changed))
		if w.answer != nil {
			list = w.answer(q, list)
		}
		give(list, err, yield)
	}
}

func (w wrong) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return func(yield func(onto.Group, error) bool) {
		changed := *a
		if w.query != nil {
			w.query(&changed.Query)
		}
		list, err := all(w.Backend.Aggregate(ctx, &changed))
		if w.groups != nil {
			list = w.groups(list)
		}
		give(list, err, yield)
	}
}

func all[T any](items iter.Seq2[T, error]) (list []T, err error) {
	for item, err := range items {
		if err != nil {
			return list, err
		}
		list = append(list, item)
	}
	return list, nil
}

func give[T any](list []T, err error, yield func(T, error) bool) {
	for _, item := range list {
		if !yield(item, nil) {
			return
		}
	}
	if err != nil {
		var none T
		yield(none, err)
	}
}

// wrongs are mistakes that only a store can make.
func wrongs() map[string]wrong {
	onQuery := func(f func(*backend.Query)) wrong { return wrong{query: f, run: true} }
	rarely := func(f func(*backend.Query)) wrong { return wrong{query: f} }
	return map[string]wrong{
		"older views filter the newest state": onQuery(func(q *backend.Query) {
			if q.Mode == backend.State && q.Where != nil {
				q.At = backend.Head
			}
		}),
		"history is not filtered": onQuery(func(q *backend.Query) {
			if q.Mode == backend.History {
				q.Where = nil
			}
		}),
		"history has no deletes": {run: true, answer: func(q *backend.Query, list []onto.Version) []onto.Version {
			return slices.DeleteFunc(list, func(v onto.Version) bool { return !v.Live() })
		}},
		"history goes back to the beginning": rarely(func(q *backend.Query) { q.Since = 0 }),
		"orders are forgotten in histories": onQuery(func(q *backend.Query) {
			if q.Mode == backend.History && q.After == nil {
				q.Order = nil
			}
		}),
		"the place itself comes again": onQuery(func(q *backend.Query) {
			if q.After != nil {
				after := *q.After
				after.Identity.Key, after.Identity.Left = before(after.Identity.Key), before(after.Identity.Left)
				q.After = &after
			}
		}),
		"null places start anew": onQuery(func(q *backend.Query) {
			if q.After != nil && slices.ContainsFunc(q.After.Values, func(v json.RawMessage) bool { return v == nil }) {
				q.After = nil
			}
		}),
		"offset is forgotten":       onQuery(func(q *backend.Query) { q.Offset = 0 }),
		"limit is one too many":     onQuery(func(q *backend.Query) { q.Limit += min(q.Limit, 1) }),
		"no keys are all keys":      rarely(func(q *backend.Query) { q.Keys = orNil(q.Keys) }),
		"right keys are forgotten":  rarely(func(q *backend.Query) { q.RightKeys = nil }),
		"only the first word":       rarely(func(q *backend.Query) { q.Search = q.Search[:min(1, len(q.Search))] }),
		"endpoints are of one type": onQuery(func(q *backend.Query) { q.Right = q.Left }),
		"nothing is counted as none": {run: true, groups: func(list []onto.Group) []onto.Group {
			return slices.DeleteFunc(list, func(g onto.Group) bool { return len(g.By) == 0 && string(g.Values[0]) == "0" })
		}},
		"null is no group": {groups: func(list []onto.Group) []onto.Group {
			return slices.DeleteFunc(list, func(g onto.Group) bool {
				return slices.ContainsFunc(g.By, func(v json.RawMessage) bool { return v == nil })
			})
		}},
		"groups come in any order": {groups: func(list []onto.Group) []onto.Group {
			slices.Reverse(list)
			return list
		}},
		"zero stands for null": {groups: func(list []onto.Group) []onto.Group {
			for _, g := range list {
				for i, v := range g.Values {
					if v == nil {
						g.Values[i] = json.RawMessage("0")
					}
				}
			}
			return list
		}},
	}
}

// before is a key that comes right before another in most answers.
func before(key string) string {
	if key == "" {
		return ""
	}
	return key[:len(key)-1]
}

func orNil(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// TestWrongBackends plants mistakes in a backend, and requires that Agree detects them,
// and Run where it asks such questions.
func TestWrongBackends(t *testing.T) {
	planted := 0
	for i, name := range slices.Sorted(maps.Keys(wrongs())) {
		if !effort.Includes(t, i) {
			continue
		}
		planted++
		w := wrongs()[name]
		t.Run(name, func(t *testing.T) {
			open := func(t testing.TB, dir string) backend.Backend {
				planted := w
				planted.Backend = openMemory(t, dir)
				return planted
			}
			if filtertest.Disagree(t, 2_000, open, openMemory) == "" {
				t.Error("agree did not notice")
			}
			if w.run && len(filtertest.Complaints(t, open)) == 0 {
				t.Error("run did not notice")
			}
		})
	}
	t.Logf("%d mistakes of %d", planted, len(wrongs()))
}

// TestSoundBackend requires agreement about the backend without mistakes.
func TestSoundBackend(t *testing.T) {
	if agree := filtertest.Disagree(t, 1_000, openMemory, openMemory); agree != "" {
		t.Errorf("agree: %s", agree)
	}
}
