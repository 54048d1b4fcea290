package filtertest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter/filtertest"
)

const sample = `
# Two lines that say
# what it is about.
row b {"y":[1, "->"], "x":1.0}
row a {}
# a remark
$.x == "a -> b" -> b
$.x.is_null()   -> all but b
true            -> all
false           -> none
order $.x, $.y:desc -> b a
$.x == null     !! is_null

# Relations.
type Bond
left  l {"x":1}
right l {"count":2}
right m deleted
row l/l/2 {}
row l/l/10 {"x":1}
row l/m/1 {"x":2}
left.$.x == 1   -> l/m/1 l/l/2
`

func TestParse(t *testing.T) {
	groups, err := filtertest.Parse("sample", sample)
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != 2 {
		t.Fatalf("got %d groups, want 2", len(groups))
	}
	things, bonds := groups[0], groups[1]
	if want := "Two lines that say what it is about."; things.About != want || things.Name() != "sample 1" || things.Type != "Thing" {
		t.Errorf("got %s, a %s about %q, want sample 1, a Thing about %q", things.Name(), things.Type, things.About, want)
	}
	wantRows(t, things.Rows, `a {"id":"a"}`, `b {"id":"b","x":1,"y":[1,"->"]}`)
	wantCases(t, things.Cases,
		`sample 1.1: $.x == "a -> b" -> b`,
		`sample 1.2: $.x.is_null() -> a`,
		`sample 1.3: true -> a b`,
		`sample 1.4: false -> `,
		`sample 1.5: order $.x, $.y:desc -> b a`,
		`sample 1.6: $.x == null !! is_null`)
	wantRows(t, bonds.Rows, `l/l/10 {"x":1}`, `l/l/2 {}`, `l/m/1 {"x":2}`)
	wantRows(t, bonds.Ends, `left l {"id":"l","x":1}`, `right l {"count":2,"id":"l"}`, `right m deleted`)
	wantCases(t, bonds.Cases, `sample 2.1: left.$.x == 1 -> l/l/2 l/m/1`)
	if got := string(bonds.End(onto.RightSide, "l/l/2")); got != `{"count":2,"id":"l"}` {
		t.Errorf("right endpoint: got %s", got)
	}
	if got := bonds.End(onto.RightSide, "l/m/1"); got != nil {
		t.Errorf("deleted endpoint: got %s, want none", got)
	}
	if got := things.Scope(true).Schema.FieldNames(); !slices.Equal(got, []string{"id", "rev", "x", "y"}) {
		t.Errorf("fields: got %q", got)
	}
}

func wantRows(t *testing.T, rows []filtertest.Row, want ...string) {
	t.Helper()
	var got []string
	for _, r := range rows {
		text := strings.TrimSpace(string(r.Side) + " " + r.Key + " " + string(r.Fields))
		if r.Deleted {
			text += " deleted"
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n got: %q\nwant: %q", got, want)
	}
}

func wantCases(t *testing.T, cases []filtertest.Case, want ...string) {
	t.Helper()
	var got []string
	for _, c := range cases {
		text := c.Text
		if c.Order {
			text = "order " + text
		}
		if c.Refused != "" {
			text += " !! " + c.Refused
		} else {
			text += " -> " + strings.Join(c.Want, " ")
		}
		got = append(got, c.ID+": "+text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("cases\n got: %q\nwant: %q", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"row a {}", "bad.txt:1: a group begins with a comment"},
		{"# x\nrow a {}", "bad.txt:2: the group \"x\" has no cases"},
		{"# x\nrow a {}\n\n# y", "bad.txt:3: the group \"x\" has no cases"},
		{"# x\nrow a {}\nrow a {}\ntrue -> a", "bad.txt:3: row a is given twice"},
		{"# x\nrow a {\ntrue -> a", "bad.txt:2: row a: JSON"},
		{"# x\nrow a [1]\ntrue -> a", "bad.txt:2: row a: JSON: expected an object"},
		{"# x\nrow a {\"a-b\":1}\ntrue -> a", "bad.txt:2: row a: field name \"a-b\" is not allowed"},
		{"# x\nrow a/b {}\ntrue -> a", "bad.txt:2: key \"a/b\": want 1 parts"},
		{"# x\nrow all {}\ntrue -> all", "bad.txt:2: key \"all\": this is a word of the corpus"},
		{"# x\nrow a deleted\ntrue -> a", "bad.txt:2: row a: only endpoints can be deleted"},
		{"# x\nleft a {}\ntrue -> a", "bad.txt:2: Thing has nothing at its left"},
		{"# x\ntype Claim\nright a {}\ntrue -> a", "bad.txt:3: Claim has nothing at its right"},
		{"# x\ntype Note\nleft a {}\ntrue -> a", "bad.txt:3: Note has nothing at its left"},
		{"# x\ntype Claim\nrow a/b {}\ntrue -> a/b", "bad.txt:3: key \"a/b\": want 3 parts"},
		{"# x\ntype Claim\nrow a/b/c {\"seq\":\"1\"}\ntrue -> a/b/c", "bad.txt:3: row a/b/c: field seq: expected int, found string"},
		{"# x\ntype Claim\nrow a/b/c {\"valid_from\":\"2026\"}\ntrue -> a/b/c", "bad.txt:3: row a/b/c: field valid_from"},
		{"# x\ntype Tie\nrow a {}\ntrue -> a", "bad.txt:3: key \"a\": want 2 parts"},
		{"# x\ntype Tie\nrow a/ {}\ntrue -> a", "bad.txt:3: key \"a/\": want 2 parts"},
		{"# x\ntype Tie\nleft a {}\nright a {}\nrow a/a {}\ntrue -> a/a", "bad.txt:4: row a is given twice"},
		{"# x\ntype Other\nrow a {}\ntrue -> a", "bad.txt:2: type \"Other\" is unknown"},
		{"# x\nrow a {}\ntype Tie\ntrue -> a", "bad.txt:3: the type comes before rows"},
		{"# x\nrow a {}\ntrue -> a\nrow b {}", "bad.txt:4: rows come before cases"},
		{"# x\nrow a {}\ntrue", "bad.txt:3: \"true\" is neither a row nor a case"},
		{"# x\nrow a {}\ntrue -> b", "bad.txt:3: there is no row b"},
		{"# x\nrow a {}\ntrue -> a a", "bad.txt:3: row a is in the answer twice"},
		{"# x\nrow a {}\ntrue -> all a", "bad.txt:3: after all comes nothing"},
		{"# x\nrow a {}\ntrue -> all but", "bad.txt:3: after all comes nothing"},
		{"# x\nrow a {}\ntrue -> all but b", "bad.txt:3: there is no row b"},
		{"# x\ntrue -> a", "bad.txt:2: the group has no rows"},
		{"# x\nrow a {}\nrow b {}\norder $.x -> a", "bad.txt:4: an order has all 2 rows"},
		{"# x\ntype Typed\nrow a {\"count\":\"1\"}\ntrue -> a", "bad.txt:3: row a: field count: expected int, found string"},
		{"# x\ntype Typed\nrow a {\"made\":\"2026-01-01\"}\ntrue -> a", "bad.txt:3: row a: field made: \"2026-01-01\" is not in its stored form"},
		{"# x\ntype Typed\nrow a {\"nosuch\":1}\ntrue -> a", "bad.txt:3: row a: Typed has no field nosuch"},
	}
	for _, test := range tests {
		_, err := filtertest.Parse("bad", test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q\n got: %v\nwant: %s", test.text, err, test.want)
		}
	}
}
