package backendtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func endStories() []tale {
	return []tale{
		{"a type is dropped", cities().of(endDrops)},
		{"a type of facts is dropped", claims().of(endDrops)},
		{"a type that was dropped takes no writes", endTakesNoWrites},
		{"a type is renamed", cities().of(endRenames)},
		{"a type of facts is renamed", claims().of(endRenames)},
		{"a type that ended begins again", endBeginsAgain},
		{"a name changes its kind", endChangesKind},
		{"a name becomes one of facts, and again", endChangesToFacts},
		{"rows of a type that ended stay in the past", endKeepsPast},
		{"a purged type has never been", cities().of(endPurges)},
		{"a purged type of facts has never been", claims().of(endPurges)},
		{"a type is purged when it is renamed", cities().of(endPurgesRenamed)},
		{"a type of facts is purged when it is renamed", claims().of(endPurgesRenamed)},
		{"a type is purged that had ended before", endPurgesAgain},
		{"a purge tells who, when and why", endPurgesTells},
		{"many rows are purged", endPurgesMany},
	}
}

// dropping is an evolution that ends one type.
func dropping(t backend.EndedType) backend.Evolution {
	return backend.Evolution{End: []backend.EndedType{t}}
}

// endOf tells how the version of a type ended.
func (s *story) endOf(typ string, version int) string {
	s.Helper()
	for _, v := range s.schemaVersions() {
		if v.Schema.Name == typ && v.Version == version && v.End != nil {
			return showEnd(*v.End)
		}
	}
	return "no end"
}

func endDrops(s *story, of variety) {
	rome, oslo := of.one("rome"), of.one("oslo")
	s.commit(put(rome, 1), put(oslo, 1), put(person("ada"), 1))
	s.commit(put(rome, 2))
	s.place.clock.set(time.Date(2027, 1, 2, 3, 4, 5, 678901999, time.FixedZone("", 3600)))
	r := s.evolve(dropping(of.end()), remove(rome), remove(oslo), remove(of.one("nowhere")), put(person("ada"), 2))
	if r.ID != 3 || r.Operations != 3 {
		s.Errorf("got %s, want commit 3 with 3 operations", showCommit(r.Commit))
	}
	for range 2 {
		s.want("the end", s.endOf(of.Name, 1),
			`ended at 3 on 2027-01-02T02:04:05.678901+00:00 by "evolver" for "component:evolve": "types änder\n", renamed to "", purged false with 0 versions`)
		s.want("versions", s.versionsOf(of.Name), "v1 since 1 until 3")
		s.wantState(of.Kind, of.Name)
		s.wantLines("history", s.scan(historyOf(of.Kind, of.Name, backend.Head)), []string{
			row(oslo, 1, 1), row(rome, 1, 1), row(rome, 2, 2), oslo.String() + " @3 deleted", rome.String() + " @3 deleted",
		})
		s.wantLines("state at 2", s.scan(stateOf(of.Kind, of.Name, 2)), []string{row(oslo, 1, 1), row(rome, 2, 2)})
		s.reopen()
	}
	if d, ok := backend.As[backend.Describer](s.Backend); ok {
		info, err := d.Describe(s.ctx, true)
		s.must(err)
		if slices.ContainsFunc(info.Types, func(t backend.TypeInfo) bool { return t.Name == of.Name }) {
			s.Errorf("types: got %v, want none that has ended", info.Types)
		}
	}
}

