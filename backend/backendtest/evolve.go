package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
)

func evolveStories() []tale {
	return []tale{
		{"types evolve in one commit with their rows", evolveWithRows},
		{"types evolve without a commit", evolveTypesOnly},
		{"types evolve before the first commit", evolveEmpty},
		{"a version of a type tells who made it and why", evolveTellsWho},
		{"several types evolve together", evolveSeveral},
		{"what fails evolves nothing", evolveFails},
		{"what breaks evolves nothing", evolveBreaks},
		{"what panics evolves nothing", evolvePanics},
		{"a draft in memory evolves nothing", evolveInMemory},
		{"an evolution is known to every handle", evolveShared},
		{"a stream that evolves reads the types and rows from before", evolveReadsBefore},
		{"a repeated key evolves nothing", evolveRepeated},
		{"an evolution is made for certain types", evolveBase},
		{"older versions keep their fields and stamps", evolveKeepsHistory},
		{"an upgrader is learnt", evolveLearns},
		{"marks of a new version count", evolveMarks},
		{"flags are those of the newest version", evolveKeepsFlags},
		{"many rows evolve", evolveMany},
		{"of two evolutions one wins", evolveRaced},
	}
}

// grown returns a type of the tests with further fields.
func grown(typ string, fields ...onto.Field) onto.Schema {
	s := *schemaOf(testSchemas(), typ)
	s.Fields = append(s.Fields, fields...)
	s.SortFields()
	return s
}

// levelField and zipField are what the types of the tests get.
func levelField() onto.Field {
	return onto.Field{Name: "level", Type: onto.Int, Default: []byte("1")}
}
func zipField() onto.Field { return onto.Field{Name: "zip", Type: onto.String, Optional: true} }

// adding is an evolution that adds versions.
func adding(schemas ...onto.Schema) backend.Evolution {
	var e backend.Evolution
	for _, s := range schemas {
		e.Add = append(e.Add, backend.NewVersion{Schema: s})
	}
	return e
}

// ending is an evolution that ends types of entities.
func ending(names ...string) backend.Evolution {
	var e backend.Evolution
	for _, n := range names {
		e.End = append(e.End, backend.EndedType{Kind: onto.KindEntity, Type: n})
	}
	return e
}

// evolving makes a draft that evolves the types as they are now.
func (s *story) evolving(e backend.Evolution) *backend.Draft {
	s.Helper()
	e.Base = typelist.Hash(s.schemaVersions())
	e.Runtime, e.Reason, e.Actor, e.Comment = "evolver", "migration", onto.Component("evolve"), "types änder\n"
	return &backend.Draft{Evolve: &e}
}

// evolve evolves the types as they are now, which must be accepted.
func (s *story) evolve(e backend.Evolution, writes ...backend.Write) onto.Result {
	s.Helper()
	return s.stream(s.evolving(e), writes...)
}

