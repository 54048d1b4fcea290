package backendtest

import (
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func restoreTypeStories() []archiveTale {
	return []archiveTale{
		{"types alone are restored", restoreTypesAlone},
		{"types that change nothing are no change", restoreSameTypes},
		{"a purge is repeated at a copy", restorePurge},
		{"a purge is repeated before commits are appended", restorePurgeAndGoOn},
		{"a type that had ended is purged at a copy", restorePurgeOfEnded},
		{"a purge is repeated among parts", restorePurgeAmongParts},
		{"flags change at a copy", restoreFlags},
		{"a type begins again at a copy", restoreBeginsAgain},
	}
}

// typesOnly makes a restoration of the types of this store, for a copy with all commits.
func (s *archiveStory) typesOnly() *backend.Restoration {
	s.Helper()
	head := s.resolve(onto.Point{}).ID
	r := s.part(head, head)
	r.Log = nil
	return r
}

func restoreTypesAlone(s *archiveStory) {
	s.lively()
	other := s.copied()
	level := adding(grown(tPerson, levelField()), tagged("Tag"))
	level.Add[0].Upgrader = &onto.StoredUpgrader{Program: ".level = 1"}
	s.evolve(level)
	other.restore(s.typesOnly())
	s.wantCopy(other)
	s.evolve(backend.Evolution{
		Learn: []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: "Tag", Version: 1, Upgrader: onto.StoredUpgrader{Func: true}}},
		End:   []backend.EndedType{{Kind: onto.KindRelation, Type: tKnows}, {Kind: onto.KindFact, Type: tNote}},
	})
	other.restore(s.typesOnly())
	s.wantCopy(other)
	other.refused(onto.SchemaOutdated, draft(put(knows("a", "b"), 1)))
	other.refused(onto.SchemaOutdated, draft(put(person("new"), 1), stamped(put(person("newer"), 1), 3)))
	other.commit(stamped(put(person("new"), 1), 2))
}

func restoreSameTypes(s *archiveStory) {
	s.eventful()
	other := s.copied(4)
	before := other.imageWithState()
	for range 2 {
		other.restore(s.typesOnly())
		other.wantLines("the copy", other.imageWithState(), before)
		other.reopen()
	}
	s.wantCopy(other)
}

func restorePurge(s *archiveStory) {
	types := flagOf(tCity, "t", true, true)
	s.register(types...)
	s.commit(put(city("rome"), 1), put(person("ada"), 1), set(city("oslo"), `{"t":"fjord"}`))
	s.do(keyed("k", put(city("rome"), 2)))
	s.commit(put(visit("ada", "rome", "t"), 1), remove(city("oslo")))
	other := s.copied(1)
	reader := other.also()
	s.evolve(purging(cities(), ""))
	other.restore(s.typesOnly())
	for _, o := range []*archiveStory{other, reader} {
		s.wantCopy(o)
		o.wantNever(cities().TypeName, 3, city("rome"), city("oslo"))
		o.want("operations", o.operations(), "1 0 1")
		o.want("search", o.search(types, *stateOf(onto.KindEntity, tCity, backend.Head), "fjord"), "")
	}
	r := other.do(keyed("k", put(city("rome"), 2)))
	if r.ID != 2 || !r.Repeated {
		s.Errorf("the draft of a commit that the purge emptied: got commit %d, repeated %v; want commit 2 repeated", r.ID, r.Repeated)
	}
	other.reopen()
	s.wantCopy(other)
}

func restorePurgeAndGoOn(s *archiveStory) {
	s.commit(put(city("rome"), 1), put(person("ada"), 1))
	s.commit(put(city("rome"), 2), put(claim("ada", "n", "1"), 1))
	other := s.copied()
	s.commit(put(city("rome"), 3), put(person("ada"), 2))
	e := purging(cities(), "")
	e.End = append(e.End, backend.EndedType{Kind: onto.KindFact, Type: tClaim, Purge: true})
	s.evolve(e, put(person("ada"), 3))
	s.register(testSchemas()[1])
	s.commit(stamped(put(city("rome"), 9), 2))
	other.restore(s.part(2, 5))
	s.wantCopy(other)
	other.want("operations", other.operations(), "1 0 1 1 1")
	other.wantNever(claims().TypeName, 5, claim("ada", "n", "1"))
	other.want("rome before", other.get(city("rome"), 4), "not found")
	want := made(city("rome"), 5, 9)
	want.SchemaVersion = 2
	other.want("rome now", other.get(city("rome"), 4+1), showVersion(*want))
}

