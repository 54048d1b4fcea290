package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// edit is what an upgrader does to one field, at any depth: it moves it to another name, drops
// it, or gives it a value where it has none.
type edit struct {
	field, to string
	value     json.RawMessage // the default; nil otherwise
}

// RenameField is the upgrader that moves a field to another name. Fields inside others are
// named by their path: home.city, lines[].qty for the elements of a list, prices{}.net for
// the values of a map. Old and new path lead into the same objects, or through objects only.
func RenameField(typ string, from int, old, to string) Upgrader {
	return Upgrader{
		Type: typ, From: from, Note: "rename field " + old + " to " + to,
		Program: renameProgram(parseSteps(old), parseSteps(to)), edits: []edit{{field: old, to: to}},
	}
}

// DropField is the upgrader that leaves out a field, which is named as for [RenameField].
// History keeps its values.
func DropField(typ string, from int, field string) Upgrader {
	within, name := parseSteps(field).split()
	return Upgrader{
		Type: typ, From: from, Note: "drop field " + field,
		Program: within.change("del(.[" + jqName(name) + "])"), edits: []edit{{field: field}},
	}
}

// DefaultField is the upgrader that gives a field a value, in JSON, where it has none. The
// field is named as for [RenameField].
func DefaultField(typ string, from int, field string, value json.RawMessage) Upgrader {
	within, name := parseSteps(field).split()
	at := ".[" + jqName(name) + "]"
	return Upgrader{
		Type: typ, From: from, Note: fmt.Sprintf("default %s of field %s", value, field),
		Program: within.change(fmt.Sprintf("if %s == null then %s = %s else . end", at, at, value)),
		edits:   []edit{{field: field, value: value}},
	}
}

// steps lead from the fields of a thing to a field: names, and [] or {} for each element of a
// list or value of a map.
type steps []string

const (
	eachElement = "[]"
	eachValue   = "{}"
)

// parseSteps reads a path as [onto.FieldPath] writes it. A name in quotes may have any
// characters.
func parseSteps(path string) steps {
	var list steps
	for path != "" {
		switch {
		case strings.HasPrefix(path, eachElement), strings.HasPrefix(path, eachValue):
			list, path = append(list, path[:2]), path[2:]
		case path[0] == '.' && len(list) > 0:
			path = path[1:]
		case path[0] == '"':
			end := endOfName(path)
			list, path = append(list, nameStep(codec.Unquote([]byte(path[:end])))), path[end:]
		default:
			end := strings.IndexAny(path, ".[{")
			if end <= 0 {
				end = len(path)
			}
			list, path = append(list, nameStep(path[:end])), path[end:]
		}
	}
	return list
}

// endOfName is where a quoted name at the start of a path ends.
func endOfName(path string) int {
	for i := 1; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(path)
}

// nameStep is the step to a field of an object. The dot tells a name from what is done for each.
func nameStep(name string) string { return "." + name }

// split returns the steps to the object that has the field, and the field's name.
func (s steps) split() (within steps, name string) {
	if len(s) == 0 {
		return nil, ""
	}
	return s[:len(s)-1], strings.TrimPrefix(s[len(s)-1], ".")
}

// plain reports whether the steps lead through objects only.
func (s steps) plain() bool {
	for _, step := range s {
		if step == eachElement || step == eachValue {
			return false
		}
	}
	return true
}

// change is a jq program that changes each object that the steps lead to by another program.
// Where they lead nowhere, nothing changes.
func (s steps) change(program string) string {
	if len(s) == 0 {
		return program
	}
	return "(" + s.objects() + ") |= (" + program + ")"
}

// objects is the jq path of the objects that the steps lead to.
func (s steps) objects() string {
	parts := []string{}
	for _, step := range s {
		switch step {
		case eachElement:
			parts = append(parts, "arrays", ".[]")
		case eachValue:
			parts = append(parts, "objects", ".[]")
		default:
			parts = append(parts, "objects", ".["+jqName(step[1:])+"]")
		}
	}
	return strings.Join(append(parts, "objects"), " | ")
}

