package backendtest

import (
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
)

func evolveMarks(s *story) {
	other := s.through(s.open())
	s.commit(set(person("a"), `{"t":"red"}`), set(person("b"), `{"t":"green"}`))
	mark := func(search, index bool) onto.Schema {
		v := grown(tPerson, onto.Field{Name: "zip", Type: onto.String, Optional: true, Search: search, Index: index})
		return v.WithFlags(flagOf(tPerson, "t", index, search)[0])
	}
	find := func(what string, marked onto.Schema, text, want string) {
		s.Helper()
		for _, s := range []*story{s, other} {
			q := persons(backend.Head)
			q.Order = []onto.Order{onto.Path("zip").Asc()}
			s.want(what, s.search([]onto.Schema{marked}, q, text), want)
		}
	}
	s.evolve(adding(mark(true, true)), stamped(set(person("c"), `{"t":"blue","zip":"red"}`), 2))
	find("both fields", mark(true, true), "red", "c a")
	for _, v := range typelist.Newest(s.schemaVersions()) {
		if v.Schema.Name == tPerson {
			s.want("the new version", string(v.Schema.JSON()), string(mark(true, true).JSON()))
		}
	}
	other.commit(stamped(set(person("b"), `{"t":"red green"}`), 2))
	find("what was written since", mark(true, true), "red", "c a b")
	s.evolve(adding(mark(false, false)))
	find("no field", mark(false, false), "red", "")
	other.commit(stamped(set(person("d"), `{"zip":"red"}`), 3))
	other.evolve(adding(mark(true, false)), stamped(remove(person("a")), 4))
	find("both fields again", mark(true, false), "red", "c d b")
	s.reopen()
	find("after reopening", mark(true, false), "red", "c d b")
	Check(s.T, s.Backend)
}

// evolveKeepsFlags changes flags in place, which are those of the newest version
// only.
func evolveKeepsFlags(s *story) {
	flags := func() string {
		var list []string
		for _, v := range s.schemaVersions() {
			f, _ := v.Schema.Field("t")
			if v.Schema.Name == tPerson || v.Schema.Name == tCity {
				list = append(list, fmt.Sprintf("%s v%d %v", v.Schema.Name, v.Version, f.Search))
			}
		}
		return strings.Join(list, ", ")
	}
	s.register(searchable()...)
	s.want("flags", flags(), "City v1 true, Person v1 true")
	next := grown(tPerson, zipField())
	s.evolve(adding(next))
	s.want("flags of what was superseded", flags(), "City v1 true, Person v1 false, Person v2 false")
	s.register(next.WithFlags(searchable()[0]))
	s.evolve(ending(tCity))
	s.want("flags of what has ended", flags(), "City v1 false, Person v1 false, Person v2 true")
	s.register(testSchemas()[1])
	s.reopen()
	s.want("flags after reopening", flags(), "City v1 false, City v2 false, Person v1 false, Person v2 true")
}
