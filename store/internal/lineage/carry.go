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
	Made  []string // fields that the store computes anew, or does not compute any more, one line each
	Fit   []string // fields whose values may not fit any more, or have another form: each is looked at
	Moved []string // what becomes of the facts on some attributes, one line each
	Needs []string // what needs an upgrader, one line each; nil if none is needed
}

// Plain reports whether fields can stay as they are.
func (c Carry) Plain() bool { return len(c.Fill)+len(c.Made)+len(c.Fit)+len(c.Moved)+len(c.Needs) == 0 }

// How says what is done without an upgrader.
func (c Carry) How() string {
	var list []string
	if len(c.Fill) > 0 {
		list = append(list, "fill defaults of "+strings.Join(c.Fill, ", "))
	}
	list = append(list, c.Made...)
	if len(c.Fit) > 0 {
		list = append(list, "check "+strings.Join(c.Fit, ", "))
	}
	return strings.Join(append(list, c.Moved...), ", ")
}

// CarryOver compares two versions of a type. The names of the type and of a
// relation's endpoints do not matter: fields do not hold them.
func CarryOver(from, to onto.Schema) Carry {
	var c Carry
	if from.Key != to.Key {
		c.need("the key is %s and was %s", orNone(to.Key), orNone(from.Key))
	}
	if _, inside := to.Field(to.InstanceKey); from.InstanceKey != to.InstanceKey && inside {
		c.need("the instance key is %s and was %s", orNone(to.InstanceKey), orNone(from.InstanceKey))
	}
	for i := range to.Fields {
		t := &to.Fields[i]
		f, had := from.Field(t.Name)
		if !had && from.Open && !onto.ReservedAttribute(t.Name) {
			c.Moved = append(c.Moved, t.Name+" is declared: its values get a field of their own")
		}
		if !had {
			c.added(t, t.Name)
		} else {
			c.field(&f, t, t.Name)
		}
	}
	for _, f := range from.Fields {
		if _, has := to.Field(f.Name); has {
			continue
		}
		switch {
		case f.Compute != nil:
			c.Made = append(c.Made, "leave out "+f.Name)
		case to.Kind != onto.KindFact:
			c.need("%s is gone", f.Name)
		case f.Name == onto.FactValue:
			c.Moved = append(c.Moved, "facts on attributes that are not declared are left out")
		case to.Open:
			c.Moved = append(c.Moved, f.Name+" is not declared any more: its values go to the field "+onto.FactValue)
		default:
			c.Moved = append(c.Moved, "facts on "+f.Name+" are left out")
		}
	}
	text := onto.ComputeText.FieldName()
	if _, has := to.Field(text); has && !slices.Contains(c.Made, made(text)) && becomesText(&onto.Field{Fields: from.Fields}, &onto.Field{Fields: to.Fields}) {
		c.Made = append(c.Made, made(text))
	}
	slices.Sort(c.Fill)
	return c
}

// made says that a field is computed anew.
func made(name string) string { return "compute " + name }

// becomesText reports whether a value that is declared as a time or a date, and so is no text,
// is one in the other declaration, in which anything can stand.
func becomesText(f, t *onto.Field) bool {
	if f == nil {
		return false
	}
	if t == nil {
		t = &onto.Field{Type: onto.Any}
	}
	if f.Type == onto.Time || f.Type == onto.DateOnly {
		return t.Type == onto.Any
	}
	return becomesText(f.Items, t.Items) || becomesText(f.Values, t.Values) || slices.ContainsFunc(f.Fields, func(inner onto.Field) bool {
		other, _ := t.Inner(inner.Name)
		return becomesText(&inner, other)
	})
}

func (c *Carry) need(format string, args ...any) {
	c.Needs = append(c.Needs, fmt.Sprintf(format, args...))
}

// added is for a field that is new.
func (c *Carry) added(t *onto.Field, path string) {
	switch {
	case t.Optional:
	case t.Compute != nil:
		c.Made = append(c.Made, made(path))
	case t.Default != nil:
		c.Fill = append(c.Fill, path)
	default:
		c.need("%s is required and new", path)
	}
}

// field compares two declarations of a field.
func (c *Carry) field(f, t *onto.Field, path string) {
	switch {
	case t.Compute != nil && f.Compute != nil && *t.Compute != *f.Compute:
		if c.Made = append(c.Made, made(path)); t.Compute.Rule == onto.ComputeKey {
			c.need("the rule of the key %s has changed", path)
		}
		return
	case !f.Type.Within(t.Type):
		c.need("%s is %s and was %s", path, t.Type, f.Type)
		return
	case t.Optional || !f.Optional:
	case t.Default != nil:
		c.Fill = append(c.Fill, path)
	default:
		c.need("%s is required and was optional", path)
	}
	c.inside(f, t, path)
}

// inside compares what is inside the values of two declarations of a field.
func (c *Carry) inside(f, t *onto.Field, path string) {
	switch {
	case !f.EnumWithin(t):
		c.Fit = append(c.Fit, path)
	case t.Items == nil && t.Values == nil && t.Fields == nil:
	case f.Items != nil && t.Items != nil:
		c.element(f.Items, t.Items, path+"[]")
	case f.Values != nil && t.Values != nil:
		c.element(f.Values, t.Values, path+"{}")
	case f.Fields != nil && t.Fields != nil:
		c.fields(f, t, path)
	default: // anything could be inside, and now it is declared
		c.Fit = append(c.Fit, path)
	}
}

func (c *Carry) element(f, t *onto.Field, path string) {
	switch {
	case !f.Type.Within(t.Type):
		c.need("%s is %s and was %s", path, t.Type, f.Type)
	case f.Optional && !t.Optional:
		c.Fit = append(c.Fit, path)
		fallthrough
	default:
		c.inside(f, t, path)
	}
}

// fields compares the fields of an object below the top.
func (c *Carry) fields(from, to *onto.Field, path string) {
	for i := range to.Fields {
		t := &to.Fields[i]
		if f, had := from.Inner(t.Name); had {
			c.field(f, t, onto.FieldPath(path, t.Name))
		} else {
			c.added(t, onto.FieldPath(path, t.Name))
		}
	}
	for _, f := range from.Fields {
		if _, has := to.Inner(f.Name); !has {
			c.need("%s is gone", onto.FieldPath(path, f.Name))
		}
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
