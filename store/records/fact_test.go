package records_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
	"github.com/ontologia/onto/store/schemafile"
)

const factSchema = `
entities:
  Person:
    key: id
    fields:
      id: {type: string}
facts:
  Contract:
    subject: Person
    fields:
      employer: {type: string, index: true}
      salary:   {type: int}
      fact_id:  {type: string}
  Note:
    open: true
    fields:
      text: {type: string}
`

func factStore(t testing.TB) *store.Store {
	t.Helper()
	types, err := schemafile.Parse([]byte(factSchema))
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

func assert(t testing.TB, s *store.Store, facts ...onto.Fact) {
	t.Helper()
	if _, err := s.Commit(t.Context(), onto.Draft{}.Assert(facts...)); err != nil {
		t.Fatal(err)
	}
}

func month(m int) time.Time { return time.Date(2026, time.Month(m), 1, 0, 0, 0, 0, time.UTC) }

// said is what the facts of a store say at times of a year, by the definition.
func said(t testing.TB, s *store.Store, typ string) string {
	t.Helper()
	var all []onto.Fact
	for v, err := range s.Now().FindKind(onto.KindFact, typ).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := onto.FactOf(&v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b onto.Fact) int {
		return cmp.Or(cmp.Compare(a.Asserted, b.Asserted), cmp.Compare(a.Seq, b.Seq), strings.Compare(a.ID, b.ID))
	})
	var text strings.Builder
	months := 13
	if len(all) > 1000 {
		months = 0
	}
	for m := 0; m <= months; m++ {
		speaks := map[string]string{}
		for _, f := range all {
			if f.Holds(month(m).Add(time.Hour)) {
				speaks[f.Subject+"."+f.Attribute] = fmt.Sprintf("%v (%s, revoked %v)", f.Value, f.ID, f.Revoked)
			}
		}
		fmt.Fprintf(&text, "%d: %v\n", m, speaks)
	}
	return text.String()
}

// A fact's record has its identity, and fields that always tell when it was asserted.
func TestFactsAreExported(t *testing.T) {
	s := factStore(t)
	assert(t, s, onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: "a", Value: 4000, From: month(1)},
		onto.Fact{Type: "Contract", Subject: "ada", Attribute: "employer", ID: "b", Value: "Acme", Kind: "signed"},
		onto.Fact{Type: "Note", Subject: "x y", Attribute: "color", ID: "c", Value: []any{"red"}})
	if _, err := s.Commit(t.Context(), onto.Draft{}.Revoke(onto.FactID("Contract", "ada", "salary", "a"), month(9), "left")); err != nil {
		t.Fatal(err)
	}
	all := mustExport(t, s, nil)
	if want := lines(
		`{"kind":"fact","type":"Contract","subject":"ada","attribute":"employer","fact_id":"b","fields":{"asserted":1,"employer":"Acme","kind":"signed","seq":1}}`,
		`{"kind":"fact","type":"Contract","subject":"ada","attribute":"salary","fact_id":"a","fields":{"asserted":1,"revoked":"left","salary":4000,"valid_from":"2026-01-01T00:00:00.000000+00:00","valid_until":"2026-09-01T00:00:00.000000+00:00"}}`,
		`{"kind":"fact","type":"Note","subject":"x y","attribute":"color","fact_id":"c","fields":{"asserted":1,"seq":2,"value":["red"]}}`,
	); all != want {
		t.Errorf("got\n%swant\n%s", all, want)
	}
	table := mustExport(t, s, &records.ExportOptions{Format: records.CSV, Types: []string{"Contract"}})
	if want := lines(
		"subject,attribute,onto.fact_id,asserted,employer,fact_id,kind,revoked,salary,seq,valid_from,valid_until",
		`ada,employer,b,1,Acme,,signed,,,1,,`,
		`ada,salary,a,1,,,,"""left""",4000,,2026-01-01T00:00:00.000000+00:00,2026-09-01T00:00:00.000000+00:00`,
	); table != want {
		t.Errorf("got\n%swant\n%s", table, want)
	}
	history := mustExport(t, s, &records.ExportOptions{Types: []string{"Contract"}, History: true})
	if !strings.Contains(history, `"fact_id":"a","fields":{"asserted":1,"salary":4000,"valid_from":"2026-01-01T00:00:00.000000+00:00"},"commit_id":1,"op":"put"}`) {
		t.Errorf("the history has no first version:\n%s", history)
	}
	for _, format := range []records.Format{records.JSONL, records.CSV} {
		target := factStore(t)
		if format == records.JSONL {
			mustImport(t, target, all, nil)
		} else {
			mustImport(t, target, table, &records.ImportOptions{Format: format, Type: "Contract"})
		}
		if got, want := said(t, target, "Contract"), said(t, s, "Contract"); got != want {
			t.Errorf("%s: got\n%swant\n%s", format, got, want)
		}
		if format == records.JSONL && mustImport(t, s, all, nil).Result.ID != 0 {
			t.Errorf("an export that is imported into its own store has changed it")
		}
	}
}

