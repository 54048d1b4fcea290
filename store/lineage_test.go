package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store"
)

// A lineage is a type that changes again and again, and a model of it: what was stored
// after each commit, and what each migration makes of fields. It has no chains,
// projections or plans.
type lineage struct {
	t      *testing.T
	r      *rand.Rand
	places []func() backend.Backend
	stores []*store.Store

	writers []*lineWriter // programs with older and smaller types
	writes  int           // that they made
	ended   int           // writers that could not go on

	schema onto.Schema
	past   []map[string]thing // by commit, then key; as stored
	turns  []turn
	next   int // for names
}

type thing struct {
	typ    string
	fields map[string]any
	commit int64
	born   int64 // the commit with which its life began
}

// since is when the life of a thing began that is written by the next commit.
func (l *lineage) since(key string) int64 {
	if was, lives := l.past[l.head()][key]; lives {
		return was.born
	}
	return l.head() + 1
}

// turn is a migration.
type turn struct {
	since int64 // the first commit that has it
	name  string
	turn  func(fields map[string]any)

	moved      map[string]string // fields that keep their value under another name: the old one by the new one
	commit     int64             // the one that it made; 0 for none
	compatible bool              // programs with the version before go on
}

func newLineage(t *testing.T, seed uint64) *lineage {
	l := &lineage{t: t, r: rand.New(rand.NewPCG(seed, 4)), past: []map[string]thing{{}}}
	l.schema = onto.Schema{Kind: onto.KindEntity, Name: "T0", Key: "id", Fields: []onto.Field{
		{Name: "a", Type: onto.String}, {Name: "id", Type: onto.String}, {Name: "n", Type: onto.Int, Optional: true},
	}}
	mem, path := memory.New(nil), filepath.Join(t.TempDir(), "store.db")
	l.places = []func() backend.Backend{
		func() backend.Backend { return mem.Open() },
		func() backend.Backend {
			b, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	}
	l.open(l.types()...)
	return l
}

func (l *lineage) types() []onto.Type {
	return []onto.Type{onto.Untyped(l.schema), onto.Untyped(onto.Schema{
		Kind: onto.KindRelation, Name: "R", Left: l.schema.Name, Right: l.schema.Name,
		Fields: []onto.Field{{Name: "w", Type: onto.Int}},
	})}
}

func (l *lineage) open(types ...onto.Type) {
	l.close()
	for _, place := range l.places {
		s, err := store.Open(l.t.Context(), place(), types...)
		if err != nil {
			l.t.Fatal(err)
		}
		l.stores = append(l.stores, s)
	}
}

func (l *lineage) close() {
	for _, s := range l.stores {
		backendtest.Check(l.t, s.Backend())
		s.Close()
	}
	l.stores = nil
}

func (l *lineage) head() int64 { return int64(len(l.past) - 1) }

// write commits a few puts and deletes to every store.
func (l *lineage) write() {
	next, d := maps.Clone(l.past[l.head()]), onto.Draft{}
	changed := false
	for _, n := range l.r.Perm(4)[:1+l.r.IntN(3)] {
		key := "k" + strconv.Itoa(n)
		if _, lives := next[key]; lives && l.r.IntN(4) == 0 {
			delete(next, key)
			d = d.Delete(onto.EntityID(l.schema.Name, key))
			changed = true
			continue
		}
		fields := l.fields(key)
		d = d.Ensure(onto.Entity{Type: l.schema.Name, Key: key, Fields: fields})
		if was, lives := next[key]; !lives || text(was.fields) != text(fields) {
			next[key] = thing{l.schema.Name, fields, l.head() + 1, l.since(key)}
			changed = true
		}
	}
	for _, s := range l.stores {
		res, err := s.Commit(l.t.Context(), d)
		if err != nil || res.Changed() != changed {
			l.t.Fatalf("got %+v, %v; want a change: %t", res, err, changed)
		}
	}
	if changed {
		l.past = append(l.past, next)
	}
}

func (l *lineage) fields(key string) map[string]any { return l.fieldsOf(&l.schema, key) }

// fieldsOf is random fields of a type.
func (l *lineage) fieldsOf(s *onto.Schema, key string) map[string]any {
	fields := map[string]any{"id": key}
	for _, f := range s.Fields {
		if f.Name == "id" || f.Optional && l.r.IntN(3) == 0 {
			continue
		}
		n := int64(l.r.IntN(3))
		if f.Type == onto.Int || f.Type == onto.Float {
			fields[f.Name] = n
		} else {
			fields[f.Name] = strconv.FormatInt(n, 10)
		}
	}
	return fields
}

func text(fields map[string]any) string {
	doc, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(doc)
}

// migrate changes the type in a random way.
func (l *lineage) migrate() {
	l.next++
	fresh := "f" + strconv.Itoa(l.next)
	version, g := l.version(), l.schema
	g.Fields = slices.Clone(g.Fields)
	m, step := store.Migration{}, turn{since: l.head() + 1, name: g.Name}
	var others []int // fields that are not the key
	for i, f := range g.Fields {
		if f.Name != "id" {
			others = append(others, i)
		}
	}
	pick := 0
	if len(others) > 0 {
		pick = others[l.r.IntN(len(others))]
	}
	old := g.Fields[pick]
	switch kind := l.r.IntN(11); {
	case kind == 0 || kind == 6: // the schema only
		g.Fields = append(g.Fields, onto.Field{Name: fresh, Type: onto.Int, Optional: true})
		step.turn, step.compatible = func(map[string]any) {}, true
	case kind == 1 || kind == 7:
		g.Fields = append(g.Fields, onto.Field{Name: fresh, Type: onto.Int, Default: json.RawMessage("7")})
		step.turn, step.compatible = func(fields map[string]any) { fields[fresh] = int64(7) }, true
	case kind == 2:
		g.Name = "T" + strconv.Itoa(l.next)
		m.Upgraders = []store.Upgrader{store.RenameType(l.schema.Name, g.Name)}
		step.name, step.turn = g.Name, func(map[string]any) {}
	case kind == 10: // fields mean something else than before, though it looks compatible
		g.Fields = append(g.Fields, onto.Field{Name: fresh, Type: onto.Int, Optional: true})
		m.Upgraders = []store.Upgrader{{Type: g.Name, From: version, Program: fmt.Sprintf(".%s = 5", fresh)}}
		step.turn = func(fields map[string]any) { fields[fresh] = int64(5) }
	case old.Name == "id":
		return
	case kind == 8 && !old.Optional && old.Default == nil:
		g.Fields[pick].Optional = true
		step.turn, step.compatible = func(map[string]any) {}, true
	case kind == 9 && old.Type == onto.Int:
		g.Fields[pick].Type = onto.Float
		step.turn, step.compatible = func(map[string]any) {}, true
	case kind > 7:
		return
	case kind == 3:
		g.Fields[pick].Name = fresh
		m.Upgraders = []store.Upgrader{store.RenameField(g.Name, version, old.Name, fresh)}
		step.moved = map[string]string{fresh: old.Name}
		step.turn = func(fields map[string]any) {
			if v, has := fields[old.Name]; has {
				delete(fields, old.Name)
				fields[fresh] = v
			}
		}
	case kind == 4:
		g.Fields = slices.Delete(g.Fields, pick, pick+1)
		m.Upgraders = []store.Upgrader{store.DropField(g.Name, version, old.Name)}
		step.turn = func(fields map[string]any) { delete(fields, old.Name) }
	case old.Type == onto.Int:
		g.Fields[pick].Type, g.Fields[pick].Default = onto.String, nil
		m.Upgraders = []store.Upgrader{{Type: g.Name, From: version, Program: fmt.Sprintf("if has(%q) then .%s |= tostring else . end", old.Name, old.Name)}}
		step.turn = func(fields map[string]any) {
			if v, has := fields[old.Name]; has {
				fields[old.Name] = fmt.Sprint(v)
			}
		}
	default:
		return
	}
	g.SortFields()
	l.schema = g
	m.Types = l.types()
	l.apply(&m, step)
}

// version is the newest version of the type.
func (l *lineage) version() int {
	all, err := l.stores[0].Schemas(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, v := range typelist.Newest(all) {
		if v.Schema.Name == l.schema.Name {
			return v.Version
		}
	}
	return 0
}

// apply migrates every store, and the model.
func (l *lineage) apply(m *store.Migration, step turn) {
	l.close()
	before := l.past[l.head()]
	next, changed := map[string]thing{}, false
	for key, was := range before {
		fields := maps.Clone(was.fields)
		step.turn(fields)
		if text(fields) != text(was.fields) || step.name != was.typ {
			was, changed = thing{step.name, fields, l.head() + 1, was.born}, true
		}
		next[key] = was
	}
	for _, place := range l.places {
		b := place()
		plan, err := store.PlanMigration(l.t.Context(), b, m)
		if err != nil {
			l.t.Fatal(err)
		}
		res, _, err := store.Migrate(l.t.Context(), b, m, &store.ApplyOptions{Token: plan.Token})
		if err != nil || res.Changed() != changed {
			l.t.Fatalf("%+v: got %+v, %v; want a commit: %t", plan.Types, res, err, changed)
		}
		if err := b.Close(); err != nil {
			l.t.Fatal(err)
		}
	}
	if changed {
		l.past = append(l.past, next)
		step.commit = l.head()
	}
	l.turns = append(l.turns, step)
	l.open()
	if !step.compatible {
		l.endWriters()
	}
}

// present is what the present type makes of a thing that is stored as of a
// commit.
func (l *lineage) present(was thing, at int64) string {
	fields := maps.Clone(was.fields)
	for _, step := range l.turns {
		if step.since > at {
			step.turn(fields)
		}
	}
	return text(fields)
}

// state is what a view as of a commit shows, in order of keys.
func (l *lineage) state(at int64, keep func(fields map[string]any) bool) []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(l.past[at])) {
		was := l.past[at][key]
		shown := l.present(was, at)
		var fields map[string]any
		if err := json.Unmarshal([]byte(shown), &fields); err != nil {
			l.t.Fatal(err)
		}
		if keep == nil || keep(fields) {
			list = append(list, fmt.Sprint(l.schema.Name, " ", key, " ", was.commit, " ", shown))
		}
	}
	return list
}
