package records_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/records"
)

func TestRefusedCSV(t *testing.T) {
	s := inSQLite(t)
	for _, c := range []struct {
		name, typ, text string
		code            onto.Code
		want, hint      string
	}{
		{"no type", "", "id,name\n", onto.Invalid, "CSV does not say of which type its rows are", "--type T"},
		{"unknown type", "Custmer", "id,name\n", onto.Invalid, "type Custmer does not exist", "did you mean Customer?"},
		{"nothing", "Customer", "", onto.Invalid, "line 1: there is no header", "id,active,age"},
		{"only blanks", "Customer", "\n\r\n", onto.Invalid, "there is no header", ""},
		{"unknown column", "Customer", "id,nam\nc1,Ada\n", onto.Invalid, `line 1: type Customer has no column "nam"`, "did you mean name?"},
		{"semicolons", "Customer", "id;name\nc1;Ada\n", onto.Invalid, `line 1: the header is one column, "id;name"`, "if a semicolon separates the columns, add --delimiter ';'"},
		{"tabs", "Customer", "id\tname\nc1\tAda\n", onto.Invalid, `line 1: the header is one column, "id\tname"`, "add --delimiter tab"},
		{"missing column", "Customer", "id,age\nc1,3\n", onto.Invalid, "line 1: column name is missing", "the columns of Customer are id,"},
		{"missing key column", "Customer", "name\nAda\n", onto.Invalid, "line 1: column id is missing", ""},
		{"missing end", "Likes", "onto.left_key\nc1\n", onto.Invalid, "line 1: column right_key is missing", ""},
		{"missing system column with a prefix", "Likes", "left_key,right_key\nc1,c2\n", onto.Invalid, "line 1: column onto.left_key is missing", ""},
		{"missing instance key", "Stint", "left_key,right_key,label\nc1,1,x\n", onto.Invalid, "line 1: column instance_key is missing", ""},
		{"instance key of an unkeyed relation", "Likes", "onto.left_key,right_key,instance_key\na,b,c\n", onto.Invalid, `has no column "instance_key"`, ""},
		{"missing instance key among the fields", "Seat", "left_key,right_key\nc1,1\n", onto.Invalid, "line 1: column instance_key is missing", ""},
		{"column twice", "Customer", "id,name,id\nc1,Ada,c1\n", onto.Invalid, "line 1: column id comes twice", ""},
		{"far too many columns", "Customer", "id,name" + strings.Repeat(",", 1<<17) + "\n", onto.TooLarge, "line 1: the header has 131074 columns, the limit is 65536", ""},
		{"far too many cells", "Customer", "id,name\nc1" + strings.Repeat(",", 1<<17) + "\n", onto.Invalid, "line 2: the row has 131073 cells, but the header has 2", ""},
		{"short row", "Customer", "id,name\nc1,Ada\nc2\n", onto.Invalid, "line 3: the row has 1 cell, but the header has 2", ""},
		{"long row", "Customer", "id,name\nc1,Ada,\n", onto.Invalid, "line 2: the row has 3 cells, but the header has 2", ""},
		{"quote inside", "Customer", "id,name\nc1,A\"da\n", onto.Invalid, `line 2: there is a quote inside the cell "A\"da"`, "write its own quotes twice"},
		{"text after quotes", "Customer", "id,name\nc1,\"A\"da\n", onto.Invalid, `line 2: after the quoted cell comes "da"`, ""},
		{"no closing quote", "Customer", "id,name\nc1,\"Ada\nc2,Bob\n", onto.Invalid, "line 2: a quoted cell of this row has no end", ""},
		{"not an int", "Customer", "id,name,age\nc1,Ada,old\n", onto.Invalid, `line 2: column age: expected int, found "old"`, "whole number in digits"},
		{"a float as int", "Customer", "id,name,age\nc1,Ada,1.5\n", onto.Invalid, `line 2: column age: expected int, found "1.5"`, "whole number in digits, such as 42"},
		{"leading zero", "Customer", "id,name,age\nc1,Ada,007\n", onto.Invalid, `line 2: column age: expected int, found "007"`, ""},
		{"plus sign", "Customer", "id,name,age\nc1,Ada,+7\n", onto.Invalid, `expected int, found "+7"`, ""},
		{"spaces around an int", "Customer", "id,name,age\nc1,Ada, 7\n", onto.Invalid, `expected int, found " 7"`, ""},
		{"null as int", "Customer", "id,name,age\nc1,Ada,null\n", onto.Invalid, `expected int, found "null"`, ""},
		{"int beyond int64", "Customer", "id,name,age\nc1,Ada,9223372036854775808\n", onto.Invalid, "outside int64", "64 bits"},
		{"not a number", "Customer", "id,name,ratio\nc1,Ada,NaN\n", onto.Invalid, `column ratio: expected float, found "NaN"`, "a number with a point, such as 3.5"},
		{"not a bool", "Customer", "id,name,active\nc1,Ada,TRUE\n", onto.Invalid, `column active: expected bool, found "TRUE"`, "true or false, in lower case"},
		{"one as a bool", "Customer", "id,name,active\nc1,Ada,1\n", onto.Invalid, `column active: expected bool, found "1"`, "true or false"},
		{"not a time", "Customer", "id,name,since\nc1,Ada,yesterday\n", onto.Invalid, `column since: "yesterday" is not a time`, ""},
		{"not an object", "Customer", "id,name,profile\nc1,Ada,[]\n", onto.Invalid, "column profile: expected object, found list", ""},
		{"no JSON", "Customer", "id,name,extra\nc1,Ada,abc\n", onto.Invalid, `column extra: expected any, found "abc"`, "written as JSON"},
		{"half a JSON string", "Customer", "id,name\nc1,\"\"\"Ada\"\n", onto.Invalid, "line 2: column name: JSON: text has no end", "JSON string"},
		{"NUL", "Customer", "id,name\nc1,A\x00\n", onto.Invalid, "line 2: column name: JSON: text contains U+0000", ""},
		{"not UTF-8", "Customer", "id,name\nc1,A\xff\n", onto.Invalid, "line 2: column name: JSON: text is not valid UTF-8", ""},
		{"not UTF-8 in a key", "Stint", "left_key,right_key,instance_key,label\n\xff,1,x,y\n", onto.Invalid, "line 2: Stint left key is not valid UTF-8", ""},
		{"empty key", "Customer", "id,name\n,Ada\n", onto.Invalid, "line 2: field id: Customer key is empty", ""},
		{"empty int key", "Counter", "n,op\n,true\n", onto.Invalid, "line 2: column n: there is no value", "of type int"},
		{"empty instance key", "Stint", "left_key,right_key,instance_key,label\nc1,1,,x\n", onto.Invalid, "needs its instance key", ""},
		{"instance keys that disagree", "Seat", "left_key,right_key,instance_key,row\nc1,1,A,B\n", onto.Invalid, `line 2: Seat "c1" → "1" ["A"]: the instance key is "A", but field row says "B"`, ""},
		{"unknown op", "Customer", "id,name,op\nc1,Ada,drop\n", onto.Invalid, `line 2: column op: op "drop" is unknown`, ""},
		{"delete without key", "Customer", "id,name,op\n,,delete\n", onto.Invalid, "line 2: field id: Customer key is empty", ""},
		{"delete with fields", "Customer", "id,name,op\nc1,Ada,delete\n", onto.Invalid, "line 2: column name: the row deletes, but has a value here", ""},
		{"other contents", "Customer", "id,name\nc1,Ada\n\nc1,Bob\n", onto.Conflict, `line 4: Customer "c1" was on line 2 already, with other contents`, ""},
		{"the line where the row starts", "Customer", "id,name,age\n\"c\n1\",\"A\n\nda\",x\n", onto.Invalid, "line 2: column age", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &records.ImportOptions{Format: records.CSV, Type: c.typ}
			_, err := records.Import(t.Context(), s, strings.NewReader(c.text), o)
			wantError(t, "import", err, c.code, c.want)
			if hint := onto.HintOf(err).String(); !strings.Contains(hint, c.hint) {
				t.Errorf("got hint %q, want %q", hint, c.hint)
			}
			_, planErr := records.Plan(t.Context(), s, strings.NewReader(c.text), o)
			if planErr == nil || planErr.Error() != err.Error() {
				t.Errorf("the plan says %v, the import %v", planErr, err)
			}
		})
	}
	wantHead(t, s, 0)
}

