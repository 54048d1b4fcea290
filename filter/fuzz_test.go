package filter_test

import (
	"encoding/json"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `$.tier == "Gold" & ($.age >= 21 | ~$.email.is_null())`, `not true or false and left.$.a.b != -1.5e3`,
		`$.a.in_([1, "x", true])`, `$.a.any_path("k.\"b c\"").startswith("\u00e9\ud83d\ude00")`, `right.$."content-type".any() < "x"`,
		`count > 3 & sum:$.seats >= 10 | avg_len:left.$.l == 0`, `~~((($.any.any() == 1)))`, `$.a == null`, `$.a == 9223372036854775808`,
		`$.a == "\ud800"`, `$.a.any_path("a.`, "$.a == 1\x00\xff", `$.a == 1e999 && 'x'`,
	} {
		f.Add(seed)
	}
	own := json.RawMessage(`{"a":{"b":[1,"x",null,{"k":{"b c":"é😀"}}]},"age":21,"any":[1],"tier":"Gold"}`)
	row := &filter.Row{Own: own, Left: own}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (onto.Filter, error){filter.Parse, filter.ParseHaving} {
			parsed, err := parse(text)
			if err != nil {
				if onto.CodeOf(err) != onto.Invalid || parsed != nil {
					t.Fatalf("%q: got %v, %v", text, parsed, err)
				}
				continue
			}
			once := filter.Format(parsed)
			again, err := parse(once)
			if err != nil {
				if len(once) > 64<<10 { // longer than what was read
					continue
				}
				t.Fatalf("%q became %q: %v", text, once, err)
			}
			if twice := filter.Format(again); twice != once {
				t.Fatalf("%q became\n%q, then\n%q", text, once, twice)
			}
			if got, want := filter.Match(again, row), filter.Match(parsed, row); got != want {
				t.Fatalf("%q: got %v, as %q %v", text, want, once, got)
			}
			if _, err := filter.Check(parsed, &filter.Scope{}); err != nil && onto.CodeOf(err) != onto.Invalid {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if o, err := filter.ParseOrder(text); err == nil {
			once := filter.FormatOperand(o.Operand)
			again, err := filter.ParseOperand(once)
			if err != nil || filter.FormatOperand(again) != once {
				t.Fatalf("%q became %q: %v", text, once, err)
			}
		}
	})
}
