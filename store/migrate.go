package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
	"github.com/ontologia/onto/store/internal/lineage"
	"github.com/ontologia/onto/store/internal/shape"
)

// Migration is the types that a store should have. Stored types that it does not name
// stay as they are; those that are not stored yet are new.
type Migration struct {
	Types     []onto.Type
	Upgraders []Upgrader
}

// MigrationPlan is what a migration would do.
type MigrationPlan struct {
	Head  int64
	Types []TypeMigration // those that change
	Token string          // identifies this plan at this head

	// Newer is the types of which an earlier version is given than is stored, and that
	// stay: programs with the earlier one go on beside the newer one. An upgrader from
	// the newer one would lead back.
	Newer []onto.Difference
}

// Empty reports whether there is nothing to do.
func (p *MigrationPlan) Empty() bool { return len(p.Types) == 0 }

// Missing lists the steps that have no upgrader and need one.
func (p *MigrationPlan) Missing() []string {
	var list []string
	for _, t := range p.Types {
		for _, s := range t.Steps {
			if s.Missing != "" {
				list = append(list, s.Name+" ("+s.Missing+")")
			}
		}
	}
	return list
}

// TypeMigration is what a migration does to one type.
type TypeMigration struct {
	Kind        onto.Kind
	Name        string
	RenamedFrom string // the name it has now, if that changes
	From, To    int    // versions; From is 0 for a new type
	Difference  onto.Difference
	Live        int64      // things of the type that exist now
	Rewrite     bool       // they are rewritten; otherwise only the schema changes
	Steps       []StepPlan // what is done with them, one version after the other
	Learned     []int      // earlier versions whose upgrader is kept from now on

	changed  *onto.Schema        // the new version; nil if only upgraders are kept
	chain    *lineage.Chain      // ends with the new version
	source   *catalog.Type       // the type as it is; nil if it is new
	upgrader onto.StoredUpgrader // of the new version
}

// StepPlan is one step of an upgrade.
type StepPlan struct {
	Name    string // Customer 1 → 2
	How     string // as it is, fill defaults, jq, Go function, …
	Missing string // why an upgrader is needed; "" if there is one or none is needed
	Suggest string // a suggested upgrader, if one is missing

	// Where the step declares what could be anything before: how many things do not fit, and
	// the first [MaxUnfit] of them.
	Unfits int64
	Unfit  []Unfit
}

// MaxUnfit is how many things that do not fit a plan lists.
const MaxUnfit = 10

// Unfit is a thing that does not fit the new type.
type Unfit struct {
	Identity onto.Identity
	Problem  string // with the path
}

// SchemaOnly reports whether only the schema changes.
func (t *TypeMigration) SchemaOnly() bool { return !t.Rewrite }

// PlanMigration returns what a migration of a backend's store would do, and changes
// nothing. It fails if the types cannot be migrated at all; upgraders that are missing
// are part of the plan.
func PlanMigration(ctx context.Context, b backend.Backend, m *Migration) (*MigrationPlan, error) {
	s, err := peek(ctx, b, m.Upgraders, nil)
	if err != nil {
		return nil, err
	}
	p, err := planMigration(ctx, s, m)
	if err != nil {
		return nil, err
	}
	return &p.MigrationPlan, nil
}

// migrationPlan is a plan with what is needed to apply it.
type migrationPlan struct {
	MigrationPlan
	s       *Store
	joining bool // of types that join: new ones may be much like others
	stored  []onto.SchemaVersion
	learn   []backend.TypeUpgrader
}

// planMigration finds out what a migration does to each type.
func planMigration(ctx context.Context, s *Store, m *Migration) (*migrationPlan, error) {
	schemas, err := schemasOf(ctx, m.Types)
	if err != nil {
		return nil, err
	}
	given, err := newUpgraders(m.Upgraders)
	if err != nil {
		return nil, err
	}
	p := &migrationPlan{s: s}
	if p.stored, p.Head, err = standing(ctx, s); err != nil {
		return nil, err
	}
	for i := range schemas {
		schemas[i] = p.wanted(m.Types[i], schemas[i], given)
	}
	return p, p.make(ctx, schemas, given)
}

