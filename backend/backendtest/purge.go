package backendtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// purging is an evolution that purges a type.
func purging(of variety, renamedTo string) backend.Evolution {
	return dropping(backend.EndedType{Kind: of.Kind, Type: of.Name, RenamedTo: renamedTo, Purge: true})
}

// wantNever requires that there is no trace of a type, in any kind of answer, as of
// each commit up to one.
func (s *story) wantNever(of onto.TypeName, until int64, ids ...onto.Identity) {
	s.Helper()
	kind, typ := of.Kind, of.Name
	never := func(what string, at int64, lines []string) {
		s.Helper()
		lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, typ+" ") })
		s.wantLines(fmt.Sprintf("%s of %s as of %d", what, typ, at), lines, nil)
	}
	ats := []int64{backend.Head}
	for at := range until + 1 {
		ats = append(ats, at)
	}
	for _, at := range ats {
		never("state", at, s.scan(stateOf(kind, typ, at)))
		never("history", at, s.scan(historyOf(kind, typ, at)))
		never("diff", at, s.diff(0, at))
		if at >= 0 && until != backend.Head {
			never("diff since", at, s.diff(at, until))
		}
		a := backend.Aggregation{Query: *stateOf(kind, typ, at), Compute: []onto.Operand{onto.Count()}}
		s.wantLines("count", list(s, s.Aggregate(s.ctx, &a), showGroup), []string{"0"})
		a.Mode = backend.History
		s.wantLines("count of the history", list(s, s.Aggregate(s.ctx, &a), showGroup), []string{"0"})
		for _, id := range ids {
			s.want("get", s.get(id, at), "not found")
		}
	}
}

// operations lists how many versions each commit claims to hold.
func (s *story) operations() string {
	s.Helper()
	return strings.Join(list(s, s.Commits(s.ctx, &backend.CommitQuery{Until: backend.Head}), func(c onto.Commit) string {
		return fmt.Sprint(c.Operations)
	}), " ")
}

func endPurges(s *story, of variety) {
	types := flagOf(of.Name, "t", true, true)
	s.register(types...)
	rome, oslo := of.one("rome"), of.one("oslo")
	s.commit(put(rome, 1), put(person("ada"), 1), set(oslo, `{"t":"fjord"}`))
	d := rich("k", put(rome, 2))
	s.do(d)
	s.commit(put(person("ada"), 2), put(visit("ada", "rome", "t"), 1), remove(oslo))
	s.commit(put(oslo, 3))
	others := func() (lines []string) {
		for at := range int64(5) {
			lines = append(lines, s.scan(stateOf(onto.KindEntity, tPerson, at))...)
			lines = append(lines, s.scan(historyOf(onto.KindRelation, tVisit, at))...)
		}
		return lines
	}
	before := others()
	s.want("operations before", s.operations(), "3 1 3 1")
	if r := s.evolve(purging(of, ""), remove(rome), remove(oslo)); r.Changed() {
		s.Errorf("got %s, want no commit, since there is nothing left to delete", showCommit(r.Commit))
	}
	for range 2 {
		s.wantNever(of.TypeName, 4, rome, oslo)
		s.wantLines("other types", others(), before)
		s.want("operations", s.operations(), "1 0 2 0")
		s.wantHead(4)
		s.want("the end", s.endOf(of.Name, 1),
			`ended at 5 on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "component:evolve": "types änder\n", renamed to "", purged true with 5 versions; 5 of them on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "component:evolve": "types änder\n"`)
		s.want("search", s.search(types, *stateOf(of.Kind, of.Name, backend.Head), "fjord"), "")
		q := *stateOf(onto.KindRelation, tVisit, 3)
		q.Where = onto.Right("n").IsNull()
		s.want("visits to what has never been", s.ask(q), "ada>rome/t")
		Check(s.T, s.Backend)
		s.reopen()
	}
	s.wantRepeat(s.do(d), s.resolve(onto.AtCommit(2))) // its key stays used
	s.register(testSchemas()...)
	s.want("versions", s.versionsOf(of.Name), "v1 since 1 until 5, v2 since 5")
	again := once(stamped(put(rome, 1), 2)) // the identity is as new
	s.commit(again)
	want := made(rome, 5, 1)
	want.SchemaVersion = 2
	s.wantLines("history", s.scan(historyOf(of.Kind, of.Name, backend.Head)), []string{showVersion(*want)})
	s.want("operations", s.operations(), "1 0 2 0 1")
}

func endPurgesRenamed(s *story, of variety) {
	town, schema := of.renamed("Town")
	rome, oslo := of.one("rome"), of.one("oslo")
	s.commit(put(rome, 1), put(oslo, 1))
	s.commit(put(rome, 2))
	e := purging(of, "Town")
	e.Add = []backend.NewVersion{{Schema: schema, Upgrader: &onto.StoredUpgrader{RenamedFrom: of.Name, FromVersion: 1}}}
	r, err := s.port().AppendStream(s.ctx, s.evolving(e), func(yield func(backend.Write, error) bool) {
		for v, err := range s.Scan(s.ctx, stateOf(of.Kind, of.Name, backend.Head)) {
			moved := v.Identity
			moved.Type = "Town"
			w := backend.Write{Identity: moved, Op: onto.Put, Fields: v.Fields, SchemaVersion: 1}
			if !yield(w, err) || !yield(remove(v.Identity), nil) {
				return
			}
		}
	})
	s.must(err)
	if r.ID != 3 || r.Operations != 2 {
		s.Errorf("got %s, want commit 3 with 2 operations", showCommit(r.Commit))
	}
	s.want("operations", s.operations(), "0 0 2")
	s.wantNever(of.TypeName, 3, rome, oslo)
	s.wantLines("towns", s.scan(historyOf(of.Kind, "Town", backend.Head)), []string{row(town.one("oslo"), 3, 1), row(town.one("rome"), 3, 2)})
	s.wantLines("diff", s.diff(2, 3), []string{
		showChange(onto.Change{Identity: town.one("oslo"), After: made(town.one("oslo"), 3, 1)}),
		showChange(onto.Change{Identity: town.one("rome"), After: made(town.one("rome"), 3, 2)}),
	})
}

