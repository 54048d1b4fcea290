package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/jq"
	"github.com/ontologia/onto/store/internal/shape"
)

// DefaultUpgradeTimeout is how long an upgrader may take for one thing.
const DefaultUpgradeTimeout = 3 * time.Second

// Upgrader turns fields of one version of a type into those of the next. It is
// a jq program, which is kept in the store, or a Go function, which each
// program that reads older versions gives to Options.Upgraders. What is kept in
// the store counts: a function for the same step is not called.
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

// edit moves a field to another name, or drops it.
type edit struct{ field, to string }

// RenameField is the upgrader that moves a field to another name.
func RenameField(typ string, from int, old, to string) Upgrader {
	o, n := jqName(old), jqName(to)
	return Upgrader{
		Type: typ, From: from, Note: "rename field " + old + " to " + to,
		Program: fmt.Sprintf("if has(%s) then .[%s] = .[%s] | del(.[%s]) else . end", o, n, o, o),
		edits:   []edit{{old, to}},
	}
}

// DropField is the upgrader that leaves out a field. History keeps its values.
func DropField(typ string, from int, field string) Upgrader {
	return Upgrader{Type: typ, From: from, Note: "drop field " + field, Program: "del(.[" + jqName(field) + "])", edits: []edit{{field: field}}}
}

// RenameType is the upgrader that gives a type another name: what was stored
// under the old one is read, and goes on, under the new one.
func RenameType(old, to string) Upgrader { return Upgrader{Type: to, RenamedFrom: old} }

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

// checkEdits refuses a renaming or dropping that the type cannot have meant.
func (u *Upgrader) checkEdits(from *onto.Schema) error {
	fields := from.FieldNames()
	for _, e := range u.edits {
		i := slices.Index(fields, e.field)
		switch {
		case i < 0:
			return unknownName(onto.Errorf(onto.Invalid, "%s: there is no field %s", u.step(), e.field), e.field, fields,
				"the fields are "+strings.Join(fields, ", "))
		case slices.Contains(fields, e.to):
			return onto.Errorf(onto.Invalid, "%s: %s cannot be renamed to %s, which is there already", u.step(), e.field, e.to).
				WithHint("drop %s first, or write a program that puts both together", e.to)
		case e.to == "":
			fields = slices.Delete(fields, i, i+1)
		default:
			fields[i] = e.to
		}
	}
	return nil
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
	return stepName(u.Type, u.From)
}

func stepName(typ string, from int) string { return fmt.Sprintf("%s %d → %d", typ, from, from+1) }

// step is the way from one stage to the next.
type step struct {
	name    string // for messages
	plain   bool   // fields and name stay as they are
	fill    bool   // defaults are filled in, nothing else
	program *jq.Program
	call    func(fields map[string]any) (map[string]any, error)
	missing string // why the step cannot be taken; "" if it can

	text, renamed string // of the program; the former name of the type
}

// newStep finds the way from a stage into a version.
func newStep(from *shape.Type, to *onto.SchemaVersion, given upgraders) step {
	s := step{name: stepName(to.Schema.Name, to.Version-1)}
	u := to.Upgrader
	if u == nil {
		u = &onto.Upgrader{}
	}
	name := upgraderName{to.Schema.Name, to.Version}
	if u.RenamedFrom != "" {
		s.name = fmt.Sprintf("%s %d → %s %d", u.RenamedFrom, u.FromVersion, to.Schema.Name, to.Version)
		name.version = 0
	}
	function := given[name].Func
	carry := onto.CarryOver(from.Schema, to.Schema)
	s.text, s.renamed = u.Program, u.RenamedFrom
	switch {
	case u.Program != "":
		program, err := jq.Compile(u.Program)
		if err != nil {
			s.missing = "the program that is kept for it cannot be read: " + err.Error()
		}
		s.program = program
	case function != nil && (u.Func || to.Upgrader == nil):
		s.call = function
	case u.Func:
		s.missing = "it is a Go function"
	case len(carry.Needs) > 0:
		s.missing = strings.Join(carry.Needs, ", ")
	default:
		s.fill = true
		s.plain = carry.Plain() && u.RenamedFrom == ""
	}
	return s
}

