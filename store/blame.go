package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/lineage"
	"github.com/ontologia/onto/store/internal/shape"
)

// Blame returns, for each top-level field that an identity has at the head, the
// commit that last set it to its present value. It needs memory for one version at a
// time.
//
// A value that a migration made, by a default or an upgrader, is attributed to the
// migration. A value that a migration moved to another name is still attributed to the
// draft that gave it.
func (s *Store) Blame(ctx context.Context, id onto.Identity) ([]onto.Blame, error) {
	return s.Now().Blame(ctx, id)
}

// Blame is Store.Blame at the view's moment. As the types are now, a view of the past
// has values that a later migration made. A view as stored compares fields by their
// names and values as they were written, so a renamed field is attributed to the
// migration.
func (v View) Blame(ctx context.Context, id onto.Identity) (list []onto.Blame, err error) {
	err = again(func() error {
		v, err := v.current().pin(ctx)
		if err != nil {
			return err
		}
		t, err := v.typ(id.Kind, id.Type)
		if err != nil {
			return err
		}
		b := blamer{reader: reader{v, t}}
		err = b.walk(ctx, id)
		if stale := v.s.stands(ctx, v.catalog(), t); stale != nil {
			return stale
		}
		list = b.list
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// blamer follows the fields of one identity through its versions. Versions are read as
// they were written: only the migration itself shows what it made.
type blamer struct {
	reader

	version onto.Version // the newest so far, brought to the stage
	stage   int
	list    []onto.Blame // of its fields, by name
	first   bool         // it is an assertion, which does not name its commit as stored
}

// walk reads the versions of an identity up to the view's moment.
func (b *blamer) walk(ctx context.Context, id onto.Identity) error {
	if err := b.t.CheckIdentity(id); err != nil {
		return err
	}
	at, err := b.resolve(ctx)
	if err != nil {
		return err
	}
	q := backend.Query{Kind: id.Kind, Type: id.Type, Mode: backend.History, At: at, Identity: &id}
	parts := []backend.Query{q}
	if !b.stored {
		parts = b.raw(&q)
	}
	for _, part := range parts {
		for v, err := range b.s.b.Scan(ctx, &part) {
			if err == nil {
				err = b.add(ctx, v)
			}
			if err != nil {
				return err
			}
		}
	}
	switch {
	case b.version.Commit == 0:
		return onto.Errorf(onto.NotFound, "%s does not exist and never did", id)
	case !b.version.Live():
		return onto.Errorf(onto.NotFound, "%s was deleted by commit %d", id, b.version.Commit).
			WithHint("see its versions").WithCommand(logCommand(id)...)
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	if b.first {
		b.list = slices.DeleteFunc(b.list, func(f onto.Blame) bool { return f.Field == onto.FactAsserted })
	}
	return nil
}

// add takes the next version. Fields that it leaves unchanged keep their commit.
func (b *blamer) add(ctx context.Context, v onto.Version) error {
	if v.Kind == onto.KindFact && v.Live() && !b.stored {
		named := shape.WithAsserted(&v) // which later versions only repeat
		b.first = !bytes.Equal(named, v.Fields)
		v.Fields = named
	}
	members, err := codec.ParseObject(v.Fields)
	if err != nil {
		return onto.Errorf(onto.Corrupt, "%s at commit %d: its JSON cannot be read: %w", v.Identity, v.Commit, err).
			WithHint("examine the store").WithCommand("doctor")
	}
	if c := b.chain(); c != nil {
		if err := b.lift(ctx, c.At(v.Commit)); err != nil {
			return err
		}
	}
	before := b.list
	b.version, b.list = v, nil
	if !v.Live() {
		return nil
	}
	commit, err := b.s.b.Resolve(ctx, onto.AtCommit(v.Commit))
	if err != nil {
		return err
	}
	for _, m := range computed.Given(members) {
		now := onto.Blame{Field: m.Name, Value: m.Value, Commit: commit}
		if i := indexOfBlame(before, m.Name); i >= 0 && bytes.Equal(before[i].Value, m.Value) {
			now.Migration = before[i].Migration
			if before[i].Commit.ID != 0 { // otherwise this is the commit of the migration
				now.Commit = before[i].Commit
			}
		}
		b.list = append(b.list, now)
	}
	return nil
}

// chain is the versions of the type; nil if none has changed, or none counts.
func (b *blamer) chain() *lineage.Chain {
	if b.stored {
		return nil
	}
	return b.t.Chain
}

// lift brings the newest version so far to a stage. Values that a step makes have no
// commit yet.
func (b *blamer) lift(ctx context.Context, stage int) error {
	c := b.chain()
	for ; b.stage < stage; b.stage++ {
		next := &c.Stages[b.stage+1]
		if !b.version.Live() || next.Step.Plain {
			continue
		}
		from, err := c.Trace(ctx, &b.version, b.stage+1, b.s.opts.UpgradeTimeout)
		if err != nil {
			return err
		}
		members, err := codec.ParseObject(b.version.Fields)
		if err != nil {
			return err
		}
		before := b.list
		b.list = nil
		for _, m := range computed.Given(members) {
			now := onto.Blame{Field: m.Name, Value: m.Value, Migration: b.schemaVersion(&next.Type.Schema, next.Type.Version)}
			if was, ok := from[m.Name]; ok {
				old := before[indexOfBlame(before, was)]
				now.Commit, now.Migration = old.Commit, old.Migration
			}
			b.list = append(b.list, now)
		}
	}
	return nil
}

// settle brings the newest version to the present type. Values that migrations after
// the view's moment make are attributed to these.
func (b *blamer) settle(ctx context.Context) error {
	c := b.chain()
	if c == nil {
		return nil
	}
	if err := b.lift(ctx, len(c.Stages)-1); err != nil {
		return err
	}
	var err error
	for i := range b.list {
		if b.list[i].Commit.ID == 0 && err == nil {
			b.list[i].Commit, err = b.rewriting(ctx, b.list[i].Migration)
		}
	}
	return err
}

// rewriting is the commit by which a migration rewrote the identity. There is none if
// the identity did not exist by then, or needed no change: the first commit of the
// version may then be any other, or not exist yet.
func (b *blamer) rewriting(ctx context.Context, to *onto.SchemaVersion) (onto.Commit, error) {
	c, id := b.chain(), b.version.Identity
	id.Type = c.Source(to.Since - 1)
	v, err := b.s.b.Get(ctx, id, to.Since-1)
	if onto.CodeOf(err) == onto.NotFound || err == nil && !v.Live() {
		return onto.Commit{}, nil
	}
	if err != nil {
		return onto.Commit{}, err
	}
	// Migrations that had nothing to rewrite made no commit, and the next one may have the
	// same Since: only what this step changes counts.
	made := v
	for i := c.At(to.Since-1) + 1; i <= c.At(to.Since); i++ {
		v = made
		if err := c.Lift(ctx, &made, i, b.s.opts.UpgradeTimeout); err != nil {
			return onto.Commit{}, err
		}
		if t := c.Stages[i].Type; t.Version == to.Version && t.Schema.TypeName() == to.Schema.TypeName() {
			break
		}
	}
	if made.Type == v.Type && bytes.Equal(made.Fields, v.Fields) {
		return onto.Commit{}, nil
	}
	return b.s.b.Resolve(ctx, onto.AtCommit(to.Since))
}

// schemaVersion finds a stored version of a type.
func (b *blamer) schemaVersion(s *onto.Schema, version int) *onto.SchemaVersion {
	stored := b.catalog().Stored
	i := slices.IndexFunc(stored, func(v onto.SchemaVersion) bool {
		return v.Version == version && v.Schema.TypeName() == s.TypeName()
	})
	return &typelist.Copy(stored[i : i+1])[0]
}

func indexOfBlame(list []onto.Blame, field string) int {
	return slices.IndexFunc(list, func(b onto.Blame) bool { return b.Field == field })
}
