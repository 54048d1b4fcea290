package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// A model of the store: what each identity was after each commit. It is a map
// per commit and knows nothing of projections, deltas or canonical forms.
type model struct {
	t    *testing.T
	s    *store.Store
	past []map[onto.Identity]was // by commit; 0 is the empty store
}

type was struct {
	fields string // "" if it does not exist
	commit int64
}

func (m *model) commit(wants map[onto.Identity]string, d onto.Draft) {
	m.t.Helper()
	res := mustCommit(m.t, m.s, d)
	next, id, changed := maps.Clone(m.past[len(m.past)-1]), int64(len(m.past)), 0
	for identity, fields := range wants {
		if next[identity].fields != fields {
			next[identity] = was{fields, id}
			changed++
		}
	}
	if changed == 0 {
		id = 0
	} else {
		m.past = append(m.past, next)
	}
	if res.ID != id || res.Operations != changed {
		m.t.Fatalf("got commit %d with %d versions, want %d with %d", res.ID, res.Operations, id, changed)
	}
}

// check compares every question at every commit.
func (m *model) check() {
	ids := slices.SortedFunc(maps.Keys(m.past[len(m.past)-1]), onto.Identity.Compare)
	for at, state := range m.past {
		for _, id := range ids {
			v, err := m.s.At(int64(at)).Get(m.t.Context(), id)
			if w := state[id]; string(v.Fields) != w.fields || errors.Is(err, onto.NotFound) != (w.fields == "") || w.fields != "" && v.Commit != w.commit {
				m.t.Fatalf("%s at %d: got %s of commit %d, error %v; want %+v", id, at, v.Fields, v.Commit, err, w)
			}
		}
		for _, typ := range []string{"Customer", "Product", "Subscription"} {
			m.checkPages(at, typ, ids)
		}
		m.checkDiff(at/2, at, ids)
	}
	for _, id := range ids {
		m.checkHistory(id)
	}
}

func (m *model) checkPages(at int, typ string, ids []onto.Identity) {
	var want, got []string
	for _, id := range ids {
		if id.Type == typ && m.past[at][id].fields != "" {
			want = append(want, id.String())
		}
	}
	for q := m.s.At(int64(at)).Find(typ).Limit(3); ; {
		page, err := q.Page(m.t.Context())
		if err != nil {
			m.t.Fatal(err)
		}
		for _, v := range page.Items {
			got = append(got, v.Identity.String())
		}
		if page.Next == "" {
			break
		}
		q = q.After(page.Next)
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("%s at %d: got %q, want %q", typ, at, got, want)
	}
}

func (m *model) checkDiff(from, to int, ids []onto.Identity) {
	var want, got []string
	for _, id := range ids {
		if a, z := m.past[from][id].fields, m.past[to][id].fields; a != z {
			want = append(want, fmt.Sprintf("%s: %s > %s", id, a, z))
		}
	}
	for c, err := range m.s.Diff(m.t.Context(), store.DiffOptions{From: onto.AtCommit(int64(from)), To: onto.AtCommit(int64(to))}) {
		if err != nil {
			m.t.Fatal(err)
		}
		var a, z string
		if c.Before != nil {
			a = string(c.Before.Fields)
		}
		if c.After.Live() {
			z = string(c.After.Fields)
		}
		got = append(got, fmt.Sprintf("%s: %s > %s", c.Identity, a, z))
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("from %d to %d: got %q, want %q", from, to, got, want)
	}
}

func (m *model) checkHistory(id onto.Identity) {
	var want, got []string
	since := map[string]int64{} // the commit that set each field to what it is
	for at := 1; at < len(m.past); at++ {
		before, now := m.past[at-1][id], m.past[at][id]
		if before == now {
			continue
		}
		want = append(want, fmt.Sprint(at, now.fields))
		var old, fields map[string]json.RawMessage
		json.Unmarshal([]byte(before.fields), &old)
		json.Unmarshal([]byte(now.fields), &fields)
		for name, value := range fields {
			if string(old[name]) != string(value) {
				since[name] = int64(at)
			}
		}
	}
	for e, err := range m.s.History(m.t.Context(), id) {
		if err != nil {
			m.t.Fatal(err)
		}
		fields := ""
		if e.Version.Live() {
			fields = string(e.Version.Fields)
		}
		got = append(got, fmt.Sprint(e.Commit.ID, fields))
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("history of %s: got %q, want %q", id, got, want)
	}
	list, err := m.s.Blame(m.t.Context(), id)
	if gone := m.past[len(m.past)-1][id].fields == ""; errors.Is(err, onto.NotFound) != gone {
		m.t.Fatalf("blame of %s: got error %v", id, err)
	}
	for _, b := range list {
		if b.Commit.ID != since[b.Field] {
			m.t.Fatalf("blame of %s: %s is from commit %d, want %d", id, b.Field, b.Commit.ID, since[b.Field])
		}
	}
}

// Random commits of structs agree with a model at every commit.
func TestRandomCommitsAgreeWithAModel(t *testing.T) {
	keys := []string{"a", "A", "%", "_", `"`, `\`, "'; --", "é", "e\u0301", "\x01", "\U0010ffff", strings.Repeat("k", onto.MaxKey)}
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 0))
		m := &model{t: t, s: crm(t), past: []map[onto.Identity]was{{}}}
		key := func() string { return keys[r.IntN(len(keys))] }
		text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
		for range 40 {
			wants, d := map[onto.Identity]string{}, onto.Draft{}
			for range 1 + r.IntN(8) {
				p := Product{key(), key()}
				sub := Subscription{Link: onto.Between[Customer, Product](key(), key()), Seats: r.IntN(2)}
				pid, sid := onto.EntityID("Product", p.SKU), onto.RelationID("Subscription", sub.Left, sub.Right)
				if _, twice := wants[pid]; !twice {
					wants[pid] = fmt.Sprintf(`{"sku":%s,"title":%s}`, text(p.SKU), text(p.Title))
					d = d.Ensure(p)
				}
				if _, twice := wants[sid]; twice {
					continue
				}
				if wants[sid] = fmt.Sprintf(`{"seats":%d}`, sub.Seats); r.IntN(3) == 0 {
					wants[sid], d = "", d.Delete(sid)
				} else {
					d = d.Ensure(sub)
				}
			}
			m.commit(wants, d)
		}
		m.check()
	}
}