func endTakesNoWrites(s *story) {
	s.commit(put(city("rome"), 1), put(person("ada"), 1))
	for _, w := range []backend.Write{put(city("rome"), 2), put(city("rome"), 1), put(city("new"), 1), stamped(remove(city("rome")), 2)} {
		s.refusedEvolution(onto.Invalid, s.evolving(ending(tCity)), put(person("ada"), 2), w)
	}
	if r := s.evolve(ending(tCity)); r.Changed() {
		s.Errorf("got %s, want no commit", showCommit(r.Commit))
	}
	for _, w := range []backend.Write{put(city("rome"), 2), put(city("rome"), 1), remove(city("rome")), remove(city("new")), stamped(put(city("rome"), 2), 2)} {
		s.refused(onto.SchemaOutdated, draft(put(person("ada"), 2), w))
		s.refusedStream(onto.SchemaOutdated, draft(), put(person("ada"), 2), w)
		s.refusedEvolution(onto.SchemaOutdated, s.evolving(adding(tagged("New"))), w) // which does not end it
	}
	s.refusedEvolution(onto.NotFound, s.evolving(ending(tCity)))
	s.refusedEvolution(onto.NotFound, s.evolving(dropping(backend.EndedType{Kind: onto.KindRelation, Type: tPerson})))
	s.commit(put(person("ada"), 2))
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2")
}

func endRenames(s *story, of variety) {
	town, schema := of.renamed("Town")
	rome, moved := of.one("rome"), town.one("rome")
	s.commit(put(rome, 1))
	end := of.end()
	end.RenamedTo = town.Name
	e := dropping(end)
	e.Add = []backend.NewVersion{{Schema: schema, Upgrader: &onto.StoredUpgrader{RenamedFrom: of.Name, FromVersion: 1}}}
	if r := s.evolve(e, put(moved, 1), remove(rome)); r.ID != 2 || r.Operations != 2 {
		s.Errorf("got %s, want commit 2 with 2 operations", showCommit(r.Commit))
	}
	s.reopen()
	s.want("the end", s.endOf(of.Name, 1),
		`ended at 2 on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "component:evolve": "types änder\n", renamed to "Town", purged false with 0 versions`)
	s.want("towns", s.versionsOf("Town"), "v1 since 2")
	for _, v := range s.schemaVersions() {
		if v.Schema.Name == "Town" && (v.Upgrader == nil || *v.Upgrader != *e.Add[0].Upgrader) {
			s.Errorf("upgrader: got %+v, want %+v", v.Upgrader, e.Add[0].Upgrader)
		}
	}
	s.wantState(of.Kind, "Town", row(moved, 2, 1))
	s.wantState(of.Kind, of.Name)
	s.wantLines("diff", s.diff(1, 2), []string{
		showChange(onto.Change{Identity: rome, Before: made(rome, 1, 1), After: gone(rome, 2)}),
		showChange(onto.Change{Identity: moved, After: made(moved, 2, 1)}),
	})
	s.commit(put(moved, 2))
	s.refused(onto.SchemaOutdated, draft(put(rome, 1)))
}

func endBeginsAgain(s *story) {
	other := s.through(s.open())
	s.commit(put(city("rome"), 1))
	s.evolve(ending(tCity), remove(city("rome")))
	different := onto.Schema{Kind: onto.KindEntity, Name: tCity, Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}, levelField()}}
	list := other.register(different, testSchemas()[0])
	if v := list[0]; v.Version != 2 || v.Since != 3 || v.End != nil || v.Reason != "initial" {
		s.Errorf("registered: got %s, want version 2 since 3", showSchema(v))
	}
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2, v2 since 3")
	s.refused(onto.SchemaOutdated, draft(put(city("rome"), 1)))
	s.commit(stamped(set(city("rome"), `{"level":1}`), 2))
	s.evolve(ending(tCity)) // with a row that stays
	s.evolve(adding(different))
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2, v2 since 3 until 4, v3 since 4")
	other.commit(stamped(set(city("rome"), `{"level":2}`), 3))
	s.evolve(ending(tCity), stamped(remove(city("rome")), 3))
	s.register(testSchemas()...)
	s.reopen()
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2, v2 since 3 until 4, v3 since 4 until 5, v4 since 6")
	s.commit(stamped(put(city("rome"), 1), 4))
	s.wantLines("history", s.scan(historyOf(onto.KindEntity, tCity, backend.Head)), []string{
		`City "rome" @1 {"id":"rome","n":1}`, `City "rome" @2 deleted`, `City "rome" @3 v2 {"id":"rome","level":1}`,
		`City "rome" @4 v3 {"id":"rome","level":2}`, `City "rome" @5 v3 deleted`, `City "rome" @6 v4 {"id":"rome","n":1}`,
	})
}

