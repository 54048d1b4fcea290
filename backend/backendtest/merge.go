package backendtest

import (
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func mergeStories() []tale {
	return []tale{
		{"programs with an older type keep what they do not know", mergeOlder},
		{"a write keeps the fields that it does not know", mergeKnown},
		{"a merge of what does not exist has defaults", mergeAbsent},
		{"what a merge gives besides is for what does not exist", mergeInitial},
		{"a merge changes nothing if the result is there", mergeUnchanged},
		{"a stream merges what was committed before it", mergeStream},
		{"what is admitted was merged", mergeAdmitted},
		{"what cannot be merged is shown as it is", mergeShown},
		{"a merge fits the wider type", mergeWider},
		{"a merge that does not fit changes nothing", mergeRefused},
		{"what is computed follows from what is merged", mergeComputed},
		{"merges race", mergeRaced},
		{"only compatible steps are continued", continued},
		{"a smaller type is served and changes no flags", served},
	}
}

// knowing is a write that decides these fields only.
func knowing(w backend.Write, fields ...string) backend.Write {
	w.Known = backend.Named(fields...)
	return w
}

func mergeOlder(s *story) {
	s.commit(set(person("ada"), `{"n":1,"t":"x"}`))
	s.evolve(adding(grown(tPerson, levelField())), stamped(set(person("ada"), `{"level":1,"n":1,"t":"x"}`), 2))
	s.commit(stamped(set(person("ada"), `{"level":7,"n":1,"t":"x"}`), 2))
	s.evolve(adding(grown(tPerson, levelField(), zipField())))
	s.commit(stamped(set(person("ada"), `{"level":7,"n":1,"t":"x","zip":"z"}`), 3))
	s.commit(put(person("ada"), 2), put(person("new"), 1))
	s.wantState(onto.KindEntity, tPerson,
		`Person "ada" @5 v3 {"id":"ada","level":7,"n":2,"zip":"z"}`, `Person "new" @5 v3 {"id":"new","level":1,"n":1}`)
	s.commit(stamped(set(person("ada"), `{"level":8,"n":2}`), 2))
	s.wantState(onto.KindEntity, tPerson,
		`Person "ada" @6 v3 {"id":"ada","level":8,"n":2,"zip":"z"}`, `Person "new" @5 v3 {"id":"new","level":1,"n":1}`)
	s.commit(remove(person("ada")))
	s.commit(put(person("ada"), 3)) // what was deleted is not kept
	s.wantLines("its history", s.scan(historyOf(onto.KindEntity, tPerson, backend.Head))[7:], []string{
		`Person "ada" @7 v3 deleted`, `Person "ada" @8 v3 {"id":"ada","level":1,"n":3}`,
	})
}

func mergeKnown(s *story) {
	s.commit(set(person("ada"), `{"n":1,"t":"x","v":[1]}`), set(visit("ada", "rome", "t"), `{"n":1,"t":"x"}`), set(claim("ada", "n", "1"), `{"n":1,"seq":2}`))
	s.commit(knowing(put(person("ada"), 2), "id", "n"), knowing(put(visit("ada", "rome", "t"), 2), "n"),
		knowing(set(claim("ada", "n", "1"), `{"asserted":1,"revoked":true}`), "asserted", "revoked"))
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @2 {"id":"ada","n":2,"t":"x","v":[1]}`)
	s.wantState(onto.KindFact, tClaim, `Claim "ada" n ["1"] @2 {"asserted":1,"n":1,"revoked":true,"seq":2}`)
	s.commit(knowing(put(person("ada"), 2), "id", "n", "t"))
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @3 {"id":"ada","n":2,"v":[1]}`)
	s.nothing(draft(knowing(set(visit("ada", "rome", "t"), `{}`))))
	s.commit(knowing(remove(visit("ada", "rome", "t")), "n"))
	s.wantHead(4)
}

