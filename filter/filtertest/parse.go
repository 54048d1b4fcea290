package filtertest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Words of the corpus that are no keys.
const (
	wordAll     = "all"
	wordNone    = "none"
	wordBut     = "but"
	wordDeleted = "deleted"
)

// Parse reads a file of the corpus. Name stands in messages and case ids.
func Parse(name, text string) ([]Group, error) {
	p := parser{file: name}
	for line := range strings.Lines(text) {
		p.line++
		if err := p.read(strings.TrimSpace(line)); err != nil {
			return nil, onto.Errorf(onto.Invalid, "%s.txt:%d: %w", name, p.line, err)
		}
	}
	if err := p.end(); err != nil {
		return nil, onto.Errorf(onto.Invalid, "%s.txt:%d: %w", name, p.line, err)
	}
	return p.groups, nil
}

// parser reads a file line by line.
type parser struct {
	file   string
	line   int
	groups []Group
	group  *Group // nil between groups
}

func (p *parser) read(line string) error {
	if line == "" {
		return p.end()
	}
	if p.group == nil {
		p.group = &Group{File: p.file, Place: len(p.groups) + 1, Type: typeThing}
	}
	if about, ok := strings.CutPrefix(line, "#"); ok {
		return p.comment(strings.TrimSpace(about))
	}
	if p.group.About == "" {
		return fmt.Errorf("a group begins with a comment that says what it covers")
	}
	word, rest := cut(line)
	switch word {
	case "type":
		return p.setType(rest)
	case "row", "left", "right":
		return p.row(word, rest)
	}
	if i := separator(line); i >= 0 {
		return p.test(line, i)
	}
	return fmt.Errorf("%q is neither a row nor a case: a case has -> or !! with spaces around it", line)
}

// end ends the group that is being read.
func (p *parser) end() error {
	g := p.group
	if g == nil {
		return nil
	}
	if len(g.Cases) == 0 {
		return fmt.Errorf("the group %q has no cases", g.About)
	}
	p.groups, p.group = append(p.groups, *g), nil
	return nil
}

// comment adds to what a group is about. Further down a comment is a remark.
func (p *parser) comment(text string) error {
	if len(p.group.Rows)+len(p.group.Ends)+len(p.group.Cases) == 0 {
		p.group.About = strings.TrimSpace(p.group.About + " " + text)
	}
	return nil
}

func (p *parser) setType(name string) error {
	if len(p.group.Rows)+len(p.group.Ends)+len(p.group.Cases) > 0 {
		return fmt.Errorf("the type comes before rows and cases")
	}
	if _, known := partsOf()[name]; !known {
		return fmt.Errorf("type %q is unknown: use one of %s", name, strings.Join(slices.Sorted(maps.Keys(partsOf())), ", "))
	}
	p.group.Type = name
	return nil
}

// row reads a row or an endpoint.
func (p *parser) row(word, rest string) error {
	g := p.group
	if len(g.Cases) > 0 {
		return fmt.Errorf("rows come before cases")
	}
	key, fields := cut(rest)
	r := Row{Key: key, Deleted: fields == wordDeleted}
	if word != "row" {
		r.Side = onto.Side(word)
	}
	if err := g.checkKey(&r); err != nil {
		return err
	}
	if !r.Deleted {
		members, err := codec.ParseObject([]byte(fields))
		if err != nil {
			return fmt.Errorf("row %s: %w", key, err)
		}
		r.Fields = codec.AppendObject(nil, g.withKey(&r, members))
		if err := g.obeys(&r); err != nil {
			return fmt.Errorf("row %s: %w", key, err)
		}
	}
	return g.add(r)
}

// partsOf returns the types and how many parts their keys have.
func partsOf() map[string]int {
	return map[string]int{typeThing: 1, typeTyped: 1, typeTie: 2, typeBond: 3, typeClaim: 3, typeNote: 3}
}

