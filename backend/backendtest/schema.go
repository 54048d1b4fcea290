package backendtest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func schemaStories() []tale {
	return []tale{
		{"types are registered as version 1", registerNew},
		{"registering again changes nothing", registerAgain},
		{"schemas are ordered by kind, name and version", schemasAreOrdered},
		{"a type that differs is outdated", registerDifferent},
		{"a registration is all or nothing", registerAllOrNothing},
		{"a name is of one kind", nameOfOneKind},
		{"a write needs the newest version of its type", stamps},
		{"a schema comes back as it was given", schemaRoundTrip},
	}
}

// tagged is a type that the tests do not have.
func tagged(name string) onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
}

func registerNew(s *story) {
	given := tagged("Tag")
	s.place.clock.set(time.Date(2027, 1, 2, 3, 4, 5, 678901999, time.FixedZone("", 3600)))
	list, err := s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{given}, Runtime: "run-9", Reason: "initial", Actor: onto.Daemon("d"), Comment: "new"})
	s.must(err)
	want := showSchema(onto.SchemaVersion{
		Schema: given, Version: 1, JSON: given.JSON(), Hash: given.Hash(),
		Created: time.Date(2027, 1, 2, 2, 4, 5, 678901000, time.UTC), Runtime: "run-9", Reason: "initial", Since: 1,
		Actor: onto.Daemon("d"), Comment: "new",
	})
	s.want("registered", showSchema(list[0]), want)
	if all := s.schemas(); !slices.Contains(all, want) {
		s.Errorf("schemas: got %q, want it to contain %s", all, want)
	}
	s.wantHead(0)
}

func registerAgain(s *story) {
	before := s.schemas()
	s.place.clock.move(time.Hour)
	list, err := s.Register(s.ctx, &backend.Registration{Schemas: testSchemas(), Runtime: "later", Reason: "bootstrap", Actor: onto.Operator("bo"), Comment: "again"})
	s.must(err)
	for i, v := range list {
		if v.Version != 1 || v.Runtime != "test" || v.Schema.Name != testSchemas()[i].Name {
			s.Errorf("got %s, want the first version of %s", showSchema(v), testSchemas()[i].Name)
		}
	}
	s.wantLines("schemas", s.schemas(), before)
	s.reopen()
	s.wantLines("schemas after reopening", s.schemas(), before)
	s.register()
	s.wantLines("schemas after registering nothing", s.schemas(), before)
}

func schemasAreOrdered(s *story) {
	list := s.register(tagged("Zebra"), tagged("Apple"), testSchemas()[2])
	var got []string
	for _, v := range list {
		got = append(got, v.Schema.Name)
	}
	s.wantLines("registered", got, []string{"Zebra", "Apple", tKnows})
	got = nil
	for _, v := range s.schemaVersions() {
		got = append(got, v.Schema.Name)
	}
	s.wantLines("schemas", got, []string{"Apple", tCity, tPerson, "Zebra", tClaim, tNote, tKnows, tVisit})
}

func registerDifferent(s *story) {
	before := s.schemas()
	given := testSchemas()
	given[0].Fields[1].Index = true // which alone would be no difference
	given[0].Fields[2].Type = onto.Int
	given[1].Fields = slices.Delete(given[1].Fields, 1, 2)
	given[1].Fields = append(given[1].Fields, onto.Field{Name: "zip", Type: onto.String})
	given[3].InstanceKey = ""
	_, err := s.Register(s.ctx, &backend.Registration{Schemas: given, Runtime: "test", Reason: "initial"})
	s.wantCode("register", err, onto.SchemaOutdated)
	var e *onto.Error
	if !errors.As(err, &e) {
		s.Fatalf("got a %T, want an *onto.Error", err)
	}
	var got []string
	for _, d := range e.Differences {
		got = append(got, d.String())
	}
	s.wantLines("differences", got, []string{
		"Person: ~ t: string optional → int optional, * n: int optional → int optional index",
		"City: + zip, - n",
		"Visit: ~ instance key: trip → none",
	})
	s.wantLines("schemas", s.schemas(), before)
}

