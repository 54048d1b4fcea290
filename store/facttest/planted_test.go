package facttest_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/planted"
)

// Every mistake about facts is caught by the test that it names. None is in the source:
// they are planted in a copy of it.
func TestMistakesAboutFactsAreCaught(t *testing.T) {
	mistakes := factMistakes()
	var changes []planted.Change
	for _, m := range mistakes {
		changes = append(changes, m.Change)
	}
	binary := planted.Build(t, "facttest", "", changes)
	run := func(t *testing.T, mistake, test string) (string, error) {
		return binary.Run(t, mistake, "-test.run="+test, "-test.timeout=60s")
	}
	tried := 0
	for i, m := range mistakes {
		if !effort.Includes(t, i) {
			continue
		}
		tried++
		t.Run(m.Mistake, func(t *testing.T) {
			if out, err := run(t, m.Mistake, m.caught); err == nil || !strings.Contains(out, "FAIL") && !strings.Contains(out, "panic") {
				t.Errorf("%s has not caught it: %v\n%s", m.caught, err, out)
			}
			if out, err := run(t, "", m.caught); err != nil {
				t.Errorf("%s without the mistake: %v\n%s", m.caught, err, out)
			}
		})
	}
	t.Logf("%d of %d mistakes", tried, len(mistakes))
}

type factMistake struct {
	planted.Change
	caught string // by this test
}

const factModel = "^TestFactsAreThoseOfTheModel$/^memory$"

func factMistakes() []factMistake {
	const (
		claim    = "../../internal/bitemporal/claim.go"
		timeline = "../../internal/bitemporal/timeline.go"
		reader   = "../internal/factread/factread.go"
	)
	var list []factMistake
	plant := func(what, file, caught, old, new string) {
		list = append(list, factMistake{planted.Change{Mistake: what, File: file, Old: old, New: new}, caught})
	}
	plant("the last version speaks, not the last assertion", claim, factModel,
		`c.Asserted = number(value, v.Commit)`, `if !PLANTED { c.Asserted = number(value, v.Commit) }`)
	plant("the end is part of a period", claim, factModel,
		`at < string(until))`, `at < string(until) || PLANTED && at == string(until))`)
	plant("the start is not part of a period", claim, factModel,
		`return string(from) <= at &&`, `return string(from) <= at && !(PLANTED && at == string(from) && at != "") &&`)
	plant("the place in the draft is ignored", claim, factModel,
		`cmp.Compare(c.Seq, o.Seq)`, `cmp.Compare(c.Seq, o.Seq)*map[bool]int{false: 1}[PLANTED]`)
	plant("the id is ignored", claim, "^TestOfEqualFactsTheGreatestIDSpeaks$",
		`strings.Compare(c.ID, o.ID))`, `strings.Compare(c.ID, o.ID)*map[bool]int{false: 1}[PLANTED])`)
	plant("periods that only touch have something in common", claim, factModel,
		`return p, p.Until == "" || p.From < p.Until`, `return p, p.Until == "" || p.From < p.Until || PLANTED && p.From == p.Until`)
	plant("an ended claim goes on to speak", timeline, factModel,
		`for begun.Len() > 0 && !claims[begun.list[0]].Holds(at) {`, `for begun.Len() > 0 && !PLANTED && !claims[begun.list[0]].Holds(at) {`)
	plant("gaps before the first segment", timeline, factModel,
		`reached = list[0].From`, `if !PLANTED { reached = list[0].From }`)
	plant("gaps after the last segment", timeline, factModel,
		`if within != nil && open &&`, "if PLANTED && within == nil { within = &Period{} }\n\tif within != nil && open &&")
	plant("gaps within overlapping segments", timeline, factModel,
		`reached = max(reached, s.Until)`, "reached = max(reached, s.Until)\n\t\t\tif PLANTED { reached = s.Until }")
	plant("filters decide what speaks", reader, factModel,
		`ask.Where, ask.Limit, ask.After = nil, 0, nil`, `ask.Where, ask.Limit, ask.After = nil, 0, nil
	if PLANTED { ask.Where = r.Conditions(r.Ask.Where) }
	//`)
	plant("a page cuts a group", reader, factModel,
		`if ask.After != nil && !r.alone`, `if ask.After != nil && !PLANTED && !r.alone`)
	plant("a page repeats the group before it", reader, factModel,
		`return r.Ask.After != nil && v`, `return !PLANTED && r.Ask.After != nil && v`)
	plant("filtered facts are of several moments", reader, "^TestFilteredFactsAreOfOneMoment$",
		`if err := r.Pin(ctx, r.Ask); err != nil {`, `pin := r.Pin
		if PLANTED { pin = func(context.Context, *backend.Query) error { return nil } }
		if err := pin(ctx, r.Ask); err != nil {`)
	plant("all values are one group", reader, factModel,
		`return r.asked.many`, `return r.asked.many && !PLANTED`)
	plant("a cursor forgets the valid time", "../cursor.go", "^TestPagesOfFactsAreOfOneMoment$",
		`q.valid = c.Moment, place, c.Valid`, `q.valid = c.Moment, place, c.Valid
	if PLANTED { q.valid = "2000-01-01T00:00:00.000000+00:00" }`)
	plant("gaps only where facts of the period are", "../timeline.go", factModel,
		`r.Spans, r.Whole = true, f.gaps`, `r.Spans, r.Whole = true, f.gaps && !PLANTED`)
	plant("values are in the order of their ids", "../about.go", factModel,
		`for _, i := range bitemporal.Sorted(g.Claims) {`, `for at, i := range bitemporal.Sorted(g.Claims) {
				if PLANTED { i = at }`)
	const (
		rows  = "^TestRowsInAnyOrderAreThoseOfTheModel$/^every_order$"
		undos = "^TestSubjectsAreBroughtBack$/^memory$"
	)
	plant("a late row has no end", "../records/rows.go", rows,
		`rec.fields = s.fields(row, f, value, until)`, `if PLANTED { until = time.Time{} }
	rec.fields = s.fields(row, f, value, until)`)
	plant("a row that was corrected is taken for the correction", "../records/rows.go", rows,
		`later(&k.Fact, &last.Fact)) {`, `later(&k.Fact, &last.Fact) != PLANTED) {`)
	plant("one of many values is told twice", "../records/told.go", rows,
		`f.Many && other.from < now.from &&`, `f.Many && !PLANTED && other.from < now.from &&`)
	plant("relations to a subject stay", "../subject.go", undos,
		`t.Schema.Right == s.Type)`, `!PLANTED && t.Schema.Right == s.Type)`)
	plant("what is brought back was asserted anew", "../aim.go", undos,
		`g.Then = withAsserted(g.Then)`, `if !PLANTED { g.Then = withAsserted(g.Then) }`)
	return list
}