// checkKey reports whether a key has the shape that its type wants.
func (g *Group) checkKey(r *Row) error {
	parts := strings.Split(r.Key, "/")
	want := partsOf()[g.typeOf(r)]
	switch {
	case r.Side != onto.OwnSide && !g.has(r.Side):
		return fmt.Errorf("%s has nothing at its %s", g.Type, r.Side)
	case r.Side == onto.OwnSide && r.Deleted:
		return fmt.Errorf("row %s: only endpoints can be deleted", r.Key)
	case len(parts) != want || slices.Contains(parts, ""):
		return fmt.Errorf("key %q: want %d parts with / between them for a %s", r.Key, want, g.typeOf(r))
	case r.Key == wordAll || r.Key == wordNone || r.Key == wordBut:
		return fmt.Errorf("key %q: this is a word of the corpus", r.Key)
	}
	return nil
}

// add keeps a row in order of its identity.
func (g *Group) add(r Row) error {
	list := &g.Rows
	if r.Side != onto.OwnSide {
		list = &g.Ends
	}
	for _, other := range *list {
		if other.Key == r.Key && g.typeOf(&other) == g.typeOf(&r) {
			return fmt.Errorf("row %s is given twice", r.Key)
		}
	}
	*list = append(*list, r)
	slices.SortFunc(*list, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Side, b.Side), slices.Compare(strings.Split(a.Key, "/"), strings.Split(b.Key, "/")))
	})
	return nil
}

// separator returns where the answer of a case begins, or -1. A filter may hold
// arrows in its strings, so the last one counts.
func separator(line string) int {
	return max(strings.LastIndex(line, " -> "), strings.LastIndex(line, " !! "))
}

// test reads a case.
func (p *parser) test(line string, at int) error {
	g := p.group
	c := Case{ID: fmt.Sprintf("%s.%d", g.Name(), len(g.Cases)+1), Line: p.line, Text: strings.TrimSpace(line[:at])}
	answer := strings.TrimSpace(line[at+len(" -> "):])
	if word, rest := cut(c.Text); word == "order" {
		c.Order, c.Text = true, rest
	}
	if strings.HasPrefix(line[at:], " !! ") {
		c.Refused = answer
		g.Cases = append(g.Cases, c)
		return nil
	}
	var err error
	if c.Want, err = g.answer(strings.Fields(answer)); err != nil {
		return err
	}
	if c.Order && len(c.Want) != len(g.Rows) {
		return fmt.Errorf("an order has all %d rows, not %d", len(g.Rows), len(c.Want))
	}
	if !c.Order {
		c.Want = g.inOrder(c.Want)
	}
	g.Cases = append(g.Cases, c)
	return nil
}

// answer reads the keys of an answer.
func (g *Group) answer(words []string) ([]string, error) {
	if len(g.Rows) == 0 {
		return nil, fmt.Errorf("the group has no rows to answer with")
	}
	if words[0] == wordNone && len(words) == 1 {
		return nil, nil
	}
	every, but := words[0] == wordAll, false
	if every {
		if but = len(words) > 2 && words[1] == wordBut; !but && len(words) > 1 {
			return nil, fmt.Errorf("after all comes nothing, or but and keys")
		}
		words = words[min(len(words), 2):]
	}
	for i, key := range words {
		if !slices.ContainsFunc(g.Rows, func(r Row) bool { return r.Key == key }) {
			return nil, fmt.Errorf("there is no row %s", key)
		}
		if slices.Contains(words[:i], key) {
			return nil, fmt.Errorf("row %s is in the answer twice", key)
		}
	}
	if !every {
		return words, nil
	}
	var rest []string
	for _, r := range g.Rows {
		if !slices.Contains(words, r.Key) {
			rest = append(rest, r.Key)
		}
	}
	return rest, nil
}

// inOrder returns keys in the order of the rows.
func (g *Group) inOrder(keys []string) []string {
	var list []string
	for _, r := range g.Rows {
		if slices.Contains(keys, r.Key) {
			list = append(list, r.Key)
		}
	}
	return list
}

// cut cuts the first word off a text.
func cut(text string) (word, rest string) {
	word, rest, _ = strings.Cut(text, " ")
	return word, strings.TrimSpace(rest)
}
