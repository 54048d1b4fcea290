package filtertest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

//go:embed corpus/*.txt
var files embed.FS

// Group is some cases about the same rows.
type Group struct {
	File  string // its name without folder and ending
	Place int    // among the groups of its file, from 1
	About string // the sentence that it covers
	Type  string // Thing, Typed, Tie, Bond, Claim or Note
	Rows  []Row  // in order of identity
	Ends  []Row  // the endpoints of relations, the subjects of facts
	Cases []Case
}

// Row is an entity, a relation or a fact of a group.
type Row struct {
	Side    onto.Side       // of an endpoint
	Key     string          // L/R or L/R/I for a relation, S/A/I for a fact
	Fields  json.RawMessage // canonical, with the key of an entity; nil if it is deleted
	Deleted bool            // it was deleted
}

// Case is a question and its answer.
type Case struct {
	ID      string   // file, group and case, as numbers 2.7
	Line    int      // in the file
	Text    string   // the filter; for an order its operands, separated by commas
	Order   bool     // it is about order
	Want    []string // the keys of the rows, in order
	Refused string   // what the error says; "" if there is none
}

// Corpus returns all groups.
func Corpus() ([]Group, error) {
	names, err := fs.Glob(files, "corpus/*.txt")
	if err != nil {
		return nil, err
	}
	var all []Group
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		groups, err := Parse(strings.TrimSuffix(path.Base(name), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, groups...)
	}
	return all, nil
}

// Name identifies a group.
func (g *Group) Name() string { return fmt.Sprintf("%s %d", g.File, g.Place) }

// End returns the fields of an endpoint of a relation, nil if there is none.
func (g *Group) End(side onto.Side, relation string) json.RawMessage {
	left, rest, _ := strings.Cut(relation, "/")
	right, _, _ := strings.Cut(rest, "/")
	key := left
	if side == onto.RightSide {
		key = right
	}
	for _, e := range g.Ends {
		if e.Key == key && g.endType(e.Side) == g.endType(side) {
			return e.Fields
		}
	}
	return nil
}

// Match is a row as a filter sees it.
func (g *Group) Match(r *Row) *filter.Row {
	seen := filter.Row{Own: r.Fields}
	if g.has(onto.LeftSide) {
		seen.Left = g.End(onto.LeftSide, r.Key)
	}
	if g.has(onto.RightSide) {
		seen.Right = g.End(onto.RightSide, r.Key)
	}
	return &seen
}

// Filter reads and checks the filter of a case.
func (c *Case) Filter(s *filter.Scope) (onto.Filter, error) {
	f, err := filter.Parse(c.Text)
	if err != nil {
		return nil, err
	}
	return filter.Check(f, s)
}

// Orders reads and checks the operands of a case about order.
func (c *Case) Orders(s *filter.Scope) ([]onto.Order, error) {
	var list []onto.Order
	for text := range strings.SplitSeq(c.Text, ",") {
		o, err := filter.ParseOrder(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if o.Operand, err = filter.CheckOperand(o.Operand, s); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}
