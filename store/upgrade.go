package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/jq"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/lineage"
)

// DefaultUpgradeTimeout is how long an upgrader may take for one thing.
const DefaultUpgradeTimeout = 3 * time.Second

// Upgrader turns fields of one version of a type into those of the next. It is a jq
// program, which is kept in the store, or a Go function, which each program that reads
// older versions gives to Options.Upgraders. A program in the store takes precedence: a
// function for the same step is not called.
//
// An upgrader depends on nothing but its input and leaves the key alone.
type Upgrader struct {
	Type string
	From int // the version whose fields it takes; it makes those of the next

	// RenamedFrom is the name that the type had before, if this upgrader is
	// for its renaming; From is ignored then.
	RenamedFrom string

	Program string
	Func    func(fields map[string]any) (map[string]any, error)

	// Note says in a plan what the upgrader does; "" to show the program.
	Note string

	edits []edit // what it does to single fields, in this order
}

// RenameType is the upgrader that gives a type another name: what was stored
// under the old one is read, and goes on, under the new one.
func RenameType(old, to string) Upgrader { return Upgrader{Type: to, RenamedFrom: old} }

// jqPath is the path of a field in a program.
func jqPath(field string) string {
	if onto.CheckName("", field) != nil {
		return ".[" + jqName(field) + "]"
	}
	return "." + field
}

func jqName(s string) string {
	text, _ := json.Marshal(s) // a string always marshals
	return string(text)
}

// upgraders are the given ones by the version that they make; renaming ones are
// under version 0.
type upgraders map[upgraderName]Upgrader

type upgraderName struct {
	typ     string
	version int
}

// function is the Go function that makes a version, if one is given.
func (all upgraders) function(typ string, version int) lineage.Func {
	return all[upgraderName{typ, version}].Func
}

// newUpgraders checks upgraders and joins those for the same step.
func newUpgraders(list []Upgrader) (upgraders, error) {
	all := upgraders{}
	for _, u := range list {
		name := upgraderName{u.Type, u.From + 1}
		if u.RenamedFrom != "" {
			name.version = 0
		}
		switch {
		case u.Program != "" && u.Func != nil:
			return nil, onto.Errorf(onto.Invalid, "the upgrader of %s has a program and a function", u.step()).WithHint("give one of them")
		case u.RenamedFrom == "" && u.From < 1:
			return nil, onto.Errorf(onto.Invalid, "the upgrader of %s is for version %d", u.Type, u.From).WithHint("versions start at 1")
		case u.RenamedFrom == "" && u.Program == "" && u.Func == nil:
			return nil, onto.Errorf(onto.Invalid, "the upgrader of %s has neither a program nor a function", u.step())
		}
		if u.Program != "" {
			if _, err := jq.Compile(u.Program); err != nil {
				return nil, onto.Errorf(onto.Invalid, "the upgrader of %s: %w", u.step(), err)
			}
		}
		first, twice := all[name]
		if twice {
			var err error
			if u, err = join(first, u); err != nil {
				return nil, err
			}
		}
		all[name] = u
	}
	return all, nil
}

// JoinUpgraders checks upgraders, and returns one for each step, by type and version: those
// for the same step are put together in their order.
func JoinUpgraders(list []Upgrader) ([]Upgrader, error) {
	all, err := newUpgraders(list)
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Upgrader) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), a.From-b.From)
	}), nil
}

// join is one upgrader that does what two do.
func join(a, b Upgrader) (Upgrader, error) {
	if a.Func != nil || b.Func != nil || a.RenamedFrom != b.RenamedFrom {
		return a, onto.Errorf(onto.Invalid, "there are two upgraders for %s", a.step()).WithHint("only programs can be put together")
	}
	programs := []string{a.Program, b.Program}
	notes := []string{a.Note, b.Note}
	for i, p := range programs {
		if p != "" && notes[i] == "" {
			notes[i] = p
		}
	}
	a.Program, a.Note = joinTexts(programs, " | "), joinTexts(notes, ", ")
	a.edits = append(a.edits[:len(a.edits):len(a.edits)], b.edits...)
	return a, nil
}

// unknownField adds a hint to an error about a field that does not exist.
func unknownField(err *onto.Error, name string, names []string) error {
	return catalog.UnknownName(err, name, names, "the fields are "+strings.Join(names, ", "))
}

func joinTexts(list []string, sep string) string {
	var full []string
	for _, s := range list {
		if s != "" {
			full = append(full, s)
		}
	}
	return strings.Join(full, sep)
}

// step names what the upgrader does, for messages.
func (u *Upgrader) step() string {
	if u.RenamedFrom != "" {
		return fmt.Sprintf("%s, renamed to %s", u.RenamedFrom, u.Type)
	}
	return lineage.StepName(u.Type, u.From)
}