func mergeAbsent(s *story) {
	s.evolve(adding(grown(tPerson, levelField())))
	s.commit(knowing(stamped(put(person("ada"), 1), 2), "id", "n"))
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @1 v2 {"id":"ada","level":1,"n":1}`)
	s.nothing(draft(knowing(stamped(set(person("ada"), `{}`), 2), "id", "level"))) // absent, so it has its default
}

func mergeInitial(s *story) {
	ada := knowing(set(person("ada"), `{"n":1,"t":"x"}`), "id", "n")
	s.commit(ada)
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @1 {"id":"ada","n":1,"t":"x"}`)
	s.commit(knowing(set(person("ada"), `{"n":2,"t":"y","v":[1]}`), "id", "n"))
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @2 {"id":"ada","n":2,"t":"x"}`)
	s.nothing(draft(knowing(set(person("ada"), `{"n":2,"t":"z"}`), "id", "n")))
	s.commit(remove(person("ada")))
	s.stream(draft(), ada)
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @4 {"id":"ada","n":1,"t":"x"}`)
	s.stream(draft(), knowing(set(person("ada"), `{"n":3,"t":"y"}`), "id", "n"))
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @5 {"id":"ada","n":3,"t":"x"}`)
}

func mergeUnchanged(s *story) {
	s.commit(set(person("ada"), `{"n":1,"t":"x"}`))
	s.nothing(draft(knowing(put(person("ada"), 1), "id", "n")))
	s.evolve(adding(grown(tPerson, zipField())))
	s.nothing(draft(set(person("ada"), `{"n":1,"t":"x"}`))) // for version 1
}

func mergeStream(s *story) {
	s.stream(draft(), rows(300, 1)...)
	s.evolve(adding(grown(tPerson, levelField())))
	var writes []backend.Write
	for _, w := range rows(300, 1) {
		w.SchemaVersion, w.Fields = 2, []byte(strings.Replace(string(w.Fields), `"n"`, `"level":5,"n"`, 1))
		writes = append(writes, w)
	}
	s.stream(draft(), writes...)
	s.stream(draft(), rows(300, 2)...)
	for _, line := range s.scan(stateOf(onto.KindEntity, tPerson, backend.Head)) {
		if !strings.Contains(line, `"level":5,"n":2`) || !strings.Contains(line, "@3 v2") {
			s.Fatalf("got %s, want level 5 and n 2 at version 2", line)
		}
	}
}

func mergeAdmitted(s *story) {
	s.commit(set(person("ada"), `{"n":1,"t":"x"}`))
	s.evolve(adding(grown(tPerson, levelField())))
	d, asked := draft(), ""
	d.Admit = func(w *backend.Write, newest *onto.Version) (bool, error) {
		asked = fmt.Sprintf("v%d %s over %s", w.SchemaVersion, w.Fields, newest.Fields)
		return true, nil
	}
	s.stream(d, put(person("ada"), 2))
	s.want("asked about", asked, `v2 {"id":"ada","level":1,"n":2} over {"id":"ada","n":1,"t":"x"}`)
}

func mergeShown(s *story) {
	need := grown(tPerson, onto.Field{Name: "need", Type: onto.Int})
	s.evolve(adding(need))
	lacking := knowing(stamped(put(person("ada"), 1), 2), "id", "n")
	d, asked := draft(), ""
	d.Admit = func(w *backend.Write, newest *onto.Version) (bool, error) {
		asked = fmt.Sprintf("%s %v, new: %t", w.Fields, w.Known, newest == nil)
		return false, onto.Errorf(onto.Conflict, "not this one")
	}
	s.refusedStream(onto.Conflict, d, lacking)
	s.want("asked about", asked, `{"id":"ada","n":1} [id n], new: true`)
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) { return false, nil }
	s.refusedStream(onto.Invalid, d, lacking)
}

func mergeWider(s *story) {
	wide := grown(tPerson)
	for i := range wide.Fields {
		if wide.Fields[i].Name == "n" {
			wide.Fields[i].Type = onto.Float
		}
	}
	s.commit(put(person("ada"), 1))
	s.evolve(adding(wide))
	s.commit(put(person("ada"), 2))
	s.wantState(onto.KindEntity, tPerson, `Person "ada" @2 v2 {"id":"ada","n":2}`)
}

func mergeRefused(s *story) {
	need := grown(tPerson, onto.Field{Name: "need", Type: onto.Int})
	s.evolve(adding(need))
	before := s.whole()
	s.refused(onto.Invalid, draft(put(city("rome"), 1), knowing(stamped(put(person("ada"), 1), 2), "id", "n")))
	s.refusedStream(onto.Invalid, draft(), knowing(stamped(put(person("ada"), 1), 2), "id", "n"))
	s.refused(onto.SchemaOutdated, draft(put(person("ada"), 1)))
	s.wantLines("the store", s.whole(), before)

	half := strings.Repeat("x", onto.MaxFields/2)
	s.commit(set(city("rome"), fmt.Sprintf(`{"t":%q}`, half)))
	s.refused(onto.TooLarge, draft(knowing(set(city("rome"), fmt.Sprintf(`{"v":%q}`, half)), "id", "v")))
}

func mergeComputed(s *story) {
	s.commit(set(person("ada"), `{"n":1,"t":"x"}`))
	text := onto.Field{Name: "onto_text", Type: onto.String, Search: true, Compute: &onto.Compute{Rule: onto.ComputeText}}
	s.evolve(adding(grown(tPerson, text)), stamped(set(person("ada"), `{"n":1,"onto_text":"ada\nx","t":"x"}`), 2))
	s.commit(set(person("ada"), `{"n":2,"t":"y"}`), put(person("new"), 1)) // by a program that does not know the field
	s.wantState(onto.KindEntity, tPerson,
		`Person "ada" @3 v2 {"id":"ada","n":2,"onto_text":"ada\ny","t":"y"}`, `Person "new" @3 v2 {"id":"new","n":1,"onto_text":"new"}`)
	s.commit(knowing(stamped(set(person("ada"), `{"onto_text":"mine","v":["z",3]}`), 2), "onto_text", "v"))
	s.wantState(onto.KindEntity, tPerson,
		`Person "ada" @4 v2 {"id":"ada","n":2,"onto_text":"ada\ny\nz","t":"y","v":["z",3]}`, `Person "new" @3 v2 {"id":"new","n":1,"onto_text":"new"}`)
	s.nothing(draft(knowing(stamped(set(person("ada"), `{"onto_text":"other","t":"y"}`), 2), "onto_text", "t")))

	key := onto.Schema{Kind: onto.KindEntity, Name: "Letter", Key: "onto_key", Fields: []onto.Field{
		{Name: "box", Type: onto.String}, {Name: "id", Type: onto.String},
		{Name: "onto_key", Type: onto.String, Compute: &onto.Compute{Rule: onto.ComputeKey, ID: "id", ShardKey: "box"}},
	}}
	s.evolve(adding(key))
	letter := func(fields string) backend.Write {
		return backend.Write{Identity: onto.EntityID("Letter", "a/b"), Op: onto.Put, SchemaVersion: 1, Fields: []byte(fields)}
	}
	s.commit(letter(`{"box":"a","id":"b","onto_key":"a/b"}`))
	s.refused(onto.Invalid, draft(knowing(letter(`{"id":"c"}`), "id")))
	s.refused(onto.Invalid, draft(knowing(letter(`{"box":""}`), "box")))
	s.nothing(draft(knowing(letter(`{"id":"b"}`), "id")))
}

// mergeRaced lets writers that know different fields of one identity race: none undoes
// the change of another.
func mergeRaced(s *story) {
	const rounds = 10
	names := []string{"n", "v"}
	handles := []backend.Backend{s.Backend, s.open()}
	s.together(len(names), handles, func(worker int, b backend.Backend) error {
		for i := range rounds {
			w := knowing(putField(person("ada"), names[worker], fmt.Sprint(i+1)), "id", names[worker])
			if _, err := b.Append(s.ctx, draft(w)); err != nil {
				return err
			}
		}
		return nil
	})
	s.wantHead(2 * rounds)
	s.want("the state", strings.SplitN(s.scan(stateOf(onto.KindEntity, tPerson, backend.Head))[0], " {", 2)[1],
		fmt.Sprintf(`"id":"ada","n":%d,"v":%[1]d}`, rounds))
}

// continued tries writes for version 1 after one further step each.
func continued(s *story) {
	needed := onto.Field{Name: "need", Type: onto.Int}
	without := grown(tCity)
	without.Fields = without.Fields[:len(without.Fields)-1]
	strict := grown(tCity)
	strict.Fields[1].Optional, strict.Fields[1].Default = false, []byte("0")
	lifted := &onto.StoredUpgrader{Program: "."}
	for i, c := range []struct {
		name     string
		next     onto.Schema
		upgrader *onto.StoredUpgrader
		ends     bool
		code     onto.Code
	}{
		{"an optional field", grown(tCity, zipField()), nil, false, ""},
		{"a default", grown(tCity, levelField()), nil, false, ""},
		{"the same again", grown(tCity), nil, false, ""},
		{"an upgrader", grown(tCity, zipField()), lifted, false, onto.SchemaOutdated},
		{"a required field", grown(tCity, needed), nil, false, onto.SchemaOutdated},
		{"a field less", without, nil, false, onto.SchemaOutdated},
		{"an optional field is required", strict, nil, false, onto.SchemaOutdated},
		{"an end and a beginning", grown(tCity), nil, true, onto.SchemaOutdated},
	} {
		first := grown(tCity)
		first.Name = fmt.Sprint("Case", i)
		c.next.Name = first.Name
		s.register(first)
		e := backend.Evolution{Add: []backend.NewVersion{{Schema: c.next, Upgrader: c.upgrader}}}
		if c.ends {
			e.End = ending(first.Name).End
		}
		s.evolve(e)
		if _, err := s.Append(s.ctx, draft(put(onto.EntityID(first.Name, "x"), 1))); onto.CodeOf(err) != c.code {
			s.Errorf("%s: got error %v, want code %q", c.name, err, c.code)
		}
	}
}

func served(s *story) {
	s.register(searchable()[0])
	before := s.schemas()
	smaller := *schemaOf(testSchemas(), tPerson)
	smaller.Fields = smaller.Fields[:2]
	smaller.Fields[1].Optional, smaller.Fields[1].Index = false, true
	list, err := s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{smaller}, Runtime: "test", Reason: "initial"})
	s.must(err)
	s.want("registered", fmt.Sprintf("v%d with %d fields", list[0].Version, len(list[0].Schema.Fields)), "v1 with 4 fields")
	s.wantLines("schemas", s.schemas(), before)

	// A program that knows a version which is not continued is not merely a smaller
	// one.
	old := *schemaOf(testSchemas(), tCity)
	s.evolve(backend.Evolution{Add: []backend.NewVersion{{Schema: grown(tCity, zipField()), Upgrader: &onto.StoredUpgrader{Program: "."}}}})
	_, err = s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{old}})
	s.wantCode("register", err, onto.SchemaOutdated)
}
