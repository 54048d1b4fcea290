package layout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

// A type of the original program, in words of ours, from either of its two forms.
func TestOriginalFieldTypes(t *testing.T) {
	for python, want := range map[string]string{
		"<class 'str'>":               "string",
		"str":                         "string",
		"str | None":                  "string optional",
		"None | str":                  "string optional",
		"int|None":                    "int optional",
		"Optional[str]":               "string optional",
		"typing.Optional[int]":        "int optional",
		"typing.Union[float, None]":   "float optional",
		"typing.Union[int, str]":      "any",
		"Union[int, str, None]":       "any optional",
		"int | str":                   "any",
		"int | str | None":            "any optional",
		"list[str] | None":            "list optional",
		"list[str | None]":            "list",
		"typing.List[int]":            "list",
		"dict[str, int | None]":       "object",
		"dict[str, int] | None":       "object optional",
		"typing.Optional[list[bool]]": "list optional",
		"typing.Optional[typing.Union[bool, None]]": "bool optional",
		"<class 'bool'>":            "bool",
		"<class 'NoneType'>":        "any optional",
		"any":                       "any optional",
		"typing.Any":                "any optional",
		"<class 'decimal.Decimal'>": "any",
		"":                          "any",
		"|":                         "any",
		"typing.Optional[":          "any optional",
		strings.Repeat("typing.Optional[", 100_000): "any",
	} {
		name := fmt.Sprintf("%.60s", python)
		for form, field := range map[string]string{
			"type":      fmt.Sprintf(`{"type":%q}`, python),
			"type_spec": fmt.Sprintf(`{"type":"other","type_spec":{"kind":"primitive","name":%q}}`, python),
		} {
			s := ParseSchema(onto.KindEntity, "T", []byte(`{"entity_name":"T","fields":{"f":`+field+`}}`))
			got := string(s.Fields[0].Type)
			if s.Fields[0].Optional {
				got += " optional"
			}
			if got != want {
				t.Errorf("%s %s: got %s, want %s", form, name, got, want)
			}
		}
	}
}

// The instance key is no field, since rows have it in their column only.
func TestOriginalInstanceKeyIsNoField(t *testing.T) {
	s := ParseSchema(onto.KindRelation, "Stint", []byte(`{"relation_name":"Stint","left_type":"A","right_type":"B","instance_key_field":"no",
		"fields":{"no":{"type":"<class 'str'>"},"role":{"type":"<class 'str'>"}}}`))
	if s.InstanceKey != "no" || fmt.Sprint(s.FieldNames()) != "[role]" {
		t.Errorf("got instance key %q, fields %v; want no, role", s.InstanceKey, s.FieldNames())
	}
}

// Only versions that the original program stored get nulls.
func TestOriginalNulls(t *testing.T) {
	theirs := []byte(`{"entity_name":"T","fields":{"b":{"type":"str | None"},"id":{"primary_key":true,"type":"<class 'str'>"},"z":{"type":"typing.Any"}}}`)
	s := ParseSchema(onto.KindEntity, "T", theirs)
	all := OriginalOptional([]onto.SchemaVersion{{Schema: s, Version: 1, JSON: theirs}, {Schema: s, Version: 2, JSON: s.JSON()}})
	if len(all) != 1 {
		t.Fatalf("got %v, want version 1 only", all)
	}
	names := all[TypeVersion{s.TypeName(), 1}]
	for fields, want := range map[string]string{
		`{}`:                      `{"b":null,"z":null}`,
		`{"id":"x"}`:              `{"b":null,"id":"x","z":null}`,
		`{"b":"y","id":"x"}`:      `{"b":"y","id":"x","z":null}`,
		`{"b":1,"id":"x","z":[]}`: `{"b":1,"id":"x","z":[]}`,
	} {
		got := WithNulls([]byte(fields), names)
		if string(got) != want {
			t.Errorf("%s: got %s, want %s", fields, got, want)
		}
		if back, err := CanonicalFields(got); err != nil || string(back) != fields {
			t.Errorf("%s: got %s back, error %v", fields, back, err)
		}
	}
}
