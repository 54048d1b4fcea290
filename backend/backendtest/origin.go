package backendtest

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// evolveTellsWho lets types be registered, changed and ended by several actors, without any
// commit that could tell of them. Each version, and the end, tells of its own; what comes
// later changes none of it.
func evolveTellsWho(s *story) {
	given := tagged("Tag")
	_, err := s.Register(s.ctx, &backend.Registration{
		Schemas: []onto.Schema{given}, Runtime: "run-1", Reason: "initial", Actor: onto.Operator("ana"), Comment: "we tag now",
	})
	s.must(err)
	change := func(e backend.Evolution, actor onto.Actor, comment string) {
		s.Helper()
		d := s.evolving(e)
		d.Evolve.Runtime, d.Evolve.Actor, d.Evolve.Comment = "run-2", actor, comment
		if r := s.stream(d); r.Changed() {
			s.Errorf("got commit %d, want none", r.ID)
		}
	}
	wider := given
	wider.Fields = append(wider.Fields[:1:1], zipField())
	change(adding(wider), onto.Daemon("schemas"), "a zip for each")
	again := s.evolving(adding(grown(tPerson, levelField())))
	again.Evolve.Actor, again.Evolve.Comment = onto.Actor{}, ""
	s.stream(again)
	change(ending("Tag"), onto.Operator("bo"), "nobody tags")

	check := func(what string) {
		s.Helper()
		var got []string
		for _, v := range s.schemaVersions() {
			if name := v.Schema.Name; name != "Tag" && (name != tPerson || v.Version == 1) {
				continue
			}
			line := v.Schema.Name + " by " + v.Runtime + " for " + v.Actor.String() + ": " + v.Comment
			if v.End != nil {
				line += "; ended by " + v.End.Runtime + " for " + v.End.Actor.String() + ": " + v.End.Comment
			}
			got = append(got, line)
		}
		s.wantLines(what, got, []string{
			"Person by evolver for : ",
			"Tag by run-1 for operator:ana: we tag now",
			"Tag by run-2 for daemon:schemas: a zip for each; ended by run-2 for operator:bo: nobody tags",
		})
	}
	check("types")
	s.reopen()
	check("types after reopening")
	_, err = s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("Other")}, Actor: onto.Operator("cy"), Comment: "another type"})
	s.must(err)
	check("types after another was registered")
}
