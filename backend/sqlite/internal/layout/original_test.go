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
