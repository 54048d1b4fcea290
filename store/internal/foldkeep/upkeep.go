package foldkeep

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
)

const (
	batch   = 200    // subjects that are refolded in one commit
	pending = 50_000 // subjects that are found at once
)

// moment is what a step of upkeep is computed from.
type moment struct {
	lease *onto.Lease // under which the step is taken; nil for none
	last  bool        // the step must be the next commit
	head  int64
	guard *guard
	types *catalog.Catalog
}

// moment reads head and guard, which belong together.
func (k *Keeper) moment(ctx context.Context, facts string) (moment, error) {
	head, err := k.head(ctx)
	if err != nil {
		return moment{}, err
	}
	g, err := k.readGuard(ctx, facts, head)
	if err != nil {
		return moment{}, err
	}
	types, err := k.Fresh(ctx)
	return moment{head: head, guard: g, types: types}, err
}

// has reports whether a type exists.
func (m *moment) has(kind onto.Kind, name string) bool {
	return m.types.Present[onto.TypeName{Kind: kind, Name: name}] != nil
}

// of returns a fold; nil if there is none of that name.
func (m *moment) of(name string) *course {
	for _, c := range m.guard.folds {
		if c.name == name {
			return c
		}
	}
	return nil
}

// CatchUp brings a fold up to date, and finishes its rebuild. Progress, if not nil, is
// told how many subjects a rebuild has done.
func (k *Keeper) CatchUp(ctx context.Context, facts, name string, progress func(done int64)) error {
	pause := backoff.Backoff{First: 2 * time.Millisecond, Longest: 100 * time.Millisecond}
	for {
		var due bool
		var err error
		step := func(lease *onto.Lease) error {
			due, err = k.advance(ctx, facts, name, max(1, batch>>pause.Tries), lease, progress)
			return err
		}
		if pause.Tries < maxStale {
			err = step(nil)
		} else {
			err = k.Exclusive(ctx, step)
		}
		switch {
		case err == nil && !due:
			return nil
		case err == nil:
			pause.Tries = 0
		case !slices.Contains([]onto.Code{onto.Stale, onto.LockContention, onto.LeaseExpired}, onto.CodeOf(err)):
			return err
		default:
			if err := pause.Pause(ctx, nil); err != nil {
				return err
			}
		}
	}
}

// maxStale is how many steps in a row may be stale before one is taken while other
// writers wait.
const maxStale = 1

// advance takes one step of a fold of at most so many subjects. Due says whether there
// was something to do.
func (k *Keeper) advance(ctx context.Context, facts, name string, size int, lease *onto.Lease, progress func(done int64)) (due bool, err error) {
	m, err := k.moment(ctx, facts)
	if err != nil {
		return false, err
	}
	m.lease = lease
	c := m.of(name)
	switch {
	case c == nil || !c.due():
		return false, nil
	case c.Behind != 0:
		return true, k.refoldChanged(ctx, m, c, size)
	}
	err = k.rebuildStep(ctx, m, c, size)
	if err == nil && progress != nil {
		progress(c.Rebuild.Done)
	}
	return true, err
}

// refoldChanged refolds the subjects that have changed since the fold was behind, in
// commits that also say how far it has come. Other programs go on writing facts meanwhile;
// the last commit is made only if there is none in between.
func (k *Keeper) refoldChanged(ctx context.Context, m moment, c *course, size int) error {
	progress := fold.Progress{Upto: m.head}
	if p := c.Progress; p != nil && p.Upto >= c.Behind {
		progress = *p
	}
	list, more, err := k.changedAfter(ctx, m.guard.Facts, c.Behind, progress.Upto, progress.After, pending)
	if err != nil {
		return err
	}
	for {
		part := list[:min(size, len(list))]
		list = list[len(part):]
		if len(part) > 0 {
			progress.After = part[len(part)-1]
		}
		next, so := c.Record, progress
		next.Progress = &so
		done := len(list) == 0 && !more
		m.last = false
		if done {
			// Facts of later commits are next, if there are any.
			later, _, err := k.changedAfter(ctx, m.guard.Facts, progress.Upto, m.head, "", 1)
			if err != nil {
				return err
			}
			next.Behind, next.Progress = 0, nil
			if m.last = len(later) == 0; !m.last {
				next.Behind = progress.Upto
			}
		}
		if err := k.step(ctx, m, c, next, part, nil, "fold "+c.name+" catches up"); err != nil || done || len(list) == 0 || m.lease != nil {
			return err
		}
		if m, err = k.moment(ctx, m.guard.Facts); err != nil {
			return err
		}
		c = m.of(c.name)
		if c == nil || c.f == nil || c.Behind == 0 || c.Progress == nil || *c.Progress != progress {
			return nil // another program goes on
		}
	}
}