func evolveEmpty(s *story) {
	if r := s.evolve(adding(tagged("New")), remove(person("ada"))); r.Changed() || r.At != 0 {
		s.Errorf("got commit %d at %d, want none", r.ID, r.At)
	}
	s.commit(put(person("ada"), 1))
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @1 {"id":"ada","n":1}`)
}

// whole returns everything as text, with all types that there are.
func (s *story) whole() []string {
	s.Helper()
	lines := append(s.everything(), s.schemas()...)
	for _, v := range typelist.Last(s.schemaVersions()) {
		lines = append(lines, s.scan(historyOf(v.Schema.Kind, v.Schema.Name, backend.Head))...)
		lines = append(lines, s.scan(stateOf(v.Schema.Kind, v.Schema.Name, backend.Head))...)
	}
	return lines
}

// versionsOf describes each version of a type in short.
func (s *story) versionsOf(typ string) string {
	s.Helper()
	var list []string
	for _, v := range s.schemaVersions() {
		if v.Schema.Name != typ {
			continue
		}
		text := fmt.Sprintf("v%d since %d", v.Version, v.Since)
		if v.End != nil {
			text += fmt.Sprintf(" until %d", v.End.Commit)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func evolveWithRows(s *story) {
	s.commit(put(person("ada"), 1), put(person("bob"), 2), put(city("rome"), 1))
	s.commit(put(person("ada"), 3))
	s.place.clock.set(time.Date(2027, 1, 2, 3, 4, 5, 678901999, time.FixedZone("", 3600)))
	schema, upgrader := grown(tPerson, levelField()), onto.StoredUpgrader{Program: ".level = 1"}
	d := s.evolving(backend.Evolution{Add: []backend.NewVersion{{Schema: schema, Upgrader: &upgrader}}})
	d.Comment = "levels"
	r := s.stream(d,
		stamped(set(person("ada"), `{"level":1,"n":3}`), 2), stamped(set(person("bob"), `{"level":1,"n":2}`), 2), put(city("oslo"), 1))
	if r.ID != 3 || r.Operations != 3 || r.Repeated || r.Comment != "levels" {
		s.Errorf("got %s, repeated %v; want commit 3 with 3 operations", showCommit(r.Commit), r.Repeated)
	}
	created := time.Date(2027, 1, 2, 2, 4, 5, 678901000, time.UTC)
	want := showSchema(onto.SchemaVersion{
		Schema: schema, Version: 2, JSON: schema.JSON(), Hash: schema.Hash(), Created: created,
		Runtime: "evolver", Reason: "migration", Since: 3, Upgrader: &upgrader,
		Actor: onto.Component("evolve"), Comment: "types änder\n",
	})
	for range 2 {
		if all := s.schemas(); len(all) != len(testSchemas())+1 || !slices.Contains(all, want) {
			s.Errorf("schemas: got %q, want %s and those before", all, want)
		}
		s.want("versions", s.versionsOf(tPerson), "v1 since 1, v2 since 3")
		s.wantState(onto.KindEntity, tPerson,
			`Person "ada" @3 v2 {"id":"ada","level":1,"n":3}`, `Person "bob" @3 v2 {"id":"bob","level":1,"n":2}`)
		s.reopen()
	}
	s.refused(onto.SchemaOutdated, draft(put(person("ada"), 4)))
	s.commit(stamped(set(person("ada"), `{"level":2}`), 2), put(city("rome"), 2))
}

func evolveTypesOnly(s *story) {
	s.evolve(adding(grown(tCity, zipField())))
	s.want("cities before the first commit", s.versionsOf(tCity), "v1 since 1, v2 since 1")
	s.commit(put(person("ada"), 1))
	before := s.everything()
	for i, fields := range [][]onto.Field{{zipField()}, {zipField(), levelField()}} {
		// Rows that are as wanted, and deletes of what does not exist, make no commit.
		version := i + 2
		same := stamped(put(person("ada"), 1), version)
		d := s.evolving(adding(grown(tPerson, fields...)))
		d.IdempotencyKey = "free"
		if r := s.stream(d, same, stamped(remove(person("bob")), version)); r.Changed() || r.Repeated || r.Operations != 0 {
			s.Errorf("got %s, repeated %v; want no commit", showCommit(r.Commit), r.Repeated)
		}
		s.wantLines("the log", s.everything(), before)
	}
	s.want("persons", s.versionsOf(tPerson), "v1 since 1, v2 since 2, v3 since 2")
	s.refused(onto.SchemaOutdated, draft(stamped(put(person("ada"), 2), 4)))
	s.do(keyed("free", stamped(put(person("ada"), 2), 3)))
	s.wantHead(2)
	s.evolve(adding(grown(tVisit, zipField())))
	s.want("visits", s.versionsOf(tVisit), "v1 since 1, v2 since 3")
}

func evolveSeveral(s *story) {
	s.commit(put(person("ada"), 1), put(visit("ada", "rome", "t"), 1))
	types := []onto.Schema{grown(tPerson, zipField()), tagged("New"), grown(tVisit, levelField()), tagged("Also")}
	before := s.whole()
	bad := adding(types...)
	bad.Add = append(bad.Add, backend.NewVersion{Schema: tagged(tKnows)}) // of the other kind
	s.refusedEvolution(onto.Conflict, s.evolving(bad))
	bad = adding(types...)
	bad.End = []backend.EndedType{{Kind: onto.KindEntity, Type: tCity}, {Kind: onto.KindEntity, Type: "Nobody"}}
	s.refusedEvolution(onto.NotFound, s.evolving(bad))
	bad = adding(types...)
	bad.Learn = []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: tPerson, Version: 7}}
	s.refusedEvolution(onto.Conflict, s.evolving(bad))
	s.wantLines("the store", s.whole(), before)

	tag := onto.EntityID("New", "x")
	r := s.evolve(adding(types...), put(tag, 1), stamped(set(visit("ada", "rome", "t"), `{"level":1,"n":1}`), 2))
	if r.ID != 2 || r.Operations != 2 {
		s.Errorf("got %s, want commit 2 with 2 operations", showCommit(r.Commit))
	}
	for typ, want := range map[string]string{
		tPerson: "v1 since 1, v2 since 2", tVisit: "v1 since 1, v2 since 2", "New": "v1 since 2", "Also": "v1 since 2",
		tCity: "v1 since 1", tKnows: "v1 since 1",
	} {
		s.want(typ, s.versionsOf(typ), want)
	}
	s.wantState(onto.KindEntity, "New", `New "x" @2 {"id":"x","n":1}`)
	s.commit(put(onto.EntityID("Also", "x"), 1))
}

// refusedEvolution sends a stream that must fail with a code and change nothing.
func (s *story) refusedEvolution(code onto.Code, d *backend.Draft, writes ...backend.Write) {
	s.Helper()
	before := s.whole()
	r, err := s.AppendStream(s.ctx, d, sequence(writes, nil))
	s.wantCode("evolve", err, code)
	if r.Changed() {
		s.Errorf("got %s with an error", showCommit(r.Commit))
	}
	s.wantLines("the store", s.whole(), before)
}

// ambitious is an evolution that does some of everything.
func ambitious() backend.Evolution {
	e := adding(grown(tPerson, levelField()), tagged("New"))
	e.End = []backend.EndedType{{Kind: onto.KindEntity, Type: tCity, Purge: true}}
	e.Learn = []backend.TypeUpgrader{{Kind: onto.KindRelation, Type: tKnows, Version: 1, Upgrader: onto.StoredUpgrader{Func: true}}}
	return e
}

func evolveFails(s *story) {
	ada, bob := person("ada"), person("bob")
	s.commit(put(ada, 1), put(city("rome"), 1))
	good := stamped(put(ada, 2), 2)
	expect := func(list ...onto.Expectation) *backend.Draft {
		d := s.evolving(ambitious())
		d.Expect = list
		return d
	}
	s.refusedEvolution(onto.HeadMismatch, expect(headIs(7)), good)
	s.refusedEvolution(onto.HeadMismatch, expect(headIs(0)))
	s.refusedEvolution(onto.VersionMismatch, expect(isAt(ada, 0)), good)
	s.refusedEvolution(onto.VersionMismatch, expect(isAt(city("rome"), 0)), good) // of a type that would be purged
	s.refusedEvolution(onto.SchemaOutdated, expect(), good, put(bob, 1))
	s.refusedEvolution(onto.SchemaOutdated, expect(), good, stamped(put(bob, 1), 3))
	s.refusedEvolution(onto.SchemaOutdated, expect(), good, put(onto.EntityID("Nobody", "x"), 1))
	s.refusedEvolution(onto.Invalid, expect(), good, put(city("rome"), 2))
	s.refusedEvolution(onto.Conflict, expect(), good, stamped(put(ada, 3), 2))
	s.commit(put(ada, 2), put(city("rome"), 2)) // by the types as they were
	s.reopen()
	s.commit(put(ada, 3), put(city("rome"), 3))
	if r := s.stream(expect(headIs(3), isAt(city("rome"), 3)), stamped(put(ada, 4), 2)); r.ID != 4 || r.Operations != 1 {
		s.Errorf("afterwards: got %s, want commit 4 with 1 operation", showCommit(r.Commit))
	}
}

// evolveBreaks lets the source of the rows fail, or the caller cancel.
func evolveBreaks(s *story) {
	s.commit(put(person("ada"), 1), put(city("rome"), 1))
	before := s.whole()
	planted := errors.New("the source broke")
	for _, n := range []int{0, 1, 3000} {
		writes := rows(n, 1)
		for i := range writes {
			writes[i].SchemaVersion = 2
		}
		if _, err := s.AppendStream(s.ctx, s.evolving(ambitious()), sequence(writes, planted)); err != planted {
			s.Fatalf("after %d rows: got error %v, want the one of the sequence as it is", n, err)
		}
		s.wantLines("the store after a broken sequence", s.whole(), before)
	}
	good := []backend.Write{stamped(put(person("ada"), 2), 2)}
	d := s.evolving(ambitious())
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) { return false, planted }
	if _, err := s.AppendStream(s.ctx, d, sequence(good, nil)); !errors.Is(err, planted) {
		s.Errorf("got error %v, want the one of the admission", err)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.AppendStream(ctx, s.evolving(ambitious()), sequence(good, nil)); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled: got error %v, want %v", err, context.Canceled)
	}
	s.wantLines("the store", s.whole(), before)
	s.commit(put(person("ada"), 2))
}

func evolvePanics(s *story) {
	s.commit(put(person("ada"), 1))
	before := s.whole()
	for name, exit := range exits() {
		d := s.evolving(adding(grown(tPerson, zipField())))
		survive(func() {
			s.port().AppendStream(s.ctx, d, func(yield func(backend.Write, error) bool) {
				if yield(stamped(put(person("ada"), 2), 2), nil) {
					exit()
				}
			})
		})
		s.wantLines("after a "+name, s.whole(), before)
	}
	s.commit(put(person("ada"), 2))
}

func evolveInMemory(s *story) {
	d := s.evolving(adding(grown(tPerson, zipField())))
	before := s.whole()
	s.refused(onto.Invalid, d)
	d.Writes = []backend.Write{stamped(put(person("ada"), 1), 2)}
	s.refused(onto.Invalid, d)
	s.wantLines("the store", s.whole(), before)
}

func evolveShared(s *story) {
	other := s.through(s.open())
	s.commit(put(person("ada"), 1))
	other.commit(put(person("ada"), 2)) // it knows the types by now
	need := onto.Field{Name: "need", Type: onto.Int}
	s.evolve(adding(grown(tPerson, need)), stamped(set(person("ada"), `{"n":2,"need":1}`), 2))
	other.refused(onto.SchemaOutdated, draft(put(person("ada"), 3)))
	other.refusedStream(onto.SchemaOutdated, draft(), put(person("ada"), 3))
	other.wantLines("schemas", other.schemas(), s.schemas())
	other.commit(stamped(set(person("ada"), `{"n":3,"need":1}`), 2))
	_, err := other.Register(s.ctx, &backend.Registration{Schemas: testSchemas()})
	other.wantCode("register", err, onto.SchemaOutdated)
	list := other.register(grown(tPerson, need))
	s.want("registered", fmt.Sprintf("v%d since %d", list[0].Version, list[0].Since), "v2 since 3")

	other.evolve(adding(grown(tPerson, zipField(), levelField())), stamped(set(person("ada"), `{"level":1,"n":3}`), 3))
	s.refused(onto.SchemaOutdated, draft(stamped(put(person("ada"), 4), 2)))
	other.evolve(ending(tCity))
	s.refused(onto.SchemaOutdated, draft(put(city("rome"), 4)))
	s.wantLines("schemas", s.schemas(), other.schemas())
	s.want("persons", s.versionsOf(tPerson), "v1 since 1, v2 since 3, v3 since 5")
	s.wantLines("the store", s.whole(), other.whole())
}

func evolveReadsBefore(s *story) {
	s.commit(put(person("ada"), 1), put(person("bob"), 2), put(city("rome"), 1))
	e := adding(grown(tPerson, levelField()))
	e.End = []backend.EndedType{{Kind: onto.KindEntity, Type: tCity, Purge: true}}
	before := s.whole()
	r, err := s.port().AppendStream(s.ctx, s.evolving(e), func(yield func(backend.Write, error) bool) {
		for v, err := range s.Scan(s.ctx, stateOf(onto.KindEntity, tPerson, backend.Head)) {
			w := stamped(set(v.Identity, fmt.Sprintf(`{"level":%d}`, v.SchemaVersion)), 2)
			s.wantLines("the store as the stream sees it", s.whole(), before)
			if !yield(w, err) {
				return
			}
		}
		s.wantLines("the store at the end of the stream", s.whole(), before)
	})
	s.must(err)
	if r.ID != 2 || r.Operations != 2 {
		s.Errorf("got %s, want commit 2 with 2 operations", showCommit(r.Commit))
	}
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @2 v2 {"id":"ada","level":1}`, `Person "bob" @2 v2 {"id":"bob","level":1}`)
}