// path is the steps as a list for jq's getpath and setpath.
func (s steps) path() string {
	names := make([]string, len(s))
	for i, step := range s {
		names[i] = jqName(step[1:])
	}
	return "[" + strings.Join(names, ",") + "]"
}

func renameProgram(old, to steps) string {
	within, from := old.split()
	target, name := to.split()
	if old.plain() && to.plain() && within.path() != target.path() {
		return fmt.Sprintf("if ([%s | has(%s)] | any) then setpath(%s; getpath(%s)) | delpaths([%s]) else . end",
			within.objects(), jqName(from), to.path(), old.path(), old.path())
	}
	o, n := jqName(from), jqName(name)
	return within.change(fmt.Sprintf("if has(%s) then .[%s] = .[%s] | del(.[%s]) else . end", o, n, o, o))
}

// lookup finds the field that steps lead to in a schema; nil if there is none, or if what is
// on the way is not declared.
func (s steps) lookup(schema *onto.Schema) *onto.Field {
	at := &onto.Field{Type: onto.Object, Fields: schema.Fields}
	for _, step := range s {
		switch {
		case at == nil:
			return nil
		case step == eachElement:
			at = at.Items
		case step == eachValue:
			at = at.Values
		default:
			at, _ = at.Inner(step[1:])
		}
	}
	return at
}

// checkEdits refuses edits that do not fit the type.
func (u *Upgrader) checkEdits(from *onto.Schema) error {
	for i, e := range u.edits {
		if from.Kind == onto.KindFact && len(parseSteps(e.field)) < 2 {
			return onto.Errorf(onto.Invalid, "%s: the attribute %s of facts can be neither renamed nor dropped by an upgrader: it is a part of what they are", u.step(), e.field).
				WithHint("to drop it, retract the facts on it and leave it out of the type; to rename it, assert them under the new name first")
		}
		if err := u.checkEdit(from, e, u.edits[:i]); err != nil {
			return err
		}
	}
	return nil
}

// checkEdit checks an edit that comes after others.
func (u *Upgrader) checkEdit(from *onto.Schema, e edit, before []edit) error {
	fields := map[string]bool{} // what earlier edits have made and taken away
	for _, b := range before {
		if b.value == nil {
			fields[b.field] = false
		}
		if b.to != "" {
			fields[b.to] = true
		}
	}
	has := func(path string) bool {
		if there, known := fields[path]; known {
			return there
		}
		return parseSteps(path).lookup(from) != nil
	}
	steps := parseSteps(e.field)
	switch {
	case e.value != nil && !json.Valid(e.value):
		return onto.Errorf(onto.Invalid, "%s: the default %.80s of %s is not JSON", u.step(), e.value, e.field)
	case e.value != nil:
		return nil // it may be a field that is new
	case !has(e.field):
		return u.noField(from, steps, e.field)
	case e.to == "":
		return nil
	case has(e.to):
		return onto.Errorf(onto.Invalid, "%s: %s cannot be renamed to %s, which is there already", u.step(), e.field, e.to).
			WithHint("drop %s first, or write a program that puts both together", e.to)
	}
	to := parseSteps(e.to)
	within, _ := steps.split()
	target, _ := to.split()
	if strings.Join(within, "") != strings.Join(target, "") && (!steps.plain() || !to.plain()) {
		return onto.Errorf(onto.Invalid, "%s: %s cannot be renamed to %s: they are not in the same object", u.step(), e.field, e.to).
			WithHint("a field of a list's elements or a map's values keeps its place; to move it, write a program")
	}
	return nil
}

// noField is the error for a field that the type does not have.
func (u *Upgrader) noField(from *onto.Schema, path steps, field string) error {
	err := onto.Errorf(onto.Invalid, "%s: there is no field %s", u.step(), field)
	within, name := path.split()
	at := within.lookup(from)
	if at == nil {
		return err.WithHint("paths are written like home.city, lines[].qty and prices{}.net")
	}
	var names []string
	for _, f := range at.Fields {
		names = append(names, f.Name)
	}
	return unknownField(err, name, names)
}