// error tells that the step cannot be taken.
func (s *step) error() error {
	return onto.Errorf(onto.UpgraderMissing, "there is no upgrader for %s: %s", s.name, s.missing).
		WithHint("give it to store.Options.Upgraders, keep it in the store with onto migrate --upgraders, or read as stored")
}

// upgrade brings a version from a stage to the last one. Deletes have no fields
// and change their name only.
func (c *chain) upgrade(ctx context.Context, v *onto.Version, from int, timeout time.Duration) error {
	last := c.stages[len(c.stages)-1].typ
	if !v.Live() {
		v.Type, v.SchemaVersion = last.Schema.Name, last.Version
		return nil
	}
	if _, err := codec.ParseObject(v.Fields); err != nil {
		return onto.Errorf(onto.Corrupt, "%s at commit %d: its JSON cannot be read: %w", v.Identity, v.Commit, err).
			WithHint("examine the store with: onto doctor")
	}
	for i := from + 1; i < len(c.stages); i++ {
		s := &c.stages[i]
		if s.step.missing != "" {
			return s.step.error()
		}
		id := v.Identity
		id.Type = s.typ.Schema.Name
		fields, err := s.step.run(ctx, s.typ, id, v.Fields, timeout)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return onto.Errorf(onto.UpgraderFailed, "%s, %s, commit %d: %w; its fields are %s", s.step.name, v.Identity, v.Commit, err, shorten(v.Fields)).
				WithHint("mend the upgrader or the thing, or read as stored; nothing has changed")
		}
		v.Identity, v.Fields, v.SchemaVersion = id, fields, s.typ.Version
	}
	return nil
}

// shorten keeps messages readable.
func shorten(fields []byte) string {
	const most = 500
	if len(fields) <= most {
		return string(fields)
	}
	return strings.ToValidUTF8(string(fields[:most]), "") + fmt.Sprintf("… (%d bytes)", len(fields))
}

// run takes the step with one thing's fields. What comes out fits the stage.
func (s *step) run(ctx context.Context, to *shape.Type, id onto.Identity, fields json.RawMessage, timeout time.Duration) (json.RawMessage, error) {
	if s.plain {
		return fields, nil
	}
	var result any = fields
	var err error
	switch {
	case s.program != nil:
		result, err = within(ctx, timeout, func(ctx context.Context) (any, error) { return s.runProgram(ctx, fields) })
	case s.call != nil:
		result, err = within(ctx, timeout, func(context.Context) (any, error) { return s.runFunc(fields) })
	}
	if err != nil {
		return nil, err
	}
	w, err := to.Write(id, result)
	return w.Fields, err
}

func (s *step) runProgram(ctx context.Context, fields json.RawMessage) (any, error) {
	out, err := s.program.Run(ctx, fields)
	return json.RawMessage(out), err
}

func (s *step) runFunc(fields json.RawMessage) (any, error) {
	given, err := onto.DecodeObject(fields)
	if err != nil {
		return nil, err
	}
	made, err := s.call(given)
	if made == nil && err == nil {
		err = onto.Errorf(onto.UpgraderFailed, "the upgrader returned nothing")
	}
	return made, err
}

func overtime(timeout time.Duration) error {
	return onto.Errorf(onto.UpgraderFailed, "the upgrader did not end within %v", timeout)
}

// within runs an upgrader. One that does not end in time is left behind: Go
// cannot stop a function. A program ends by itself soon after the context.
func within(ctx context.Context, timeout time.Duration, run func(context.Context) (any, error)) (any, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type outcome struct {
		made any
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.err = onto.Errorf(onto.UpgraderFailed, "the upgrader panicked: %v", p)
			}
			done <- o
		}()
		o.made, o.err = run(limited)
	}()
	select {
	case o := <-done:
		if limited.Err() != nil && ctx.Err() == nil && o.err != nil {
			return nil, overtime(timeout)
		}
		return o.made, o.err
	case <-limited.Done():
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, overtime(timeout)
	}
}
