package lineage

import (
	"fmt"
	"slices"

	"github.com/ontologia/onto"
)

// Carry is how fields of one version of a type become those of another without
// an upgrader.
type Carry struct {
	Fill  []string // fields that get their default where they are absent, sorted
	Needs []string // what needs an upgrader, one line each; nil if none is needed
}

// Plain reports whether fields can stay as they are.
func (c Carry) Plain() bool { return len(c.Fill)+len(c.Needs) == 0 }

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
		if _, has := to.Field(f.Name); !has {
			need("%s is gone", f.Name)
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