func endChangesKind(s *story) {
	s.commit(put(city("rome"), 1), put(person("ada"), 1))
	relation := onto.Schema{Kind: onto.KindRelation, Name: tCity, Left: tPerson, Right: tPerson}
	e := ending(tCity)
	e.Add = []backend.NewVersion{{Schema: relation}}
	link := backend.Write{Identity: onto.RelationID(tCity, "ada", "ada"), Op: onto.Put, Fields: []byte("{}"), SchemaVersion: 1}
	s.refusedEvolution(onto.Conflict, s.evolving(adding(relation)))
	s.evolve(e, remove(city("rome")), link)
	s.wantState(onto.KindRelation, tCity, `City "ada" → "ada" @2 {}`)
	s.wantState(onto.KindEntity, tCity)
	s.refused(onto.SchemaOutdated, draft(put(city("rome"), 1)))
	_, err := s.Register(s.ctx, &backend.Registration{Schemas: testSchemas()})
	s.wantCode("register", err, onto.Conflict)

	e = dropping(backend.EndedType{Kind: onto.KindRelation, Type: tCity})
	e.Add = []backend.NewVersion{{Schema: *schemaOf(testSchemas(), tCity)}, {Schema: grown(tPerson, zipField())}}
	s.evolve(e, remove(link.Identity), stamped(put(city("rome"), 2), 2))
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2, v2 since 3, v1 since 2 until 3")

	e = ending(tCity) // and begins again at once
	e.Add = []backend.NewVersion{{Schema: grown(tCity, zipField())}}
	s.refusedEvolution(onto.SchemaOutdated, s.evolving(e), stamped(remove(city("rome")), 2))
	s.evolve(e, stamped(put(city("rome"), 3), 3))
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2, v2 since 3 until 4, v3 since 4, v1 since 2 until 3")
}

func endChangesToFacts(s *story) {
	s.commit(put(city("rome"), 1), put(visit("ada", "rome", "1"), 1))
	said := facts(onto.Schema{Name: tCity, Left: tPerson, Fields: []onto.Field{{Name: "n", Type: onto.Int, Optional: true}}})
	fact := onto.FactID(tCity, "rome", "n", "1")
	s.refusedEvolution(onto.Conflict, s.evolving(adding(said)))
	e := ending(tCity)
	e.Add = []backend.NewVersion{{Schema: said}}
	s.evolve(e, remove(city("rome")), once(put(fact, 1)))
	s.wantState(onto.KindFact, tCity, row(fact, 2, 1))
	s.wantState(onto.KindEntity, tCity)
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2, v1 since 2") // by kind
	s.refused(onto.SchemaOutdated, draft(put(city("rome"), 1)))
	s.wantLines("diff", s.diff(1, 2), []string{
		showChange(onto.Change{Identity: city("rome"), Before: made(city("rome"), 1, 1), After: gone(city("rome"), 2)}),
		showChange(onto.Change{Identity: fact, After: made(fact, 2, 1)}),
	})
	q := backend.Query{Kind: onto.KindRelation, Type: tVisit, At: backend.Head, Where: onto.Right("n").IsNull()}
	s.want("visits to cities that are none any more", s.ask(q), "ada>rome/1")

	e = dropping(backend.EndedType{Kind: onto.KindFact, Type: tCity})
	relation := onto.Schema{Kind: onto.KindRelation, Name: tCity, Left: tPerson, Right: tPerson}
	e.Add = []backend.NewVersion{{Schema: relation}}
	link := backend.Write{Identity: onto.RelationID(tCity, "rome", "n").WithInstance("1"), Op: onto.Put, Fields: []byte("{}"), SchemaVersion: 1}
	s.evolve(e, remove(fact), link)
	s.reopen()
	s.wantState(onto.KindRelation, tCity, link.Identity.String()+" @3 {}")
	s.wantState(onto.KindFact, tCity)
	s.want("the fact", s.get(fact, 2), row(fact, 2, 1))
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2, v1 since 2 until 3, v1 since 3")
	Check(s.T, s.Backend)
}

