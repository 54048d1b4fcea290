package upkeep_test

import (
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/upkeep"
)

// Findings of one kind about one type become one group, which keeps the first few.
func TestGroups(t *testing.T) {
	var g upkeep.Groups
	about := func(typ string, i int) onto.Finding {
		return onto.Finding{Code: "projection_missing", Severity: onto.SeverityError, Message: fmt.Sprint(i), About: onto.EntityID(typ, fmt.Sprint(i))}
	}
	for i := range 3000 {
		g.Add(about("City", i))
		if i%1000 == 0 {
			g.Add(about("Person", i))
			g.Add(onto.Finding{Code: "lock_expired", Severity: onto.SeverityWarning})
		}
	}
	mild := about("City", 0)
	mild.Severity = onto.SeverityWarning
	g.Add(mild)
	got := ""
	for _, x := range g.List() {
		got += fmt.Sprintf("%s %s %s %d %d\n", x.Severity, x.Code, x.About.Name, x.Count, len(x.Examples))
	}
	const want = "error projection_missing City 3000 5\nerror projection_missing Person 3 3\nwarning lock_expired  3 3\nwarning projection_missing City 1 1\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if first := g.List()[0].Examples[4].About; first != onto.EntityID("City", "4") {
		t.Errorf("the fifth example is %v", first)
	}
}

// The groups stay few, however many types there are.
func TestGroupsOfManyTypes(t *testing.T) {
	var g upkeep.Groups
	for i := range 10_000 {
		g.Add(onto.Finding{Code: "schema_hash", About: onto.Identity{Kind: onto.KindEntity, Type: fmt.Sprint("T", i)}})
	}
	total := int64(0)
	for _, x := range g.List() {
		total += x.Count
	}
	if n := len(g.List()); n > 50 || total != 10_000 {
		t.Errorf("%d groups of %d findings", n, total)
	}
}