// An export that is imported into an empty store gives every answer about the present
// that the store gave, and no other import of it changes anything.
func TestImportedFactsKeepEveryAnswer(t *testing.T) {
	facts := int64(0)
	for seed := range uint64(30) {
		s, rnd := factStore(t), rand.New(rand.NewPCG(seed, 3))
		var ids []onto.Identity
		for range 20 {
			var d onto.Draft
			for range 1 + rnd.IntN(3) {
				f := onto.Fact{Type: "Contract", Subject: fmt.Sprint("s", rnd.IntN(2)), Attribute: "salary", Value: rnd.IntN(20), ID: fmt.Sprint(rnd.IntN(900))}
				if rnd.IntN(3) == 0 {
					f.Attribute, f.Value = "employer", fmt.Sprint(rnd.IntN(20))
				}
				if f.From = month(rnd.IntN(13)); rnd.IntN(2) == 0 {
					f.Until = f.From.AddDate(0, 1+rnd.IntN(6), 0)
				}
				if !slices.Contains(ids, f.Identity()) {
					ids, d = append(ids, f.Identity()), d.Assert(f)
				}
			}
			if _, err := s.Commit(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			id := ids[rnd.IntN(len(ids))]
			switch rnd.IntN(4) {
			case 0:
				_, _ = s.Commit(t.Context(), onto.Draft{}.Revoke(id, month(rnd.IntN(13)), seed)) // or it holds not so long
			case 1:
				if _, err := s.Commit(t.Context(), onto.Draft{}.Retract(id)); err != nil {
					t.Fatal(err)
				}
			case 2:
				head, err := s.Head(t.Context())
				if err == nil {
					_, _, err = s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 1 + rnd.Int64N(head.ID), Over: true})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		text := mustExport(t, s, nil)
		split := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
		rnd.Shuffle(len(split), func(i, j int) { split[i], split[j] = split[j], split[i] })
		shuffled := strings.ReplaceAll(strings.Join(split, "\n"), "\n\n", "\n")
		table := mustExport(t, s, &records.ExportOptions{Format: records.CSV, Types: []string{"Contract"}})
		for name, imported := range map[string]func(*store.Store) records.Outcome{
			"JSON Lines":             func(s *store.Store) records.Outcome { return mustImport(t, s, text, nil) },
			"lines in another order": func(s *store.Store) records.Outcome { return mustImport(t, s, shuffled, nil) },
			"CSV": func(s *store.Store) records.Outcome {
				return mustImport(t, s, table, &records.ImportOptions{Format: records.CSV, Type: "Contract"})
			},
		} {
			target := factStore(t)
			facts += imported(target).Inserts
			if got, want := said(t, target, "Contract"), said(t, s, "Contract"); got != want {
				t.Fatalf("seed %d, %s: got\n%swant\n%s", seed, name, got, want)
			}
			for _, again := range []*store.Store{target, s} {
				if out := imported(again); out.Result.ID != 0 || out.Inserts != 0 {
					t.Fatalf("seed %d, %s: imported again: %+v", seed, name, out)
				}
			}
		}
	}
	t.Logf("30 histories, %d facts imported", facts)
}

// An import asserts its facts by its own commit: over what the store believed before, and
// in the order that they have among each other.
func TestImportedFactsAreAssertedByTheImport(t *testing.T) {
	s := factStore(t)
	for i := range 5 {
		assert(t, s, onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: fmt.Sprint("old", i), Value: i})
	}
	const head = `{"type":"Contract","subject":"ada","attribute":"salary",`
	out := mustImport(t, s, lines(head+`"fact_id":"b","fields":{"value":10,"asserted":2,"seq":9}}`, head+`"fact_id":"a","fields":{"value":11,"asserted":1}}`,
		head+`"fact_id":"c","fields":{"value":12,"asserted":2,"seq":1}}`), nil)
	for id, want := range map[string]string{"a": `{"salary":11}`, "b": `{"salary":10,"seq":2}`, "c": `{"salary":12,"seq":1}`} {
		v, err := s.Now().Get(t.Context(), onto.FactID("Contract", "ada", "salary", id))
		if err != nil || string(v.Fields) != want || v.Commit != out.Result.ID {
			t.Errorf("%s: got %s of commit %d, %v; want %s of %d", id, v.Fields, v.Commit, err, want, out.Result.ID)
		}
	}
	if got := said(t, s, "Contract"); !strings.HasPrefix(got, "0: map[ada.salary:10 (b,") {
		t.Errorf("got %s, want what the import says last", got)
	}
}

// A long import is ordered on disk, one subject after the other.
func TestManyFactsOfAnImport(t *testing.T) {
	const facts = 60_000 // twice as many as a spool keeps in memory
	s := factStore(t)
	var text strings.Builder
	for i := range facts {
		place := i * 7919 % facts // so that no order is that of the file
		fmt.Fprintf(&text, `{"type":"Contract","subject":"s%d","attribute":"salary","fact_id":"%06d","fields":{"value":%d,"asserted":%d}}`+"\n", place%3, (place*31)%facts, place, place+1)
	}
	text.WriteString(`{"type":"Contract","subject":"s0","attribute":"salary","fields":{"value":-1}}` + "\n")
	text.WriteString(`{"type":"Contract","subject":"s0","attribute":"salary","fields":{"value":-2}}` + "\n")
	out := mustImport(t, s, text.String(), nil)
	if out.Inserts != facts+2 {
		t.Fatalf("got %+v", out)
	}
	got := said(t, s, "Contract")
	for _, want := range []string{"s0.salary:-2 ", "s1.salary:59998 ", "s2.salary:59999 "} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got[:300], want)
		}
	}
}