func registerAllOrNothing(s *story) {
	before := s.schemas()
	different := grown(tPerson, zipField())
	_, err := s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("Apple"), different, tagged("Zebra")}})
	s.wantCode("register", err, onto.SchemaOutdated)
	s.wantLines("schemas", s.schemas(), before)
	s.refused(onto.SchemaOutdated, draft(put(onto.EntityID("Apple", "x"), 1)))
	s.register(tagged("Apple"))
	s.commit(put(onto.EntityID("Apple", "x"), 1))
}

func nameOfOneKind(s *story) {
	before := s.schemas()
	for _, taken := range testSchemas() {
		for _, other := range []onto.Schema{testSchemas()[0], testSchemas()[2], testSchemas()[5]} {
			if other.Kind == taken.Kind {
				continue
			}
			other.Name = taken.Name
			_, err := s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("Other"), other}})
			s.wantCode("register", err, onto.Conflict)
			_, err = s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("Other"), taken, other}})
			s.wantCode("register", err, onto.Conflict)
			s.refusedEvolution(onto.Conflict, s.evolving(adding(other)))
		}
	}
	s.wantLines("schemas", s.schemas(), before)
}

func stamps(s *story) {
	ada := person("ada")
	s.refused(onto.SchemaOutdated, draft(stamped(put(ada, 1), 2)))
	s.refused(onto.SchemaOutdated, draft(stamped(put(ada, 1), 0)))
	s.refused(onto.SchemaOutdated, draft(put(onto.EntityID("Nobody", "x"), 1)))
	s.refused(onto.SchemaOutdated, draft(put(onto.EntityID(tKnows, "x"), 1))) // of another kind
	s.refused(onto.SchemaOutdated, draft(put(onto.EntityID(tClaim, "x"), 1)))
	s.refused(onto.SchemaOutdated, draft(put(onto.RelationID(tClaim, "x", "n").WithInstance("1"), 1)))
	s.refused(onto.SchemaOutdated, draft(put(onto.FactID(tVisit, "x", "n", "1"), 1)))
	s.refused(onto.SchemaOutdated, draft(stamped(put(claim("x", "n", "1"), 1), 2)))
	s.refused(onto.SchemaOutdated, draft(put(ada, 1), stamped(put(knows("a", "b"), 1), 2)))
	s.commit(put(ada, 1))
	s.refused(onto.SchemaOutdated, draft(stamped(put(ada, 1), 2))) // also if it changes nothing
	s.refused(onto.SchemaOutdated, draft(stamped(remove(ada), 2)))
	s.refused(onto.SchemaOutdated, draft(stamped(remove(person("bob")), 2)))
	s.commit(remove(ada))
}

func schemaRoundTrip(s *story) {
	entity := onto.Schema{Kind: onto.KindEntity, Name: "Everything", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.Int}}}
	for _, typ := range onto.FieldTypes() {
		entity.Fields = append(entity.Fields,
			onto.Field{Name: "a_" + string(typ), Type: typ, Optional: true, Index: true},
			onto.Field{Name: "b_" + string(typ), Type: typ, Default: json.RawMessage(`{"quote\"":["é\n<>&",1.5,null]}`)})
	}
	entity.Fields = append(entity.Fields, onto.Field{Name: "words", Type: onto.String, Search: true})
	entity.SortFields()
	bare := onto.Schema{Kind: onto.KindRelation, Name: "Bare", Left: "Everything", Right: tPerson}
	about := onto.Schema{Name: "About", Left: "Everything", Fields: []onto.Field{{Name: "words", Type: onto.String, Optional: true, Index: true, Search: true}, {Name: "v", Type: onto.Time, Optional: true}}}
	about, free := facts(about), facts(onto.Schema{Name: "Free", Open: true})
	s.register(entity, bare, about, free)
	s.reopen()
	for _, given := range []onto.Schema{entity, bare, about, free} {
		found := false
		for _, v := range s.schemaVersions() {
			if v.Schema.Name != given.Name {
				continue
			}
			found = true
			s.want("read back", string(v.Schema.JSON()), string(given.JSON()))
			s.want("as stored", string(v.JSON), string(given.JSON()))
			if d := onto.DiffSchemas(v.Schema, given); !d.Empty() {
				s.Errorf("difference: got %s, want none", d)
			}
		}
		if !found {
			s.Errorf("%s is missing", given.Name)
		}
	}
	s.register(entity, bare, about, free)
}
