package records_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/records"
)

func TestRefusedLines(t *testing.T) {
	s := inSQLite(t)
	deep := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	for _, c := range []struct {
		name, line string
		code       onto.Code
		want, hint string
	}{
		{"no JSON", `Customer c2`, onto.Invalid, "line 2: JSON: unexpected 'C' (byte 1)", "write a record like"},
		{"a list", `[1]`, onto.Invalid, "line 2: JSON: expected an object, found list", "write a record like"},
		{"cut off", `{"kind":"entity"`, onto.Invalid, "line 2: JSON: expected , or } in object, found end of input", ""},
		{"two values", customer("c2", "Ada", "") + `{}`, onto.Invalid, "line 2: JSON: unexpected '{' after the value", ""},
		{"wrong kind", `{"kind":"relation","type":"Customer","left_key":"a","right_key":"b","fields":{}}`, onto.Invalid,
			"line 2: Customer is of kind entity, not relation", ""},
		{"unknown kind", `{"kind":"thing","type":"Customer","key":"c2","fields":{"name":"x"}}`, onto.Invalid, `line 2: kind "thing" is unknown`, "use entity, fact or relation"},
		{"no type", `{"kind":"entity","key":"c2","fields":{}}`, onto.Invalid, "line 2: the record has no type", "write a record like"},
		{"unknown type", `{"kind":"entity","type":"Custommer","key":"c2","fields":{}}`, onto.Invalid,
			"line 2: type Custommer does not exist in this store", "did you mean Customer?"},
		{"type of another kind of value", `{"type":5,"key":"c2","fields":{}}`, onto.Invalid, "line 2: type: expected string, found int", ""},
		{"unknown field", customer("c2", "Ada", `,"agee":3`), onto.Invalid, `line 2: Customer "c2": type Customer has no field agee`, "did you mean age?"},
		{"missing field", `{"type":"Customer","key":"c2","fields":{}}`, onto.Invalid, `line 2: Customer "c2": field name is missing`, ""},
		{"wrong type of value", customer("c2", "Ada", `,"age":"3"`), onto.Invalid, `line 2: Customer "c2": field age: expected int, found string`, ""},
		{"not a time", customer("c2", "Ada", `,"since":"soon"`), onto.Invalid, `field since: "soon" is not a time`, ""},
		{"missing key", `{"type":"Customer","fields":{"name":"Ada"}}`, onto.Invalid, "line 2: field id: Customer key is empty", ""},
		{"missing left key", `{"type":"Likes","right_key":"c1","fields":{}}`, onto.Invalid, "line 2: Likes left key is empty", ""},
		{"missing instance key", `{"type":"Stint","left_key":"c1","right_key":"1","fields":{"label":""}}`, onto.Invalid, "needs its instance key stint", ""},
		{"instance key of an unkeyed relation", `{"type":"Likes","left_key":"c1","right_key":"c1","instance_key":"x","fields":{}}`, onto.Invalid,
			"line 2: ", ""},
		{"keys that disagree", customer("c2", "Ada", `,"id":"c3"`), onto.Invalid, `line 2: Customer "c2": the key is "c2", but field id says "c3"`, ""},
		{"instance keys that disagree", `{"type":"Seat","left_key":"c1","right_key":"1","instance_key":"A","fields":{"row":"B"}}`, onto.Invalid,
			`the instance key is "A", but field row says "B"`, ""},
		{"key of a relation", `{"type":"Likes","key":"x","left_key":"c1","right_key":"c1","fields":{}}`, onto.Invalid,
			"line 2: Likes is of kind relation, which has no key", ""},
		{"left key of an entity", `{"type":"Customer","key":"c2","left_key":"c1","fields":{"name":"x"}}`, onto.Invalid,
			"line 2: Customer is of kind entity, which has no left_key", ""},
		{"number as key", `{"type":"Counter","key":5,"fields":{}}`, onto.Invalid, "line 2: key: expected string, found int", ""},
		{"key that is no number", `{"type":"Counter","key":"five","fields":{}}`, onto.Invalid, `line 2: Counter "five": key: "five" is not an integer`, ""},
		{"null as key", `{"type":"Customer","key":null,"fields":{"name":"x"}}`, onto.Invalid, "line 2: key: expected string, found null", ""},
		{"unknown members", `{"type":"Customer","keys":"c2","fields":{"name":"x"},"color":1}`, onto.Invalid, "line 2: a record has no member keys, color", "did you mean key?"},
		{"very many unknown members", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`, onto.Invalid, "line 2: a record has no member a, b, c, d, e", ""},
		{"an object without a record", `{"id":"c2","name":"Ada"}`, onto.Invalid, "line 2: a record has no member id, name", ""},
		{"duplicate member", `{"type":"Customer","key":"c2","key":"c2","fields":{"name":"x"}}`, onto.Invalid, `line 2: JSON: duplicate name "key" in object (byte 31)`, ""},
		{"duplicate member, escaped", `{"type":"Customer","key":"c2","\u006bey":"c2","fields":{"name":"x"}}`, onto.Invalid, `line 2: JSON: duplicate name "key"`, ""},
		{"two names for one member", `{"type":"Customer","key":"c2","type_name":"Likes","fields":{"name":"x"}}`, onto.Invalid, `line 2: a record has type only once`, ""},
		{"duplicate field", customer("c2", "Ada", `,"age":1,"age":2`), onto.Invalid, `line 2: JSON at $.fields: duplicate name "age" in object`, ""},
		{"NUL", customer("c2", `A\u0000`, ""), onto.Invalid, "line 2: JSON at $.fields.name: text contains U+0000", ""},
		{"NUL as it is", customer("c2", "A\x00", ""), onto.Invalid, `line 2: JSON at $.fields.name: control character '\x00' in text`, ""},
		{"NUL in a key", customer(`c\u0000`, "A", ""), onto.Invalid, "line 2: JSON at $.key: text contains U+0000", ""},
		{"not UTF-8", customer("c2", "A\xff", ""), onto.Invalid, "line 2: JSON at $.fields.name: text is not valid UTF-8", ""},
		{"not UTF-8 in a key", customer("c\xff", "A", ""), onto.Invalid, "line 2: JSON at $.key: text is not valid UTF-8", ""},
		{"lone surrogate", customer("c2", `\ud800`, ""), onto.Invalid, "line 2: JSON at $.fields.name: lone surrogate in text", ""},
		{"integer beyond int64", customer("c2", "A", `,"age":9223372036854775808`), onto.Invalid, "integer 9223372036854775808 is outside int64", ""},
		{"too deep", customer("c2", "A", `,"extra":`+deep), onto.Invalid, "line 2: JSON", ""},
		{"malformed brackets", customer("c2", "A", `,"extra":[}`), onto.Invalid, "line 2: JSON at $.fields.extra", ""},
		{"malformed metadata", `{"type":"Customer","key":"c2","fields":{"name":"x"},"commit_id":1x}`, onto.Invalid, "line 2: JSON: expected , or } in object, found 'x'", ""},
		{"key too long", customer(strings.Repeat("k", onto.MaxKey+1), "A", ""), onto.TooLarge, "line 2: field id: Customer key is 1025 bytes long", ""},
		{"fields too large", customer("c2", strings.Repeat("k", onto.MaxFields), ""), onto.TooLarge, "line 2: ", ""},
		{"no fields", `{"type":"Customer","key":"c2"}`, onto.Invalid, "line 2: the record has no fields", `write "fields":{}`},
		{"null as fields", `{"type":"Customer","key":"c2","fields":null}`, onto.Invalid, "line 2: fields: expected object, found null", ""},
		{"list as fields", `{"type":"Customer","key":"c2","fields":[]}`, onto.Invalid, "line 2: fields: expected object, found list", ""},
		{"unknown op", `{"type":"Customer","key":"c2","op":"drop"}`, onto.Invalid, `line 2: op "drop" is unknown`, "use put or delete"},
		{"delete with fields", `{"type":"Customer","key":"c2","op":"delete","fields":{"name":"x"}}`, onto.Invalid, "line 2: the record deletes, but has fields", ""},
		{"delete without key", `{"type":"Customer","op":"delete"}`, onto.Invalid, "line 2: field id: Customer key is empty", ""},
		{"other contents", customer("c1", "Bob", ""), onto.Conflict, `line 2: Customer "c1" was on line 1 already, with other contents`, "keep one"},
		{"put and delete", `{"type":"Customer","key":"c1","op":"delete"}`, onto.Conflict, `line 2: Customer "c1" was on line 1 already, with other contents`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := lines(customer("c1", "Ada", ""), c.line)
			_, err := records.Import(t.Context(), s, strings.NewReader(text), nil)
			wantError(t, "import", err, c.code, c.want)
			if hint := onto.HintOf(err).String(); !strings.Contains(hint, c.hint) {
				t.Errorf("got hint %q, want %q", hint, c.hint)
			}
			_, planErr := records.Plan(t.Context(), s, strings.NewReader(text), nil)
			if planErr == nil || planErr.Error() != err.Error() {
				t.Errorf("the plan says %v, the import %v", planErr, err)
			}
		})
	}
	wantHead(t, s, 0)
}

func TestAcceptedLines(t *testing.T) {
	deep := strings.Repeat("[", 63) + strings.Repeat("]", 63)
	ada := `{"kind":"entity","type":"Customer","key":"c1","fields":{"id":"c1","name":"Ada","tier":"Silver","visits":0}}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"only blanks", "\n \t\n\r\n", ""},
		{"byte order mark", "\ufeff" + customer("c1", "Ada", ""), ada},
		{"only a mark", "\ufeff", ""},
		{"no line end", customer("c1", "Ada", ""), ada},
		{"blank lines and CRLF", "\r\n" + customer("c1", "Ada", "") + "\r\n\r\n  \n", ada},
		{"spaces", "  { \"type\" : \"Customer\" ,\t\"key\":\"c1\", \"fields\" : { \"name\" : \"Ada\" } }  ", ada},
		{"without kind", `{"type":"Customer","key":"c1","fields":{"name":"Ada"}}`, ada},
		{"names that members had before", `{"type_kind":"entity","type_name":"Customer","key":"c1","fields":{"name":"Ada"}}`, ada},
		{"escapes in names", `{"\u0074ype":"Custo\u006der","key":"\u00631","fields":{"n\u0061me":"\u0041da"}}`, ada},
		{"key only in the fields", `{"type":"Customer","fields":{"id":"c1","name":"Ada"}}`, ada},
		{"key in both places", customer("c1", "Ada", `,"id":"c1"`), ada},
		{"metadata is ignored", `{"type":"Customer","key":"c1","fields":{"name":"Ada"},"commit_id":77,"schema_version_id":9,"op":"put"}`, ada},
		{"a row of a query", `{"type":"Customer","key":"c1","fields":{"name":"Ada"},"commit_id":77}`, ada},
		{"nulls", customer("c1", "Ada", `,"age":null,"tier":null`), ada},
		{"the same twice", lines(customer("c1", "Ada", ""), customer("c1", "Ada", "")), ada},
		{"the same in other words", lines(
			customer("c1", "Ada", ""), customer("c1", "Ada", `,"visits":0.0,"tier":"Silver","age":null`),
			`{"type":"Customer","fields":{"name":"\u0041da","id":"c1"}}`), ada},
		{"the same time", lines(customer("c1", "Ada", `,"since":"2026-02-10T12:00:00Z"`), customer("c1", "Ada", `,"since":"2026-02-10T13:00:00+01:00"`)),
			`{"kind":"entity","type":"Customer","key":"c1","fields":{"id":"c1","name":"Ada","since":"2026-02-10T12:00:00.000000+00:00","tier":"Silver","visits":0}}` + "\n"},
		{"an int key", `{"type":"Counter","fields":{"n":-5}}`, `{"kind":"entity","type":"Counter","key":"-5","fields":{"n":-5}}` + "\n"},
		{"as deep as fields may be", customer("c1", "Ada", `,"extra":`+deep),
			`{"kind":"entity","type":"Customer","key":"c1","fields":{"extra":` + deep + `,"id":"c1","name":"Ada","tier":"Silver","visits":0}}` + "\n"},
		{"an instance key among the fields", `{"type":"Seat","left_key":"c1","right_key":"1","fields":{"row":"A"}}`,
			`{"kind":"relation","type":"Seat","left_key":"c1","right_key":"1","instance_key":"A","fields":{"row":"A"}}` + "\n"},
		{"delete of nothing", `{"type":"Customer","key":"c1","op":"delete","fields":{}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := inMemory(t)
			mustImport(t, s, c.text, nil)
			if got := mustExport(t, s, nil); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
