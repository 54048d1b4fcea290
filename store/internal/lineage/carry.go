package lineage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
)

// Carry is how fields of one version of a type become those of another without
// an upgrader.
type Carry struct {
	Fill  []string // fields that get their default where they are absent, sorted
	Moved []string // what becomes of the facts on some attributes, one line each
	Needs []string // what needs an upgrader, one line each; nil if none is needed
}

// Plain reports whether fields can stay as they are.
func (c Carry) Plain() bool { return len(c.Fill)+len(c.Moved)+len(c.Needs) == 0 }

// How says what is done without an upgrader.
func (c Carry) How() string {
	var list []string
	if len(c.Fill) > 0 {
		list = append(list, "fill defaults of "+strings.Join(c.Fill, ", "))
	}
	return strings.Join(append(list, c.Moved...), ", ")
}

// CarryOver compares two versions of a type. The names of the type and of a
// relation's endpoints do not matter: fields do not hold them.
func CarryOver(from, to onto.Schema) Carry {
	var c Carry
	need := func(format string, args ...any) { c.Needs = append(c.Needs, fmt.Sprintf(format, args...)) }
	if from.Key != to.Key {
		need("the key is %s and was %s", orNone(to.Key), orNone(from.Key))
	}
	if _, inside := to.Field(to.InstanceKey); from.InstanceKey != to.InstanceKey && inside {
		need("the instance key is %s and was %s", orNone(to.InstanceKey), orNone(from.InstanceKey))
	}
	for _, t := range to.Fields {
		f, had := from.Field(t.Name)
		if !had && from.Open && !onto.ReservedAttribute(t.Name) {
			c.Moved = append(c.Moved, t.Name+" is declared: its values get a field of their own")
		}
		switch {
		case had && !f.Type.Within(t.Type):
			need("%s is %s and was %s", t.Name, t.Type, f.Type)
		case t.Optional || had && !f.Optional:
		case t.Default != nil:
			c.Fill = append(c.Fill, t.Name)
		case had:
			need("%s is required and was optional", t.Name)
		default:
			need("%s is required and new", t.Name)
		}
	}
	for _, f := range from.Fields {
		if _, has := to.Field(f.Name); has {
			continue
		}
		switch {
		case to.Kind != onto.KindFact:
			need("%s is gone", f.Name)
		case f.Name == onto.FactValue:
			c.Moved = append(c.Moved, "facts on attributes that are not declared are left out")
		case to.Open:
			c.Moved = append(c.Moved, f.Name+" is not declared any more: its values go to the field "+onto.FactValue)
		default:
			c.Moved = append(c.Moved, "facts on "+f.Name+" are left out")
		}
	}
	slices.Sort(c.Fill)
	return c
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
