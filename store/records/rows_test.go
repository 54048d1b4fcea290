package records_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
	"github.com/ontologia/onto/store/schemafile"
)

const rowSchema = `
facts:
  Customer:
    fields:
      name:  {type: string}
      seats: {type: int}
      tags:  {type: string, many: true}
      tier:  {type: string}
  Loose:
    open: true
`

func rowStore(t testing.TB) *store.Store {
	t.Helper()
	types, err := schemafile.Parse([]byte(rowSchema))
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), memory.New(nil).Open(), types...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func rows(o records.Rows) *records.ImportOptions {
	return &records.ImportOptions{Format: records.CSV, Type: "Customer", Rows: &o}
}

// saidIn is what the facts of a store say in a month.
func saidIn(t testing.TB, s *store.Store, typ string, m int) string {
	t.Helper()
	for line := range strings.Lines(said(t, s, typ)) {
		if month, what, _ := strings.Cut(strings.TrimSpace(line), ": "); month == fmt.Sprint(m) {
			return what
		}
	}
	return ""
}

func wantSaid(t testing.TB, s *store.Store, m int, want ...string) {
	t.Helper()
	got := saidIn(t, s, "Customer", m)
	for _, w := range want {
		if !strings.Contains(got, w+" (") {
			t.Errorf("in month %d: got %s, want %s", m, got, w)
		}
	}
	if n := strings.Count(got, " ("); n != len(want) {
		t.Errorf("in month %d: got %d values, want %d: %s", m, n, len(want), got)
	}
}

// A table with updated_at, imported every now and then: the facts tell what each cell was
// and since when, and a row that has changed confirms the cells that have not.
func TestRowsWithTheTimeOfTheirLastChange(t *testing.T) {
	s, o := rowStore(t), rows(records.Rows{Subject: "id", From: "updated_at", Skip: []string{"internal"}})
	header := "id,name,tier,seats,internal,updated_at"
	march := lines(header, "c1,Ada,Gold,3,x,2026-03-01 00:00:00", "c2,Bob,,1,x,2026-03-01T00:00:00Z")
	if out := mustImport(t, s, march, o); out.Inserts != 5 || out.Records != 5 {
		t.Fatalf("got %+v", out)
	}
	wantSaid(t, s, 2)
	wantSaid(t, s, 3, "c1.name:Ada", "c1.tier:Gold", "c1.seats:3", "c2.name:Bob", "c2.seats:1")
	for range 2 {
		if out := mustImport(t, s, march, o); out.Result.ID != 0 || out.Unchanged != 5 {
			t.Fatalf("the same rows again: got %+v", out)
		}
	}
	june := lines(header, "c1,Ada,Platinum,3,x,2026-06-01", "c2,Bob,Silver,1,x,2026-05-01")
	plan, err := records.Plan(t.Context(), s, strings.NewReader(june), o)
	if err != nil || plan.Inserts != 6 || plan.Unchanged != 0 {
		t.Fatalf("plan: got %+v, %v", plan, err)
	}
	if out := mustImport(t, s, june, o); out.Inserts != 6 || out.Unchanged != 0 {
		t.Fatalf("changed rows: got %+v", out)
	}
	wantSaid(t, s, 5, "c1.name:Ada", "c1.tier:Gold", "c1.seats:3", "c2.name:Bob", "c2.seats:1", "c2.tier:Silver")
	wantSaid(t, s, 6, "c1.name:Ada", "c1.tier:Platinum", "c1.seats:3", "c2.name:Bob", "c2.seats:1", "c2.tier:Silver")

	// What is older than what is known holds until then.
	mustImport(t, s, lines(header, "c1,Ada,Bronze,,x,2026-01-01", "c1,,Silver,,x,2026-04-01"), o)
	wantSaid(t, s, 1, "c1.name:Ada", "c1.tier:Bronze")
	for m, tier := range map[int]string{3: "Gold", 4: "Silver", 5: "Silver", 6: "Platinum"} {
		if got := saidIn(t, s, "Customer", m); !strings.Contains(got, "c1.tier:"+tier+" (") || !strings.Contains(got, "c1.name:Ada (") {
			t.Errorf("in month %d: got %s, want %s", m, got, tier)
		}
	}
	// A value that comes back is believed again, and the files of before change nothing.
	mustImport(t, s, lines(header, "c1,Ada,Gold,,x,2026-08-01"), o)
	if got := saidIn(t, s, "Customer", 8); !strings.Contains(got, "c1.tier:Gold (") {
		t.Errorf("got %s, want what came back", got)
	}
	for _, text := range []string{march, june} {
		if out := mustImport(t, s, text, o); out.Result.ID != 0 {
			t.Errorf("a file of before: got %+v", out)
		}
	}
}

