package care

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/upkeep"
)

// allUsage is the help of the flag that shows each finding.
const allUsage = "each finding, not only the first few of its kind and type"

// findings prints what a check finds, with remedies that name the store: in groups by
// kind and type at the end, or each at once.
type findings struct {
	*session.Session
	all    bool
	about  string                    // names the shard for people; "" for the only store
	shard  *string                   // names it for programs
	name   func(onto.Hint) onto.Hint // completes commands
	rows   *terminal.Array           // with --json
	groups upkeep.Groups
	n      int               // findings so far
	errors int               // of these
	known  map[string]string // the codes that were printed, with the last remedy that was shown
}

func newFindings(c *session.Session, all bool) *findings {
	return &findings{Session: c, all: all, name: c.Place().NameIn, rows: c.Array(), known: map[string]string{}}
}

// add takes the next finding.
func (l *findings) add(f onto.Finding) error {
	l.n++
	if f.Severity == onto.SeverityError {
		l.errors++
	}
	if !l.all {
		l.groups.Add(f)
		return nil
	}
	return l.each(f)
}

// each prints one finding.
func (l *findings) each(f onto.Finding) error {
	row := document.Explained{Finding: document.NewFinding(f, l.name(f.Remedy)), Explanation: f.Explanation}
	row.Shard = l.shard
	if l.JSON {
		return l.rows.Add(row)
	}
	return l.print(&row, row.Message)
}

// turn prints what was found so far, and goes on with findings about a shard, or about none.
// Commands are completed by name.
func (l *findings) turn(s *object.Shard, name func(onto.Hint) onto.Hint) error {
	err := l.rest()
	l.about, l.shard, l.name, l.known = "", nil, name, map[string]string{}
	if s != nil {
		called := cmp.Or(s.Name, s.URI)
		l.about, l.shard = s.String(), &called
	}
	return err
}

// rest prints the groups.
func (l *findings) rest() error {
	for _, g := range l.groups.List() {
		if err := l.group(g); err != nil {
			return err
		}
	}
	l.groups = upkeep.Groups{}
	return nil
}

// close prints the rest.
func (l *findings) close() error {
	if err := l.rest(); err != nil {
		return err
	}
	if l.JSON {
		return l.rows.Close()
	}
	return nil
}

// group prints a group. A few findings that are about no type have each its own message and
// remedy, so people see each.
func (l *findings) group(g *upkeep.Group) error {
	doc := document.NewFindingGroup(g, l.name)
	doc.Shard = l.shard
	switch {
	case l.JSON:
		return l.rows.Add(doc)
	case g.About.Name != "" || g.Count > int64(len(g.Examples)):
		return l.print(&doc.Explained, headline(g), others(g)...)
	}
	for _, f := range g.Examples {
		if err := l.each(f); err != nil {
			return err
		}
	}
	return nil
}

// stop prints what was found before the check failed. The error of the check matters more
// than one of printing.
func (l *findings) stop() {
	if l.n > 0 {
		_ = l.close()
	}
}

// findingRows is a list of findings, one in a row.
func findingRows(c *session.Session) *terminal.List[onto.Finding] {
	here := c.Place()
	return terminal.Rows(c.Printer, findingColumns(),
		func(f onto.Finding) document.Finding { return document.NewFinding(f, here.NameIn(f.Remedy)) },
		func(f onto.Finding) ([]string, error) {
			return []string{string(f.Severity), f.Code, f.Message, here.NameIn(f.Remedy).String()}, nil
		})
}

// groupRows is a list of findings, one group in a row.
func groupRows(c *session.Session) *terminal.List[*upkeep.Group] {
	here := c.Place()
	return terminal.Rows(c.Printer, findingColumns(),
		func(g *upkeep.Group) document.FindingGroup {
			return document.NewFindingGroup(g, here.NameIn)
		},
		func(g *upkeep.Group) ([]string, error) {
			return []string{string(g.Severity), g.Code, headline(g), here.NameIn(g.Examples[0].Remedy).String()}, nil
		})
}

func findingColumns() []terminal.Column {
	return terminal.WholeColumns("severity", "code", "message", "remedy")
}

// headline is what a group is about, on one line.
func headline(g *upkeep.Group) string {
	first := g.Examples[0]
	if g.Count == 1 {
		return first.Message
	}
	return fmt.Sprintf("%d of %s, such as: %s", g.Count, cmp.Or(g.About.Name, "them"), first.Message)
}

// others names the first few of a group, and tells how many more there are.
func others(g *upkeep.Group) []string {
	if g.Count == 1 {
		return nil
	}
	var names []string
	for _, f := range g.Examples[1:] {
		name := f.Message
		if f.About != (onto.Identity{Kind: f.About.Kind, Type: f.About.Type}) {
			name = f.About.String()
		}
		names = append(names, name)
	}
	line := "also: " + strings.Join(names, ", ")
	if more := g.Count - int64(len(g.Examples)); more > 0 {
		line += fmt.Sprintf(" and %d more; --all lists them", more)
	}
	return []string{line}
}

// print prints a finding or a group. A code is explained at its first finding, and a remedy
// is shown when it differs from the last.
func (l *findings) print(row *document.Explained, headline string, more ...string) error {
	colour := terminal.Yellow
	if row.Severity == onto.SeverityError {
		colour = terminal.Red
	}
	if l.about != "" {
		headline = l.about + ": " + headline
	}
	lines := []string{l.Out.Paint(colour, string(row.Severity)) + " " + l.Out.Paint(terminal.Bold, row.Code) + ": " + terminal.Escape(headline)}
	for _, line := range more {
		lines = append(lines, "  "+terminal.Escape(line))
	}
	told, known := l.known[row.Code]
	if !known {
		lines = append(lines, "  meaning: "+row.Explanation)
	}
	if !known || told != row.Remedy {
		lines = append(lines, "  remedy: "+terminal.Escape(row.Remedy))
	}
	l.known[row.Code] = row.Remedy
	for _, line := range lines {
		if err := l.Out.Line("%s", line); err != nil {
			return err
		}
	}
	return l.Out.Flush()
}