func evolveRepeated(s *story) {
	s.commit(put(person("ada"), 1))
	d := s.evolving(adding(grown(tPerson, zipField())))
	d.IdempotencyKey = "k"
	write := stamped(put(person("ada"), 2), 2)
	first := s.stream(d, write).Commit
	before := s.whole()
	for range 2 {
		s.wantRepeat(s.stream(d, write), first)
		s.wantLines("the store", s.whole(), before)
		// Also if the evolution would be accepted now.
		again := s.evolving(*d.Evolve)
		again.IdempotencyKey = "k"
		s.wantRepeat(s.stream(again, write), first)
		s.wantLines("the store", s.whole(), before)
		s.reopen()
	}
	again := s.evolving(*d.Evolve)
	again.IdempotencyKey = "k"
	s.refusedEvolution(onto.IdempotencyConflict, again, stamped(put(person("ada"), 3), 2))
}

func evolveBase(s *story) {
	s.commit(put(person("ada"), 1))
	early := s.evolving(adding(grown(tPerson, zipField())))
	s.register(flagOf(tPerson, "n", true, false)...) // flags make no difference
	s.evolve(backend.Evolution{Learn: []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: tCity, Version: 1}}})
	s.refusedEvolution(onto.MigrationToken, early, stamped(put(person("ada"), 2), 2))
	s.refusedEvolution(onto.MigrationToken, early)
	early = s.evolving(adding(grown(tPerson, zipField())))
	s.register(tagged("New"))
	s.refusedEvolution(onto.MigrationToken, early)
	early = s.evolving(adding(grown(tPerson, zipField())))
	s.evolve(ending("New"))
	s.refusedEvolution(onto.MigrationToken, early)
	early = s.evolving(adding(grown(tPerson, zipField())))
	s.register(flagOf(tPerson, "t", true, true)...)
	s.stream(early, stamped(put(person("ada"), 2), 2))
	s.want("persons", s.versionsOf(tPerson), "v1 since 1, v2 since 2")
	s.refusedEvolution(onto.MigrationToken, early, stamped(put(person("ada"), 3), 3))
	early = s.evolving(adding())
	early.Evolve.Base = ""
	s.refusedEvolution(onto.MigrationToken, early)
}

