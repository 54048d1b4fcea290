package onto_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

// wants describes a draft's intents, in order.
func wants(d onto.Draft) []string {
	var list []string
	for in := range d.Intents() {
		if in.Op == onto.Delete {
			list = append(list, "-"+in.Identity.Key)
		} else if in.Merge {
			list = append(list, fmt.Sprint("~", in.Value))
		} else {
			list = append(list, fmt.Sprint("+", in.Value))
		}
	}
	return list
}

func TestDraftKeepsOrder(t *testing.T) {
	d := onto.Draft{}.Ensure("a", "b").Delete(onto.EntityID("T", "c"), onto.EntityID("T", "d")).Ensure().Delete().Merge().Ensure("e").Merge("f", "g")
	if got, want := wants(d), []string{"+a", "+b", "-c", "-d", "+e", "~f", "~g"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := wants(onto.Draft{}); got != nil {
		t.Errorf("the zero draft: got %v, want nothing", got)
	}
}

func TestDraftIsAValue(t *testing.T) {
	common := onto.Draft{Comment: "common"}.Ensure("a")
	left := common.Ensure("b").ExpectHead(1)
	right := common.Delete(onto.EntityID("T", "c")).ExpectHead(2)
	right.Comment = "right"
	for _, c := range []struct {
		draft   onto.Draft
		wants   []string
		expects int
		comment string
	}{
		{common, []string{"+a"}, 0, "common"},
		{left, []string{"+a", "+b"}, 1, "common"},
		{right, []string{"+a", "-c"}, 1, "right"},
	} {
		if got := wants(c.draft); !slices.Equal(got, c.wants) {
			t.Errorf("got intents %v, want %v", got, c.wants)
		}
		if got := len(c.draft.Expectations()); got != c.expects {
			t.Errorf("%v: got %d expectations, want %d", c.wants, got, c.expects)
		}
		if c.draft.Comment != c.comment {
			t.Errorf("%v: got comment %q, want %q", c.wants, c.draft.Comment, c.comment)
		}
	}
}

func TestDraftCopiesItsArguments(t *testing.T) {
	things := []any{"a", "b"}
	ids := []any{onto.EntityID("T", "c")}
	d := onto.Draft{}.Ensure(things...).Delete(ids...)
	things[0], ids[0] = "changed", onto.EntityID("T", "changed")
	if got, want := wants(d), []string{"+a", "+b", "-c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDraftIntentsCanStopEarly(t *testing.T) {
	d := onto.Draft{}.Ensure("a", "b").Ensure("c")
	for _, n := range []int{1, 2, 3} {
		seen := 0
		for range d.Intents() {
			if seen++; seen == n {
				break
			}
		}
		if seen != n {
			t.Errorf("got %d intents, want %d", seen, n)
		}
	}
}

func TestDraftExpectations(t *testing.T) {
	id := onto.EntityID("Customer", "c1")
	d := onto.Draft{}.ExpectHead(7).ExpectVersion(id, 3).ExpectVersion(id.WithInstance(""), 0)
	want := []onto.Expectation{{Head: true, Commit: 7}, {Identity: id, Commit: 3}, {Identity: id}}
	if got := d.Expectations(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDraftCheck(t *testing.T) {
	id := onto.EntityID("Customer", "c1")
	full := onto.Draft{
		Actor: onto.Operator("ana"), Causation: 3, Correlation: strings.Repeat("c", onto.MaxKey),
		Signature: "sig:1", Comment: strings.Repeat("é", onto.MaxComment/2), IdempotencyKey: "k",
	}
	for _, d := range []onto.Draft{{}, full, full.ExpectHead(0).ExpectVersion(id, 0).Ensure("not looked at")} {
		if err := d.Check(); err != nil {
			t.Errorf("got %v, want no error", err)
		}
	}
	for _, c := range []struct {
		draft onto.Draft
		code  onto.Code
		want  string
	}{
		{onto.Draft{Actor: onto.Actor{Kind: "robot", ID: "x"}}, onto.Invalid, `actor kind "robot" is unknown`},
		{onto.Draft{Actor: onto.Operator("")}, onto.Invalid, "actor id is empty"},
		{onto.Draft{Causation: -1}, onto.Invalid, "causation commit -1 is negative"},
		{onto.Draft{Comment: "a\x00"}, onto.Invalid, "comment contains U+0000"},
		{onto.Draft{Comment: strings.Repeat("x", onto.MaxComment+1)}, onto.TooLarge, "comment is 65537 bytes long, the limit is 65536"},
		{onto.Draft{Correlation: "\xff"}, onto.Invalid, "correlation id is not valid UTF-8"},
		{onto.Draft{Signature: strings.Repeat("x", onto.MaxKey+1)}, onto.TooLarge, "signature reference is 1025 bytes long, the limit is 1024"},
		{onto.Draft{IdempotencyKey: strings.Repeat("x", onto.MaxKey+1)}, onto.TooLarge, "idempotency key is 1025 bytes long, the limit is 1024"},
		{onto.Draft{}.ExpectHead(-1), onto.Invalid, "expected commit -1 is negative"},
		{onto.Draft{}.ExpectVersion(id, -2), onto.Invalid, "expected commit -2 is negative"},
		{onto.Draft{}.ExpectVersion(onto.EntityID("Customer", ""), 1), onto.Invalid, "Customer key is empty"},
		{onto.Draft{}.ExpectVersion(onto.Identity{}, 1).ExpectHead(1), onto.Invalid, "type name is empty"},
	} {
		if err := c.draft.Check(); message(err) != c.want || onto.CodeOf(err) != c.code {
			t.Errorf("got %v (%s), want %s (%s)", err, onto.CodeOf(err), c.want, c.code)
		}
	}
}

// What a draft was computed from is kept in order, beside what it expects, and checked like it.
func TestDraftGiven(t *testing.T) {
	a, b := onto.EntityID("T", "a"), onto.RelationID("R", "a", "b")
	common := onto.Draft{}.ExpectHead(1).Given(a, 3)
	left, right := common.GivenHead(7), common.Given(b, 0).Given(a, 3)
	for _, c := range []struct {
		draft onto.Draft
		want  []onto.Expectation
	}{
		{onto.Draft{}.ExpectHead(2), nil},
		{common, []onto.Expectation{{Identity: a, Commit: 3}}},
		{left, []onto.Expectation{{Identity: a, Commit: 3}, {Head: true, Commit: 7}}},
		{right, []onto.Expectation{{Identity: a, Commit: 3}, {Identity: b}, {Identity: a, Commit: 3}}},
	} {
		if got := c.draft.Fences(); !slices.Equal(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
		if err := c.draft.Check(); err != nil || len(c.draft.Expectations()) > 1 {
			t.Errorf("got %v, and expectations %v", err, c.draft.Expectations())
		}
	}
	for text, d := range map[string]onto.Draft{"-1": onto.Draft{}.Given(a, -1), "-2": onto.Draft{}.GivenHead(-2), "key is empty": onto.Draft{}.Given(onto.EntityID("T", ""), 1)} {
		if err := d.Check(); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want it to say %q", err, text)
		}
	}
}