func endKeepsPast(s *story) {
	s.commit(put(visit("ada", "rome", "t"), 1), put(person("ada"), 1), put(city("rome"), 7))
	s.commit(put(visit("ada", "oslo", "t"), 2), put(city("oslo"), 8))
	e := ending(tCity)
	e.End = append(e.End, backend.EndedType{Kind: onto.KindRelation, Type: tVisit})
	s.evolve(e, remove(visit("ada", "rome", "t")), remove(visit("ada", "oslo", "t")), remove(city("rome")), remove(city("oslo")))
	s.commit(put(person("ada"), 2))
	q := *stateOf(onto.KindRelation, tVisit, 2)
	q.Where = onto.Right("n").Gt(7)
	s.want("visits to certain cities at 2", s.ask(q), "ada>oslo/t")
	q.At = backend.Head
	s.want("visits now", s.ask(q), "")
	a := backend.Aggregation{Query: *stateOf(onto.KindEntity, tCity, 2), Compute: []onto.Operand{onto.Count(), onto.Path("n").Sum()}}
	s.wantLines("cities at 2", list(s, s.Aggregate(s.ctx, cleanAggregation(s.T, a, testSchemas())), showGroup), []string{"2 15"})
}

func evolveMany(s *story) {
	const n = 3000
	s.stream(draft(), rows(n, 1)...)
	r, err := s.port().AppendStream(s.ctx, s.evolving(adding(grown(tPerson, levelField()))), func(yield func(backend.Write, error) bool) {
		for v, err := range s.Scan(s.ctx, stateOf(onto.KindEntity, tPerson, backend.Head)) {
			if !yield(stamped(set(v.Identity, `{"level":1,"n":1}`), 2), err) {
				return
			}
		}
	})
	s.must(err)
	if r.ID != 2 || r.Operations != n {
		s.Errorf("got %s, want commit 2 with %d operations", showCommit(r.Commit), n)
	}
	for at, stamp := range map[int64]int{1: 1, 2: 2, backend.Head: 2} {
		count := 0
		for v, err := range s.Scan(s.ctx, stateOf(onto.KindEntity, tPerson, at)) {
			s.must(err)
			if v.SchemaVersion == stamp {
				count++
			}
		}
		if count != n {
			s.Errorf("as of %d: got %d persons of version %d, want %d", at, count, stamp, n)
		}
	}
}

func evolveRaced(s *story) {
	s.commit(put(person("ada"), 1))
	drafts := make([]*backend.Draft, 8)
	for i := range drafts {
		drafts[i] = s.evolving(adding(grown(tPerson, onto.Field{Name: fmt.Sprint("zip", i), Type: onto.String, Optional: true})))
	}
	wins := make([]bool, len(drafts))
	s.together(len(drafts), []backend.Backend{s, s.open()}, func(worker int, b backend.Backend) error {
		_, err := b.AppendStream(s.ctx, drafts[worker], sequence([]backend.Write{stamped(put(person("ada"), 2+worker), 2)}, nil))
		wins[worker] = err == nil
		if errors.Is(err, onto.MigrationToken) {
			return nil
		}
		return err
	})
	winner := slices.Index(wins, true)
	if winner < 0 || slices.Contains(wins[winner+1:], true) {
		s.Fatalf("winners: got %v, want one", wins)
	}
	s.want("persons", s.versionsOf(tPerson), "v1 since 1, v2 since 2")
	s.wantState(onto.KindEntity, tPerson, fmt.Sprintf(`Person "ada" @2 v2 {"id":"ada","n":%d}`, 2+winner))
}
