package filtertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
)

// The rows of a group are as the corpus says after the second and the last of four
// commits. In between their fields are swapped, some are deleted, and there is one
// more.
const (
	firstRight = 2
	lastRight  = 4
)

// Run asks a backend every case of the corpus: of the newest state, of older
// ones and of history, with and without indexes, whole and page by page. Open
// makes an empty store; Run closes it.
func Run(t *testing.T, open Open) { run(t, func(int) bool { return true }, open) }

// RunSome is Run with some groups of the corpus, as package effort says. The test must be in
// its table.
func RunSome(t *testing.T, open Open) {
	run(t, func(i int) bool { return effort.Includes(t, i) }, open)
}

func run(t *testing.T, some func(group int) bool, open Open) {
	groups, err := Corpus()
	if err != nil {
		t.Fatal(err)
	}
	questions := 0
	for i, g := range groups {
		if len(g.Rows) == 0 || !some(i) {
			continue
		}
		t.Run(g.Name(), func(t *testing.T) {
			b := open(t, t.TempDir())
			defer closing(t, b)
			questions += g.run(t, b)
		})
	}
	t.Run("limits", func(t *testing.T) {
		b := open(t, t.TempDir())
		defer closing(t, b)
		questions += runExtremes(t, b)
	})
	t.Logf("%d questions", questions)
}

// run asks a backend the cases of a group and returns how many questions that
// were.
func (g *Group) run(t testing.TB, b backend.Backend) int {
	questions, ledger := 0, g.write(t, b)
	for _, v := range variants() {
		r := runner{t: t, b: b, g: g, variant: v, ledger: ledger}
		r.run()
		questions += r.questions
	}
	return questions
}

func closing(t testing.TB, b backend.Backend) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// variant is how the types of a group are declared.
type variant struct {
	suffix string // of the names
	index  bool   // all fields are indexed
}

func variants() []variant { return []variant{{"", false}, {"Indexed", true}} }

// write writes the rows of a group to a backend, once for each variant.
func (g *Group) write(t testing.TB, b backend.Backend) *ledger {
	t.Helper()
	l := &ledger{}
	for _, v := range variants() {
		s := g.scope(v.suffix, v.index)
		for _, s := range []*onto.Schema{s.Schema, s.Left, s.Right} {
			if s != nil && l.schema(s.Kind, s.Name) == nil {
				l.schemas = append(l.schemas, s)
			}
		}
	}
	if err := l.register(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for commit := 1; commit <= lastRight; commit++ {
		var writes []backend.Write
		for _, v := range variants() {
			writes = append(writes, g.writes(v.suffix, commit)...)
		}
		if _, err := b.Append(t.Context(), l.draft(writes)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// writes returns what a commit does to the rows of a group.
func (g *Group) writes(suffix string, commit int) []backend.Write {
	var writes []backend.Write
	lefts := slices.DeleteFunc(slices.Clone(g.Ends), func(r Row) bool { return r.Side != onto.LeftSide })
	rights := slices.DeleteFunc(slices.Clone(g.Ends), func(r Row) bool { return r.Side != onto.RightSide })
	for _, rows := range [][]Row{g.Rows, lefts, rights} {
		for i := range rows {
			writes = append(writes, g.writeOf(rows, i, suffix, commit))
		}
	}
	extra := Row{Key: strings.Join(slices.Repeat([]string{"zz"}, strings.Count(g.Rows[0].Key, "/")+1), "/"), Fields: g.Rows[0].Fields}
	extra.Deleted = commit == firstRight || commit == lastRight
	return append(writes, g.stored(&extra, extra.Fields, commit, suffix))
}

// writeOf returns what a commit does to one of some rows.
func (g *Group) writeOf(rows []Row, i int, suffix string, commit int) backend.Write {
	r := rows[i]
	if commit == firstRight || commit == lastRight {
		return g.stored(&r, r.Fields, 0, suffix)
	}
	r.Deleted = commit == 3 && i == 0
	other := rows[(i+commit)%len(rows)].Fields
	if other == nil { // that one is deleted
		other = json.RawMessage("{}")
	}
	return g.stored(&r, other, commit, suffix)
}

// stored returns the write of a row with some fields. Commits with other rows than the
// corpus mark them, so that every commit changes every row.
func (g *Group) stored(r *Row, fields json.RawMessage, wrong int, suffix string) backend.Write {
	w := backend.Write{Identity: g.identity(r, suffix), Op: onto.Delete}
	if r.Deleted {
		return w
	}
	members := g.withKey(r, codec.Members(fields))
	if wrong > 0 {
		members = setMember(members, revField, fmt.Append(nil, wrong))
	}
	w.Op, w.Fields = onto.Put, codec.AppendObject(nil, members)
	return w
}

// identity returns the identity of a row.
func (g *Group) identity(r *Row, suffix string) onto.Identity {
	typ, parts := g.typeOf(r)+suffix, strings.Split(r.Key, "/")
	switch len(parts) {
	case 1:
		return onto.EntityID(typ, r.Key)
	case 2:
		return onto.RelationID(typ, parts[0], parts[1])
	}
	if kindOf(g.typeOf(r)) == onto.KindFact {
		return onto.FactID(typ, parts[0], parts[1], parts[2])
	}
	return onto.RelationID(typ, parts[0], parts[1]).WithInstance(parts[2])
}

// explain tells how a backend answers a question, if it can.
func explain(ctx context.Context, b backend.Backend, q *backend.Query, a *backend.Aggregation) string {
	e, ok := backend.As[backend.Explainer](b)
	if !ok {
		return ""
	}
	x, err := e.Explain(ctx, q, a)
	if err != nil {
		return fmt.Sprintf("\nexplain: %v", err)
	}
	return fmt.Sprintf("\nstatement: %s\nprocess: %q\nplan:\n  %s", x.Statement, x.Process, strings.Join(x.Plan, "\n  "))
}
