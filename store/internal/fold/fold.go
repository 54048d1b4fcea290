// Package fold turns the facts about a subject into its state, one after the other, and
// has the words in which a store keeps which folds there are and how far they have come.
// It does no I/O.
package fold

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/jq"
	"github.com/ontologia/onto/store/internal/shape"
)

// The names that folds use. No type or field of a program begins with onto_.
const (
	Reserved = "onto_"        // how such names begin
	Guards   = "onto_folds"   // the type of the guards, see [Guard]
	Field    = "onto_fold"    // the field of a state that says what was folded, see [Meta]
	Rebuild  = "onto_rebuild" // in the metadata of a commit: the fold that it rebuilds
)

// Fold is how the facts of one type become states.
type Fold struct {
	Name    string
	Version int
	Facts   string       // the type of the facts
	State   string       // the entity type of the states
	Program string       // a jq program; "" for Go
	Struct  reflect.Type // of the states; nil for a program

	New func() Machine // a machine without a state
}

// Machine holds one state while facts are applied to it.
type Machine interface {
	Start(t *shape.Type, base *onto.Version) error // the state as a version has it
	Apply(ctx context.Context, f onto.Fact, d onto.Draft) error
	Write(t *shape.Type, id onto.Identity) (backend.Write, error) // the state, held to its type
}

// Program makes a fold of a jq program. It gets {state, fact, draft} and returns the next
// state.
func Program(name string, version int, facts, state, program string) (*Fold, error) {
	code, err := jq.Compile(program)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "the program of fold %s: %w", name, err)
	}
	f := &Fold{Name: name, Version: version, Facts: facts, State: state, Program: program}
	f.New = func() Machine { return &interpreter{code: code} }
	return f, nil
}

// Check refuses a fold that cannot be kept.
func (f *Fold) Check() error {
	if err := onto.CheckBusName("fold", f.Name); err != nil {
		return err
	}
	if f.Version < 1 {
		return onto.Errorf(onto.Invalid, "fold %s has version %d", f.Name, f.Version).
			WithHint("versions start at 1, and grow whenever the fold makes something else of the same facts")
	}
	for what, name := range map[string]string{"facts": f.Facts, "state": f.State} {
		if err := onto.CheckName("fold "+f.Name+": "+what+" type", name); err != nil {
			return err
		}
	}
	return nil
}

// Keeps reports whether a schema is that of states, which folds alone write.
func Keeps(s *onto.Schema) bool {
	_, ok := s.Field(Field)
	return ok && s.Kind == onto.KindEntity
}

// StateSchema is the schema of states for that of the program's type.
func StateSchema(s onto.Schema) onto.Schema {
	s.Fields = append(slices.Clone(s.Fields), onto.Field{Name: Field, Type: onto.Object, Optional: true})
	s.SortFields()
	return s
}

// Written is the error for a write of a state that no fold makes.
func Written(id onto.Identity) error {
	return onto.Errorf(onto.Invalid, "%s is written by a fold only: it follows from facts", id).
		WithHint("assert, revoke or retract facts about %q", id.Key)
}

// IsReserved reports whether a name is one of the store's own.
func IsReserved(name string) bool { return strings.HasPrefix(name, Reserved) }

// interpreter is the machine of a program.
type interpreter struct {
	code  *jq.Program
	state []byte
}

func (m *interpreter) Start(_ *shape.Type, base *onto.Version) error {
	members := slices.DeleteFunc(codec.Members(base.Fields), func(m codec.Member) bool { return IsReserved(m.Name) })
	m.state = codec.AppendObject(nil, members)
	return nil
}

func (m *interpreter) Apply(ctx context.Context, f onto.Fact, d onto.Draft) error {
	fact, err := codec.AppendValue(nil, reflect.ValueOf(factDocument(&f)))
	if err != nil {
		return err
	}
	draft, err := codec.AppendValue(nil, reflect.ValueOf(draftDocument(&d)))
	if err != nil {
		return err
	}
	in := codec.AppendObject(nil, []codec.Member{{Name: "draft", Value: draft}, {Name: "fact", Value: fact}, {Name: "state", Value: m.state}})
	out, err := m.code.Run(ctx, in)
	if err != nil {
		return err
	}
	m.state = out
	return nil
}

func (m *interpreter) Write(t *shape.Type, id onto.Identity) (backend.Write, error) {
	return t.Write(id, json.RawMessage(m.state))
}

// factDocument is a fact as programs see it. What it does not have is left out.
func factDocument(f *onto.Fact) map[string]any {
	doc := map[string]any{"subject": f.Subject, "attribute": f.Attribute, "id": f.ID, "value": f.Value}
	if f.Kind != "" {
		doc[onto.FactKind] = f.Kind
	}
	if !f.From.IsZero() {
		doc[onto.FactFrom] = codec.FormatTime(f.From)
	}
	if !f.Until.IsZero() {
		doc[onto.FactUntil] = codec.FormatTime(f.Until)
	}
	if f.Revoked != nil {
		doc[onto.FactRevoked] = f.Revoked
	}
	return doc
}

// draftDocument is the header of a draft as programs see it.
func draftDocument(d *onto.Draft) map[string]any {
	doc := map[string]any{}
	for name, text := range map[string]string{
		"actor": d.Actor.String(), "correlation": d.Correlation, "signature": d.Signature, "comment": d.Comment, "idempotency_key": d.IdempotencyKey,
	} {
		if text != "" {
			doc[name] = text
		}
	}
	if d.Causation != 0 {
		doc["causation"] = d.Causation
	}
	if len(d.Metadata) > 0 {
		doc["metadata"] = d.Metadata
	}
	return doc
}
