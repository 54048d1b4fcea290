package filter_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

// bare takes the columns off a filter, so that it can be compared with a built one.
func bare(f onto.Filter) onto.Filter {
	switch f := f.(type) {
	case onto.And:
		return onto.And(bareAll(f))
	case onto.Or:
		return onto.Or(bareAll(f))
	case onto.Not:
		return onto.Not{Of: bare(f.Of)}
	}
	c := f.(onto.Condition)
	c.Column, c.Operand.Column = 0, 0
	return c
}

func bareAll(list []onto.Filter) []onto.Filter {
	out := []onto.Filter{}
	for _, f := range list {
		out = append(out, bare(f))
	}
	return out
}

func TestParse(t *testing.T) {
	a, b, c := onto.Path("a").Eq(int64(1)), onto.Path("b").Eq(int64(2)), onto.Path("c").Eq(int64(3))
	cases := []struct {
		text   string
		want   onto.Filter
		format string // "" if it is the text
	}{
		{`$.tier == "Gold"`, onto.Path("tier").Eq("Gold"), ""},
		{"\t$.a\n!=\r-1 ", onto.Path("a").Ne(int64(-1)), `$.a != -1`},
		{`$.a<1.50`, onto.Path("a").Lt(1.5), `$.a < 1.5`},
		{`$.a <= 1.0`, onto.Path("a").Le(int64(1)), `$.a <= 1`},
		{`$.a > 1E3`, onto.Path("a").Gt(int64(1000)), `$.a > 1000`},
		{`$.a > 1e-9`, onto.Path("a").Gt(1e-9), ``},
		{`$.a >= 1e19`, onto.Path("a").Ge(1e19), ``},
		{`$.a == -9223372036854775808`, onto.Path("a").Eq(int64(-1 << 63)), ``},
		{`$.a == -0.0`, onto.Path("a").Eq(int64(0)), `$.a == 0`},
		{`$.a == true`, onto.Path("a").Eq(true), ``},
		{`$.a != false`, onto.Path("a").Ne(false), ``},
		{`$.a == "\u00e9\/\ud83d\ude00\t"`, onto.Path("a").Eq("é/😀\t"), `$.a == "é/😀\t"`},

		{`$.a.b == 1`, onto.Path("a", "b").Eq(int64(1)), ``},
		{`$ . a . "b" == 1`, onto.Path("a", "b").Eq(int64(1)), `$.a.b == 1`},
		{`$."content-type" == "x"`, onto.Path("content-type").Eq("x"), ``},
		{`$."\u0061" == 1`, onto.Path("a").Eq(int64(1)), `$.a == 1`},
		{`$."".é == 1`, nil, ``},
		{`$."é"."a\"b"."" == 1`, onto.Path("é", `a"b`, "").Eq(int64(1)), ``},
		{`left.$.a == 1`, onto.Left("a").Eq(int64(1)), ``},
		{`right.$.a.any() == 1`, onto.Right("a").Some().Eq(int64(1)), ``},

		{`$.a.in_([])`, onto.Condition{Operand: onto.Path("a"), Test: onto.In, Values: []any{}}, ``},
		{`$.a.in_([1,"x",true,1.5])`, onto.Path("a").In(int64(1), "x", true, 1.5), `$.a.in_([1, "x", true, 1.5])`},
		{`$.a.startswith("x")`, onto.Path("a").StartsWith("x"), ``},
		{`$.a.endswith("")`, onto.Path("a").EndsWith(""), ``},
		{`$.a.contains( "%_" )`, onto.Path("a").Contains("%_"), `$.a.contains("%_")`},
		{`$.a.is_null()`, onto.Path("a").IsNull(), ``},
		{`$.a.is_not_null ( )`, onto.Path("a").IsNotNull(), `$.a.is_not_null()`},
		{`$.a.is_true()`, onto.Path("a").IsTrue(), ``},
		{`$.a.is_false()`, onto.Path("a").IsFalse(), ``},
		{`$.a.any().startswith("x")`, onto.Path("a").Some().StartsWith("x"), ``},
		{`$.a.any_path("k").in_(["x"])`, onto.Path("a").Some("k").In("x"), ``},
		{`$.a.any_path("k.\"b c\".d") != 1`, onto.Path("a").Some("k", "b c", "d").Ne(int64(1)), ``},
		{`$.a.any_path(" k . d ").is_null()`, onto.Path("a").Some("k", "d").IsNull(), `$.a.any_path("k.d").is_null()`},

		// Names of methods are names unless a bracket follows.
		{`$.any.any() == 1`, onto.Path("any").Some().Eq(int64(1)), ``},
		{`$.contains == 1`, onto.Path("contains").Eq(int64(1)), ``},
		{`$.in_.in_([1])`, onto.Path("in_").In(int64(1)), ``},
		{`$.a.any_path.any_path("any_path").is_null()`, onto.Path("a", "any_path").Some("any_path").IsNull(), ``},
		{`$.left.and.true == true`, onto.Path("left", "and", "true").Eq(true), ``},
		{`left.$.left == 1`, onto.Left("left").Eq(int64(1)), ``},
		{`$.count == 1`, onto.Path("count").Eq(int64(1)), ``},

		{`$.a == 1 & $.b == 2 | $.c == 3`, onto.Or{onto.And{a, b}, c}, ``},
		{`$.a == 1 | $.b == 2 & $.c == 3`, onto.Or{a, onto.And{b, c}}, ``},
		{`($.a == 1 | $.b == 2) & $.c == 3`, onto.And{onto.Or{a, b}, c}, ``},
		{`$.a == 1 and not $.b == 2 or $.c == 3`, onto.Or{onto.And{a, onto.Not{Of: b}}, c}, `$.a == 1 & ~$.b == 2 | $.c == 3`},
		{`not($.a==1)and($.b==2)`, onto.And{onto.Not{Of: a}, b}, `~$.a == 1 & $.b == 2`},
		{`~~$.a == 1`, onto.Not{Of: onto.Not{Of: a}}, ``},
		{`~($.a == 1 & $.b == 2)`, onto.Not{Of: onto.And{a, b}}, ``},
		{`((($.a == 1)))`, a, `$.a == 1`},
		{`$.a == 1 & ($.b == 2 & $.c == 3)`, onto.And{a, onto.And{b, c}}, `$.a == 1 & $.b == 2 & $.c == 3`},
		{`true`, onto.And{}, ``},
		{`~false | true & $.a == 1`, onto.Or{onto.Not{Of: onto.Or{}}, onto.And{onto.And{}, a}}, ``},
	}
	for _, c := range cases {
		f, err := filter.Parse(c.text)
		if c.want == nil {
			if err == nil {
				t.Errorf("Parse(%s): got %#v, want an error", c.text, f)
			}
			continue
		}
		if err != nil {
			t.Errorf("Parse(%s): %v", c.text, err)
			continue
		}
		if got := bare(f); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Parse(%s):\ngot  %#v\nwant %#v", c.text, got, c.want)
		}
		want := c.format
		if want == "" {
			want = c.text
		}
		if got := filter.Format(f); got != want {
			t.Errorf("Format(Parse(%s)): got %s, want %s", c.text, got, want)
		}
	}
}

