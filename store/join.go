package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
)

// load learns the stored types and lets the given ones join.
func (s *Store) load(ctx context.Context, types []onto.Type) error {
	folds, types, err := foldsOf(s.opts.Folds, types)
	if err != nil {
		return err
	}
	schemas, err := schemasOf(ctx, types)
	if err != nil {
		return err
	}
	given, err := newUpgraders(s.opts.Upgraders)
	if err != nil {
		return err
	}
	s.program = catalog.NewProgram(given.function)
	s.watcher, _ = backend.As[backend.TypeWatcher](s.b)
	started, err := s.join(ctx, types, schemas, folds)
	if err != nil || len(folds) == 0 {
		return err
	}
	if err := s.folds.Give(folds); err != nil {
		return err
	}
	return s.folds.Register(ctx, started)
}

// Register lets types join the open store, exactly as if they had been given to [Open]: all
// of them, or none. New ones are registered, compatible changes are applied, and marks for
// index and search are tuned. Their Go structs can be used from then on. A type that differs
// otherwise is SchemaOutdated. One that the program has given before, with the same Go
// struct, may be given again; the same name with another Go struct is Invalid, and so is the
// same Go struct under another name.
//
// Register may be called while the store is used, also by several callers at once.
func (s *Store) Register(ctx context.Context, types ...onto.Type) error {
	s.joining.Lock()
	defer s.joining.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	schemas, err := schemasOf(ctx, types)
	if err != nil || len(types) == 0 {
		return err
	}
	if _, err := s.join(ctx, types, schemas, nil); err != nil {
		return err
	}
	return s.folds.Wake(ctx)
}

// join makes types known, to the backend and then to the program. Started are the types of
// states that are new.
func (s *Store) join(ctx context.Context, types []onto.Type, schemas []onto.Schema, folds []*fold.Fold) (started []string, err error) {
	s.learning.Lock()
	_, err = s.program.With(types, schemas)
	s.learning.Unlock()
	if err == nil {
		started, err = s.admit(ctx, types, schemas, folds)
	}
	if err != nil {
		return nil, err
	}
	s.learning.Lock()
	defer s.learning.Unlock()
	turn := s.turn()
	stored, err := s.b.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	if s.program, err = s.program.With(types, schemas); err != nil {
		return nil, err
	}
	c := s.learn(stored)
	c.Turn.Store(turn)
	s.types.Store(c)
	return started, nil
}

// admit has the backend store types as they join.
func (s *Store) admit(ctx context.Context, types []onto.Type, schemas []onto.Schema, folds []*fold.Fold) (started []string, err error) {
	for range mostRelearned {
		stored, err := s.b.Schemas(ctx)
		if err != nil {
			return nil, err
		}
		if err := checkEndpoints(typelist.Newest(stored), schemas); err != nil {
			return nil, err
		}
		wanted, started, err := foldSchemas(folds, typelist.Newest(stored), schemas)
		if err != nil || len(wanted) == 0 {
			return started, err
		}
		j, err := newJoining(stored, types, wanted)
		if err == nil && len(j.changed) > 0 {
			if err = s.evolve(ctx, types, wanted); onto.CodeOf(err) == onto.MigrationToken {
				continue // others have changed types since
			}
		}
		if err != nil {
			return nil, err
		}
		if _, err = s.b.Register(ctx, s.opts.registration(j.schemas)); onto.CodeOf(err) != onto.SchemaOutdated {
			return started, err
		}
	}
	return nil, typesChanging()
}

// evolve adds the versions and types that are missing, in one step.
func (s *Store) evolve(ctx context.Context, types []onto.Type, wanted []onto.Schema) error {
	o := &ApplyOptions{
		Force: true, Draft: onto.Draft{Actor: s.opts.Actor, Comment: s.opts.Comment},
		Runtime: s.opts.Runtime, UpgradeTimeout: s.opts.UpgradeTimeout,
	}
	p, err := peek(ctx, s.b, nil, o)
	if err != nil {
		return err
	}
	p.opts.ScratchDir = s.opts.ScratchDir
	res, err := apply(ctx, p, o, func(ctx context.Context) (*evolving, error) {
		plan := &migrationPlan{s: p, joining: true}
		var err error
		if plan.stored, plan.Head, err = standing(ctx, p); err != nil {
			return nil, err
		}
		j, err := newJoining(plan.stored, types, wanted)
		if err != nil {
			return nil, err
		}
		if err := plan.make(ctx, slices.Concat(j.changed, j.missing), nil); err != nil {
			return nil, err
		}
		return plan.evolving(), nil
	})
	if err == nil {
		s.seen(res.ID)
	}
	return err
}

