package filter_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

// TestHintsForNewcomers has the syntax of other languages.
func TestHintsForNewcomers(t *testing.T) {
	alone := `write .is_true(), .is_not_null() or compare it, as in == "x"`
	cases := []struct{ text, message, hint string }{
		{`left.tier == "Gold"`, `column 6: expected a path like $.name, found tier`, `write left.$.tier`},
		{`right.x`, `column 7: expected a path like $.name, found x`, `write right.$.x`},
		{`left."a b" == 1`, `column 6: expected a path like $.name, found "a b"`, `write left.$."a b"`},
		{`left.1 == 1`, `column 6: expected a path like $.name, found 1`, ``},
		{`customer.$.tier == "Gold"`, `column 1: expected a path like $.name, found customer`, `write left.$ or right.$ for an endpoint`},
		{`.tier == "x"`, `column 1: expected a path like $.name, found .`, `write $.tier`},
		{`."a b" == "x"`, `column 1: expected a path like $.name, found .`, `write $."a b"`},
		{`. == "x"`, `column 1: expected a path like $.name, found .`, ``},
		{`commit > 3`, `column 1: expected a path like $.name, found commit`, `write $.commit for the field`},
		{`tier:Gold`, `column 1: expected a path like $.name, found tier`, `write $.tier for the field`},
		{`median:$.a > 3`, `column 1: there is no aggregate median`, `use count, count_distinct, sum, avg, min, max or avg_len`},

		{`"Gold" == $.tier`, `column 1: expected a path like $.name, found "Gold"`, `put the path first: $.tier == "Gold"`},
		{`10 < $.age`, `column 1: expected a path like $.name, found 10`, `put the path first: $.age > 10`},
		{`10 <= left.$.age`, `column 1: expected a path like $.name, found 10`, `put the path first: left.$.age >= 10`},
		{`10 > $.age`, `column 1: expected a path like $.name, found 10`, `put the path first: $.age < 10`},
		{`$.a == 1 & 10 >= $.age`, `column 12: expected a path like $.name, found 10`, `put the path first: $.age <= 10`},
		{`10 < $.`, `column 1: expected a path like $.name, found 10`, `put a path first, as in $.name == "x"`},
		{`"a b" == 3`, `column 1: expected a path like $.name, found "a b"`, `write $."a b" for the field`},
		{`1 == 1`, `column 1: expected a path like $.name, found 1`, `put a path first, as in $.name == "x"`},
		{`"x"`, `column 1: expected a path like $.name, found "x"`, ``},
		{`$.name == $.tier`, `column 11: two paths cannot be compared`, `compare each with a value`},
		{`$.name == left.$.tier`, `column 11: two paths cannot be compared`, `compare each with a value`},
		{`$.name == left`, `column 11: expected a value, found left`, `put texts in double quotes: "left"`},

		{`$.active`, `column 9: expected a test after $.active, found the end`, alone},
		{`$.is_null`, `column 10: expected a test after $.is_null, found the end`, alone},
		{`$.tier.is_null`, `column 15: expected a test after $.tier.is_null, found the end`, `add (): $.tier.is_null()`},
		{`$.active.is_true & $.a == 1`, `column 18: expected a test after $.active.is_true, found &`, `add (): $.active.is_true()`},
		{`($.active.is_false)`, `column 19: expected a test after $.active.is_false, found )`, `add (): $.active.is_false()`},
		{`$.a.is_not_null or true`, `column 17: expected a test after $.a.is_not_null, found or`, `add (): $.a.is_not_null()`},
		{`$.a.is_null OR true`, `column 13: expected a test after $.a.is_null, found OR`, `add (): $.a.is_null()`},
		{`$.a.is_null [`, `column 13: expected a test after $.a.is_null, found [`, alone},
		{`$.a.is_null.any()`, `column 18: expected a test after $.a.is_null.any(), found the end`, alone},

		{`$.age in [1,2]`, `column 7: expected a test after $.age, found in`, `write $.age.in_([…])`},
		{`$.age IN (1,2)`, `column 7: expected a test after $.age, found IN`, `write $.age.in_([…])`},
		{`$.age NOT IN (1,2)`, `column 7: expected a test after $.age, found NOT`, `put ~ before the path, as in ~$.age.in_([…])`},
		{`$.tier IS NULL`, `column 8: expected a test after $.tier, found IS`, `write $.tier.is_null()`},
		{`$.tier is null & true`, `column 8: expected a test after $.tier, found is`, `write $.tier.is_null()`},
		{`$.tier IS NOT NULL`, `column 8: expected a test after $.tier, found IS`, `write $.tier.is_not_null()`},
		{`$.active is true`, `column 10: expected a test after $.active, found is`, `write $.active.is_true()`},
		{`$.active is not true`, `column 10: expected a test after $.active, found is`, `write !=`},
		{`$.tier is "Gold"`, `column 8: expected a test after $.tier, found is`, `write ==`},
		{`$.tier is`, `column 8: expected a test after $.tier, found is`, `write ==`},
		{`$.x between 1 and 2`, `column 5: expected a test after $.x, found between`, `write $.x >= … & $.x <= …`},
		{`$.x LIKE "a%"`, `column 5: expected a test after $.x, found LIKE`, `write .startswith, .endswith or .contains`},
		{`$.x <> 1`, `column 5: <> is unknown`, `write !=`},

		{`$.a == 1 AND $.b == 2`, `column 10: expected & or |, found AND`, `write and`},
		{`$.a == 1 Or $.b == 2`, `column 10: expected & or |, found Or`, `write or`},
		{`($.a == 1 OR $.b == 2)`, `column 11: expected & or | or ), found OR`, `write or`},
		{`NOT $.a == 1`, `column 1: expected a path like $.name, found NOT`, `write not`},
		{`$.a == True`, `column 8: expected a value, found True`, `write true, or "True" for a text`},
		{`$.a != NULL`, `column 8: expected a value, found NULL`, `use .is_not_null()`},
	}
	for _, c := range cases {
		_, err := filter.Parse(c.text)
		if err == nil {
			t.Errorf("Parse(%s): got no error, want %s", c.text, c.message)
		}
		expect(t, c.text, err, c.message, c.hint)
	}
}

