// Package foldkeep keeps states in line with facts: in the commits of the facts, and
// afterwards where that was not possible. It computes what drafts with facts become.
//
// What makes it safe is fences, not locks. A draft with facts that carries out a fold is
// fenced on the fold's record, which says that nothing is behind, and on each state that
// it was computed from. One that does not is fenced on a record which says that the fold is
// behind, or writes one. Catching up ends with a commit that is fenced on the head, so that
// no fact can come in between.
package foldkeep

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
	"github.com/ontologia/onto/store/internal/queue"
)

// Keeper keeps the folds of a store.
type Keeper struct {
	Backend backend.Backend
	Types   func() *catalog.Catalog
	Fresh   func(context.Context) (*catalog.Catalog, error) // reads the types again if a read has noticed that they have changed
	Relearn func(context.Context) (*catalog.Catalog, error) // reads them again in any case
	Seen    func(commit int64)                              // told of commits that are made here
	Runtime string
	Timeout time.Duration // of one application of a fold
	Actor   onto.Actor    // of commits that register folds; the zero Actor for that of all upkeep
	Comment string        // of these commits; "" for which fold it is

	// Former refuses a write, which is no assertion, about a fact that has no version,
	// unless it had one while its type had another name.
	Former func(context.Context, *catalog.Catalog, *backend.Write) error

	// Exclusive runs a function while other writers wait, and fails with LockContention
	// if they do not stop.
	Exclusive func(ctx context.Context, f func(*onto.Lease) error) error

	given  []*fold.Fold // those of the program
	queues queue.Queues // of drafts about one subject

	mu       sync.Mutex              // guards the following
	guards   map[string]*guard       // as they were when last read, by type of facts
	states   map[onto.Identity]state // that drafts of this program made last
	headers  map[int64]onto.Draft    // of commits
	programs map[string]*fold.Fold   // those of the store, by name

	worker worker
}

// state is a version of a state; one that a fence would find stale costs a retry.
type state struct {
	commit int64
	fields []byte
}

const (
	maxStates    = 4096     // that are remembered
	maxStateSize = 16 << 10 // of each, in bytes
	maxHeaders   = 4096     // that are remembered
)

// Give sets the folds of the program, before anything else is called.
func (k *Keeper) Give(folds []*fold.Fold) error {
	names, states := map[string]bool{}, map[string]string{}
	for _, f := range folds {
		if err := f.Check(); err != nil {
			return err
		}
		if names[f.Name] {
			return onto.Errorf(onto.Invalid, "fold %s is given twice", f.Name).WithHint("give each fold a name of its own")
		}
		if other, taken := states[f.State]; taken {
			return stateTaken(f, other)
		}
		names[f.Name], states[f.State] = true, f.Name
	}
	k.given = folds
	return nil
}

func stateTaken(f *fold.Fold, other string) error {
	return onto.Errorf(onto.Invalid, "folds %s and %s both make %s", other, f.Name, f.State).WithHint("each fold needs a state type of its own")
}

// guard is a guard as this program sees it, with the folds that there are. One whose
// state type has ended has ended with it.
type guard struct {
	fold.Guard
	folds []*course // by name
}

// course is a fold and how far it has come.
type course struct {
	name string
	kept fold.Kept
	fold.Record
	f   *fold.Fold // how this program folds; nil if it cannot
	why string     // it cannot
}

// ready reports whether a draft can carry out the fold.
func (c *course) ready() bool { return c.f != nil && c.Behind == 0 }

// due reports whether there is something to catch up with that this program can.
func (c *course) due() bool { return c.f != nil && (c.Behind != 0 || c.Rebuild != nil) }

// guard returns the guard of a type of facts, as it was when it was last read.
func (k *Keeper) guard(ctx context.Context, facts string) (*guard, error) {
	k.mu.Lock()
	g := k.guards[facts]
	k.mu.Unlock()
	if g != nil {
		return g, nil
	}
	g, err := k.readGuard(ctx, facts, backend.Head)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.guards == nil {
		k.guards = map[string]*guard{}
	}
	k.guards[facts] = g
	return g, nil
}

// readGuard reads a guard and the records of its folds as of a commit.
func (k *Keeper) readGuard(ctx context.Context, facts string, at int64) (*guard, error) {
	g := &guard{Guard: fold.Guard{Facts: facts}}
	v, err := k.kept(ctx, fold.GuardID(facts), at)
	if v == nil || err != nil {
		return g, err
	}
	if g.Guard, err = fold.ParseGuard(v); err != nil {
		return nil, err
	}
	return g, k.assess(ctx, g, at)
}

// kept reads a guard or a record; nil if there is none.
func (k *Keeper) kept(ctx context.Context, id onto.Identity, at int64) (*onto.Version, error) {
	v, err := k.Backend.Get(ctx, id, at)
	if onto.CodeOf(err) == onto.NotFound || err == nil && !v.Live() {
		return nil, nil
	}
	return &v, err
}

