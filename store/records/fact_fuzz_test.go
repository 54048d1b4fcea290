package records_test

import (
	"bytes"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
	"github.com/ontologia/onto/store/schemafile"
)

func factTypes(t testing.TB) []onto.Type {
	t.Helper()
	types, err := schemafile.Parse([]byte(factSchema))
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// What an import of facts accepts comes back when it is exported, imported and exported
// again; and its plan has foretold it.
func FuzzFacts(f *testing.F) {
	const head = `{"kind":"fact","type":"Contract","subject":"ada","attribute":"salary",`
	for _, seed := range []struct {
		csv  bool
		text string
	}{
		{false, head + `"fact_id":"a","fields":{"salary":1}}` + "\n" + head + `"fields":{"value":2,"asserted":3,"seq":1}}`},
		{false, head + `"fact_id":"a","fields":{"salary":1,"valid_from":"2026-01-01T00:00:00Z","valid_until":"2027-01-01T00:00:00+01:00","kind":"x","revoked":[1]}}`},
		{false, head + `"fact_id":"a","op":"delete"}`}, {false, `{"type":"Note","subject":"n","attribute":"color","fields":{"color":{"a":[]}}}`},
		{false, `{"type":"Note","subject":"n","attribute":"text","fields":{"text":"x","value":"y"}}`}, {false, head + `"fact_id":"a","fields":{"asserted":-1,"salary":1e2}}`},
		{false, head + `"fact_id":"a","fields":{"value":null,"salary":1}}` + "\n" + head + `"fact_id":"a","fields":{"salary":1,"seq":5}}`},
		{true, "subject,attribute,value,asserted\nada,salary,1,5\nada,employer,Acme,4\n"}, {true, "subject,attribute,onto.fact_id,fact_id,op\nada,fact_id,x,y,\nada,fact_id,x,,delete\n"},
		{true, "attribute,subject,revoked,valid_until,employer\nemployer,b,\"\"\"note\"\"\",2026-01-01T00:00:00Z,e\n"},
	} {
		f.Add(seed.csv, []byte(seed.text))
	}
	list := factTypes(f)
	f.Fuzz(func(t *testing.T, csv bool, text []byte) {
		s := fresh(t, list)
		defer s.Close()
		in, out := &records.ImportOptions{}, &records.ExportOptions{}
		if csv {
			in = &records.ImportOptions{Format: records.CSV, Type: "Contract"}
			out = &records.ExportOptions{Format: records.CSV, Types: []string{"Contract"}}
		}
		plan, planErr := records.Plan(t.Context(), s, bytes.NewReader(text), in)
		res, err := records.Import(t.Context(), s, bytes.NewReader(text), in)
		if onto.CodeOf(err) != onto.CodeOf(planErr) && (planErr != nil || onto.CodeOf(err) != onto.Conflict || plan.Conflicts == 0) ||
			err == nil && (plan.Inserts != res.Inserts || plan.Conflicts != 0) {
			t.Fatalf("plan: %+v, %v; import: %+v, %v", plan, planErr, res, err)
		}
		if err != nil {
			return
		}
		exported := mustExport(t, s, out)
		again := fresh(t, list)
		defer again.Close()
		mustImport(t, again, exported, in)
		if got := mustExport(t, again, out); got != exported {
			t.Fatalf("got  %q\nwant %q", got, exported)
		}
		if res := mustImport(t, s, exported, in); res.Result.ID != 0 {
			t.Fatalf("an export has changed its own store: %+v", res)
		}
	})
}

// Rows that are accepted change nothing when they come again.
func FuzzRows(f *testing.F) {
	for _, seed := range []struct {
		csv  bool
		text string
	}{
		{true, "id,name,tier,at\nc1,Ada,Gold,2026-01-01\nc1,Ada,Silver,2026-03-01 10:00:00\nc1,,Gold,\n"}, {true, "id,tags\na,x\na,y\na,x\n"}, {true, "id,name,seats,at\na,x,1,\na,y,z,\na,y,,\n,x,,\nb,x,,never\nb,x"},
		{false, `{"id":1,"name":"Ada","at":"2026-01-01T00:00:00Z","tags":["a","a"]}` + "\n" + `{"id":"1","name":"Bob"}`}, {false, `{"id":"x","seats":1e2,"tier":null}`},
	} {
		f.Add(seed.csv, []byte(seed.text))
	}
	types, err := schemafile.Parse([]byte(rowSchema))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, csv bool, text []byte) {
		s := fresh(t, types)
		defer s.Close()
		o := &records.ImportOptions{Type: "Customer", Rows: &records.Rows{Subject: "id", From: "at"}}
		if csv {
			o.Format = records.CSV
		}
		checkRejects(t, func() *store.Store { return fresh(t, types) }, string(text), o)
		_, err := records.Import(t.Context(), s, bytes.NewReader(text), o)
		if code := onto.CodeOf(err); err != nil && code != onto.Invalid && code != onto.TooLarge && code != onto.Conflict {
			t.Fatalf("%v has code %q", err, code)
		}
		if err != nil {
			return
		}
		said := mustExport(t, s, nil)
		if again, err := records.Import(t.Context(), s, bytes.NewReader(text), o); err != nil || again.Result.ID != 0 {
			t.Fatalf("the same rows again: %+v, %v\n%s", again, err, said)
		}
	})
}