func TestFactRecords(t *testing.T) {
	const head = `{"kind":"fact","type":"Contract","subject":"ada","attribute":"salary",`
	s := factStore(t)
	assert(t, s, onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: "known", Value: 1},
		onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: "gone", Value: 1},
		onto.Fact{Type: "Contract", Subject: "ada", Attribute: "salary", ID: "ended", Value: 1})
	for _, d := range []onto.Draft{
		onto.Draft{}.Retract(onto.FactID("Contract", "ada", "salary", "gone")), onto.Draft{}.Revoke(onto.FactID("Contract", "ada", "salary", "ended"), month(9), nil),
	} {
		if _, err := s.Commit(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, line string
		code       onto.Code
		want, hint string
	}{
		{"another value of a fact that was changed", head + `"fact_id":"ended","fields":{"salary":2}}`, onto.Conflict, `line 2: Contract "ada" salary ["ended"] is known from commit 1, and says something else`, "a fact cannot be changed"},
		{"another value", head + `"fact_id":"known","fields":{"salary":2}}`, onto.Conflict, `line 2: Contract "ada" salary ["known"] is known from commit 1, and says something else`, "a fact cannot be changed"},
		{"a retracted fact", head + `"fact_id":"gone","fields":{"salary":1}}`, onto.Conflict, `line 2: Contract "ada" salary ["gone"] was retracted by commit 2, so its id is used up`, "a fact cannot be changed"},
		{"a retraction of what never was", head + `"fact_id":"none","op":"delete"}`, onto.Conflict, `line 2: Contract "ada" salary ["none"] was never asserted`, "take the record out"},
		{"no value", head + `"fact_id":"x","fields":{}}`, onto.Invalid, "line 2: Contract \"ada\" salary [\"x\"]: there is no value", "a fact has a value under salary"},
		{"a value of another type", head + `"fact_id":"x","fields":{"value":"much"}}`, onto.Invalid, "line 2: Contract \"ada\" salary [\"x\"]: field salary: expected int", ""},
		{"two values", head + `"fact_id":"x","fields":{"value":1,"salary":1}}`, onto.Invalid, "line 2: Contract \"ada\" salary [\"x\"]: its value is given twice", ""},
		{"no time at all", head + `"fact_id":"x","fields":{"value":1,"valid_from":"2026-02-01T00:00:00Z","valid_until":"2026-02-01T00:00:00Z"}}`, onto.Invalid, "no time at all", ""},
		{"an attribute that is none", `{"type":"Contract","subject":"ada","attribute":"salry","fields":{"value":1}}`, onto.Invalid, "type Contract has no attribute salry", "did you mean salary?"},
		{"no subject", `{"type":"Contract","attribute":"salary","fields":{"value":1}}`, onto.Invalid, "line 2: Contract subject", ""},
		{"keys of a relation", `{"type":"Contract","left_key":"ada","attribute":"salary","fields":{"value":1}}`, onto.Invalid, "line 2: Contract is of kind fact, which has no left_key", ""},
		{"a subject of an entity", `{"type":"Person","subject":"ada","fields":{}}`, onto.Invalid, "line 2: Person is of kind entity, which has no subject", ""},
		{"a delete with fields", head + `"fact_id":"known","op":"delete","fields":{"salary":1}}`, onto.Invalid, "line 2: the record deletes, but has fields", ""},
	} {
		for policy, text := range map[records.Policy]string{records.Abort: c.line, records.Upsert: c.line} {
			_, err := records.Import(t.Context(), s, strings.NewReader("\n"+text+"\n"), &records.ImportOptions{OnConflict: policy})
			if onto.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) || !strings.Contains(onto.HintOf(err).String(), c.hint) {
				t.Errorf("%s: got %v, hint %q; want %s %s, hint %q", c.name, err, onto.HintOf(err), c.code, c.want, c.hint)
			}
			plan, err := records.Plan(t.Context(), s, strings.NewReader("\n"+text+"\n"), &records.ImportOptions{OnConflict: policy})
			if c.code == onto.Conflict && (err != nil || plan.Conflicts != 1 || !strings.HasPrefix(plan.First[0].String(), c.want)) {
				t.Errorf("%s: the plan has %+v, %v", c.name, plan, err)
			}
		}
	}
	if h, _ := s.Head(t.Context()); h.ID != 3 {
		t.Errorf("something was stored")
	}
	skip := &records.ImportOptions{OnConflict: records.Skip}
	out := mustImport(t, s, head+`"fact_id":"known","fields":{"salary":2}}`+"\n"+head+`"fact_id":"gone","fields":{"salary":1}}`+"\n"+head+`"fact_id":"new","fields":{"salary":1}}`, skip)
	if out.Skipped != 2 || out.Inserts != 1 {
		t.Errorf("skip: got %+v", out)
	}
	out = mustImport(t, s, head+`"fact_id":"known","op":"delete"}`+"\n"+head+`"fact_id":"gone","op":"delete"}`+"\n"+
		head+`"fields":{"value":7}}`+"\n"+head+`"fields":{"value":7}}`, nil)
	if out.Deletes != 1 || out.Unchanged != 1 || out.Inserts != 2 {
		t.Errorf("retractions, and facts without ids: got %+v", out)
	}
	keyed := &records.ImportOptions{Draft: onto.Draft{IdempotencyKey: "k"}}
	first := mustImport(t, s, head+`"fields":{"value":8}}`, keyed)
	if again := mustImport(t, s, head+`"fields":{"value":8}}`, keyed); again.Result.ID != first.Result.ID || !again.Result.Repeated {
		t.Errorf("an import that is repeated with its key: got %+v, want %+v", again, first)
	}
}