// A table of all states, in any order: what holds later speaks.
func TestRowsOfAHistory(t *testing.T) {
	s := rowStore(t)
	text := lines("id,tier,since", "c1,Gold,2026-06-01", "c1,Silver,2026-01-01", "c1,Bronze,2026-03-01", "c1,Bronze,2026-03-01T00:00:00Z", "c1,Silver,2026-02-01")
	o := rows(records.Rows{Subject: "id", From: "since"})
	mustImport(t, s, text, o)
	for m, tier := range map[int]string{1: "Silver", 2: "Silver", 3: "Bronze", 6: "Gold", 12: "Gold"} {
		wantSaid(t, s, m, "c1.tier:"+tier)
	}
	if out := mustImport(t, s, text, o); out.Result.ID != 0 {
		t.Errorf("again: got %+v", out)
	}
	_, err := records.Import(t.Context(), s, strings.NewReader(lines("id,tier,since", "c1,Tin,2026-03-01", "c1,Brass,2026-03-01")), o)
	if onto.CodeOf(err) != onto.Conflict || err.Error() != `line 3: tier of "c1" was on line 2 already, with another value of the same time` {
		t.Errorf("two values of the same time: got %v", err)
	}
}

// Rows of one subject are compared with each other and with what is there, in whatever
// order they come: after an import the value of each row speaks at its time, and the same
// import changes nothing.
func TestRowsOfOneSubjectInAnyOrder(t *testing.T) {
	imports := 0
	for seed := range uint64(100) {
		s, rnd := rowStore(t), rand.New(rand.NewPCG(seed, 5))
		o := rows(records.Rows{Subject: "id", From: "at"})
		for range 1 + rnd.IntN(4) {
			text, files := []string{}, map[int]string{}
			for _, m := range rnd.Perm(12)[:1+rnd.IntN(6)] {
				tier := fmt.Sprint("t", rnd.IntN(3))
				files[m+1] = tier
				text = append(text, fmt.Sprintf("c1,%s,2026-%02d-01", tier, m+1))
			}
			table := lines(append([]string{"id,tier,at"}, text...)...)
			mustImport(t, s, table, o)
			for m, tier := range files {
				if got := saidIn(t, s, "Customer", m); !strings.Contains(got, "c1.tier:"+tier+" (") {
					t.Fatalf("seed %d: in month %d: got %s, want %s\n%s\n%s", seed, m, got, tier, table, mustExport(t, s, nil))
				}
			}
			if out := mustImport(t, s, table, o); out.Result.ID != 0 {
				t.Fatalf("seed %d: again: got %+v\n%s\n%s", seed, out, table, mustExport(t, s, nil))
			}
			imports++
		}
	}
	t.Logf("100 tables in %d imports", imports)
}

// Rows without a time hold always, or since the time that is given; a later import
// corrects them.
func TestRowsWithoutATime(t *testing.T) {
	s, o := rowStore(t), rows(records.Rows{Subject: "id"})
	for _, tier := range []string{"Gold", "Silver", "Gold", "Silver"} {
		if out := mustImport(t, s, lines("id,tier", "c1,"+tier), o); out.Inserts != 1 {
			t.Fatalf("%s: got %+v", tier, out)
		}
		wantSaid(t, s, 1, "c1.tier:"+tier)
		if out := mustImport(t, s, lines("id,tier", "c1,"+tier), o); out.Result.ID != 0 {
			t.Fatalf("%s again: got %+v", tier, out)
		}
	}
	since := rows(records.Rows{Subject: "id", Since: month(2)})
	mustImport(t, s, lines("id,tier", "c2,Gold"), since)
	if got := saidIn(t, s, "Customer", 1); strings.Contains(got, "c2") {
		t.Errorf("got %s before it holds", got)
	}
	wantSaid(t, s, 2, "c1.tier:Silver", "c2.tier:Gold")
	since.Rows.Since = month(5)
	if out := mustImport(t, s, lines("id,tier", "c2,Gold"), since); out.Inserts != 1 {
		t.Errorf("the same of a later time: got %+v", out)
	}
	mustImport(t, s, lines("id,tier", "c2,Silver"), rows(records.Rows{Subject: "id", Since: month(3)}))
	wantSaid(t, s, 4, "c1.tier:Silver", "c2.tier:Silver")
	wantSaid(t, s, 5, "c1.tier:Silver", "c2.tier:Gold")
}

func TestRowsOfObjects(t *testing.T) {
	s := rowStore(t)
	o := &records.ImportOptions{Type: "Customer", Rows: &records.Rows{Subject: "id", From: "at"}}
	text := lines(`{"id":7,"name":"Ada","seats":2,"tags":["a","b"],"tier":null,"at":"2026-01-01T00:00:00Z"}`, "", `{"id":"8","tags":"c"}`)
	if out := mustImport(t, s, text, o); out.Inserts != 5 {
		t.Fatalf("got %+v", out)
	}
	if out := mustImport(t, s, text, o); out.Result.ID != 0 || out.Unchanged != 5 {
		t.Errorf("again: got %+v", out)
	}
	if out := mustImport(t, s, `{"id":7,"tags":["b","d"],"at":"2026-02-01T00:00:00Z"}`, o); out.Inserts != 1 || out.Unchanged != 1 {
		t.Errorf("one of many values more: got %+v", out)
	}
	loose := &records.ImportOptions{Format: records.CSV, Type: "Loose", Rows: &records.Rows{Subject: "id"}}
	mustImport(t, s, lines("id,size,color", "x,12,red"), loose)
	if got := saidIn(t, s, "Loose", 1); !strings.Contains(got, "x.color:red (") || !strings.Contains(got, "x.size:12 (") {
		t.Errorf("got %s", got)
	}
	if out := mustImport(t, s, lines("id,size,color", "x,12,red"), loose); out.Result.ID != 0 {
		t.Errorf("again: got %+v", out)
	}
}

