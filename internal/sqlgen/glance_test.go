package sqlgen_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/sqlgen"
)

func TestGlance(t *testing.T) {
	for text, want := range map[string]string{
		`$.tier == "Gold"`:                 `instr(x, ?) > 0 ["tier":"Gold"]`,
		`$.a.b == 1.50`:                    `instr(x, ?) > 0 ["b":1.5]`,
		`$.a == true & $.b > 3`:            `instr(x, ?) > 0 ["a":true]`,
		`$.a.is_false()`:                   `instr(x, ?) > 0 ["a":false]`,
		`$.a == 1 & $.b == 2`:              `(instr(x, ?) > 0 AND instr(x, ?) > 0) ["a":1 "b":2]`,
		`$.a == 1 | $.b == 2`:              `(instr(x, ?) > 0 OR instr(x, ?) > 0) ["a":1 "b":2]`,
		`$.a == 1 | $.b > 2`:               ``,
		`~($.a == 1)`:                      ``,
		`$.a != 1`:                         ``,
		`$.a > 1`:                          ``,
		`$.a.is_null()`:                    ``,
		`$.a.in_(["x","y"])`:               `(instr(x, ?) > 0 OR instr(x, ?) > 0) ["a":"x" "a":"y"]`,
		`$.a.in_([])`:                      ``,
		`$.a.in_([1,2,3,4,5])`:             ``,
		`$.a.startswith("x\"\\")`:          `instr(x, ?) > 0 ["a":"x\"\\]`,
		`$.a.endswith("x")`:                `instr(x, ?) > 0 [x"]`,
		`$.a.contains("%")`:                `instr(x, ?) > 0 [%]`,
		`$.a.contains("")`:                 ``,
		`$."é\n".b == "é"`:                 `instr(x, ?) > 0 ["b":"é"]`,
		`$.tags.any() == "new"`:            `instr(x, ?) > 0 ["new"]`,
		`$.tags.any_path("a.k") == 1`:      `instr(x, ?) > 0 ["k":1]`,
		`left.$.a == 1`:                    ``,
		`left.$.a == 1 & $.b == 2`:         `instr(x, ?) > 0 ["b":2]`,
		`left.$.a == 1 | $.b == 2`:         ``,
		`$.a == 9007199254740993`:          `instr(x, ?) > 0 ["a":9007199254740993]`,
		`($.a == 1 | $.a == 2) & $.b == 3`: `((instr(x, ?) > 0 OR instr(x, ?) > 0) AND instr(x, ?) > 0) ["a":1 "a":2 "b":3]`,
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
