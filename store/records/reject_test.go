package records_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// rejected is what an import has left out, copied.
type rejected struct {
	records.Reject
	text, header string
}

// lenient imports a text and leaves out what is bad.
func lenient(t testing.TB, s *store.Store, text string, o *records.ImportOptions) (records.Outcome, []rejected, error) {
	t.Helper()
	var list []rejected
	opts := records.ImportOptions{}
	if o != nil {
		opts = *o
	}
	opts.Reject = func(r records.Reject) error {
		list = append(list, rejected{r, string(r.Text), string(r.Header)})
		return nil
	}
	planned, planErr := records.Plan(t.Context(), s, strings.NewReader(text), &opts)
	inPlan := list
	list = nil
	out, err := records.Import(t.Context(), s, strings.NewReader(text), &opts)
	if (err == nil) != (planErr == nil) || err == nil && (planned.Rejected != out.Rejected || int64(len(list)) != out.Rejected || len(inPlan) != len(list)) {
		t.Fatalf("the plan rejects %d: %v, the import %d: %v", len(inPlan), planErr, len(list), err)
	}
	return out, list, err
}

// without is a text without what was rejected, which comes in order and on lines of its own.
func without(t testing.TB, text string, list []rejected) string {
	t.Helper()
	var rest strings.Builder
	for _, r := range list {
		at := strings.Index("\n"+text, "\n"+r.text)
		if !strings.HasSuffix(r.text, "\n") { // the last line
			at = len(text) - len(r.text)
		}
		if at < 0 || !strings.HasPrefix(text[at:], r.text) {
			t.Fatalf("%s: %q is not part of the rest of the text, %q", r, r.text, text)
		}
		rest.WriteString(text[:at])
		text = text[at+len(r.text):]
	}
	return rest.String() + text
}

// checkRejects checks what a lenient import promises: it is the import of the text without
// the rejected records, which are passed on as they came, so that each can be imported by
// itself, and is refused then unless it contradicted another one.
func checkRejects(t testing.TB, fresh func() *store.Store, text string, o *records.ImportOptions) {
	t.Helper()
	s := fresh()
	out, list, err := lenient(t, s, text, o)
	if err != nil {
		return // the whole text is bad, or conflicts
	}
	other := fresh()
	strict, err := records.Import(t.Context(), other, strings.NewReader(without(t, strings.TrimPrefix(text, "\ufeff"), list)), o)
	if err != nil {
		t.Fatalf("without %d rejected records: %v", len(list), err)
	}
	strict.Rejected, strict.Result, out.Result = out.Rejected, onto.Result{}, onto.Result{}
	if fmt.Sprint(out) != fmt.Sprint(strict) {
		t.Errorf("got %+v, want %+v", out, strict)
	}
	if got, want := mustExport(t, s, nil), mustExport(t, other, nil); got != want {
		t.Errorf("%q: got\n%swant\n%s", text, got, want)
	}
	for _, r := range list {
		if onto.CodeOf(r.Err) == onto.Conflict {
			continue
		}
		if out, err := records.Import(t.Context(), fresh(), strings.NewReader(r.header+r.text), o); err == nil {
			t.Errorf("%s: imported by itself, %q gives %+v", r, r.header+r.text, out)
		}
	}
}

// Of a file with many faults each is named, with its line, and the rest is imported.
func TestBadRecordsAreLeftOut(t *testing.T) {
	csv := func(typ string) *records.ImportOptions {
		return &records.ImportOptions{Format: records.CSV, Type: typ}
	}
	for _, c := range []struct {
		name string
		o    *records.ImportOptions
		text string
		good int64
		want []string // with the line
	}{
		{"records", nil, lines(customer("c1", "Ada", ""), "{", "", customer("c2", "Bob", `,"age":"old"`), `{"type":"Nobody","key":"x","fields":{}}`,
			customer("c1", "Eve", ""), customer("c1", "Ada", ""), `{"type":"Customer","key":"c3","fields":{}}`, customer("c4", "Dan", "")), 3,
			[]string{"line 2: JSON: ", `line 4: Customer "c2": field age: expected int, found string`, "line 5: type Nobody does not exist",
				`line 6: Customer "c1" was on line 1 already, with other contents`, `line 8: Customer "c3": field name is missing`}},
		{"a table", csv("Customer"), "\ufeffid,name,age\nc1,Ada,x\n\nc2,\"B\nob\",7\nc3,\"C\ny\",\"1,5\"\nc4\nc5,E\"ve,1\nc6,\"F\"x,1\nc7,Gil,\nc8,Hal,9223372036854775808", 2,
			[]string{`line 2: column age: expected int, found "x"`, `line 6: column age: expected int, found "1,5"`, "line 8: the row has 1 cell, but the header has 3",
				`line 9: there is a quote inside the cell`, `line 10: after the quoted cell comes "x,1"`, "line 12: column age: expected int"}},
		{"plain objects", &records.ImportOptions{Type: "Customer"}, lines(`{"id":"c1","name":"Ada"}`, `{"name":"Bob"}`, `[1]`, `{"id":"c2","name":"Cy","age":1.5}`,
			`{"id":"c3","name":"Dan","nme":1}`, `{"id":"c4"`, customer("c5", "Eve", "")), 1,
			[]string{"line 2: the object has no id, which is the key of Customer", "line 3: expected object, found list", `line 4: Customer "c2": field age: expected int`,
				`line 5: Customer "c3": type Customer has no field nme`, "line 6: JSON: ", "line 7: this is a record"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
				out, list, err := lenient(t, open(t), c.text, c.o)
				if err != nil {
					t.Fatal(err)
				}
				if out.Inserts+out.Repeated != c.good || len(list) != len(c.want) {
					t.Errorf("got %+v and %v, want %d records", out, list, c.good)
				}
				for i, want := range c.want[:min(len(c.want), len(list))] {
					if got := list[i].String(); !strings.HasPrefix(got, want) {
						t.Errorf("got %q, want %q", got, want)
					}
				}
			})
			checkRejects(t, func() *store.Store { return inMemory(t) }, c.text, c.o)
		})
	}
}