// Facts as a long table: each row has its value in one column, whatever its type is.
func TestFactsFromATable(t *testing.T) {
	s := factStore(t)
	out := mustImport(t, s, lines("subject,attribute,value,valid_from", "ada,salary,4000,2026-01-01T00:00:00Z", "ada,employer,Acme,", "bob,employer,4000,"),
		&records.ImportOptions{Format: records.CSV, Type: "Contract"})
	if out.Inserts != 3 {
		t.Fatalf("got %+v", out)
	}
	if got := said(t, s, "Contract"); !strings.Contains(got, "ada.salary:4000 ") || !strings.Contains(got, "bob.employer:4000 ") {
		t.Errorf("got %s", got)
	}
	mustImport(t, s, lines("subject,attribute,fact_id,value,text", `n,color,1,"""red""",`, "n,text,2,,hello", "n,text,3,bye,", "n,size,4,12,"),
		&records.ImportOptions{Format: records.CSV, Type: "Note"})
	if got := said(t, s, "Note"); !strings.Contains(got, "n.color:red ") || !strings.Contains(got, "n.text:bye ") || !strings.Contains(got, "n.size:12 ") {
		t.Errorf("got %s", got)
	}
	for text, want := range map[string]string{
		"subject,value\nada,1\n":                                   "line 1: column attribute is missing",
		"subject,attribute,value\nada,salary,much\n":               "line 2: column value: expected int",
		"subject,attribute,wage\nada,salary,much\n":                `type Contract has no column "wage"`,
		"subject,attribute,value,op\nada,salary,1,delete\n":        "line 2: column value: the row deletes, but has a value here",
		"subject,attribute,onto.fact_id,op\nada,salary,x,delete\n": `line 2: Contract "ada" salary ["x"] was never asserted`,
		"subject,attribute,value,salary\nada,salary,1,2\n":         "given twice",
		"subject,attribute,value\nada,,1\n":                        "line 2: Contract: attribute name is empty",
	} {
		_, err := records.Import(t.Context(), s, strings.NewReader(text), &records.ImportOptions{Format: records.CSV, Type: "Contract"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