func evolveKeepsHistory(s *story) {
	ada := person("ada")
	s.commit(put(ada, 1), put(person("bob"), 1))
	s.evolve(adding(grown(tPerson, levelField())), stamped(set(ada, `{"level":1,"n":1}`), 2))
	s.evolve(adding(grown(tPerson, levelField(), zipField())))
	s.commit(stamped(remove(ada), 3))
	s.wantLines("history", s.scan(historyOf(onto.KindEntity, tPerson, backend.Head)), []string{
		`Person "ada" @1 {"id":"ada","n":1}`, `Person "bob" @1 {"id":"bob","n":1}`,
		`Person "ada" @2 v2 {"id":"ada","level":1,"n":1}`, `Person "ada" @3 v3 deleted`,
	})
	s.want("ada at 1", s.get(ada, 1), `Person "ada" @1 {"id":"ada","n":1}`)
	s.want("ada at 2", s.get(ada, 2), `Person "ada" @2 v2 {"id":"ada","level":1,"n":1}`)
	s.wantLines("state at 1", s.scan(stateOf(onto.KindEntity, tPerson, 1)), []string{
		`Person "ada" @1 {"id":"ada","n":1}`, `Person "bob" @1 {"id":"bob","n":1}`,
	})
	s.wantState(onto.KindEntity, tPerson, `Person "bob" @1 {"id":"bob","n":1}`)
	s.wantLines("diff", s.diff(1, 2), []string{`Person "ada": @1 {"id":"ada","n":1}, then @2 v2 {"id":"ada","level":1,"n":1}`})
	s.want("persons", s.versionsOf(tPerson), "v1 since 1, v2 since 2, v3 since 3")
}