// rebuildStep refolds the next subjects of a fold.
func (k *Keeper) rebuildStep(ctx context.Context, m moment, c *course, size int) error {
	list, more, err := k.subjectsAfter(ctx, c.f, m.head, c.Rebuild.After, size)
	if err != nil {
		return err
	}
	next := c.Record
	if next.Rebuild = nil; more {
		next.Rebuild = &fold.Rebuilding{After: list[len(list)-1], Done: c.Rebuild.Done + int64(len(list))}
	}
	metadata, err := json.Marshal(map[string]string{fold.Rebuild: c.name})
	if err != nil {
		return err
	}
	return k.step(ctx, m, c, next, list, metadata, "fold "+c.name+" is rebuilt")
}

// step commits the states of subjects as a replay makes them, together with the record.
func (k *Keeper) step(ctx context.Context, m moment, c *course, next fold.Record, subjects []string, metadata json.RawMessage, comment string) error {
	t, err := typeOf(m.types, c.f)
	if err != nil {
		return err
	}
	list, err := k.replay(ctx, m.types, c.f, m.head, subjects)
	if err != nil {
		return err
	}
	d := k.draft(comment)
	d.Metadata, d.Lease = metadata, m.lease
	d.Writes, d.Fence = refold(list, c.f, t, subjects)
	d.Fence = append(d.Fence, onto.Expectation{Identity: fold.GuardID(m.guard.Facts), Commit: m.guard.Commit})
	if m.last {
		d.Fence = append(d.Fence, onto.Expectation{Head: true, Commit: m.head})
	}
	return k.commit(ctx, d, m.guard.Facts, c, &next)
}

func (k *Keeper) draft(comment string) *backend.Draft {
	return &backend.Draft{Header: backend.Header{Runtime: k.Runtime, Actor: onto.Component("folds"), Comment: comment}}
}

// commit commits a draft with a record in place of the one that it was computed from.
func (k *Keeper) commit(ctx context.Context, d *backend.Draft, facts string, was *course, next *fold.Record) error {
	version, err := k.guardVersion(ctx)
	if err != nil {
		return err
	}
	id := fold.RecordID(facts, was.name)
	fields, err := next.Fields(id, mark())
	if err != nil {
		return err
	}
	d.Writes = append(d.Writes, backend.Write{Identity: id, Op: onto.Put, Fields: fields, SchemaVersion: version, Derived: true})
	d.Fence = append(d.Fence, onto.Expectation{Identity: id, Commit: was.Commit})
	if d.Writes, err = backend.SortWrites(d.Writes); err != nil {
		return err
	}
	res, err := k.Backend.Append(ctx, d)
	if err == nil {
		k.Seen(res.At)
	}
	k.forgetGuards([]string{facts})
	k.forget(d)
	return err
}

