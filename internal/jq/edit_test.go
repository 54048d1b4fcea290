//go:build linux

package jq

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/itchyny/gojq"

	"github.com/ontologia/onto/internal/effort"
)

// Parts of programs that change a value at several paths, one after the other.
var (
	editSteps  = []string{`.a`, `.b`, `["a"]`, `[0]`, `[1]`, `[-1]`, `[-3]`, `[4]`, `[1.7]`, `[1:]`, `[:1]`, `[:-1]`, `[0:2]`, `[0.5:1.5]`, `[2:1]`, `[]?`}
	editValues = []string{`null`, `1`, `[]`, `{}`, `[null]`, `[1, 2, 3]`, `[null, {}]`, `[[1, 2], {"a": [2]}, []]`, `{"a": [1, {"b": 2}]}`, `{"a": {"a": null}, "b": [[3]]}`}
	edits      = []struct{ ours, reference string }{
		{`(%s) = (%s)`, `put(%s; %s)`},
		{`(%s) |= (%s)`, `change(%s; %s)`},
		{`(%s) |= [., %s]`, `change(%s; [., %s])`},
		{`(%s) |= empty | [., %s]`, `change(%s; empty) | [., %s]`},
		{`(%s) |= if . == null then %s else empty end`, `change(%s; if . == null then %s else empty end)`},
		{`. as $before | (%s) |= [., %s] | [., $before]`, `. as $before | change(%s; [., %s]) | [., $before]`},
		{`del(%s) | [., %s]`, `delpaths([path(%s)]) | [., %s]`},
	}
)

// editReference makes one change after the other. The interpreter's own operators make
// cycles of some of these.
const editReference = `
	def put(p; v): v as $v | reduce path(p) as $q (.; setpath($q; $v));
	def change(p; f): reduce path(p) as $q ({v: ., drop: []};
		[.v | getpath($q) | first(f)] as $new |
		if $new == [] then .drop += [$q] else {v: (.v | setpath($q; $new[0])), drop} end) |
		.drop as $drop | .v | delpaths($drop);
`

// editPath is a path of a few steps, or none if it does not fit the value.
func editPath(r *rand.Rand) string {
	path := "."
	for range r.IntN(4) {
		path = strings.ReplaceAll(path+editSteps[r.IntN(len(editSteps))], "..", ".")
	}
	return "(" + path + ")?"
}

// Changes at several paths come out as if each was made on a copy of the whole.
func TestEdits(t *testing.T) {
	t.Parallel()
	count := effort.Count(t, 20_000)
	r := effort.Rand(t)
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	changed, failed := 0, 0
	for range count {
		paths := editPath(r)
		for range r.IntN(4) {
			paths += ", " + editPath(r)
		}
		value, edit, n := pick(editValues), edits[r.IntN(len(edits))], pick(editValues)
		program := value + " | " + fmt.Sprintf(edit.ours, paths, n)
		got := limited(t, program)
		switch want := plain(t, editReference+value+" | "+fmt.Sprintf(edit.reference, paths, n)); {
		case !slices.Equal(got, want):
			t.Errorf("%s\n got %q\nwant %q", program, got, want)
		case strings.HasPrefix(final(want), "error: "):
			failed++
		default:
			changed++
		}
	}
	t.Logf("%d programs: %d values, %d errors", count, changed, failed)
}

// A list that becomes empty is not mistaken for a missing object.
func TestEditAfterEmptyList(t *testing.T) {
	for _, program := range []string{`[null] | (.[0:1], .[0].a) = []`, `[null, {}] | (.[0:2], .[1:][0].a) |= []`, `[null] | (.[0:], .[0].a.b) = []`} {
		got, want := limited(t, program), plain(t, program)
		if !slices.Equal(got, want) || len(got) != 1 {
			t.Errorf("%s\n got %q\nwant %q", program, got, want)
		}
	}
}

// limited and plain are what a program makes of null, with limits and without.
func limited(t *testing.T, program string) []string {
	t.Helper()
	w := watch{Context: t.Context(), done: t.Context().Done()}
	return outputs(compile(t, program).code.RunWithContext(&w, nil, &w))
}

func plain(t *testing.T, program string) []string {
	t.Helper()
	query, err := gojq.Parse(program)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return outputs(query.RunWithContext(t.Context(), nil))
}