func evolveLearns(s *story) {
	s.commit(put(person("ada"), 1))
	s.evolve(adding(grown(tPerson, zipField())))
	s.evolve(adding(grown(tPerson, zipField(), levelField())))
	before := s.schemaVersions()
	learn := func(version int, u onto.StoredUpgrader) backend.Evolution {
		return backend.Evolution{Learn: []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: tPerson, Version: version, Upgrader: u}}}
	}
	upgrader := onto.StoredUpgrader{Program: `.zip = "é<>\n"`, RenamedFrom: tPerson, FromVersion: 1}
	s.place.clock.set(time.Date(2027, 1, 2, 3, 4, 5, 678901999, time.FixedZone("", 3600)))
	if r := s.evolve(learn(2, upgrader)); r.Changed() {
		s.Errorf("got %s, want no commit", showCommit(r.Commit))
	}
	s.reopen()
	i := slices.IndexFunc(before, func(v onto.SchemaVersion) bool { return v.Schema.Name == tPerson && v.Version == 2 })
	before[i].Upgrader = &upgrader
	before[i].Learned = &onto.Learned{
		Time: time.Date(2027, 1, 2, 2, 4, 5, 678901000, time.UTC), Runtime: "evolver", Actor: onto.Component("evolve"), Comment: "types änder\n",
	}
	var want []string
	for _, v := range before {
		want = append(want, showSchema(v))
	}
	s.wantLines("schemas", s.schemas(), want)
	s.refusedEvolution(onto.Conflict, s.evolving(learn(2, onto.StoredUpgrader{Func: true})))
	s.refusedEvolution(onto.Conflict, s.evolving(learn(4, onto.StoredUpgrader{Func: true})))
	s.evolve(learn(3, onto.StoredUpgrader{}))
	s.refusedEvolution(onto.Conflict, s.evolving(learn(3, onto.StoredUpgrader{Func: true}))) // taking over as they are is one too
}