// Register makes the folds of the program known to the store. Started are state types
// that were not stored before.
func (k *Keeper) Register(ctx context.Context, started []string) error {
	for _, f := range k.given {
		if err := k.register(ctx, f, slices.Contains(started, f.State)); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) register(ctx context.Context, f *fold.Fold, started bool) error {
	for {
		m, err := k.moment(ctx, f.Facts)
		if err != nil {
			return err
		}
		if err := k.checkOthers(ctx, m, f); err != nil {
			return err
		}
		kept, known := m.guard.Folds[f.Name]
		switch {
		case known && kept.State != f.State && m.has(onto.KindEntity, kept.State):
			return onto.Errorf(onto.Conflict, "fold %s makes %s in this store, not %s", f.Name, kept.State, f.State).
				WithHint("give the fold another name, and it makes states of its own")
		case known && kept.Version == f.Version && kept.Program != f.Program:
			return onto.Errorf(onto.Conflict, "fold %s version %d is another program in this store", f.Name, f.Version).
				WithHint("raise the version, so that states are rebuilt")
		case known && (kept.Version > f.Version || kept.Version == f.Version && !started):
			return nil
		}
		if err := k.begin(ctx, m, f); onto.CodeOf(err) != onto.Stale {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// begin makes a version of a fold that of the store, and has its states rebuilt.
func (k *Keeper) begin(ctx context.Context, m moment, f *fold.Fold) error {
	c := m.of(f.Name)
	if c == nil {
		c = &course{name: f.Name}
		v, err := k.kept(ctx, fold.RecordID(f.Facts, f.Name), m.head)
		if err != nil {
			return err
		}
		if v != nil {
			c.Commit = v.Commit // of a fold that has ended
		}
	}
	d := k.draft(cmp.Or(k.Comment, fmt.Sprintf("fold %s version %d", f.Name, f.Version)))
	d.Actor = cmp.Or(k.Actor, d.Actor)
	next := fold.Record{Behind: c.Behind, Progress: c.Progress, Rebuild: &fold.Rebuilding{}}
	if _, more, err := k.subjectsAfter(ctx, f, m.head, "", 0); err != nil {
		return err
	} else if !more { // there is nothing to rebuild, unless there is by then
		next.Rebuild = nil
		d.Fence = append(d.Fence, onto.Expectation{Head: true, Commit: m.head})
	}
	g := fold.Guard{Facts: f.Facts, Folds: maps.Clone(m.guard.Folds)}
	if g.Folds == nil {
		g.Folds = map[string]fold.Kept{}
	}
	g.Folds[f.Name] = fold.Kept{Version: f.Version, State: f.State, Program: f.Program}
	fields, err := g.Fields()
	if err != nil {
		return err
	}
	version, err := k.guardVersion(ctx)
	if err != nil {
		return err
	}
	id := fold.GuardID(f.Facts)
	d.Writes = append(d.Writes, backend.Write{Identity: id, Op: onto.Put, Fields: fields, SchemaVersion: version, Derived: true})
	d.Fence = append(d.Fence, onto.Expectation{Identity: id, Commit: m.guard.Commit})
	return k.commit(ctx, d, f.Facts, c, &next)
}

// checkOthers refuses a fold whose name or states are those of another type's.
func (k *Keeper) checkOthers(ctx context.Context, m moment, f *fold.Fold) error {
	guards, err := k.all(ctx, m.head)
	if err != nil {
		return err
	}
	for _, g := range guards {
		if !m.has(onto.KindFact, g.Facts) {
			continue
		}
		for name, kept := range g.Folds {
			switch {
			case name == f.Name && g.Facts != f.Facts:
				return onto.Errorf(onto.Conflict, "fold %s folds %s in this store, not %s", name, g.Facts, f.Facts).WithHint("give the fold another name")
			case name != f.Name && kept.State == f.State:
				return stateTaken(f, name)
			}
		}
	}
	return nil
}

// all returns the guards as of a commit, by type of facts.
func (k *Keeper) all(ctx context.Context, head int64) ([]*guard, error) {
	name := onto.TypeName{Kind: onto.KindEntity, Name: fold.Guards}
	var list []*guard
	for v, err := range k.Backend.Scan(ctx, &backend.Query{Kind: name.Kind, Type: name.Name, At: head}) {
		if err != nil {
			return nil, err
		}
		if strings.Contains(v.Key, "/") {
			continue
		}
		g := &guard{}
		if g.Guard, err = fold.ParseGuard(&v); err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	for _, g := range list {
		if err := k.assess(ctx, g, head); err != nil {
			return nil, err
		}
	}
	return list, nil
}
