package facttest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// RunMigrated compares stores with the model after their types have been migrated to
// others and back, and all facts rewritten each time.
func RunMigrated(t *testing.T, size Size, open func(t *testing.T) backend.Backend) {
	answers := 0
	for i := range size.Histories {
		seed := size.Seed + uint64(i)
		t.Run(fmt.Sprint("history ", seed), func(t *testing.T) {
			h := grown(t, open(t), seed, size.Facts)
			h.migrate("Belief", "", store.RenameType("Belief", "Faith"), onto.TypeOf[Belief]().As("Faith"))
			h.migrate("Belief", "", store.RenameType("Faith", "Belief"), onto.TypeOf[Belief]())
			h.migrate("Belief", "rank", h.upgrader("Belief", `if has("rank") then .rank |= tostring else . end`), h.ranked("Belief", onto.String))
			h.migrate("Belief", "rank", h.upgrader("Belief", `if has("rank") then .rank |= tonumber else . end`), h.ranked("Belief", onto.Int))
			h.migrate("Loose", "odd", store.Upgrader{}, withOdd())
			h.migrate("Loose", "odd", store.Upgrader{}, loose())
			h.reopen()
			for range size.Points {
				answers += h.check(size.Few)
			}
		})
	}
	t.Logf("%d histories of %d facts and more, migrated 6 times, %d points each: %d answers compared", size.Histories, size.Facts, size.Points, answers)
}

// RunImported compares stores that were filled with the exports of others with the
// model of these: about the present.
func RunImported(t *testing.T, size Size, open func(t *testing.T) backend.Backend) {
	answers := 0
	for i := range size.Histories {
		seed := size.Seed + uint64(i)
		t.Run(fmt.Sprint("history ", seed), func(t *testing.T) {
			h := grown(t, open(t), seed, size.Facts).imported(open(t))
			for range size.Points {
				answers += h.check(size.Few)
			}
		})
	}
	t.Logf("%d histories of %d facts and more, exported and imported, %d points each: %d answers compared", size.Histories, size.Facts, size.Points, answers)
}

// withOdd is the type loose with the attribute declared that it does not declare.
func withOdd() onto.Type {
	s, _ := loose().Schema() // it is well formed
	s.Fields = append(slices.Clone(s.Fields), onto.Field{Name: "odd", Type: onto.Int, Optional: true})
	return onto.Untyped(s)
}

// ranked is the type of beliefs with ranks of another type.
func (h *history) ranked(name string, rank onto.FieldType) onto.Type {
	h.t.Helper()
	s, err := onto.TypeOf[Belief]().As(name).Schema()
	if err != nil {
		h.t.Fatal(err)
	}
	s.Fields = slices.Clone(s.Fields)
	for i := range s.Fields {
		if s.Fields[i].Name == "rank" {
			s.Fields[i].Type = rank
		}
	}
	return onto.Untyped(s)
}

// upgrader is a program for the newest version of a type.
func (h *history) upgrader(typ, program string) store.Upgrader {
	h.t.Helper()
	all, err := h.s.Schemas(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	u := store.Upgrader{Type: typ, Program: program}
	for _, v := range all {
		if v.Schema.Name == typ {
			u.From = max(u.From, v.Version)
		}
	}
	return u
}

// migrate changes a type, and rewrites the facts on an attribute, or all if it is "". What
// the model says does not change.
func (h *history) migrate(name, attribute string, u store.Upgrader, typ onto.Type) {
	h.t.Helper()
	m := &store.Migration{Types: []onto.Type{typ}}
	if u.Type != "" {
		m.Upgraders = []store.Upgrader{u}
	}
	res, _, err := store.Migrate(h.t.Context(), h.s.Backend(), m, &store.ApplyOptions{Force: true})
	if err != nil {
		h.t.Fatal(err)
	}
	if res.ID != 0 {
		h.times = append(h.times, res.Time)
		h.rows = append(h.rows, row{commit: res.ID, verb: "rewrite", Identity: onto.Identity{Type: name, Right: attribute}})
	}
}

// reopen opens the store anew, for the types as they are now.
func (h *history) reopen() {
	h.t.Helper()
	s, err := store.Open(h.t.Context(), kept{h.s.Backend()}, Types()...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.s = s
}

// kept is a backend that another store closes.
type kept struct{ backend.Backend }

func (kept) Close() error              { return nil }
func (k kept) Unwrap() backend.Backend { return k.Backend }

// imported is a store with what the store exports now, and the model of it: all that is
// believed was asserted at once, in the order in which it was before.
func (h *history) imported(b backend.Backend) *history {
	h.t.Helper()
	ctx := h.t.Context()
	s, err := store.Open(ctx, b, Types()...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { s.Close() })
	var text bytes.Buffer
	if _, err := records.Export(ctx, h.s, &text, nil); err != nil {
		h.t.Fatal(err)
	}
	out, err := records.Import(ctx, s, &text, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	now := int64(len(h.times) - 1)
	list := append(h.believed("Belief", now), h.believed("Loose", now)...)
	slices.SortFunc(list, func(a, b fact) int {
		if b.later(&a) {
			return -1
		}
		return 1
	})
	m := model{times: []time.Time{{}, out.Result.Time}}
	ranks := map[onto.Identity]int64{} // by type and subject
	for _, f := range list {
		r, about := f.row, onto.Identity{Type: f.Type, Left: f.Left}
		r.commit, r.seq = 1, ranks[about]
		ranks[about]++
		if m.rows = append(m.rows, r); f.revoked != nil {
			m.rows = append(m.rows, row{commit: 1, verb: "revoke", Identity: f.Identity, at: f.until, note: f.revoked})
		}
	}
	return &history{t: h.t, s: s, random: h.random, model: m}
}
