package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

// newContracts is an empty store of contracts, in memory.
func newContracts(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), memory.New(nil).Open(), onto.TypeOf[person](), onto.TypeOf[contract]())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func fact(subject, attribute string, value any, from, until time.Time) onto.Fact {
	return onto.Fact{Type: "contract", Subject: subject, Attribute: attribute, Value: value, From: from, Until: until}
}

// never is no bound.
var never time.Time

// listed is the values of facts, by subject.
func listed(t *testing.T, f store.Facts) string {
	t.Helper()
	text := ""
	for fact, err := range f.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %s %v; ", fact.Subject, fact.Attribute, fact.Value)
	}
	return text
}

// Each view is of a moment on both axes. A commit and a time give the second as well.
func TestViewsHaveTwoAxes(t *testing.T) {
	s := newContracts(t)
	first := mustCommit(t, s, onto.Draft{}.Assert(fact("ada", "salary", 1, never, never)))
	second := mustCommit(t, s, onto.Draft{}.Assert(fact("ada", "salary", 2, second(t, s).Add(time.Hour), never)))
	for name, c := range map[string]struct {
		view store.View
		want string
	}{
		"now":                          {s.Now(), "ada salary 1; "},
		"now, of the day after":        {s.Now().ValidAt(time.Now().Add(24 * time.Hour)), "ada salary 2; "},
		"the first commit":             {s.At(first.ID), "ada salary 1; "},
		"the first, of the day after":  {s.At(first.ID).ValidAt(time.Now().Add(24 * time.Hour)), "ada salary 1; "},
		"the second commit":            {s.At(second.ID), "ada salary 1; "},
		"the second, of the day after": {s.At(second.ID).ValidAt(time.Now().Add(24 * time.Hour)), "ada salary 2; "},
		"tomorrow":                     {s.AsOf(time.Now().Add(24 * time.Hour)), "ada salary 2; "},
		"before the first":             {s.AsOf(first.Time.Add(-time.Second)), ""},
		"the empty store":              {s.At(0), ""},
		"the empty store, of today":    {s.At(0).ValidAt(time.Now()), ""},
		"the last view of several":     {s.Now().ValidAt(day(1, 1)).ValidAt(time.Now().Add(24 * time.Hour)), "ada salary 2; "},
	} {
		if got := listed(t, c.view.Facts("contract")); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// second is a time that the next commit is about.
func second(t *testing.T, s *store.Store) time.Time {
	t.Helper()
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Time
}

func TestQuestionsAboutFactsAreChecked(t *testing.T) {
	s := newContracts(t)
	mustCommit(t, s, onto.Draft{}.Assert(fact("ada", "salary", 1, never, never), fact("ada", "employer", "Acme", never, never)))
	facts := s.Now().Facts("contract")
	page, err := facts.Limit(1).Page(t.Context())
	if err != nil || page.Next == "" {
		t.Fatal(page, err)
	}
	for name, c := range map[string]struct {
		facts store.Facts
		want  []string
	}{
		"an unknown attribute":      {facts.Attribute("salery"), []string{"salery", "did you mean salary?"}},
		"a foreign attribute":       {facts.Attribute("zzz"), []string{"its attributes are employer, salary, tags"}},
		"a reserved attribute":      {facts.Attribute("valid_from"), []string{"valid_from", "facts have anyway"}},
		"no attribute":              {facts.Attribute(""), []string{"empty"}},
		"an unknown type":           {s.Now().Facts("contrakt"), []string{"did you mean contract?"}},
		"an entity":                 {s.Now().Facts("person"), []string{"person is of kind entity, not fact"}},
		"an unknown field":          {facts.Where(onto.Path("salry").Gt(1)), []string{"did you mean salary?"}},
		"a right end":               {facts.Where(onto.Right("id").Eq("x")), []string{"nothing at their right"}},
		"an empty period":           {facts.During(day(2, 1), day(2, 1)), []string{"no time at all"}},
		"a period backwards":        {facts.During(day(2, 1), day(1, 1)), []string{"no time at all"}},
		"a time beyond the years":   {s.Now().ValidAt(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)).Facts("contract"), []string{"year 10000"}},
		"a period beyond the years": {facts.During(time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), never), []string{"year -1"}},
		"gaps":                      {facts.Gaps(), []string{"only a timeline has gaps"}},
		"a negative limit":          {facts.Limit(-1), []string{"limit -1 is negative"}},
		"a damaged cursor":          {facts.After("?"), []string{"damaged"}},
		"a cursor of all":           {facts.Every().After(page.Next), []string{"another query"}},
		"a cursor of a period":      {facts.During(day(1, 1), never).After(page.Next), []string{"another query"}},
		"a cursor of an attribute":  {facts.Attribute("salary").After(page.Next), []string{"another query"}},
		"a cursor of another time":  {s.Now().ValidAt(day(1, 1)).Facts("contract").After(page.Next), []string{"about what holds at", "the cursor remembers it"}},
		"a cursor of another state": {s.At(0).Facts("contract").After(page.Next), []string{"from commit 1, not 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.facts.Page(t.Context())
			wantError(t, err, onto.Invalid, c.want...)
			for _, err := range c.facts.All(t.Context()) {
				wantError(t, err, onto.Invalid, c.want...)
			}
		})
	}
	_, err = facts.After(page.Next).Count(t.Context())
	wantError(t, err, onto.Invalid, "a count has no cursor")
	for _, err := range facts.Every().Timeline(t.Context()) {
		wantError(t, err, onto.Invalid, "only facts that speak")
	}
	for _, err := range facts.After(page.Next).Timeline(t.Context()) {
		wantError(t, err, onto.Invalid, "a timeline has no cursor")
	}
	if n, err := facts.About("nobody").Count(t.Context()); n != 0 || err != nil {
		t.Errorf("about an unknown subject: %d, %v", n, err)
	}
}

// A subject is an entity, whose fields filters can see.
func TestFiltersSeeTheSubjectsOfFacts(t *testing.T) {
	s := newContracts(t)
	mustCommit(t, s, onto.Draft{}.Ensure(person{"ada"}).Assert(
		fact("ada", "salary", 1, never, never), fact("bob", "salary", 2, never, never)))
	if got, want := listed(t, s.Now().Facts("contract").Where(onto.Left("id").Eq("ada"))), "ada salary 1; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
