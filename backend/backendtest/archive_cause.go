package backendtest

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// restoreCauses restores causes that a draft could not have.
func restoreCauses(s *archiveStory) {
	ada := person("ada")
	caused := func(id, by int64) []backend.LogEntry {
		c := s.handmade(id, made(ada, id, int(id)))
		c[0].Commit.Causation = by
		return c
	}
	for _, o := range s.wantHandmade(caused(1, 1), caused(2, 999), caused(3, 1)) {
		var causes []int64
		for c, err := range o.Commits(o.ctx, &backend.CommitQuery{Until: backend.Head}) {
			o.must(err)
			causes = append(causes, c.Causation)
		}
		o.want("causes", fmt.Sprint(causes), "[1 999 1]")
	}
}

// restoreBlankKeys restores things with keys that a new thing could not have.
func restoreBlankKeys(s *archiveStory) {
	for _, o := range s.wantHandmade(
		s.handmade(1, made(person("\t"), 1, 1), made(claim(" ", "n", " "), 1, 1), made(visit(" ", "  ", "\n"), 1, 1)),
		s.handmade(2, gone(person("\t"), 2)),
	) {
		o.wantState(onto.KindEntity, tPerson)
		o.wantState(onto.KindRelation, tVisit, `Visit " " → "  " ["\n"] @1 {"n":1}`)
	}
}