// joining is what becomes of the types of a program in a store: decided once for whatever
// lets types join.
type joining struct {
	schemas []onto.Schema // of all of them, as they are stored or served afterwards
	missing []onto.Schema // of those that are not stored yet
	changed []onto.Schema // of those that get a new version
	retuned []onto.Schema // of those of which only flags change
	changes []onto.Difference
}

// newJoining fails with SchemaOutdated if a type cannot join. The first of the wanted schemas
// are those of the types.
func newJoining(all []onto.SchemaVersion, types []onto.Type, wanted []onto.Schema) (*joining, error) {
	j := &joining{schemas: slices.Clone(wanted)}
	newest := typelist.Newest(all)
	var rest []onto.Schema
	var problems []string
	for i := range j.schemas {
		g := &j.schemas[i]
		at := slices.IndexFunc(newest, func(v onto.SchemaVersion) bool { return v.Schema.TypeName() == g.TypeName() })
		if at < 0 || i >= len(types) {
			rest = append(rest, *g)
			continue
		}
		stored := &newest[at].Schema
		var lacking []string
		*g, lacking = asStored(types[i], *g, stored)
		d := onto.DiffSchemas(*stored, *g)
		if d.Empty() || typelist.Serves(all, *g) {
			rest = append(rest, *g)
			continue
		}
		if types[i].Binding() != nil && onto.Compatible(*stored, *g) {
			lacking = leftBehind(all, types[i], d)
			if lacking == nil {
				j.changed, j.changes = append(j.changed, *g), append(j.changes, d)
				continue
			}
		}
		rest = append(rest, *g)
		for _, why := range lacking {
			problems = append(problems, g.Name+": "+why)
		}
	}
	var err error
	if j.missing, err = typelist.Missing(all, rest); err != nil {
		return nil, withReasons(err, problems)
	}
	j.retuned = typelist.Retuned(all, rest)
	return j, nil
}

// asStored returns the schema of a type as it joins beside the one that is stored, with what
// the store adds to states.
func asStored(t onto.Type, given onto.Schema, stored *onto.Schema) (onto.Schema, []string) {
	if t.Binding() == nil {
		return given, nil
	}
	joining, lacking := t.Joining(*stored)
	if fold.Keeps(stored) {
		joining = fold.StateSchema(joining)
	}
	return joining, lacking
}

// leftBehind says why a change that looks compatible is none: the type had such a version, or
// such a field, and a migration that changed what it means has led on from there.
func leftBehind(all []onto.SchemaVersion, t onto.Type, d onto.Difference) []string {
	for _, v := range typelist.Left(all, onto.TypeName{Kind: d.Kind, Name: d.Type}) {
		for _, path := range d.Added {
			if parseSteps(path).lookup(&v.Schema) != nil {
				return []string{fmt.Sprintf("%s was in version %d, and a migration has led on without it", path, v.Version)}
			}
		}
		if before, _ := t.Joining(v.Schema); onto.Compatible(before, v.Schema) {
			return []string{fmt.Sprintf("the program has version %d, whose fields a migration has changed", v.Version)}
		}
	}
	return nil
}

// withReasons adds to an error about types that differ why some cannot join.
func withReasons(err error, problems []string) error {
	var e *onto.Error
	if errors.As(err, &e) && len(problems) > 0 {
		command := e.Hint.Command
		_ = e.WithHint("%s; to change the type nevertheless, call store.PlanMigration", strings.Join(problems, "; ")).WithCommand(command...)
	}
	return err
}

// TypePlan is what opening a store with types would change.
type TypePlan struct {
	New     []onto.Schema     // types that are not stored yet
	Retuned []onto.Schema     // types of which fields are marked otherwise for index or search
	Changed []onto.Difference // types that get a new version
}

// PlanTypes returns what opening the store that a backend keeps with these types
// would change, and changes nothing. It fails with SchemaOutdated if one is
// stored differently and cannot join, see [Open].
func PlanTypes(ctx context.Context, b backend.Backend, types ...onto.Type) (TypePlan, error) {
	schemas, err := schemasOf(ctx, types)
	if err != nil {
		return TypePlan{}, err
	}
	stored, err := b.Schemas(ctx)
	if err != nil {
		return TypePlan{}, err
	}
	if err := checkEndpoints(typelist.Newest(stored), schemas); err != nil {
		return TypePlan{}, err
	}
	j, err := newJoining(stored, types, schemas)
	if err != nil {
		return TypePlan{}, err
	}
	return TypePlan{New: j.missing, Retuned: j.retuned, Changed: j.changes}, nil
}
