package store

import (
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/shape"
)

// stage is one version of a type on its way to the present one.
type stage struct {
	typ   *shape.Type // of that version: what the step into it makes must fit
	since int64       // the first commit that can hold rows of it
	step  step        // from the stage before; the first stage has none
}

// chain is the versions of a type, oldest first. The versions of a type that it
// was renamed from stand in front of its own.
//
// A migration rewrites whatever lives and does not fit the new version as it
// is. So all that lives at a commit fits the version that was the newest then,
// whatever version it was written for.
type chain struct {
	stages []stage
	ready  int   // from this stage on, fields stay as they are until the last
	start  int64 // what earlier commits hold under the first name is another type's; 0 if there was none
}

// newChain puts the versions of a type together. All is what is stored of every
// type.
func newChain(all []onto.SchemaVersion, last onto.SchemaVersion, given upgraders) *chain {
	c := &chain{}
	for i, v := range ancestry(all, last) {
		if i == 0 && v.Version > 1 {
			c.start = v.Since
		}
		s := stage{typ: &shape.Type{Schema: v.Schema, Version: v.Version}, since: v.Since}
		if n := len(c.stages); n > 0 {
			s.step = newStep(c.stages[n-1].typ, &v, given)
		}
		c.stages = append(c.stages, s)
	}
	c.settle()
	return c
}

// settle finds from where on fields stay as they are.
func (c *chain) settle() {
	c.ready = len(c.stages) - 1
	for c.ready > 0 && c.stages[c.ready].step.plain {
		c.ready--
	}
}

// plain reports whether there is nothing to know about the past.
func (c *chain) plain() bool { return len(c.stages) == 1 && c.start == 0 }

// begun reports whether the type was there as of a commit.
func (c *chain) begun(commit int64) bool { return commit == backend.Head || commit >= c.start }

// ancestry returns the versions that lead to the last one of a type, oldest
// first. What was called the same before and came to an end is another type.
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
			break // a circle, which no migration makes
		}
	}
	slices.Reverse(list)
	return list
}

// renamedFrom reports whether a version is what the type of that name became.
func renamedFrom(v *onto.SchemaVersion, name string) bool {
	return v.Upgrader != nil && v.Upgrader.RenamedFrom == name
}

// at returns the stage that was the newest as of a commit.
func (c *chain) at(commit int64) int {
	if commit == backend.Head {
		return len(c.stages) - 1
	}
	i := len(c.stages) - 1
	for i > 0 && c.stages[i].since > commit {
		i--
	}
	return i
}

// of returns the stage that a version's fields fit, as of a commit.
func (c *chain) of(v *onto.Version, commit int64) int {
	i := c.at(commit)
	if v.Commit < c.stages[i].since {
		return i
	}
	for j := i; j >= 0; j-- { // an older one only if another program wrote it
		if t := c.stages[j].typ; t.Version == v.SchemaVersion && t.Schema.Name == v.Type {
			return j
		}
	}
	return i
}

// native reports whether all that a query reads is stored as the last stage has
// it, under its name.
func (c *chain) native(q *backend.Query) bool {
	if q.Mode == backend.History {
		return (c.ready == 0 || q.Since+1 >= c.stages[c.ready].since) && (c.start == 0 || q.Since+1 >= c.start)
	}
	return c.at(q.At) >= c.ready && c.begun(q.At)
}

// source returns the name that the type had as of a commit.
func (c *chain) source(commit int64) string { return c.stages[c.at(commit)].typ.Schema.Name }

// span is a range of commits, both ends included, in which a type had one name.
type span struct {
	name        string
	first, last int64 // last may be backend.Head
}

// spans splits the commits by the name that the type had.
func (c *chain) spans() []span {
	var list []span
	for i, s := range c.stages {
		name := s.typ.Schema.Name
		switch n := len(list); {
		case i == 0:
			list = append(list, span{name, c.start, backend.Head})
		case list[n-1].name != name:
			list[n-1].last = s.since - 1
			list = append(list, span{name, s.since, backend.Head})
		}
	}
	return list
}
