package backendtest

import (
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func flagStories() []tale {
	return []tale{
		{"other flags are no other type", flagsOnly},
		{"flags are known to every handle", flagsShared},
		{"a registration with flags is all or nothing", flagsAllOrNothing},
		{"flags with data change no answer", flagsChangeNothing},
	}
}

// flagOf returns the types of the tests with flags on one field of one type.
func flagOf(typ, field string, index, search bool) []onto.Schema {
	return flagged(func(t string, f *onto.Field) {
		if t == typ && f.Name == field {
			f.Index, f.Search = index, search
		}
	})
}

// wantFlags compares the registered types with those given, whose flags are
// the present ones. Everything else is as it was stored first.
func (s *story) wantFlags(what string, given []onto.Schema) {
	s.Helper()
	stored := testSchemas()
	for _, v := range s.schemaVersions() {
		first, now := schemaOf(stored, v.Schema.Name), schemaOf(given, v.Schema.Name)
		s.want(what+": the schema of "+v.Schema.Name, string(v.Schema.JSON()), string(now.JSON()))
		s.want(what+": what is stored of "+v.Schema.Name, string(v.JSON), string(first.JSON()))
		s.want(what+": the hash of "+v.Schema.Name, v.Hash, first.Hash())
		if v.Version != 1 || v.Runtime != "test" {
			s.Errorf("%s: got version %d of %s by %q, want version 1 by test", what, v.Version, v.Schema.Name, v.Runtime)
		}
	}
	if got := len(s.schemaVersions()); got != len(stored) {
		s.Errorf("%s: got %d versions of types, want %d", what, got, len(stored))
	}
}

func flagsOnly(s *story) {
	s.commit(put(person("a"), 1))
	before := s.everything()
	for _, test := range []struct {
		what  string
		types []onto.Schema
	}{
		{"an index", flagOf(tPerson, "n", true, false)},
		{"a search", flagOf(tPerson, "t", false, true)},
		{"both", flagOf(tVisit, "t", true, true)},
		{"another index", flagOf(tCity, "v", true, false)},
		{"an indexed key", flagOf(tPerson, "id", true, true)},
		{"everything", flagged(func(_ string, f *onto.Field) { f.Index, f.Search = true, f.Type == onto.String })},
		{"nothing any more", testSchemas()},
	} {
		what, types := test.what, test.types
		list := s.register(types...)
		for i, v := range list {
			s.want(what+" as registered", string(v.Schema.JSON()), string(types[i].JSON()))
		}
		s.wantFlags(what, types)
		s.register(types...)
		s.wantFlags(what+" once more", types)
		s.reopen()
		s.wantFlags(what+" after reopening", types)
	}
	s.wantLines("the store", s.everything(), before)
	s.commit(put(person("a"), 2)) // its version of the type is still the newest
}

func flagsShared(s *story) {
	other := s.through(s.open())
	types := flagOf(tPerson, "t", true, true)
	s.register(types...)
	other.wantFlags("through the other handle", types)
	other.commit(put(person("a"), 1))
	other.register(testSchemas()...)
	s.wantFlags("back through the first", testSchemas())
	s.commit(put(person("a"), 2))
	third := s.through(s.open())
	third.register(types[:1]...)
	s.wantFlags("through the third", types)
	other.commit(put(person("a"), 3))
}

func flagsAllOrNothing(s *story) {
	given := flagOf(tPerson, "n", true, false)
	given[3].InstanceKey = ""
	_, err := s.Register(s.ctx, &backend.Registration{Schemas: given, Runtime: "test", Reason: "initial"})
	s.wantCode("register", err, onto.SchemaOutdated)
	s.wantFlags("after a type that differs", testSchemas())
	given = slices.Insert(flagOf(tPerson, "n", true, false), 1, tagged(tKnows))
	_, err = s.Register(s.ctx, &backend.Registration{Schemas: given, Runtime: "test", Reason: "initial"})
	s.wantCode("register", err, onto.Conflict)
	s.wantFlags("after a name that is taken", testSchemas())
}

// flagsChangeNothing asks the same under changing flags, with commits between.
func flagsChangeNothing(s *story) {
	s.allKinds()
	s.tellWhere()
	s.register(flagOf(tPerson, "v", true, false)...)
	s.tellWhere()
	s.commit(put(city("a"), 1))
	s.register(flagOf(tPerson, "n", true, false)...)
	s.commit(put(person("a"), 99), remove(person("b")))
	s.commit(set(person("a"), `{"n":1,"t":"Ada","v":true}`), set(person("b"), `{"n":2,"t":"ada","v":1}`))
	s.tellWhere()
	s.register(flagged(func(_ string, f *onto.Field) { f.Index, f.Search = true, f.Type == onto.String })...)
	s.reopen()
	s.tellWhere()
	s.register(testSchemas()...)
	s.stream(draft(), put(person("a"), 99), remove(person("b")))
	s.stream(draft(), set(person("a"), `{"n":1,"t":"Ada","v":true}`), set(person("b"), `{"n":2,"t":"ada","v":1}`))
	s.tellWhere()
}