// A row of facts is left out as a whole, and says nothing about the rows after it.
func TestBadRowsAreLeftOut(t *testing.T) {
	o := rows(records.Rows{Subject: "id", From: "since"})
	text := lines("id,since,name,seats,tags", "c1,2026-01-01,Ada,x,", "c1,2026-01-01,Ada,3,", "c1,2026-01-01,Eve,3,", "c2,soon,Bob,1,", "c2,,Bob,1,\x00",
		",,Cy,1,", "c3,,Dan,,a", "c4,,Eve")
	s := rowStore(t)
	out, list, err := lenient(t, s, text, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, fmt.Sprint(r.Line))
	}
	if want := "2 4 5 6 7 9"; strings.Join(got, " ") != want || out.Inserts != 4 {
		t.Errorf("got %v and %+v, want the lines %s left out", list, out, want)
	}
	wantSaid(t, s, 3, "c1.name:Ada", "c1.seats:3", "c3.name:Dan", "c3.tags:a")
	checkRejects(t, func() *store.Store { return rowStore(t) }, text, o)
	jsonl := rows(records.Rows{Subject: "id"})
	jsonl.Format = records.JSONL
	text = lines(`{"id":"c1","name":"Ada","seats":1.5}`, `{"id":"c1","name":"Ada","seats":1}`, `{"id":true}`, `{`, `{"id":"c2","nam":"Bob"}`)
	if out, list, err := lenient(t, rowStore(t), text, jsonl); err != nil || out.Inserts != 2 || len(list) != 4 {
		t.Errorf("got %+v, %v, %v", out, list, err)
	}
	checkRejects(t, func() *store.Store { return rowStore(t) }, text, jsonl)
}

// What is wrong with the whole text ends an import all the same, and so does a caller that
// has had enough; conflicts with the store are decided by the policy.
func TestWhatIsNotLeftOut(t *testing.T) {
	s := inMemory(t)
	mustImport(t, s, customer("c1", "Ada", ""), nil)
	for _, c := range []struct {
		name string
		o    *records.ImportOptions
		text string
		code onto.Code
		want string
	}{
		{"a header", &records.ImportOptions{Format: records.CSV, Type: "Customer"}, "id,nam\nc1,Ada\n", onto.Invalid, "no column"},
		{"no header", &records.ImportOptions{Format: records.CSV, Type: "Customer"}, "", onto.Invalid, "no header"},
		{"a quote without an end", &records.ImportOptions{Format: records.CSV, Type: "Customer"}, "id,name\nc1,\"Ada\nc2,Bob\n", onto.Invalid, "has no end"},
		{"a conflict", nil, lines("{", customer("c1", "Eve", "")), onto.Conflict, "exists with other fields"},
		{"a precondition", &records.ImportOptions{Precondition: records.MustExist}, lines("{", customer("c9", "Eve", "")), onto.Conflict, "does not exist"},
	} {
		opts := records.ImportOptions{}
		if c.o != nil {
			opts = *c.o
		}
		opts.Reject = func(records.Reject) error { return nil }
		_, err := records.Import(t.Context(), s, strings.NewReader(c.text), &opts)
		wantError(t, c.name, err, c.code, c.want)
	}
	n := 0
	enough := &records.ImportOptions{Reject: func(records.Reject) error {
		if n++; n > 2 {
			return onto.Errorf(onto.Invalid, "enough")
		}
		return nil
	}}
	_, err := records.Import(t.Context(), s, strings.NewReader(lines("{", customer("c2", "Bob", ""), "{", "{", "{")), enough)
	wantError(t, "enough", err, onto.Invalid, "enough")
	if n != 3 {
		t.Errorf("asked %d times", n)
	}
	wantHead(t, s, 1)
}