func restorePurgeOfEnded(s *archiveStory) {
	s.commit(put(city("rome"), 1), put(person("ada"), 1))
	s.evolve(ending(tCity), remove(city("rome")))
	other := s.copied()
	s.wantCopy(other)
	s.evolve(purging(cities(), ""))
	other.restore(s.typesOnly())
	s.wantCopy(other)
	other.wantNever(cities().TypeName, 2, city("rome"))
	s.register(testSchemas()...)
	s.commit(stamped(put(city("rome"), 1), 2))
	other.restore(s.part(2, 3))
	s.wantCopy(other)
	s.evolve(purging(cities(), ""), put(person("ada"), 2))
	other.restore(s.part(3, 4))
	s.wantCopy(other)
	s.want("operations", other.operations(), "1 0 0 1")
	other.wantNever(cities().TypeName, 4, city("rome"))
}

// restorePurgeAmongParts purges at the source when a part of it has been copied.
func restorePurgeAmongParts(s *archiveStory) {
	for _, first := range []int64{1, 2, 3} {
		s := s.another().asArchive()
		s.commit(put(city("rome"), 1), put(person("ada"), 1))
		s.commit(put(city("rome"), 2))
		s.commit(put(city("rome"), 3), put(visit("ada", "rome", "t"), 1))
		s.commit(put(person("ada"), 2))
		other := s.empty()
		other.restore(s.part(0, first))
		s.evolve(purging(cities(), ""), put(person("ada"), 3))
		other.restore(s.part(first, 4))
		if other.wantHead(4); other.copyState() == "" {
			s.Error("the copy has no state")
		}
		other.restore(s.part(4, 5))
		s.wantCopy(other)
		other.want("operations", other.operations(), "1 0 1 1 1")
	}
}

func restoreFlags(s *archiveStory) {
	s.texts()
	other := s.copied()
	s.register(searchable()...)
	other.restore(s.typesOnly())
	s.wantCopy(other)
	other.wantFlags("after flags were restored", searchable())
	other.tellSearch()
	s.register(testSchemas()...)
	other.restore(s.typesOnly())
	other.wantFlags("after flags were taken away", testSchemas())
	other.want("search where nothing is marked", other.search(testSchemas(), persons(backend.Head), "ada"), "")
	s.register(flagged(func(_ string, f *onto.Field) { f.Index = true })...)
	other.restore(s.typesOnly())
	s.wantCopy(other)
	s.want("indexed", other.ask(backend.Query{Kind: onto.KindEntity, Type: tPerson, At: backend.Head, Where: onto.Path("t").Eq("adam")}), "h")
}

func restoreBeginsAgain(s *archiveStory) {
	s.commit(put(city("rome"), 1))
	s.evolve(ending(tCity), remove(city("rome")))
	s.commit(put(person("ada"), 1))
	s.register(testSchemas()[1])
	s.commit(stamped(put(city("rome"), 2), 2))
	e := ending(tCity)
	relation := onto.Schema{Kind: onto.KindRelation, Name: tCity, Left: tPerson, Right: tPerson}
	e.Add = []backend.NewVersion{{Schema: relation}}
	link := backend.Write{Identity: onto.RelationID(tCity, "ada", "ada"), Op: onto.Put, Fields: []byte("{}"), SchemaVersion: 1}
	s.evolve(e, stamped(remove(city("rome")), 2), link)
	for last := range int64(6) {
		other := s.copied(last)
		s.wantCopy(other)
		other.want("versions", other.versionsOf(tCity), s.versionsOf(tCity))
	}
	var kinds []string
	for _, v := range s.copied(3).schemaVersions() {
		if v.Schema.Name == tCity {
			kinds = append(kinds, fmt.Sprintf("%s v%d", v.Schema.Kind, v.Version))
		}
	}
	if want := []string{"entity v1", "entity v2", "relation v1"}; !slices.Equal(kinds, want) {
		s.Errorf("the types named %s: got %v, want %v", tCity, kinds, want)
	}
}
