package store

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/fold"
	"github.com/ontologia/onto/store/internal/shape"
)

// DefaultFoldTimeout is how long a fold may take for one fact.
const DefaultFoldTimeout = 5 * time.Second

// Fold turns the facts about a subject into its state: F is a type of facts, S an entity
// type whose key is the subject. Give it to [Options.Folds]. The store then keeps the
// states: in the commit of the facts where it can, and in later ones otherwise, see
// [Store.CatchUp].
//
// States are read like any entity, also as of earlier moments, and written by the fold
// alone. Their field onto_fold says which version of the fold made them, of how many
// facts, and which was the last: a cursor for programs that show a state and act on it.
// A subject without facts has no state.
//
// Facts are applied in the order in which they were asserted, whatever time they are
// about. A fact that is revoked is applied with its end, in its place, and one that is
// retracted is not applied: both fold the subject from the beginning.
type Fold[F, S any] struct {
	Name string

	// Version tells programs apart that make something else of the same facts. States are
	// rebuilt in the background when it grows. A program with a smaller version than the
	// store's writes facts, and leaves folding them to others.
	Version int

	// Apply applies a fact to a state, of which at first only the key is set. It depends
	// on nothing but its arguments: the fact, which has no commit, and the header of the
	// draft that asserted it. Its error refuses the draft. A panic, or taking longer than
	// [Options.FoldTimeout], does the same.
	Apply func(state *S, f onto.Fact, d onto.Draft) error
}

// FoldProgram is a fold that is kept in the store as a jq program, so that every program
// that opens the store carries it out. It is given {state, fact, draft} and returns the
// next state; at first, state has only the key. A fact has subject, attribute, id, value
// and, where it has them, kind, valid_from, valid_until and revoked; a draft actor,
// comment, correlation, causation, signature, idempotency_key and metadata.
type FoldProgram struct {
	Name    string
	Version int
	Facts   string // the type of the facts
	State   string // the entity type of the states
	Program string
}

// Folding is a fold: a [Fold] or a [FoldProgram].
type Folding interface {
	folding() (*fold.Fold, []onto.Type, error)
}

func (p FoldProgram) folding() (*fold.Fold, []onto.Type, error) {
	f, err := fold.Program(p.Name, p.Version, p.Facts, p.State, p.Program)
	return f, nil, err
}

func (f Fold[F, S]) folding() (*fold.Fold, []onto.Type, error) {
	facts, state := onto.TypeOf[F](), onto.TypeOf[S]()
	of, err := facts.Schema()
	if err != nil {
		return nil, nil, err
	}
	to, err := state.Schema()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case of.Kind != onto.KindFact:
		return nil, nil, onto.Errorf(onto.Invalid, "fold %s: %s is no type of facts", f.Name, of.Name).WithHint("embed onto.About in it")
	case to.Kind != onto.KindEntity:
		return nil, nil, onto.Errorf(onto.Invalid, "fold %s: %s is no entity type", f.Name, to.Name).WithHint("mark its key with the tag onto:\"key\"")
	case f.Apply == nil:
		return nil, nil, onto.Errorf(onto.Invalid, "fold %s has no Apply", f.Name)
	}
	made := &fold.Fold{Name: f.Name, Version: f.Version, Facts: of.Name, State: to.Name, Struct: reflect.TypeFor[S]()}
	made.New = func() fold.Machine { return &machine[S]{apply: f.Apply} }
	return made, []onto.Type{facts, state}, nil
}

// machine applies facts to an S.
type machine[S any] struct {
	apply func(*S, onto.Fact, onto.Draft) error
	state S
}

func (m *machine[S]) Start(t *shape.Type, base *onto.Version) error { return t.Decode(base, &m.state) }

func (m *machine[S]) Apply(_ context.Context, f onto.Fact, d onto.Draft) error {
	return m.apply(&m.state, f, d)
}

func (m *machine[S]) Write(t *shape.Type, _ onto.Identity) (backend.Write, error) {
	return t.WriteStruct(reflect.ValueOf(&m.state).Elem())
}