// wanted returns the schema of a type as the store is to have it: as the type would join, if
// it could, and no upgrader says how it begins.
func (p *migrationPlan) wanted(t onto.Type, g onto.Schema, given upgraders) onto.Schema {
	present := p.s.catalog().Present[g.TypeName()]
	if present == nil {
		return g
	}
	_, upgraded := given[upgraderName{g.Name, present.Version + 1}]
	_, renamed := given[upgraderName{g.Name, 0}]
	if !upgraded && !renamed {
		joined, _ := asStored(t, g, &present.Schema)
		d := onto.DiffSchemas(present.Schema, joined)
		joins := onto.Compatible(present.Schema, joined) && leftBehind(p.stored, t, d) == nil
		if t.Binding() != nil && (joins || typelist.Serves(p.stored, joined)) {
			return joined
		}
	}
	if fold.Keeps(&present.Schema) {
		g = fold.StateSchema(g)
	}
	return g
}

// make plans the migration to the given schemas.
func (p *migrationPlan) make(ctx context.Context, schemas []onto.Schema, given upgraders) error {
	if err := p.check(schemas, given); err != nil {
		return err
	}
	for i := range schemas {
		t, err := p.planType(ctx, &schemas[i], given)
		if err != nil {
			return err
		}
		if t != nil {
			p.Types = append(p.Types, *t)
		}
	}
	if err := p.checkUsed(given, schemas); err != nil {
		return err
	}
	p.Token = p.token()
	return nil
}

// standing reads the stored types and the head, which belong together. The store knows
// these types from then on: others may have changed them while it waited to write.
func standing(ctx context.Context, s *Store) ([]onto.SchemaVersion, int64, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return nil, 0, err
	}
	stored, err := s.b.Schemas(ctx)
	if err == nil {
		s.types.Store(catalog.New(stored, upgraders(nil).function))
	}
	return stored, head.ID, err
}

// planType plans the migration of one type; nil if it stays as it is.
func (p *migrationPlan) planType(ctx context.Context, g *onto.Schema, given upgraders) (*TypeMigration, error) {
	rename := given[upgraderName{g.Name, 0}]
	t := &TypeMigration{Kind: g.Kind, Name: g.Name, RenamedFrom: rename.RenamedFrom}
	old := onto.TypeName{Kind: g.Kind, Name: g.Name}
	if t.RenamedFrom != "" {
		old.Name = t.RenamedFrom
	}
	t.source = p.s.catalog().Present[old]
	if t.source == nil {
		t.To = typelist.NextVersion(p.stored, g.TypeName())
		t.Difference = onto.DiffSchemas(onto.Schema{Kind: g.Kind, Name: g.Name, Key: g.Key, Left: g.Left, Right: g.Right, InstanceKey: g.InstanceKey}, *g)
		t.changed = g
		return t, nil
	}
	*g = g.LikeStored(t.source.Schema)
	t.From = t.source.Version
	if err := p.learned(t, given); err != nil {
		return nil, err
	}
	t.Difference = onto.DiffSchemas(t.source.Schema, *g)
	if t.RenamedFrom == "" && p.newer(t, g, given) {
		p.Newer = append(p.Newer, t.Difference)
		t.Difference = onto.Difference{Kind: g.Kind, Type: g.Name}
	}
	if t.Difference.Empty() && t.RenamedFrom == "" {
		if len(t.Learned) == 0 {
			return nil, nil
		}
		t.To = t.From
		return t, nil
	}
	t.To, t.changed = typelist.NextVersion(p.stored, g.TypeName()), g
	if err := p.way(t, given); err != nil {
		return nil, err
	}
	if err := p.checkAttributes(ctx, t); err != nil {
		return nil, err
	}
	count, err := View{s: p.s}.FindKind(old.Kind, old.Name).Count(ctx)
	t.Live = count
	looked := false // there are values that may not fit
	for _, s := range t.chain.Stages[t.chain.At(p.Head)+1:] {
		t.Rewrite = t.Rewrite || !s.Step.Plain && count > 0
		looked = looked || s.Step.Fit && count > 0
	}
	if err == nil && looked && !slices.ContainsFunc(t.Steps, func(s StepPlan) bool { return s.Missing != "" }) {
		err = p.findUnfit(ctx, t)
	}
	return t, err
}

