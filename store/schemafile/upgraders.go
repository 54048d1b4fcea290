package schemafile

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Upgrader is a step between two versions of a type in an upgraders file. Its parts are
// applied in this order: rename, drop, default, program. Fields inside others are named by
// their path, such as home.city, lines[].qty and prices{}.net.
type Upgrader struct {
	Type        string
	From        int    // the version whose fields it takes
	RenamedFrom string // the former name of the type; From is 0 then

	Rename  [][2]string // fields: old name, new name
	Drop    []string    // fields
	Default []Default   // what fields have that are absent
	Program string      // jq; "" for none
}

// Default is a value for a field that is absent.
type Default struct {
	Field string
	Value json.RawMessage // canonical JSON
}

// ParseUpgraders returns what an upgraders file says, in its order. Errors name
// line, column and path.
//
//	Customer:
//	  1: '.tier //= "Silver"'          # a jq program: fields of version 1 in, of version 2 out
//	  2: {rename: {name: full_name}, drop: [fax], jq: '.seats |= . + 1'}
//	  3: {rename: {home.city: home.town, 'lines[].qty': 'lines[].quantity'}, default: {home.zip: 0}}
//	Client:
//	  renamed_from: Company            # Client is what Company was
//	  jq: 'del(.vat)'
func ParseUpgraders(data []byte) ([]Upgrader, error) {
	root, err := parseTree(data)
	if err != nil {
		return nil, err
	}
	types, err := root.object("")
	if err != nil {
		return nil, err
	}
	var list []Upgrader
	for _, t := range types {
		if t.name == "" {
			return nil, t.fail(t.name, "the name of the type is empty").WithHint("name a type of the schema file")
		}
		steps, err := readSteps(t)
		if err != nil {
			return nil, err
		}
		list = append(list, steps...)
	}
	return list, nil
}

// ReadUpgraders is ParseUpgraders for a stream. It reads no more than MaxSize
// allows.
func ReadUpgraders(r io.Reader) ([]Upgrader, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, onto.Errorf(onto.Unavailable, "read upgraders file: %w", err)
	}
	return ParseUpgraders(data)
}

// readSteps reads what stands under a type: numbers of versions, and how it got
// its name.
func readSteps(t member) ([]Upgrader, error) {
	members, err := t.value.object(t.name)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, t.fail(t.name, "there is no step").WithHint("write the number of a version and a jq program: 1: '.tier = \"Silver\"'")
	}
	renaming := Upgrader{Type: t.name}
	var first *member // of those that are about the renaming
	var list []Upgrader
	for i, m := range members {
		path := join(t.name, m.name)
		version, err := strconv.Atoi(m.name)
		if err != nil {
			if first == nil {
				first = &members[i]
			}
			if err := renaming.read(m, t.name, true); err != nil {
				return nil, err
			}
			continue
		}
		if version < 1 || strconv.Itoa(version) != m.name {
			return nil, m.fail(path, "%.20q is not the number of a version", m.name).WithHint("versions start at 1")
		}
		u := Upgrader{Type: t.name, From: version}
		if err := u.readStep(m.value, path); err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	if first == nil {
		return list, nil
	}
	if renaming.RenamedFrom == "" {
		return nil, first.fail(join(t.name, first.name), "this is about a renaming, and renamed_from is missing").
			WithHint("put it under the number of a version: 1: {%s: …}", first.name)
	}
	return append([]Upgrader{renaming}, list...), nil
}

// readStep reads a step: a program, or an object.
func (u *Upgrader) readStep(v *node, path string) error {
	if v.kind == codec.String {
		u.Program = v.text
		return u.checkProgram(v, path)
	}
	if v.kind != codec.Object || len(v.members) == 0 {
		return v.fail(path, "expected a jq program, or rename, drop, default and jq, found %s", v.found())
	}
	for _, m := range v.members {
		if err := u.read(m, path, false); err != nil {
			return err
		}
	}
	if u.Program == "" && len(u.Rename)+len(u.Drop)+len(u.Default) == 0 {
		return v.fail(path, "the step does nothing").WithHint("leave it out, or write a jq program")
	}
	return nil
}

// read reads one key of a step or of a renaming.
func (u *Upgrader) read(m member, path string, renaming bool) error {
	inner := join(path, m.name)
	known := []string{"rename", "drop", "default", "jq"}
	if renaming {
		known = append(known, "renamed_from")
	}
	switch {
	case m.name == "rename":
		return u.readRename(m.value, inner)
	case m.name == "drop":
		return u.readDrop(m.value, inner)
	case m.name == "default":
		return u.readDefaults(m.value, inner)
	case m.name == "jq":
		if m.value.kind != codec.String {
			return m.value.fail(inner, "expected a jq program, found %s", m.value.found())
		}
		u.Program = m.value.text
		return u.checkProgram(m.value, inner)
	case m.name == "renamed_from" && renaming:
		return storedName(&u.RenamedFrom)(m.value, inner)
	case m.name == "renamed_from":
		return m.fail(path, "a type is not renamed by a version").WithHint("put renamed_from beside the versions, directly under the type")
	}
	return m.fail(path, "unknown key %.80q", m.name).WithHint("%s", suggestion(m.name, known))
}

func (u *Upgrader) checkProgram(v *node, path string) error {
	if u.Program == "" {
		return v.fail(path, "the jq program is empty").WithHint("write . to take the fields as they are")
	}
	return nil
}

func (u *Upgrader) readRename(v *node, path string) error {
	members, err := v.object(path)
	if err != nil {
		return err
	}
	for _, m := range members {
		var to string
		if err := storedName(&to)(m.value, join(path, m.name)); err != nil {
			return err
		}
		u.Rename = append(u.Rename, [2]string{m.name, to})
	}
	return nil
}

func (u *Upgrader) readDefaults(v *node, path string) error {
	members, err := v.object(path)
	if err != nil {
		return err
	}
	for _, m := range members {
		at := join(path, m.name)
		value, err := m.value.canonical(at)
		if err != nil {
			return err
		}
		if m.value.kind == codec.Null {
			return m.value.fail(at, "null is no default").WithHint("leave it out")
		}
		u.Default = append(u.Default, Default{m.name, value})
	}
	return nil
}

func (u *Upgrader) readDrop(v *node, path string) error {
	if v.kind != codec.List {
		return v.fail(path, "expected a list of fields, found %s", v.found()).WithHint("write: drop: [fax]")
	}
	for i, item := range v.items {
		var field string
		if err := storedName(&field)(item, joinItem(path, i)); err != nil {
			return err
		}
		u.Drop = append(u.Drop, field)
	}
	return nil
}