// At folds the facts about a subject that the view shows: the state of that moment, as
// this fold makes it. NotFound says that there are none. Valid times do not matter.
func (f Fold[F, S]) At(ctx context.Context, v View, subject string) (state S, err error) {
	of, _, err := f.folding()
	if err == nil {
		err = of.Check()
	}
	if err != nil {
		return state, err
	}
	found, err := v.folded(ctx, of, subject)
	if err != nil {
		return state, err
	}
	t, err := v.s.catalog().OfStruct(of.Struct)
	if err != nil {
		return state, err
	}
	return state, t.Decode(&found, &state)
}

// folded folds the facts about a subject as of the view.
func (v View) folded(ctx context.Context, f *fold.Fold, subject string) (state onto.Version, err error) {
	err = again(func() error {
		v, err := v.current().pin(ctx)
		if err != nil {
			return err
		}
		t, err := v.typ(onto.KindFact, f.Facts)
		if err != nil {
			return err
		}
		at, err := v.resolve(ctx)
		if err != nil {
			return err
		}
		q := &backend.Query{Kind: onto.KindFact, Type: f.Facts, At: at, LeftKeys: []string{subject}}
		entries, err := v.s.folds.Entries(ctx, reader{v, t}.scan(ctx, q))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return onto.Errorf(onto.NotFound, "there are no facts of type %s about %q", f.Facts, subject)
		}
		to, err := v.catalog().OfStruct(f.Struct)
		if err != nil {
			return err
		}
		state, err = v.s.folds.Replay(ctx, f, &fold.Input{Type: &to.Type, Subject: subject, Entries: entries})
		return err
	})
	return state, err
}

// foldsOf returns the folds of a program, and its types with those of the folds.
func foldsOf(list []Folding, types []onto.Type) ([]*fold.Fold, []onto.Type, error) {
	var folds []*fold.Fold
	types = slices.Clip(types)
	for _, given := range list {
		if given == nil {
			return nil, nil, onto.Errorf(onto.Invalid, "a fold is nil")
		}
		f, more, err := given.folding()
		if err != nil {
			return nil, nil, err
		}
		folds = append(folds, f)
		for _, t := range more {
			if !slices.ContainsFunc(types, func(o onto.Type) bool { return o.Binding() != nil && o.Binding().Struct == t.Binding().Struct }) {
				types = append(types, t)
			}
		}
	}
	return folds, types, nil
}

// foldSchemas returns the schemas to register for a program with folds: its own, those of
// states with what the store adds to them. Started are the types of states that are new.
func foldSchemas(folds []*fold.Fold, stored []onto.SchemaVersion, schemas []onto.Schema) (wanted []onto.Schema, started []string, err error) {
	if len(folds) == 0 {
		return schemas, nil, nil
	}
	find := func(name onto.TypeName) (given int, kept *onto.Schema) {
		for i := range stored {
			if stored[i].Schema.TypeName() == name {
				kept = &stored[i].Schema
			}
		}
		return slices.IndexFunc(schemas, func(s onto.Schema) bool { return s.TypeName() == name }), kept
	}
	wanted = slices.Clone(schemas)
	for _, f := range folds {
		if given, kept := find(onto.TypeName{Kind: onto.KindFact, Name: f.Facts}); given < 0 && kept == nil {
			return nil, nil, onto.Errorf(onto.Invalid, "fold %s: there is no type of facts %s", f.Name, f.Facts).
				WithHint("give the type to store.Open, beside the fold")
		}
		given, kept := find(onto.TypeName{Kind: onto.KindEntity, Name: f.State})
		switch {
		case kept != nil && !fold.Keeps(kept):
			return nil, nil, onto.Errorf(onto.Conflict, "fold %s: %s is an entity type that programs write", f.Name, f.State).
				WithHint("a fold needs a state type of its own: give it another name")
		case given >= 0 && schemas[given].ComputedKey() != nil:
			return nil, nil, onto.Errorf(onto.Invalid, "fold %s: the key of %s is computed, and that of a state is the subject", f.Name, f.State).
				WithHint("mark a field of it as the key")
		case given < 0 && kept == nil:
			return nil, nil, onto.Errorf(onto.Invalid, "fold %s: there is no entity type %s", f.Name, f.State).
				WithHint("give the type to store.Open, beside the fold")
		case kept == nil:
			started = append(started, f.State)
		}
		if given >= 0 {
			wanted[given] = fold.StateSchema(schemas[given])
		}
	}
	return append(wanted, fold.GuardSchema()), started, nil
}