func TestAcceptedCSV(t *testing.T) {
	for _, c := range []struct{ name, typ, text, want string }{
		{"only a header", "Customer", "id,name\n", ""},
		{"mark, CRLF and blank lines", "Customer", "\ufeffid,name\r\n\r\nc1,Ada\r\n", `{"id":"c1","name":"Ada","tier":"Silver","visits":0}`},
		{"no line end", "Customer", "name,id\nAda,c1", `{"id":"c1","name":"Ada","tier":"Silver","visits":0}`},
		{"empty cells", "Customer", "id,name,tier,note,age,visits\nc1,,,,,\n", `{"id":"c1","name":"","tier":"Silver","visits":0}`},
		{"empty texts", "Customer", "id,name,tier,note\nc1,\"\"\"\"\"\",\"\"\"\"\"\",\"\"\"\"\"\"\n", `{"id":"c1","name":"","note":"","tier":"","visits":0}`},
		{"quotes", "Customer", "id,name,note\n\"c\"\"1\",\"a,b\nc\r\nd\",\"\"\"\\u0041\"\"\"\n", `{"id":"c\"1","name":"a,b\nc\r\nd","note":"A","tier":"Silver","visits":0}`},
		{"values", "Customer", "id,name,age,ratio,active,since,profile,tags,extra\n" +
			`c1,Ada,-7,1e3,true,2026-02-10T12:00:00+01:00,"{ ""b"": 1.0, ""a"": [] }","[1, 2]","""text"""` + "\n",
			`{"active":true,"age":-7,"extra":"text","id":"c1","name":"Ada","profile":{"a":[],"b":1},"ratio":1000,"since":"2026-02-10T11:00:00.000000+00:00","tags":[1,2],"tier":"Silver","visits":0}`},
		{"spaces belong to text", "Customer", "id,name\nc1, Ada \n", `{"id":"c1","name":" Ada ","tier":"Silver","visits":0}`},
		{"metadata is ignored", "Customer", "id,name,commit_id,schema_version_id,op\nc1,Ada,77,x,\n", `{"id":"c1","name":"Ada","tier":"Silver","visits":0}`},
		{"a field named like a column", "Counter", "n,op,onto.op\n1,true,put\n2,,delete\n", `{"n":1,"op":true}`},
		{"an end named like a field", "Likes", "onto.left_key,right_key,left_key\nc1,c2,x\n", `{"left_key":"x"}`},
		{"the instance key as a field", "Seat", "left_key,right_key,row\nc1,1,A\n", `{"row":"A"}`},
		{"the instance key in both", "Seat", "left_key,right_key,instance_key,row\nc1,1,A,A\n", `{"row":"A"}`},
		{"the instance key only as a key", "Seat", "left_key,right_key,instance_key\nc1,1,A\n", `{"row":"A"}`},
		{"the instance key in one cell of two", "Seat", "left_key,right_key,instance_key,row\nc1,1,A,\nc2,1,,B\n", `{"row":"A"}{"row":"B"}`},
		{"quoted ends", "Stint", "left_key,right_key,instance_key,label\n\"\"\"\\\"\"c\"\"\",1,x,y\n", `{"label":"y","seats":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := inMemory(t)
			mustImport(t, s, c.text, &records.ImportOptions{Format: records.CSV, Type: c.typ})
			got := ""
			for v, err := range s.Now().Find(c.typ).All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got += string(v.Fields)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