// findUnfit looks for things that do not fit what is declared of them now.
func (p *migrationPlan) findUnfit(ctx context.Context, t *TypeMigration) error {
	last := &t.Steps[len(t.Steps)-1]
	old := &t.source.Schema
	for v, err := range p.s.b.Scan(ctx, &backend.Query{Kind: old.Kind, Type: old.Name, At: p.Head}) {
		if err != nil {
			return err
		}
		id := v.Identity
		problem := t.chain.Upgrade(ctx, &v, p.Head, p.s.opts.UpgradeTimeout)
		if problem == nil {
			continue
		}
		if onto.CodeOf(problem) != onto.UpgraderFailed {
			return problem
		}
		if last.Unfits++; last.Unfits <= MaxUnfit {
			named := id
			named.Type = t.Name
			last.Unfit = append(last.Unfit, Unfit{id, reason(problem, named)})
		}
	}
	switch last.Unfits {
	case 0:
	case 1:
		last.Missing = "1 thing does not fit"
	default:
		last.Missing = fmt.Sprintf("%d things do not fit", last.Unfits)
	}
	return nil
}

// reason is what is wrong with a thing, without the step and the thing.
func reason(err error, id onto.Identity) string {
	var failed *onto.Error
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if e, ok := inner.(*onto.Error); ok && e.Code == onto.Invalid {
			failed = e
			break
		}
	}
	if failed == nil {
		return err.Error()
	}
	return strings.TrimPrefix(failed.Error(), id.String()+": ")
}

// newer reports whether the stored version of a type is newer than the given one, with
// which programs can go on, and no upgrader leads back.
func (p *migrationPlan) newer(t *TypeMigration, g *onto.Schema, given upgraders) bool {
	if _, back := given[upgraderName{g.Name, t.From + 1}]; back || t.Difference.Empty() {
		return false
	}
	return slices.ContainsFunc(p.stored, func(v onto.SchemaVersion) bool {
		return v.Schema.TypeName() == g.TypeName() && onto.DiffSchemas(v.Schema, *g).Empty() && typelist.Continues(p.stored, g.TypeName(), v.Version)
	})
}

// way finds the steps from the stored version to the new one.
func (p *migrationPlan) way(t *TypeMigration, given upgraders) error {
	name := upgraderName{t.Name, t.To}
	if t.RenamedFrom != "" {
		name.version = 0
		t.upgrader.RenamedFrom, t.upgrader.FromVersion = t.RenamedFrom, t.From
	}
	u := given[name]
	if err := u.checkEdits(&t.source.Schema); err != nil {
		return err
	}
	t.upgrader.Program, t.upgrader.Func = u.Program, u.Func != nil
	next := onto.SchemaVersion{Schema: *t.changed, Version: t.To, Since: p.Head + 1, Upgrader: &t.upgrader}
	c := lineage.New(append(p.stored[:len(p.stored):len(p.stored)], next), next, given.function)
	t.chain = c
	for i := c.At(p.Head) + 1; i < len(c.Stages); i++ {
		note := ""
		if i == len(c.Stages)-1 {
			note = u.Note
		}
		t.Steps = append(t.Steps, planStep(c, i, note))
	}
	return nil
}

// planStep describes the step into a stage.
func planStep(c *lineage.Chain, i int, note string) StepPlan {
	s := &c.Stages[i].Step
	plan := StepPlan{Name: s.Name, Missing: s.Missing}
	switch {
	case s.Missing != "":
		plan.How = "missing"
		plan.Suggest = suggestUpgrader(&c.Stages[i-1].Type.Schema, &c.Stages[i].Type.Schema)
	case s.Plain:
		plan.How = "as it is"
	case s.Fill && s.RenamedFrom != "":
		plan.How = fmt.Sprintf("rename type %s to %s", s.RenamedFrom, c.Stages[i].Type.Schema.Name)
	case s.Fill:
		plan.How = lineage.CarryOver(c.Stages[i-1].Type.Schema, c.Stages[i].Type.Schema).How()
	case s.Func != nil:
		plan.How = "Go function"
	case note != "":
		plan.How = note
	default:
		plan.How = "jq: " + s.Program
	}
	return plan
}

