package records_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// fresh opens an empty store in memory.
func fresh(t *testing.T, types []onto.Type) *store.Store {
	s, err := store.Open(t.Context(), memory.New(nil).Open(), types...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// accept plans and imports a text, which must agree, and reports whether it
// was accepted.
func accept(t *testing.T, s *store.Store, text []byte, o *records.ImportOptions) bool {
	plan, planErr := records.Plan(t.Context(), s, bytes.NewReader(text), o)
	out, err := records.Import(t.Context(), s, bytes.NewReader(text), o)
	if (err == nil) != (planErr == nil) || err != nil && err.Error() != planErr.Error() {
		t.Fatalf("plan: %v, import: %v", planErr, err)
	}
	if err != nil {
		switch code := onto.CodeOf(err); {
		case code != onto.Invalid && code != onto.TooLarge && code != onto.Conflict:
			t.Fatalf("%v has code %q", err, code)
		case !strings.HasPrefix(err.Error(), "line "):
			t.Fatalf("%v has no line", err)
		}
		return false
	}
	if out.Records != plan.Records || out.Inserts != plan.Inserts || int64(out.Result.Operations) != out.Inserts {
		t.Fatalf("plan: %+v, import: %+v", plan, out)
	}
	return true
}

func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff\r\n", customer("c1", "Ada", ""), customer("c1", "Ada", `,"age":3`) + "\r\n" + customer("c2", "", `,"since":"2026-02-10T12:00:00Z"`),
		`{"kind":"relation","type":"Stint","left_key":"c1","right_key":"1","instance_key":"x","fields":{"label":"\"\u0061"},"commit_id":1,"op":"put"}`,
		`{"type":"Counter","fields":{"n":1}}` + "\n" + `{"type":"Counter","key":"1","fields":{}}`, `{"type":"Likes","left_key":"a","right_key":"b","op":"delete"}`,
		customer("c1", "Ada", "") + "\nx\n" + customer("c1", "Bob", "") + "\n{\"n\":1}\n" + customer("c2", "Eve", ""), `{"\u0074ype":"Counter","key":"1","fields":{"n":1.0,"op":null}}`, `{"type":"Seat","left_key":"a","right_key":"b","fields":{"row":"A"}}`,
		customer("c1", "Ada", `,"extra":[{"b":[],"a":"}"}],"tags":[1e3],"profile":{"":{}}`), `{"type":"Customer","fields":[}}`, `{"type":"Customer" "x"}`,
	} {
		f.Add([]byte(seed))
	}
	list := types(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		s := fresh(t, list)
		defer s.Close()
		checkRejects(t, func() *store.Store { return fresh(t, list) }, string(text), nil)
		checkRejects(t, func() *store.Store { return fresh(t, list) }, string(text), &records.ImportOptions{Type: "Counter"})
		if !accept(t, s, text, nil) {
			return
		}
		for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
			if len(bytes.TrimSpace(line)) > 0 && !json.Valid(line) {
				t.Fatalf("accepted %q, which is not JSON", line)
			}
		}
		again := fresh(t, list)
		defer again.Close()
		out := mustExport(t, s, nil)
		mustImport(t, again, out, nil)
		if got := mustExport(t, again, nil); got != out {
			t.Fatalf("got  %q\nwant %q", got, out)
		}
	})
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []struct {
		typ  uint8
		text string
	}{
		{0, ""}, {0, "\ufeffid,name\r\nc1,Ada\r\n"}, {0, "id,age,name\nc1,x,Ada\nc2,1,\"B\n\"\"ob\"\nc3\nc4,1,C\"y\nc1,1,Ada"}, {0, "name,id,note,age\n\"a\n\"\"b\",c1,\"\"\"\"\"\",3\n\n,c2,,\n"},
		{0, "id,name,ratio,active,since,profile,tags,extra\nc,,1e3,true,2026-02-10T12:00:00Z,{},\"[1,2]\",\"\"\"x\"\"\"\n"},
		{1, "n,op,onto.op\n1,true,\n2,,delete\n"}, {2, "onto.left_key,right_key,left_key\na,b,\n"},
		{3, "left_key,right_key,instance_key,label,seats,commit_id\na,1,x,y,,7\n"}, {4, "left_key,right_key,row\na,1,\"\"\"\\u0041\"\"\"\n"},
	} {
		f.Add(seed.typ, []byte(seed.text))
	}
	list := types(f)
	names := []string{"Customer", "Counter", "Likes", "Stint", "Seat"}
	f.Fuzz(func(t *testing.T, typ uint8, text []byte) {
		name := names[int(typ)%len(names)]
		s := fresh(t, list)
		defer s.Close()
		o := &records.ImportOptions{Format: records.CSV, Type: name}
		checkRejects(t, func() *store.Store { return fresh(t, list) }, string(text), o)
		if !accept(t, s, text, o) {
			return
		}
		again := fresh(t, list)
		defer again.Close()
		export := &records.ExportOptions{Format: records.CSV, Types: []string{name}}
		out := mustExport(t, s, export)
		mustImport(t, again, out, o)
		if got := mustExport(t, again, export); got != out {
			t.Fatalf("got  %q\nwant %q", got, out)
		}
		if got, want := mustExport(t, again, nil), mustExport(t, s, nil); got != want {
			t.Fatalf("as JSON Lines: got  %q\nwant %q", got, want)
		}
	})
}