// TestNamesThatLookLikeTests are fields as long as a comparison follows.
func TestNamesThatLookLikeTests(t *testing.T) {
	for _, text := range []string{
		`$.tier.is_null == 1`, `$.is_true != "x"`, `$.a.is_null.is_null()`, `$.in.in_([1])`, `$.AND == 1 & $.is < 2`, `$.NOT == "not"`,
	} {
		f, err := filter.Parse(text)
		if got := filter.Format(f); err != nil || got != text {
			t.Errorf("Parse(%s): got %s, %v", text, got, err)
		}
	}
}

func TestHintsOfHaving(t *testing.T) {
	cases := []struct{ text, message, hint string }{
		{`median:$.age > 3`, `column 1: there is no aggregate median`, `use count, count_distinct, sum, avg, min, max or avg_len`},
		{`true & median:age > 3`, `column 8: there is no aggregate median`, `use count, count_distinct, sum, avg, min, max or avg_len`},
		{`left:$.a > 3`, `column 5: expected .$ after left, found :`, `write left.$.name`},
		{`sum:left.a > 3`, `column 10: expected a path like $.name, found a`, `write left.$.a`},
		{`count`, `column 6: expected a test after count, found the end`, `compare it, as in > 3`},
		{`sum:$.a & true`, `column 9: expected a test after sum:$.a, found &`, `compare it, as in > 3`},
		{`count between 1 and 2`, `column 7: expected a test after count, found between`, `write count >= … & count <= …`},
		{`3 < count`, `column 1: expected a path like $.name, found 3`, `put the path first: count > 3`},
		{`3 < sum:$.a`, `column 1: expected a path like $.name, found 3`, `put the path first: sum:$.a > 3`},
	}
	for _, c := range cases {
		_, err := filter.ParseHaving(c.text)
		if err == nil {
			t.Errorf("ParseHaving(%s): got no error, want %s", c.text, c.message)
		}
		expect(t, c.text, err, c.message, c.hint)
	}
}

func TestHintsOfOrder(t *testing.T) {
	several := `give one path at a time; repeat the flag`
	cases := []struct{ text, message, hint string }{
		{`$.name desc`, `column 8: expected the end, found desc`, `write $.name:desc`},
		{`$.name ASC`, `column 8: expected the end, found ASC`, `write $.name:asc`},
		{`$.name:DESC`, `column 8: expected asc or desc, found DESC`, `write $.name:desc`},
		{`$.name:down`, `column 8: expected asc or desc, found down`, `write $.name:desc`},
		{`left.$.name:up`, `column 13: expected asc or desc, found up`, `write left.$.name:asc`},
		{`count:first`, `column 7: expected asc or desc, found first`, `write count:asc or count:desc`},
		{`$.a,$.b`, `column 4: expected the end, found ,`, several},
		{`$.a:desc, $.b`, `column 9: expected the end, found ,`, several},
		{`name:desc`, `column 1: expected a path like $.name, found name`, `write $.name for the field`},
		{`median:$.age:desc`, `column 1: there is no aggregate median`, `use count, count_distinct, sum, avg, min, max or avg_len`},
	}
	for _, c := range cases {
		_, err := filter.ParseOrder(c.text)
		if err == nil {
			t.Errorf("ParseOrder(%s): got no error, want %s", c.text, c.message)
		}
		expect(t, c.text, err, c.message, c.hint)
	}
	_, err := filter.ParseOperand(`$.a,$.b`)
	expect(t, "two operands", err, `column 4: expected the end, found ,`, several)
	_, err = filter.ParseOperand(`median:$.age`)
	expect(t, "an operand", err, `column 1: there is no aggregate median`, `use count, count_distinct, sum, avg, min, max or avg_len`)
}

// TestHintsStayShort has input that a hint repeats.
func TestHintsStayShort(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	for _, text := range []string{
		`left.` + long, `.` + long, `"` + long + `" == 1`, `"` + long + `" == $.` + long, `$.` + long + ` between`, `$.` + long + `.is_null`,
		`$.a == ` + long, long + `:$.a`, strings.Repeat("1 == ", 12_000), strings.Repeat(`"x" == left.`, 5_000), strings.Repeat("1 == sum:", 6_000),
	} {
		_, err := filter.ParseHaving(text)
		if err == nil || len(err.Error()) > 400 || len(onto.HintOf(err).String()) > 400 {
			t.Errorf("%.20s…: got %.400v, hint of %d bytes", text, err, len(onto.HintOf(err).String()))
		}
	}
}