// suggestUpgrader is a program that drops removed fields and moves those that were most
// likely renamed; "" if that would not be enough.
func suggestUpgrader(from, to *onto.Schema) string {
	if from.Key != to.Key || to.Kind == onto.KindFact {
		return "" // another key makes another identity, another attribute another fact
	}
	d := onto.DiffSchemas(*from, *to)
	d.Added, d.Removed = slices.DeleteFunc(d.Added, onto.IsComputed), slices.DeleteFunc(d.Removed, onto.IsComputed)
	var parts []string
	gone := d.Removed
	for _, path := range d.Added {
		f := parseSteps(path).lookup(to)
		i := slices.IndexFunc(gone, func(g string) bool {
			was := parseSteps(g).lookup(from)
			return f != nil && was != nil && was.Type == f.Type && was.Optional == f.Optional && sameObject(g, path)
		})
		if i < 0 {
			continue
		}
		if within, old := parseSteps(gone[i]).split(); len(within) == 0 {
			_, name := parseSteps(path).split()
			parts = append(parts, fmt.Sprintf("%s = %s | del(%[2]s)", jqPath(name), jqPath(old)))
		} else {
			parts = append(parts, renameProgram(parseSteps(gone[i]), parseSteps(path)))
		}
		gone = slices.Delete(slices.Clone(gone), i, i+1)
	}
	for _, path := range gone {
		within, name := parseSteps(path).split()
		parts = append(parts, within.change("del("+jqPath(name)+")"))
	}
	return strings.Join(parts, " | ")
}

// sameObject reports whether two paths lead to fields of one object.
func sameObject(a, b string) bool {
	in, _ := parseSteps(a).split()
	other, _ := parseSteps(b).split()
	return slices.Equal(in, other)
}

// learned finds given programs for versions that are stored without one.
func (p *migrationPlan) learned(t *TypeMigration, given upgraders) error {
	for _, v := range p.stored {
		u, ok := given[upgraderName{v.Schema.Name, v.Version}]
		if !ok || u.Program == "" || v.Schema.Kind != t.Kind || v.Schema.Name != t.source.Schema.Name {
			continue
		}
		switch {
		case v.Upgrader == nil || v.Upgrader.Func:
			learned := onto.StoredUpgrader{Program: u.Program}
			if v.Upgrader != nil {
				learned.RenamedFrom, learned.FromVersion = v.Upgrader.RenamedFrom, v.Upgrader.FromVersion
			}
			t.Learned = append(t.Learned, v.Version)
			p.learn = append(p.learn, backend.TypeUpgrader{Kind: t.Kind, Type: v.Schema.Name, Version: v.Version, Upgrader: learned})
		case v.Upgrader.Program != u.Program:
			return onto.Errorf(onto.Conflict, "%s is done otherwise already, and what was read by it must not change", u.step()).
				WithHint("leave out this upgrader; see what is kept").WithCommand("schema", "history", "--type", v.Schema.Name)
		}
	}
	return nil
}

// writes yields all live things, as the new types have them.
func (p *migrationPlan) writes(ctx context.Context, step func()) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for i := range p.Types {
			if t := &p.Types[i]; t.Rewrite && !p.rewrite(ctx, t, step, yield) {
				return
			}
		}
	}
}

// rewrite yields the things of one type and reports whether to continue.
func (p *migrationPlan) rewrite(ctx context.Context, t *TypeMigration, step func(), yield func(backend.Write, error) bool) bool {
	old := &t.source.Schema
	for v, err := range p.s.b.Scan(ctx, &backend.Query{Kind: old.Kind, Type: old.Name, At: p.Head}) {
		was, before := v.Identity, v.Fields
		if err == nil {
			err = t.chain.Upgrade(ctx, &v, p.Head, p.s.opts.UpgradeTimeout)
		}
		if err != nil {
			yield(backend.Write{}, err)
			return false
		}
		step()
		if v.Kind == onto.KindFact && (was != v.Identity || !bytes.Equal(before, v.Fields)) {
			v.Fields = shape.WithAsserted(&v) // it stays the assertion that it was
		}
		if was != v.Identity && !yield(backend.Write{Identity: was, Op: onto.Delete, SchemaVersion: t.From}, nil) {
			return false
		}
		if !yield(backend.Write{Identity: v.Identity, Op: onto.Put, Fields: v.Fields, SchemaVersion: t.To}, nil) {
			return false
		}
	}
	return true
}

// evolution is the plan in the form that a backend applies.
func (p *migrationPlan) evolution() *backend.Evolution {
	e := &backend.Evolution{Base: typelist.Hash(p.stored), Learn: p.learn, Runtime: p.s.opts.Runtime, Reason: "migration"}
	for i := range p.Types {
		t := &p.Types[i]
		if t.changed == nil {
			continue
		}
		add := backend.NewVersion{Schema: *t.changed}
		if t.source != nil {
			add.Upgrader = &t.upgrader
		}
		e.Add = append(e.Add, add)
		if t.RenamedFrom != "" {
			e.End = append(e.End, backend.EndedType{Kind: t.Kind, Type: t.RenamedFrom, RenamedTo: t.Name})
		}
	}
	return e
}