func TestColumnsOfParts(t *testing.T) {
	f, err := filter.Parse(`$."é" == 1 & left.$.b.any_path("u").in_( [2])`)
	if err != nil {
		t.Fatal(err)
	}
	want := onto.And{
		onto.Condition{Operand: onto.Operand{Path: []string{"é"}, Column: 1}, Test: onto.Equal, Values: []any{int64(1)}, Column: 10},
		onto.Condition{
			Operand: onto.Operand{Side: onto.LeftSide, Path: []string{"b"}, Any: true, Under: []string{"u"}, Column: 14},
			Test:    onto.In, Values: []any{int64(2)}, Column: 42,
		},
	}
	if !reflect.DeepEqual(f, onto.Filter(want)) {
		t.Errorf("got  %#v\nwant %#v", f, want)
	}
}

func TestParseErrors(t *testing.T) {
	cases := []struct{ text, message, hint string }{
		{``, `column 1: the filter is empty`, `write a condition like $.tier == "Gold"`},
		{"  \n", `column 4: the filter is empty`, `write a condition like $.tier == "Gold"`},
		{`$.a == null`, `column 8: nothing can be compared with null`, `use .is_null()`},
		{`$.a != null`, `column 8: nothing can be compared with null`, `use .is_not_null()`},
		{`$.a < null`, `column 7: nothing can be compared with null`, `use .is_null()`},
		{`$.a.in_([1, null])`, `column 13: null cannot be among the values of in_`, `add a condition with | and .is_null()`},
		{`$.a == [1]`, `column 8: a list or an object is no value to compare with`, `for one of several values, use in_([…]); for elements of a list, use any()`},
		{`$.a == {}`, `column 8: a list or an object is no value to compare with`, `for one of several values, use in_([…]); for elements of a list, use any()`},
		{`$.a.in_([[1]])`, `column 10: a list or an object is no value to compare with`, `for one of several values, use in_([…]); for elements of a list, use any()`},
		{`$.a < true`, `column 7: true and false have no order`, `use == or is_true()`},
		{`$.a == Gold`, `column 8: expected a value, found Gold`, `put texts in double quotes: "Gold"`},
		{`$.a == `, `column 8: expected a value, found the end`, ``},
		{`$.a == $.b`, `column 8: two paths cannot be compared`, `compare each with a value`},

		{`$.a = 1`, `column 5: unexpected '='`, `write == to compare`},
		{`!$.a == 1`, `column 1: unexpected '!'`, `write ~ for not`},
		{`$.a == 'x'`, `column 8: unexpected '\''`, `put texts in plain double quotes: "Gold"`},
		{`$.a == “x”`, `column 8: unexpected '“'`, `put texts in plain double quotes: "Gold"`},
		{`$.é == 1`, `column 3: unexpected 'é'`, `put names that are not plain words in quotes`},
		{`$.a == +1`, `column 8: unexpected '+'`, `write the number without +`},
		{`$.a == 1 && $.b == 2`, `column 10: && is unknown`, `write &`},
		{`$.a == 1 || $.b == 2`, `column 10: || is unknown`, `write |`},
		{"$.a == 1\x00", `column 9: unexpected '\x00'`, ``},
		{"$.a\u00a0== 1", `column 4: unexpected '\u00a0'`, ``},
		{"$.é == \xff", `column 8: the text is not valid UTF-8`, ``},

		{`$.a == 9223372036854775808`, `column 8: integer 9223372036854775808 is outside int64`, ``},
		{`$.a == -9223372036854775809`, `column 8: integer -9223372036854775809 is outside int64`, ``},
		{`$.a == 1e400`, `column 8: number 1e400 is outside float64`, ``},
		{`$.a == 01`, `column 10: malformed number`, ``},
		{`$.a == 1.`, `column 10: malformed number`, ``},
		{`$.a == 12abc`, `column 10: unexpected 'a' after the value`, ``},
		{`$.a == -`, `column 9: malformed number`, ``},
		{`$.a == 1-2`, `column 9: unexpected '-' after the value`, ``},
		{`$.a == "x`, `column 8: the text that begins here has no end`, `close it with "`},
		{`$.a == "x\"`, `column 8: the text that begins here has no end`, `close it with "`},
		{`$.a == "é\u0000"`, `column 10: text contains U+0000`, ``},
		{`$.a == "é\ud800"`, `column 10: lone surrogate in text`, ``},
		{`$.a == "é\q"`, `column 11: unknown escape \ before 'q'`, ``},
		{"$.a == \"é\n\"", `column 10: control character '\n' in text`, ``},
		{`$."\u0000" == 1`, `column 4: text contains U+0000`, ``},

		{`$`, `column 2: expected a dot and a field's name after $, found the end`, `write $.name`},
		{`$ == 1`, `column 3: expected a dot and a field's name after $, found ==`, `write $.name`},
		{`$a == 1`, `column 2: expected a dot and a field's name after $, found a`, `write $.name`},
		{`$["a"] == 1`, `column 2: expected a dot and a field's name after $, found [`, `write $.name`},
		{`$.`, `column 3: expected a name, found the end`, `put names that are not plain words in quotes`},
		{`$.a.0 == 1`, `column 5: expected a name, found 0`, `put names that are not plain words in quotes`},
		{`$..a == 1`, `column 3: expected a name, found .`, `put names that are not plain words in quotes`},
		{`$.is_null()`, `column 3: expected a field before is_null()`, ``},
		{`$.any() == 1`, `column 3: expected a field before any()`, ``},
		{`tier == "Gold"`, `column 1: expected a path like $.name, found tier`, `write $.tier for the field`},
		{`"tier" == "Gold"`, `column 1: expected a path like $.name, found "tier"`, `write $.tier for the field`},
		{`1 == $.a`, `column 1: expected a path like $.name, found 1`, `put the path first: $.a == 1`},
		{`left == 1`, `column 6: expected .$ after left, found ==`, `write left.$.name`},
		{`left.a == 1`, `column 6: expected a path like $.name, found a`, `write left.$.a`},
		{`$.a.left.$.b == 1`, `column 10: expected a name, found $`, `put names that are not plain words in quotes`},
		{`count > 3`, `column 1: count is an aggregate, and a condition on single versions cannot use it`, `aggregates are for having: put it there`},
		{`sum:$.a > 3`, `column 1: sum is an aggregate, and a condition on single versions cannot use it`, `aggregates are for having: put it there`},

		{`$.a`, `column 4: expected a test after $.a, found the end`, `write .is_true(), .is_not_null() or compare it, as in == "x"`},
		{`$.a & $.b`, `column 5: expected a test after $.a, found &`, `write .is_true(), .is_not_null() or compare it, as in == "x"`},
		{`$.content-type == 1`, `column 10: expected a test after $.content, found -type`, `put names that are not plain words in quotes, as in $."content-type"`},
		{`$.a.any()`, `column 10: expected a test after $.a.any(), found the end`, `write .is_true(), .is_not_null() or compare it, as in == "x"`},
		{`$.a.any().b == 1`, `column 11: no path can follow any()`, `write .any_path("b")`},
		{`$.a.any()."b c" == 1`, `column 11: no path can follow any()`, `write .any_path("\"b c\"")`},
		{`$.a.any().any() == 1`, `column 11: any() cannot follow any()`, `to look inside the elements, write .any_path("name")`},
		{`$.a.any("b") == 1`, `column 9: expected ), found "b"`, `to look inside the elements, write any_path("b")`},
		{`$.a.any(1) == 1`, `column 9: expected ), found 1`, ``},
		{`$.a.any_path() == 1`, `column 14: expected a path in quotes, found )`, `write any_path("name"), or any() for the elements themselves`},
		{`$.a.any_path("") == 1`, `column 15: expected a name, found the end`, `write names with dots between them, without $`},
		{`$.a.any_path("$.b") == 1`, `column 15: expected a name, found $`, `write names with dots between them, without $`},
		{`$.a.any_path("b.") == 1`, `column 17: expected a name, found the end`, `write names with dots between them, without $`},
		{`$.a.any_path("b c") == 1`, `column 17: expected . or the end of the path, found c`, ``},
		{`$.a.any_path("b-c") == 1`, `column 16: expected . or the end of the path, found -c`, ``},
		{`$.a.any_path("b\u0020c") == 1`, `column 14: expected . or the end of the path, found c`, ``},
		{`$.a.any_path("\"b\\q\"") == 1`, `column 14: unknown escape \ before 'q'`, ``},
		{`$.a.startsWith("x")`, `column 5: there is no test startsWith()`, `did you mean startswith()?`},
		{`$.a.frobnicate("x")`, `column 5: there is no test frobnicate()`, `use in_, startswith, endswith, contains, is_null, is_not_null, is_true or is_false`},
		{`$.a.startswith(1)`, `column 16: expected a text in quotes, found 1`, ``},
		{`$.a.startswith("x", "y")`, `column 19: expected ), found ,`, ``},
		{`$.a.startswith()`, `column 16: expected a text in quotes, found )`, ``},
		{`$.a.is_null(1)`, `column 13: expected ), found 1`, ``},
		{`$.a.is_null() == true`, `column 15: expected & or |, found ==`, ``},
		{`$.a.in_("x")`, `column 9: expected a list, found "x"`, `write in_(["a", "b"])`},
		{`$.a.in_([1 2])`, `column 12: expected , or ], found 2`, ``},
		{`$.a.in_([1,])`, `column 12: expected a value, found ]`, `leave out the last comma`},
		{`$.a.in_([,])`, `column 10: expected a value, found ,`, ``},
		{`$.a.in_([1`, `column 11: expected , or ], found the end`, ``},
		{`$.a.in_([1]`, `column 12: expected ), found the end`, ``},

		{`$.a == 1 &`, `column 11: expected a path like $.name, found the end`, ``},
		{`& $.a == 1`, `column 1: expected a path like $.name, found &`, ``},
		{`$.a == 1 $.b == 2`, `column 10: expected & or |, found $`, ``},
		{`$.a == 1 )`, `column 10: expected & or |, found )`, ``},
		{`~`, `column 2: expected a path like $.name, found the end`, ``},
		{`()`, `column 2: expected a path like $.name, found )`, ``},
		{`$.a == 1 & ($.b == 2`, `column 21: expected & or | or ), found the end`, `the bracket of column 12 is open`},
		{`($.a == 1 ! `, `column 11: unexpected '!'`, `write ~ for not`},
		{`true == true`, `column 6: expected & or |, found ==`, ``},
	}
	for _, c := range cases {
		f, err := filter.Parse(c.text)
		if err == nil {
			t.Errorf("Parse(%s): got %s, want %s", c.text, filter.Format(f), c.message)
			continue
		}
		if err.Error() != c.message || onto.HintOf(err).String() != c.hint || !errors.Is(err, onto.Invalid) {
			t.Errorf("Parse(%s):\ngot  %q hint %q code %s\nwant %q hint %q code invalid", c.text, err, onto.HintOf(err), onto.CodeOf(err), c.message, c.hint)
		}
		if f != nil {
			t.Errorf("Parse(%s): got a filter with its error: %#v", c.text, f)
		}
	}
}