// assess finds out how far the folds of a guard have come and which of them this program
// can carry out.
func (k *Keeper) assess(ctx context.Context, g *guard, at int64) error {
	types := k.Types()
	known := func(kept fold.Kept) bool {
		_, ok := types.Present[onto.TypeName{Kind: onto.KindEntity, Name: kept.State}]
		return ok
	}
	for _, name := range sortedNames(g.Folds) {
		c := &course{name: name, kept: g.Folds[name]}
		var err error
		if !known(c.kept) {
			if types, err = k.Relearn(ctx); err != nil {
				return err
			}
		}
		if !known(c.kept) {
			continue
		}
		v, err := k.kept(ctx, fold.RecordID(g.Facts, name), at)
		if err == nil && v != nil {
			c.Record, err = fold.ParseRecord(v)
		}
		if err != nil {
			return err
		}
		c.f, c.why = k.runnable(types, g.Facts, name, c.kept)
		g.folds = append(g.folds, c)
	}
	return nil
}

// runnable returns how this program folds, or why it cannot.
func (k *Keeper) runnable(types *catalog.Catalog, facts, name string, kept fold.Kept) (*fold.Fold, string) {
	if kept.Program != "" {
		f, err := k.compiled(name, facts, kept)
		if err != nil {
			return nil, err.Error()
		}
		return f, ""
	}
	i := slices.IndexFunc(k.given, func(f *fold.Fold) bool { return f.Name == name && f.Facts == facts })
	switch {
	case i < 0:
		return nil, "it is Go code that this program was not opened with"
	case k.given[i].Version < kept.Version:
		return nil, "this program has an older version of it"
	case k.given[i].Version > kept.Version || k.given[i].Struct == nil:
		return nil, "this program has a newer version of it"
	}
	if _, err := types.OfStruct(k.given[i].Struct); err != nil {
		return nil, err.Error()
	}
	return k.given[i], ""
}

// compiled returns the fold of a program that is kept in the store.
func (k *Keeper) compiled(name, facts string, kept fold.Kept) (*fold.Fold, error) {
	k.mu.Lock()
	f := k.programs[name]
	k.mu.Unlock()
	if f != nil && f.Facts == facts && f.State == kept.State && f.Version == kept.Version && f.Program == kept.Program {
		return f, nil
	}
	f, err := fold.Program(name, kept.Version, facts, kept.State, kept.Program)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.programs == nil {
		k.programs = map[string]*fold.Fold{}
	}
	k.programs[name] = f
	return f, nil
}

// typeOf returns the type of a fold's states.
func typeOf(types *catalog.Catalog, f *fold.Fold) (*catalog.Type, error) {
	if f.Struct != nil {
		return types.OfStruct(f.Struct)
	}
	return types.Get(onto.KindEntity, f.State)
}

// forget makes the next draft read guards and states anew.
func (k *Keeper) forget(d *backend.Draft) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range d.Writes {
		w := &d.Writes[i]
		delete(k.states, w.Identity)
		if w.Kind == onto.KindFact {
			delete(k.guards, w.Type)
		}
	}
	for i := range d.Fence {
		delete(k.states, d.Fence[i].Identity)
	}
}

// stateOf returns the newest version of a state, or nil if there is none. What drafts of
// this program made last is not read again: the fence proves that it is the newest.
func (k *Keeper) stateOf(ctx context.Context, id onto.Identity) (*onto.Version, error) {
	k.mu.Lock()
	known, ok := k.states[id]
	k.mu.Unlock()
	if ok {
		return &onto.Version{Identity: id, Op: onto.Put, Commit: known.commit, Fields: known.fields}, nil
	}
	v, err := k.Backend.Get(ctx, id, backend.Head)
	switch {
	case onto.CodeOf(err) == onto.NotFound || err == nil && !v.Live():
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &v, nil
}

// made notes what a commit has made of states.
func (k *Keeper) made(commit int64, states []backend.Write) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.states == nil || len(k.states) > maxStates {
		k.states = map[onto.Identity]state{}
	}
	for i := range states {
		if w := &states[i]; w.Op == onto.Put && w.Known == nil && len(w.Fields) <= maxStateSize {
			k.states[w.Identity] = state{commit, w.Fields}
		} else {
			delete(k.states, w.Identity)
		}
	}
}

// header returns the header of the draft that made a commit.
func (k *Keeper) header(ctx context.Context, commit int64) (onto.Draft, error) {
	k.mu.Lock()
	d, ok := k.headers[commit]
	k.mu.Unlock()
	if ok {
		return d, nil
	}
	c, err := k.Backend.Resolve(ctx, onto.AtCommit(commit))
	if err != nil {
		return onto.Draft{}, err
	}
	d = fold.HeaderOf(&c)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.headers == nil || len(k.headers) >= maxHeaders {
		k.headers = map[int64]onto.Draft{}
	}
	k.headers[commit] = d
	return d, nil
}

// head is the id of the newest commit.
func (k *Keeper) head(ctx context.Context) (int64, error) {
	c, err := k.Backend.Resolve(ctx, onto.Point{})
	return c.ID, err
}

// mark is a text that no guard has had.
func mark() string { return rand.Text()[:12] }
