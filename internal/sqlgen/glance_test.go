package sqlgen_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/sqlgen"
)

func TestGlance(t *testing.T) {
	for text, want := range map[string]string{
		`$.tier == "Gold"`:                 `x GLOB ? [*"tier":"Gold"*]`,
		`$.a.b == 1.50`:                    `x GLOB ? [*"b":1.5*]`,
		`$.a == true & $.b > 3`:            `x GLOB ? [*"a":true*]`,
		`$.a.is_false()`:                   `x GLOB ? [*"a":false*]`,
		`$.a == 1 & $.b == 2`:              `(x GLOB ? AND x GLOB ?) [*"a":1* *"b":2*]`,
		`$.a == 1 | $.b == 2`:              `(x GLOB ? OR x GLOB ?) [*"a":1* *"b":2*]`,
		`$.a == 1 | $.b > 2`:               ``,
		`~($.a == 1)`:                      ``,
		`$.a != 1`:                         ``,
		`$.a > 1`:                          ``,
		`$.a.is_null()`:                    ``,
		`$.a.in_(["x","y"])`:               `(x GLOB ? OR x GLOB ?) [*"a":"x"* *"a":"y"*]`,
		`$.a.in_([])`:                      ``,
		`$.a.in_([1,2,3,4,5])`:             ``,
		`$.a.startswith("x\"\\")`:          `x GLOB ? [*"a":"x\"\\*]`,
		`$.a.endswith("x")`:                `x GLOB ? [*x"*]`,
		`$.a.contains("%")`:                `x GLOB ? [*%*]`,
		`$.a.contains("*[?")`:              `x GLOB ? [*[*][[][?]*]`,
		`$.a.contains("")`:                 ``,
		`$."é\n".b == "é"`:                 `x GLOB ? [*"b":"é"*]`,
		`$.tags.any() == "new"`:            `x GLOB ? [*"new"*]`,
		`$.tags.any_path("a.k") == 1`:      `x GLOB ? [*"k":1*]`,
		`left.$.a == 1`:                    ``,
		`left.$.a == 1 & $.b == 2`:         `x GLOB ? [*"b":2*]`,
		`left.$.a == 1 | $.b == 2`:         ``,
		`$.a == 9007199254740993`:          `x GLOB ? [*"a":9007199254740993*]`,
		`($.a == 1 | $.a == 2) & $.b == 3`: `((x GLOB ? OR x GLOB ?) AND x GLOB ?) [*"a":1* *"a":2* *"b":3*]`,
	} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if p, ok := (sqlgen.SQLite{}).Glance("x", f); ok {
			got = p.SQL + " " + show(p.Args)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if _, ok := (sqlgen.SQLite{}).Glance("x", onto.And{}); ok {
		t.Error("the empty And has a glance")
	}
}

func show(args []any) string {
	text := "["
	for i, a := range args {
		if i > 0 {
			text += " "
		}
		text += a.(string)
	}
	return text + "]"
}