func TestParseLimits(t *testing.T) {
	many := func(n int, one, sep string) string { return strings.TrimSuffix(strings.Repeat(one+sep, n), sep) }
	nest := func(n int) string { // an Or in an And for each bracket
		return strings.Repeat("($.a == 1 | $.b == 1 & ", n) + "$.c == 1" + strings.Repeat(")", n)
	}
	cases := []struct {
		name, text, want string
	}{
		{"text", "true" + strings.Repeat(" ", 64<<10-4), ""},
		{"longer text", "true" + strings.Repeat(" ", 64<<10-3), "the text has 65537 bytes, the limit is 65536"},
		{"conditions", many(500, "$.a == 1", " & "), ""},
		{"more conditions", many(501, "$.a == 1", " & "), "column 5501: the filter has more than 500 conditions"},
		{"words", many(501, "true", "|"), "column 2501: the filter has more than 500 conditions"},
		{"values", "$.a.in_([" + many(10000, "1", ",") + "])", ""},
		{"more values", "$.a.in_([" + many(5000, "1", ",") + "]) | $.a.in_([" + many(5001, "1", ",") + "])", "column 20023: in_ has more than 10000 values"},
		{"nots", strings.Repeat("~", 100) + "$.a == 1", ""},
		{"nots of true", strings.Repeat("~", 100) + "true", ""},
		{"more nots", strings.Repeat("~", 101) + "$.a == 1", "column 101: the filter nests deeper than 100 levels"},
		{"many nots", strings.Repeat("not ", 16000) + "$.a == 1", "column 401: the filter nests deeper than 100 levels"},
		{"brackets", strings.Repeat("(", 100) + "$.a == 1" + strings.Repeat(")", 100), ""},
		{"more brackets", strings.Repeat("(", 101) + "$.a == 1" + strings.Repeat(")", 101), "column 101: the filter nests deeper than 100 levels"},
		{"nothing but brackets", strings.Repeat("(", 60000), "column 101: the filter nests deeper than 100 levels"},
		{"lists", nest(50), ""},
		{"more lists", nest(51), "column 13: the filter nests deeper than 100 levels"},
		{"names", "$" + strings.Repeat(".a", 64) + " == 1", ""},
		{"more names", "$" + strings.Repeat(".a", 65) + " == 1", "column 1: the path has more than 64 names"},
		{"more names in any_path", `$.a.any_path("a` + strings.Repeat(".a", 64) + `") == 1`, "column 14: the path has more than 64 names"},
		{"a long name in a message", "$.a." + strings.Repeat("é", 50) + "()", "column 5: unexpected 'é'"},
		{"a long test", "$.a." + strings.Repeat("b", 200) + "()", "column 5: there is no test " + strings.Repeat("b", 80) + "…()"},
	}
	for _, c := range cases {
		f, err := filter.Parse(c.text)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "":
			if _, err := filter.Check(f, nil); err != nil {
				t.Errorf("%s: Check refuses what Parse accepts: %v", c.name, err)
			}
			if text := filter.Format(f); strings.Contains(text, "…") {
				t.Errorf("%s: Format cuts what Parse accepts: %s", c.name, text)
			}
		case err == nil || err.Error() != c.want:
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestParseHaving(t *testing.T) {
	cases := []struct {
		text string
		want onto.Filter
	}{
		{`count > 3`, onto.Count().Gt(int64(3))},
		{`sum:$.seats >= 10`, onto.Path("seats").Sum().Ge(int64(10))},
		{`avg:left.$.a.b < 1.5`, onto.Left("a", "b").Avg().Lt(1.5)},
		{`min:$.a.is_null()`, onto.Path("a").Min().IsNull()},
		{`max:$.a.startswith("x")`, onto.Path("a").Max().StartsWith("x")},
		{`avg_len:$."a b" != 0`, onto.Path("a b").AvgLen().Ne(int64(0))},
		{`count.in_([1, 2])`, onto.Count().In(int64(1), int64(2))},
		{`$.tier == "Gold" & ~count == 1`, onto.And{onto.Path("tier").Eq("Gold"), onto.Not{Of: onto.Count().Eq(int64(1))}}},
		{`$.count == 1`, onto.Path("count").Eq(int64(1))},
	}
	for _, c := range cases {
		f, err := filter.ParseHaving(c.text)
		if err != nil {
			t.Errorf("ParseHaving(%s): %v", c.text, err)
			continue
		}
		if got := bare(f); !reflect.DeepEqual(got, c.want) {
			t.Errorf("ParseHaving(%s):\ngot  %#v\nwant %#v", c.text, got, c.want)
		}
		if got := filter.Format(f); got != c.text {
			t.Errorf("Format: got %s, want %s", got, c.text)
		}
	}
	bad := []struct{ text, message string }{
		{`count:$.a > 3`, `column 6: count takes no path`},
		{`count.a > 3`, `column 7: count takes no path`},
		{`sum > 3`, `column 5: expected : after sum, found >`},
		{`sum:a > 3`, `column 5: expected a path like $.name, found a`},
		{`sum:count > 3`, `column 5: expected a path like $.name, found count`},
		{`median:$.a > 3`, `column 1: there is no aggregate median`},
		{`count`, `column 6: expected a test after count, found the end`},
	}
	for _, c := range bad {
		if _, err := filter.ParseHaving(c.text); err == nil || err.Error() != c.message {
			t.Errorf("ParseHaving(%s): got %v, want %s", c.text, err, c.message)
		}
	}
}

func TestParseOperandAndOrder(t *testing.T) {
	cases := []struct {
		text string
		want onto.Order
	}{
		{`$.a`, onto.Path("a").Asc()},
		{`$.a."b c":desc`, onto.Path("a", "b c").Desc()},
		{`left.$.a : asc`, onto.Left("a").Asc()},
		{`right.$.desc:desc`, onto.Right("desc").Desc()},
		{`count`, onto.Count().Asc()},
		{`count:desc`, onto.Count().Desc()},
		{`sum:$.seats:desc`, onto.Path("seats").Sum().Desc()},
		{`avg_len:right.$.tags`, onto.Right("tags").AvgLen().Asc()},
		{`$.a.any()`, onto.Path("a").Some().Asc()},
		{`$.a.any_path("b.c")`, onto.Path("a").Some("b", "c").Asc()},
	}
	for _, c := range cases {
		got, err := filter.ParseOrder(c.text)
		if got.Operand.Column = 0; err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("ParseOrder(%s): got %#v, %v, want %#v", c.text, got, err, c.want)
		}
		back, err := filter.ParseOperand(filter.FormatOperand(c.want.Operand))
		if back.Column = 0; err != nil || !reflect.DeepEqual(back, c.want.Operand) {
			t.Errorf("ParseOperand(FormatOperand(%s)): got %#v, %v, want %#v", c.text, back, err, c.want.Operand)
		}
	}
	bad := []struct{ text, operand, order string }{
		{``, `column 1: expected a path like $.name, found the end`, `column 1: expected a path like $.name, found the end`},
		{`a`, `column 1: expected a path like $.name, found a`, `column 1: expected a path like $.name, found a`},
		{`$.a:up`, `column 4: expected the end, found :`, `column 5: expected asc or desc, found up`},
		{`$.a desc`, `column 5: expected the end, found desc`, `column 5: expected the end, found desc`},
		{`$.a.desc()`, `column 5: desc() is a test, expected only a path`, `column 5: desc() is a test, expected only a path`},
		{`count:$.a`, `column 6: count takes no path`, `column 7: expected asc or desc, found $`},
		{"$.a\xff", `column 4: the text is not valid UTF-8`, `column 4: the text is not valid UTF-8`},
	}
	for _, c := range bad {
		if _, err := filter.ParseOperand(c.text); err == nil || err.Error() != c.operand {
			t.Errorf("ParseOperand(%s): got %v, want %s", c.text, err, c.operand)
		}
		if _, err := filter.ParseOrder(c.text); err == nil || err.Error() != c.order {
			t.Errorf("ParseOrder(%s): got %v, want %s", c.text, err, c.order)
		}
	}
}
