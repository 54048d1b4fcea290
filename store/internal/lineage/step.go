package lineage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/internal/jq"
	"github.com/ontologia/onto/store/internal/shape"
)

// Func is an upgrader in Go: it makes the fields of one version out of those of
// the version before.
type Func = func(fields map[string]any) (map[string]any, error)

// Functions finds the upgrader in Go that makes a version of a type; version 0
// stands for the type's renaming. It returns nil if there is none.
type Functions func(typ string, version int) Func

// Step is the way from one stage to the next.
type Step struct {
	Name        string // for messages
	Plain       bool   // fields and name stay as they are
	Fill        bool   // defaults are filled in, nothing else
	Fit         bool   // with Fill: values are looked at that may not fit
	Program     string // the text of the program, if there is one
	Func        Func   // the Go function, if there is one
	RenamedFrom string // the name that the type had before, if the step gives it another
	Missing     string // why the step cannot be taken; "" if it can

	program *jq.Program
}

// StepName names the step from a version of a type to the next, for messages.
func StepName(typ string, from int) string { return fmt.Sprintf("%s %d → %d", typ, from, from+1) }

// newStep finds the step from a stage into a version.
func newStep(from *shape.Type, to *onto.SchemaVersion, given Functions) Step {
	u := to.Upgrader
	if u == nil {
		u = &onto.StoredUpgrader{}
	}
	s := Step{Name: StepName(to.Schema.Name, to.Version-1), Program: u.Program, RenamedFrom: u.RenamedFrom}
	version := to.Version
	if u.RenamedFrom != "" {
		version = 0
		s.Name = fmt.Sprintf("%s %d → %s %d", u.RenamedFrom, u.FromVersion, to.Schema.Name, to.Version)
	}
	function := given(to.Schema.Name, version)
	carry := CarryOver(from.Schema, to.Schema)
	switch {
	case u.Program != "":
		program, err := jq.Compile(u.Program)
		if err != nil {
			s.Missing = "the program that is kept for it cannot be read: " + err.Error()
		}
		s.program = program
	case function != nil && (u.Func || to.Upgrader == nil):
		s.Func = function
	case u.Func:
		s.Missing = "it is a Go function"
	case len(carry.Needs) > 0:
		s.Missing = strings.Join(carry.Needs, ", ")
	default:
		s.Fill, s.Fit = true, len(carry.Fit) > 0
		s.Plain = carry.Plain() && u.RenamedFrom == ""
	}
	return s
}

// error says that the step cannot be taken.
func (s *Step) error() error {
	return onto.Errorf(onto.UpgraderMissing, "there is no upgrader for %s: %s", s.Name, s.Missing).
		WithHint("read with --as-stored, give it to store.Options.Upgraders, or keep it in the store").
		WithCommand("migrate", "--schema", "FILE", "--upgraders", "FILE")
}

// Upgrade brings a version that was read as of a commit to the last stage.
// Deletes have no fields and change their name only. No step may take longer
// than the timeout.
func (c *Chain) Upgrade(ctx context.Context, v *onto.Version, commit int64, timeout time.Duration) error {
	last := c.Stages[len(c.Stages)-1].Type
	if !v.Live() {
		v.Type, v.SchemaVersion = last.Schema.Name, last.Version
		return nil
	}
	if _, err := codec.ParseObject(v.Fields); err != nil {
		return onto.Errorf(onto.Corrupt, "%s at commit %d: its JSON cannot be read: %w", v.Identity, v.Commit, err).
			WithHint("examine the store").WithCommand("doctor")
	}
	for i := c.At(commit) + 1; i < len(c.Stages); i++ {
		if err := c.Lift(ctx, v, i, timeout); err != nil {
			return err
		}
	}
	return nil
}

// Lift brings a live version to a stage from the one before.
func (c *Chain) Lift(ctx context.Context, v *onto.Version, stage int, timeout time.Duration) error {
	s := &c.Stages[stage]
	if s.Step.Missing != "" {
		return s.Step.error()
	}
	id := v.Identity
	id.Type = s.Type.Schema.Name
	fields, err := s.Step.run(ctx, s.Type, id, v.Fields, timeout)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return onto.Errorf(onto.UpgraderFailed, "%s, %s, commit %d: %w; its fields are %s", s.Step.Name, v.Identity, v.Commit, err, shorten(v.Fields)).
			WithHint("mend the upgrader or the thing, or read as stored; nothing has changed")
	}
	v.Identity, v.Fields, v.SchemaVersion = id, fields, s.Type.Version
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

// run takes the step with one thing's fields. What comes out fits the stage. An upgrader sees
// no fields that are computed: these are made of what it returns.
func (s *Step) run(ctx context.Context, to *shape.Type, id onto.Identity, fields json.RawMessage, timeout time.Duration) (json.RawMessage, error) {
	if s.Plain {
		return fields, nil
	}
	result, err := s.made(ctx, computed.Strip(fields), timeout)
	if err != nil {
		return nil, err
	}
	w, err := to.Write(id, result)
	if err != nil || id.Kind != onto.KindFact {
		return w.Fields, err
	}
	if name := shape.Rewritten(fields, w.Fields); name != "" {
		return nil, onto.Errorf(onto.Invalid, "the upgrader has changed %s, which tells when the fact holds or what became of it", name).
			WithHint("an upgrader of facts changes values, and nothing else")
	}
	return w.Fields, nil
}

// made is what the upgrader makes of fields, before defaults are filled in.
func (s *Step) made(ctx context.Context, fields json.RawMessage, timeout time.Duration) (any, error) {
	switch {
	case s.program != nil:
		return within(ctx, timeout, func(ctx context.Context) (any, error) { return s.runProgram(ctx, fields) })
	case s.Func != nil:
		return within(ctx, timeout, func(context.Context) (any, error) { return s.runFunc(fields) })
	}
	return fields, nil
}

func (s *Step) runProgram(ctx context.Context, fields json.RawMessage) (any, error) {
	out, err := s.program.Run(ctx, fields)
	return json.RawMessage(out), err
}

func (s *Step) runFunc(fields json.RawMessage) (any, error) {
	given, err := codec.DecodeObject(fields)
	if err != nil {
		return nil, err
	}
	made, err := s.Func(given)
	if made == nil && err == nil {
		err = onto.Errorf(onto.UpgraderFailed, "the upgrader returned nothing")
	}
	return made, err
}

func overtime(timeout time.Duration) error {
	return onto.Errorf(onto.UpgraderFailed, "the upgrader did not end within %v", timeout)
}

// within runs an upgrader. One that does not end in time is abandoned: Go cannot stop a
// function. A program ends by itself soon after the context.
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
