package decide_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/typelist"
)

func evolving(r *decide.Round, e backend.Evolution, writes ...backend.Write) *backend.Draft {
	e.Base = typelist.Hash(r.Types.All)
	return &backend.Draft{Evolve: &e, Writes: writes}
}

func ending(purge bool) []backend.EndedType {
	return []backend.EndedType{{Kind: onto.KindEntity, Type: "Person", Purge: purge}}
}

func adding(s onto.Schema) []backend.NewVersion { return []backend.NewVersion{{Schema: s}} }

// An evolution fits the stored types, or it is refused.
func TestEvolution(t *testing.T) {
	link := onto.Schema{Kind: onto.KindRelation, Name: "Person", Left: "Person", Right: "Person"}
	learn := func(version int) []backend.TypeUpgrader {
		return []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: "Person", Version: version, Upgrader: onto.StoredUpgrader{Program: "."}}}
	}
	for _, c := range []struct {
		name   string
		e      backend.Evolution
		writes []backend.Write
		code   onto.Code // "" for none
	}{
		{"a version", backend.Evolution{Add: adding(person(true))}, []backend.Write{at(3, put("a", 2))}, ""},
		{"a version, and writes for the one before", backend.Evolution{Add: adding(person(true))}, []backend.Write{put("a", 2)}, onto.SchemaOutdated},
		{"a type twice", backend.Evolution{Add: append(adding(person(false)), adding(person(true))...)}, nil, onto.Invalid},
		{"a name of another kind", backend.Evolution{Add: adding(link)}, nil, onto.Conflict},
		{"a name that has ended", backend.Evolution{Add: adding(link), End: ending(false)}, nil, ""},
		{"a type that ended, anew", backend.Evolution{Add: adding(city())}, nil, ""},
		{"an end", backend.Evolution{End: ending(false)}, []backend.Write{remove("a")}, ""},
		{"an end, and a put", backend.Evolution{End: ending(false)}, []backend.Write{put("a", 2)}, onto.Invalid},
		{"an end, and a delete for the version before", backend.Evolution{End: ending(false)}, []backend.Write{at(1, remove("a"))}, onto.Invalid},
		{"an end and a beginning", backend.Evolution{End: ending(false), Add: adding(person(false))}, []backend.Write{at(3, put("a", 2))}, ""},
		{"an end twice", backend.Evolution{End: append(ending(false), ending(false)...)}, nil, onto.NotFound},
		{"an end of what has ended", backend.Evolution{End: []backend.EndedType{{Kind: onto.KindEntity, Type: "City"}}}, nil, onto.NotFound},
		{"a purge of what has ended", backend.Evolution{End: []backend.EndedType{{Kind: onto.KindEntity, Type: "City", Purge: true}}}, nil, ""},
		{"a purge of what never was", backend.Evolution{End: []backend.EndedType{{Kind: onto.KindEntity, Type: "Ghost", Purge: true}}}, nil, onto.NotFound},
		{"an upgrader", backend.Evolution{Learn: learn(2)}, nil, ""},
		{"an upgrader of no version", backend.Evolution{Learn: learn(3)}, nil, onto.Conflict},
	} {
		r := round()
		if _, err := r.Append(evolving(r, c.e, c.writes...), nil); onto.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want %q", c.name, err, c.code)
		}
	}
}

// The types change with the draft, also if no version is made.
func TestTypesLeftBehind(t *testing.T) {
	r := round()
	flagged := person(true)
	if _, err := r.Register(&backend.Registration{Schemas: []onto.Schema{flagged}, Reason: "flags"}); err != nil {
		t.Fatal(err)
	}
	if last := r.Types.All[2]; len(r.Types.All) != 3 || !last.Schema.Fields[1].Index || last.Reason != "" {
		t.Errorf("after the flags: got %+v", r.Types.All)
	}
	res, err := r.Append(evolving(r, backend.Evolution{Add: adding(person(false)), Reason: "migration"}), nil)
	if err != nil || res.Changed() {
		t.Fatal(res, err)
	}
	last := r.Types.All[3]
	if last.Version != 3 || last.Since != 6 || last.Reason != "migration" || r.Types.All[2].Schema.Fields[1].Index {
		t.Errorf("after the evolution: got %+v", r.Types.All)
	}
	if _, err := r.Append(draft(at(4, put("a", 2))), nil); onto.CodeOf(err) != onto.SchemaOutdated {
		t.Errorf("a write for version 4: got %v, want schema_outdated", err)
	}
}

// A purge counts and forgets the versions of its type, also those of the round,
// and commits that are handed out again have fewer operations.
func TestPurge(t *testing.T) {
	r := round()
	name := person(false).TypeName()
	r.Counts[name] = 7
	keyed := draft(put("a", 2), put("b", 2))
	keyed.IdempotencyKey = "k"
	if res, err := r.Append(keyed, nil); err != nil || res.Operations != 2 {
		t.Fatal(res, err)
	}
	res, err := r.Append(evolving(r, backend.Evolution{End: ending(true), Add: adding(person(false))}, at(3, put("a", 2))), nil)
	if err != nil || res.Operations != 1 || r.Versions[2].Before != nil {
		t.Fatal(res, err)
	}
	if end := r.Types.All[2].End; end == nil || !end.Purged || end.Versions != 9 || end.Commit != 7 {
		t.Errorf("got the end %+v, want 9 versions purged with commit 7", end)
	}
	if res, err := r.Append(keyed, nil); err != nil || !res.Repeated || res.Operations != 0 {
		t.Errorf("again: got %+v, %v; want no operations", res, err)
	}
	d := draft()
	d.Expect = []onto.Expectation{{Identity: onto.EntityID("Person", "b")}, {Identity: onto.EntityID("Person", "a"), Commit: 7}}
	if _, err := r.Append(d, nil); err != nil {
		t.Error(err)
	}
	if _, err := r.Append(evolving(r, backend.Evolution{End: ending(true)}), nil); err != nil || r.Types.All[3].End.Versions != 1 {
		t.Errorf("got %v and the end %+v, want 1 version purged", err, r.Types.All[3].End)
	}
}

// A type that is registered twice at once is there once, with the last flags.
func TestRegister(t *testing.T) {
	reg := &backend.Registration{Schemas: []onto.Schema{city(), person(false), city()}, Reason: "initial"}
	r := decide.NewRound(decide.Base{Now: noon})
	list, err := r.Register(reg)
	if err != nil || len(list) != 3 || len(r.Types.All) != 2 || list[0].Version != 1 || list[0].Since != 1 || !list[0].Created.Equal(noon) {
		t.Fatalf("got %+v, %v", list, err)
	}
	if !decide.Registered(r.Types.All, reg) || decide.Registered(r.Types.All, &backend.Registration{Schemas: []onto.Schema{person(true)}}) {
		t.Error("it is not known what is registered")
	}
	other := city()
	other.Fields = append(other.Fields, onto.Field{Name: "size", Type: onto.Int})
	if _, err := r.Register(&backend.Registration{Schemas: []onto.Schema{other}}); onto.CodeOf(err) != onto.SchemaOutdated || len(r.Types.All) != 2 {
		t.Errorf("got %v, want schema_outdated", err)
	}
	if _, err := r.Append(draft(at(1, put("a", 1))), nil); err != nil {
		t.Error(err)
	}
}
