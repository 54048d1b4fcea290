// Package lineage is how the versions of a type lead from one to the next: which
// there are, which was the newest as of a commit, under which name its things are
// stored, and the steps that bring them to the present one.
package lineage

import (
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/shape"
)

// Stage is one version of a type on its way to the present one.
type Stage struct {
	Type  *shape.Type // of that version: the result of the step into it must fit
	Since int64       // the first commit that can hold rows of it
	Step  Step        // from the stage before; the first stage has none
}

// Chain is the versions of a type, oldest first. The versions of a type that it
// was renamed from stand in front of its own.
//
// A migration rewrites all live things that do not fit the new version as they are. So
// everything that is live at a commit fits the version that was the newest then,
// whatever version it was written for.
type Chain struct {
	Stages []Stage
	Start  int64 // earlier commits hold another type under the first name; 0 if there was none

	ready int // from this stage on, fields stay as they are until the last
}

// New links the versions of a type. All is the stored versions of every type.
func New(all []onto.SchemaVersion, last onto.SchemaVersion, given Functions) *Chain {
	c := &Chain{}
	for i, v := range ancestry(all, last) {
		if i == 0 && v.Version > 1 {
			c.Start = v.Since
		}
		t := shape.New(v.Schema, v.Version)
		s := Stage{Type: &t, Since: v.Since}
		if n := len(c.Stages); n > 0 {
			s.Step = newStep(c.Stages[n-1].Type, &v, given)
		}
		c.Stages = append(c.Stages, s)
	}
	c.settle()
	return c
}

// settle finds from which stage on fields stay as they are.
func (c *Chain) settle() {
	c.ready = len(c.Stages) - 1
	for c.ready > 0 && c.Stages[c.ready].Step.Plain {
		c.ready--
	}
}

// Plain reports whether there was only ever one version.
func (c *Chain) Plain() bool { return len(c.Stages) == 1 && c.Start == 0 }

// Begun reports whether the type existed as of a commit.
func (c *Chain) Begun(commit int64) bool { return commit == backend.Head || commit >= c.Start }

// ancestry returns the versions that lead to the last one of a type, oldest first. A
// type of the same name that ended before is another type.
func ancestry(all []onto.SchemaVersion, last onto.SchemaVersion) []onto.SchemaVersion {
	var list []onto.SchemaVersion
	kind, name, version := last.Schema.Kind, last.Schema.Name, last.Version
	for i := len(all) - 1; i >= 0 && version > 0; i-- {
		v := all[i]
		if v.Schema.Kind != kind || v.Schema.Name != name || v.Version != version {
			continue
		}
		if n := len(list); n > 0 && v.End != nil && !renamedFrom(&list[n-1], name) {
			break
		}
		list = append(list, v)
		version--
		if u := v.Upgrader; u != nil && u.RenamedFrom != "" {
			name, version = u.RenamedFrom, u.FromVersion
			i = len(all) // the other name may stand anywhere
		}
		if len(list) > len(all) {
			break // a cycle, which no migration makes
		}
	}
	slices.Reverse(list)
	return list
}

// renamedFrom reports whether a version is what the type of that name became.
func renamedFrom(v *onto.SchemaVersion, name string) bool {
	return v.Upgrader != nil && v.Upgrader.RenamedFrom == name
}

// At returns the stage that was the newest as of a commit.
func (c *Chain) At(commit int64) int {
	if commit == backend.Head {
		return len(c.Stages) - 1
	}
	i := len(c.Stages) - 1
	for i > 0 && c.Stages[i].Since > commit {
		i--
	}
	return i
}

// Ready reports whether all that is live as of a commit has the fields and the name of
// the last stage.
func (c *Chain) Ready(commit int64) bool { return c.At(commit) >= c.ready }

// Began reports whether a commit is the first that can hold rows of one of the
// versions.
func (c *Chain) Began(commit int64) bool {
	return slices.ContainsFunc(c.Stages, func(s Stage) bool { return s.Since == commit })
}

// LeavesOut reports whether a version that was read as of a commit is of a fact on an
// attribute that a later version of its type does not have: such facts are shown as
// stored only.
func (c *Chain) LeavesOut(v *onto.Version, commit int64) bool {
	if v.Kind != onto.KindFact {
		return false
	}
	for i := c.At(commit) + 1; i < len(c.Stages); i++ {
		if _, ok := c.Stages[i].Type.Schema.Attribute(v.Right); !ok {
			return true
		}
	}
	return false
}

// Native reports whether all that a query reads is stored in the form of the last
// stage, under its name.
func (c *Chain) Native(q *backend.Query) bool {
	if q.Mode == backend.History {
		return (c.ready == 0 || q.Since+1 >= c.Stages[c.ready].Since) && (c.Start == 0 || q.Since+1 >= c.Start)
	}
	return c.Ready(q.At) && c.Begun(q.At)
}

// Source returns the name that the type had as of a commit.
func (c *Chain) Source(commit int64) string { return c.Stages[c.At(commit)].Type.Schema.Name }

// Span is a range of commits, both ends included, in which a type had one name.
type Span struct {
	Name        string
	First, Last int64 // Last may be backend.Head
}

// Spans splits the commits by the name that the type had.
func (c *Chain) Spans() []Span {
	var list []Span
	for i, s := range c.Stages {
		name := s.Type.Schema.Name
		switch n := len(list); {
		case i == 0:
			list = append(list, Span{name, c.Start, backend.Head})
		case list[n-1].Name != name:
			list[n-1].Last = s.Since - 1
			list = append(list, Span{name, s.Since, backend.Head})
		}
	}
	return list
}

// Redefined reports whether an upgrader gave fields another meaning after one commit and
// up to another.
func (c *Chain) Redefined(from, to int64) bool {
	for i := c.At(from) + 1; i <= c.At(to); i++ {
		if s := &c.Stages[i].Step; !s.Plain && !s.Fill {
			return true
		}
	}
	return false
}
