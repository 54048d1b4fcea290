package upkeep

import (
	"github.com/ontologia/onto"
)

const (
	groupExamples = 5  // findings that a group keeps
	groupTypes    = 20 // types that have a group of their own, for each code
)

// Group is findings of one kind about one type.
type Group struct {
	Code     string
	Severity onto.Severity
	About    onto.TypeName // zero if they are about no type, or about several

	Count    int64
	Examples []onto.Finding // the first few
}

// Groups gathers findings by code, severity and type. It keeps the first few of each group
// and counts the rest, so it needs little room however many there are. The zero value is
// empty.
type Groups struct {
	list  []*Group // in the order of their first findings
	types map[groupKey]int
	by    map[groupKey]*Group
}

type groupKey struct {
	code     string
	severity onto.Severity
	about    onto.TypeName
}

// Add adds a finding.
func (g *Groups) Add(f onto.Finding) {
	if g.by == nil {
		g.by, g.types = map[groupKey]*Group{}, map[groupKey]int{}
	}
	kind := groupKey{code: f.Code, severity: f.Severity}
	key := kind
	key.about = f.About.TypeName()
	group := g.by[key]
	if group == nil && key != kind {
		if g.types[kind] == groupTypes {
			key = kind
			group = g.by[key]
		} else {
			g.types[kind]++
		}
	}
	if group == nil {
		group = &Group{Code: f.Code, Severity: f.Severity, About: key.about}
		g.by[key], g.list = group, append(g.list, group)
	}
	group.Count++
	if len(group.Examples) < groupExamples {
		group.Examples = append(group.Examples, f)
	}
}

// List is the groups, in the order of their first findings.
func (g *Groups) List() []*Group { return g.list }
