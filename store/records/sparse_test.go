package records_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// upserting is how rows of a type replace what is there.
func upserting(typ string, clears bool) *records.ImportOptions {
	return &records.ImportOptions{Format: records.CSV, Type: typ, OnConflict: records.Upsert, EmptyClears: clears}
}

// fieldsOf is the fields of everything of a type, in order.
func fieldsOf(t testing.TB, s *store.Store, typ string) string {
	t.Helper()
	var list []string
	for v, err := range s.Now().Find(typ).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(v.Fields))
	}
	return strings.Join(list, "\n")
}

const ada = `{"kind":"entity","type":"Customer","key":"c1","fields":{"name":"Ada","tier":"Gold","note":"likes tea","age":36,"visits":5}}`

func TestUpsertOfSomeColumns(t *testing.T) {
	for _, c := range []struct {
		name, text    string
		clears        bool
		want          string
		emptied       int64
		updates, news int64
	}{
		{"columns that are missing stay", "id,name\nc1,Ada Lovelace\n", false,
			`{"age":36,"id":"c1","name":"Ada Lovelace","note":"likes tea","tier":"Gold","visits":5}`, 0, 1, 0},
		{"also with empty cells that empty", "id,name\nc1,Ada Lovelace\n", true,
			`{"age":36,"id":"c1","name":"Ada Lovelace","note":"likes tea","tier":"Gold","visits":5}`, 0, 1, 0},
		{"a column that a new one would need", "id,tier\nc1,Silver\n", false,
			`{"age":36,"id":"c1","name":"Ada","note":"likes tea","tier":"Silver","visits":5}`, 1, 1, 0},
		{"empty cells leave what is there", "id,name,tier,note,age,visits\nc1,,,,37,\n", false,
			`{"age":37,"id":"c1","name":"Ada","note":"likes tea","tier":"Gold","visits":5}`, 0, 1, 0},
		{"empty cells of all columns", "id,name,tier,note,age,visits,ratio,active,since,profile,tags,extra\nc1,,,,37,,,,,,,\n", false,
			`{"age":37,"id":"c1","name":"Ada","note":"likes tea","tier":"Gold","visits":5}`, 0, 1, 0},
		{"empty cells empty if that is asked for", "id,name,tier,note,age,visits\nc1,,,,37,\n", true,
			`{"age":37,"id":"c1","name":"","tier":"Silver","visits":0}`, 4, 1, 0},
		{"and in all columns", "id,name,tier,note,age,visits,ratio,active,since,profile,tags,extra\nc1,,,,37,,,,,,,\n", true,
			`{"age":37,"id":"c1","name":"","tier":"Silver","visits":0}`, 4, 1, 0},
		{"an empty text that is written out", "id,name,note\nc1,,\"\"\"\"\"\"\n", false,
			`{"age":36,"id":"c1","name":"Ada","note":"","tier":"Gold","visits":5}`, 1, 1, 0},
		{"new ones get defaults", "id,name,note\nc1,,\nc2,,\n", false,
			`{"age":36,"id":"c1","name":"Ada","note":"likes tea","tier":"Gold","visits":5}` + "\n" + `{"id":"c2","name":"","tier":"Silver","visits":0}`, 0, 0, 1},
		{"new ones get defaults where cells empty", "id,name,note\nc2,Bob,\n", true,
			`{"age":36,"id":"c1","name":"Ada","note":"likes tea","tier":"Gold","visits":5}` + "\n" + `{"id":"c2","name":"Bob","tier":"Silver","visits":0}`, 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
				s := open(t)
				mustImport(t, s, ada, nil)
				plan, err := records.Plan(t.Context(), s, strings.NewReader(c.text), upserting("Customer", c.clears))
				if err != nil {
					t.Fatal(err)
				}
				out := mustImport(t, s, c.text, upserting("Customer", c.clears))
				for what, o := range map[string]records.Outcome{"the plan": plan, "the import": out} {
					if o.Emptied != c.emptied || o.Updates != c.updates || o.Inserts != c.news {
						t.Errorf("%s: got %d emptied, %d updates, %d inserts, want %d, %d, %d", what, o.Emptied, o.Updates, o.Inserts, c.emptied, c.updates, c.news)
					}
				}
				if got := fieldsOf(t, s, "Customer"); got != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			})
		})
	}
}

func TestUpsertOfSomeColumnsOfRelations(t *testing.T) {
	onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		mustImport(t, s, `{"kind":"relation","type":"Stint","left_key":"c1","right_key":"1","instance_key":"a","fields":{"seats":7,"label":"first"}}`, nil)
		mustImport(t, s, "left_key,right_key,instance_key,label\nc1,1,a,second\nc1,1,b,\n", upserting("Stint", false))
		if got, want := fieldsOf(t, s, "Stint"), `{"label":"second","seats":7}`+"\n"+`{"label":"","seats":1}`; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		mustImport(t, s, "left_key,right_key,instance_key,seats,label\nc1,1,a,,third\n", upserting("Stint", true))
		if got, want := fieldsOf(t, s, "Stint"), `{"label":"third","seats":1}`+"\n"+`{"label":"","seats":1}`; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		mustImport(t, s, "left_key,right_key,instance_key\nc1,1,b\n", upserting("Stint", false)) // it says nothing new
		wantHead(t, s, 3)
	})
}

// A new thing that lacks a field which it needs is refused with its line, by the plan and
// by the import.
func TestUpsertOfTooFewColumns(t *testing.T) {
	onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		mustImport(t, s, ada, nil)
		text := "id,tier\nc1,Silver\nc9,Gold\n"
		plan, err := records.Plan(t.Context(), s, strings.NewReader(text), upserting("Customer", false))
		if err != nil || plan.Conflicts != 1 || fmt.Sprint(plan.First) != `[line 3: Customer "c9" does not exist, and there is no name to make it]` {
			t.Errorf("the plan has %d conflicts, %v, %v", plan.Conflicts, plan.First, err)
		}
		_, err = records.Import(t.Context(), s, strings.NewReader(text), upserting("Customer", false))
		wantError(t, "import", err, onto.Conflict, `line 3: Customer "c9" does not exist, and there is no name to make it`)
		wantHead(t, s, 1)

		other := upserting("Customer", false)
		other.OnConflict = records.Skip
		_, err = records.Import(t.Context(), s, strings.NewReader(text), other)
		wantError(t, "without upsert", err, onto.Invalid, "column name is missing")
	})
}

// An empty cell and the default are not the same, so that both for one thing contradict
// each other.
func TestUpsertOfEmptyCellTwice(t *testing.T) {
	s := inMemory(t)
	_, err := records.Import(t.Context(), s, strings.NewReader("id,name,tier\nc1,Ada,\nc1,Ada,Silver\n"), upserting("Customer", false))
	wantError(t, "import", err, onto.Conflict, `line 3: Customer "c1" was on line 2 already, with other contents`)
	if out := mustImport(t, s, "id,name,tier\nc1,Ada,\nc1,Ada,\n", upserting("Customer", false)); out.Repeated != 1 {
		t.Errorf("got %d repeated, want 1", out.Repeated)
	}
}

func TestEmptyClearsIsForCSV(t *testing.T) {
	_, err := records.Import(t.Context(), inMemory(t), strings.NewReader(ada), &records.ImportOptions{EmptyClears: true})
	wantError(t, "import", err, onto.Invalid, "only records in CSV have empty cells")
}