// Many rows are compared with what is there in pieces.
func TestManyRows(t *testing.T) {
	s, o := rowStore(t), rows(records.Rows{Subject: "id", From: "at"})
	table := func(tier func(i int) string, at string) string {
		var text strings.Builder
		text.WriteString("id,name,tier,at\n")
		for i := range 2000 {
			fmt.Fprintf(&text, "c%d,n%d,%s,%s\n", i*7%2000, i*7%2000, tier(i), at)
		}
		return text.String()
	}
	gold := func(int) string { return "Gold" }
	if out := mustImport(t, s, table(gold, "2026-01-01"), o); out.Inserts != 4000 {
		t.Fatalf("got %+v", out)
	}
	out := mustImport(t, s, table(func(i int) string { return [2]string{"Gold", "Silver"}[i%2] }, "2026-02-01"), o)
	if out.Inserts != 4000 {
		t.Errorf("got %+v, want that all is confirmed or changed", out)
	}
	out = mustImport(t, s, table(func(i int) string { return [2]string{"Gold", "Bronze"}[i%2] }, "2026-02-01"), o)
	if out.Inserts != 1000 || out.Unchanged != 3000 {
		t.Errorf("got %+v, want that every second tier is corrected", out)
	}
}

func TestRowsAreRefused(t *testing.T) {
	s := rowStore(t)
	for _, c := range []struct {
		name, text string
		rows       records.Rows
		want, hint string
	}{
		{"no subject column", "id\n", records.Rows{}, "the column that names the subjects is missing", "--subject id"},
		{"a subject column that is not there", "id,tier\n", records.Rows{Subject: "key", Skip: []string{"id"}}, "line 1: column key is missing", ""},
		{"a time column that is not there", "id,tier\n", records.Rows{Subject: "id", From: "at"}, "line 1: column at is missing", ""},
		{"an unknown column", "id,teir\nc,Gold\n", records.Rows{Subject: "id"}, `line 1: column "teir" is no attribute of Customer`, "did you mean tier?"},
		{"a column far from any", "id,created_by\n", records.Rows{Subject: "id"}, `line 1: column "created_by" is no attribute of Customer`, "leave it out, as --skip created_by"},
		{"a reserved name", "id,valid_from\n", records.Rows{Subject: "id"}, `column "valid_from" is no attribute`, "--skip valid_from"},
		{"a column twice", "id,tier,tier\n", records.Rows{Subject: "id"}, "line 1: column tier comes twice", ""},
		{"no header", "", records.Rows{Subject: "id"}, "line 1: there is no header", ""},
		{"no subject", "id,tier\nc,Gold\n,Gold\n", records.Rows{Subject: "id"}, "line 3: column id: there is no subject", ""},
		{"a wrong value", "id,seats\nc,1\nd,many\n", records.Rows{Subject: "id"}, "line 3: column seats: expected int", ""},
		{"a wrong time", "id,seats,at\nc,1,yesterday\n", records.Rows{Subject: "id", From: "at"}, `line 2: column at: "yesterday" is not a time`, ""},
		{"one column for two things", "id\n", records.Rows{Subject: "id", From: "id"}, "cannot be both the subject and the time", ""},
		{"a subject that is left out", "id\n", records.Rows{Subject: "id", Skip: []string{"id"}}, "cannot be left out", ""},
	} {
		_, err := records.Import(t.Context(), s, strings.NewReader(c.text), rows(c.rows))
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(onto.HintOf(err).String(), c.hint) {
			t.Errorf("%s: got %v, hint %q; want %s, hint %q", c.name, err, onto.HintOf(err), c.want, c.hint)
		}
	}
	for text, want := range map[string]string{
		`[1]`: "line 1: ", `{"id":[1]}`: "line 1: id: expected string or int, found list", `{"id":"c","at":5}`: "line 1: at: expected a time, found int",
		`{"id":"c","seats":"x"}`: "line 1: column seats: expected int", `{"tier":"Gold"}`: "line 1: column id: there is no subject", `{"id":"c","x":1}`: `column "x" is no attribute`,
	} {
		_, err := records.Import(t.Context(), s, strings.NewReader(text), &records.ImportOptions{Type: "Customer", Rows: &records.Rows{Subject: "id", From: "at"}})
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	for typ, want := range map[string]string{"": "the type of the facts is missing", "Custmer": "does not exist"} {
		o := rows(records.Rows{Subject: "id"})
		o.Type = typ
		if _, err := records.Import(t.Context(), s, strings.NewReader("id\n"), o); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", typ, err, want)
		}
	}
	if head, _ := s.Head(t.Context()); head.ID != 0 {
		t.Errorf("something was stored")
	}
}