func endPurgesAgain(s *story) {
	s.commit(put(city("rome"), 1))
	s.evolve(ending(tCity), remove(city("rome")))
	s.evolve(purging(cities(), "")) // it has ended, and its history goes now
	s.wantNever(cities().TypeName, 2, city("rome"))
	s.register(testSchemas()...)
	s.commit(stamped(put(city("rome"), 1), 2), put(person("ada"), 1))
	expected := s.evolving(purging(cities(), ""))
	expected.Expect = []onto.Expectation{headIs(3), isAt(city("rome"), 3)} // as it is before
	if r := s.stream(expected, put(person("ada"), 2)); r.ID != 4 || r.Operations != 1 {
		s.Errorf("got %s, want commit 4 with 1 operation", showCommit(r.Commit))
	}
	s.wantNever(cities().TypeName, 4, city("rome"))
	s.want("operations", s.operations(), "0 0 1 1")
	s.want("versions", s.versionsOf(tCity), "v1 since 1 until 2, v2 since 3 until 4")
	s.want("the first end", s.endOf(tCity, 1),
		`ended at 2 on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "component:evolve": "types änder\n", renamed to "", purged true with 2 versions; 2 of them on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "component:evolve": "types änder\n"`)
	s.want("the second end", s.endOf(tCity, 2),
		`ended at 4 on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "component:evolve": "types änder\n", renamed to "", purged true with 1 versions; 1 of them on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "component:evolve": "types änder\n"`)
}

// endPurgesTells purges one type with its end and another one later. Each purge tells who,
// when and why, also in a copy, and apart from the end; a further one changes nothing.
func endPurgesTells(s *story) {
	s.commit(put(city("rome"), 1), put(person("ada"), 1), put(person("bo"), 1))
	change := func(e backend.Evolution, actor onto.Actor, comment string, rows ...backend.Write) {
		s.Helper()
		d := s.evolving(e)
		d.Evolve.Actor, d.Evolve.Comment = actor, comment
		s.stream(d, rows...)
	}
	people := dropping(backend.EndedType{Kind: onto.KindEntity, Type: tPerson, Purge: true})
	change(people, onto.Operator("ana"), "asked to forget")
	change(ending(tCity), onto.Operator("bo"), "no cities", remove(city("rome")))
	s.place.clock.set(time.Date(2027, 1, 2, 3, 4, 5, 678901999, time.FixedZone("", 3600)))
	change(purging(cities(), ""), onto.Daemon("tidy"), "nor their past")
	change(purging(cities(), ""), onto.Operator("cy"), "once more")
	check := func(what string, b *story) {
		b.Helper()
		b.want("people, "+what, b.endOf(tPerson, 1), `ended at 2 on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "operator:ana": "asked to forget", `+
			`renamed to "", purged true with 2 versions; 2 of them on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "operator:ana": "asked to forget"`)
		b.want("cities, "+what, b.endOf(tCity, 1), `ended at 2 on 2026-02-10T12:00:00.000000+00:00 by "evolver" for "operator:bo": "no cities", `+
			`renamed to "", purged true with 2 versions; 2 of them on 2027-01-02T02:04:05.678901+00:00 by "evolver" for "daemon:tidy": "nor their past"`)
	}
	check("as purged", s)
	s.reopen()
	check("reopened", s)
	if _, ok := backend.As[backend.Archive](s.Backend); ok {
		check("in a copy", s.asArchive().copied().story)
	}
}

func endPurgesMany(s *story) {
	const n = 2500
	s.commit(put(city("rome"), 1))
	s.stream(draft(), append(rows(n, 1), put(city("rome"), 2))...)
	s.stream(draft(), rows(n, 2)...)
	e := dropping(backend.EndedType{Kind: onto.KindEntity, Type: tPerson, Purge: true})
	before := s.whole()
	planted := errors.New("the source broke")
	if _, err := s.AppendStream(s.ctx, s.evolving(e), sequence([]backend.Write{put(city("rome"), 3)}, planted)); err != planted {
		s.Fatalf("got error %v, want the one of the sequence as it is", err)
	}
	s.wantLines("the store after a broken sequence", s.whole(), before)
	s.evolve(e, put(city("rome"), 3))
	s.want("operations", s.operations(), "1 1 0 1")
	s.wantNever(e.End[0].TypeName(), 4, person("p000000"), person("p002499"))
	s.wantLines("cities", s.scan(historyOf(onto.KindEntity, tCity, backend.Head)), []string{
		`City "rome" @1 {"id":"rome","n":1}`, `City "rome" @2 {"id":"rome","n":2}`, `City "rome" @4 {"id":"rome","n":3}`,
	})
}