// Plain objects have the key among their fields, and the ends of a relation beside them.
func TestPlainObjects(t *testing.T) {
	onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		for _, c := range []struct{ typ, text string }{
			{"Customer", lines(`{"id":"c1","name":"Ada","profile":{"a":[1]}}`, "", ` { "name" : "Bob" , "id" : "c2" } `)},
			{"Counter", `{"n":1,"op":true}`},
			{"Likes", lines(`{"onto.left_key":"c1","right_key":"c2","left_key":"a field"}`, `{"onto.left_key":"c2","right_key":"c1"}`)},
			{"Stint", lines(`{"left_key":"c1","right_key":1,"instance_key":"x","label":"L"}`, `{"left_key":"c1","right_key":"1","stint":"y","label":"L"}`)},
			{"Seat", `{"left_key":"c1","right_key":1,"row":"A"}`},
		} {
			o := &records.ImportOptions{Type: c.typ}
			if out := mustImport(t, s, c.text, o); out.Inserts != out.Records || out.Inserts == 0 {
				t.Errorf("%s: got %+v", c.typ, out)
			}
			if out := mustImport(t, s, c.text, o); out.Unchanged != out.Records {
				t.Errorf("%s again: got %+v", c.typ, out)
			}
		}
		got := mustExport(t, s, nil)
		for _, want := range []string{
			`"key":"c1","fields":{"id":"c1","name":"Ada","profile":{"a":[1]}`, `"key":"c2"`, `"key":"1","fields":{"n":1,"op":true}`,
			`"left_key":"c1","right_key":"c2","instance_key":"","fields":{"left_key":"a field"}`, `"instance_key":"x"`, `"instance_key":"y"`, `"instance_key":"A"`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("got\n%swant %s", got, want)
			}
		}
	})
	s := inMemory(t)
	for _, c := range []struct{ typ, text, want, hint string }{
		{"Customer", `{"id":null,"name":"Ada"}`, "line 1: the object has no id", "a text or an int"},
		{"Customer", `{"id":{},"name":"Ada"}`, "line 1: the object has no id", ""},
		{"Customer", customer("c1", "Ada", ""), "line 1: this is a record", "leave out --type"},
		{"Customer", "[\n", "line 1: ", "one object on each line"},
		{"Customer", `{"id":"c1","id":"c2"}`, "line 1: ", ""},
		{"Stint", `{"right_key":"1","label":"x"}`, "line 1: the object has no left_key", `{"left_key":"c1"`},
		{"Stint", `{"left_key":{},"right_key":"1"}`, "line 1: left_key: expected string or int, found object", ""},
		{"Stint", `{"left_key":"c1","right_key":"1","instance_key":"x","stint":"y"}`, `the instance key is "x", but stint says "y"`, ""},
		{"Stint", `{"left_key":"c1","right_key":"1","label":"x"}`, "needs its instance key", ""},
		{"Nobody", ``, "type Nobody does not exist", ""},
		{"", `{"id":"c1","name":"Ada"}`, "line 1: a record has no member id, name", "--type T"},
	} {
		_, err := records.Import(t.Context(), s, strings.NewReader(c.text), &records.ImportOptions{Type: c.typ})
		wantError(t, c.text, err, onto.Invalid, c.want)
		if hint := onto.HintOf(err).String(); !strings.Contains(hint, c.hint) {
			t.Errorf("%s: got hint %q, want %q", c.text, hint, c.hint)
		}
	}
	wantHead(t, s, 0)
}

func TestDelimiters(t *testing.T) {
	s := inMemory(t)
	for i, d := range []byte{';', '\t', '|', ':'} {
		text := strings.ReplaceAll(fmt.Sprintf("id#name#note\nc%d#\"A#\"\"#\"#x,y\n", i), "#", string(rune(d)))
		mustImport(t, s, text, &records.ImportOptions{Format: records.CSV, Type: "Customer", Delimiter: d})
	}
	got := mustExport(t, s, nil)
	for _, want := range []string{`"name":"A;\";"`, `"name":"A\t\"\t"`, `"name":"A|\"|"`, `"note":"x,y"`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, d := range []byte{'"', 'a', '7', ' ', '\n', 0xff} {
		_, err := records.Import(t.Context(), s, bytes.NewReader(nil), &records.ImportOptions{Format: records.CSV, Type: "Customer", Delimiter: d})
		wantError(t, string(rune(d)), err, onto.Invalid, "cannot separate cells")
	}
	_, err := records.Import(t.Context(), s, bytes.NewReader(nil), &records.ImportOptions{Delimiter: ';'})
	wantError(t, "JSON Lines", err, onto.Invalid, "a delimiter is for CSV")
}
