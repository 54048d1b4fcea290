package store

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
)

// View is a moment of a store's log. Reads start from it. Making one costs nothing;
// whether the moment exists is checked when it is read.
type View struct {
	s      *Store
	point  onto.Point
	stored bool       // fields as they were written
	valid  *time.Time // what the facts are about; nil for the time that follows from the point

	types *catalog.Catalog // of a question under way; nil for the newest
}

// catalog is the types that the view is read with.
func (v View) catalog() *catalog.Catalog {
	if v.types != nil {
		return v.types
	}
	return v.s.catalog()
}

// current is the view with the types that are known now, for one question.
func (v View) current() View {
	v.types = v.s.catalog()
	return v
}

// Now views the newest state, whatever that is when a question is asked. For
// several questions about one moment, use Pin.
func (s *Store) Now() View { return View{s: s} }

// At views the state right after a commit. Commit 0 is the empty store.
func (s *Store) At(commit int64) View { return View{s: s, point: onto.AtCommit(commit)} }

// AsOf views the state at a time: after the last commit that is not later. A
// time after the head views the head.
func (s *Store) AsOf(t time.Time) View { return View{s: s, point: onto.AtTime(t)} }

// Pin views the newest state as it is now: unlike [Store.Now], which follows the head, the
// view stays as it is. Without [View.ValidAt] it is about the present time.
func (s *Store) Pin(ctx context.Context) (View, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return View{}, err
	}
	return s.At(head.ID).ValidAt(time.Now()), nil
}

// View views a point.
func (s *Store) View(p onto.Point) View { return View{s: s, point: p} }

// AsStored is the same view of things as they were written, whatever their
// types are now. It shows versions, not Go structs.
func (v View) AsStored() View {
	v.stored = true
	return v
}

// ValidAt is the same view of what holds at a time: of what was believed at its moment,
// the facts about that time. Without it, Now is about the present, AsOf a time about that
// time, and At a commit about the time of the commit.
func (v View) ValidAt(t time.Time) View {
	v.valid = &t
	return v
}

// Head returns the newest commit; its ID is 0 if there is none.
func (s *Store) Head(ctx context.Context) (onto.Commit, error) { return s.Now().Commit(ctx) }

// Commit returns the commit that the view shows the state after. Its ID is 0
// if that is before the first.
func (v View) Commit(ctx context.Context) (onto.Commit, error) {
	if id, ok := v.point.Commit(); ok && id < 0 {
		return onto.Commit{}, onto.Errorf(onto.Invalid, "commit %d is negative", id)
	}
	c, err := v.s.b.Resolve(ctx, v.point)
	if err == nil {
		v.s.seen(c.ID)
	}
	return c, err
}

// resolve returns the backend's form of the view: a commit id, or Head.
func (v View) resolve(ctx context.Context) (int64, error) {
	if v.point.IsHead() {
		return backend.Head, nil
	}
	if id, ok := v.point.Commit(); ok && id >= 0 && id <= v.s.head.Load() {
		return id, nil
	}
	c, err := v.Commit(ctx)
	return c.ID, err
}

// Get returns the version of an identity that the view shows, or NotFound.
func (v View) Get(ctx context.Context, id onto.Identity) (found onto.Version, err error) {
	err = again(func() error {
		v, err := v.current().pin(ctx)
		if err != nil {
			return err
		}
		t, err := v.typ(id.Kind, id.Type)
		if err != nil {
			return err
		}
		found, err = v.get(ctx, t, id)
		return err
	})
	return found, err
}

// typ returns a type as the view shows it: the one that had the name then.
func (v View) typ(kind onto.Kind, name string) (*catalog.Type, error) {
	at := backend.Head
	if commit, ok := v.point.Commit(); ok {
		at = commit
	}
	if v.stored {
		return v.catalog().StoredType(kind, name, at)
	}
	return v.catalog().Life(kind, name, at)
}

// named returns a type by its name alone. Existing types come first.
func (v View) named(name string) (*catalog.Type, error) {
	kinds, c := onto.Kinds(), v.catalog()
	for _, kind := range kinds {
		if _, ok := c.Present[onto.TypeName{Kind: kind, Name: name}]; ok {
			return v.typ(kind, name)
		}
	}
	for _, kind := range kinds {
		if _, ok := c.Former[onto.TypeName{Kind: kind, Name: name}]; ok {
			return v.typ(kind, name)
		}
	}
	return nil, c.Unknown("", name)
}

// pin replaces a time by the commit that it refers to, if it matters what types
// were like then.
func (v View) pin(ctx context.Context) (View, error) {
	t, timed := v.point.Time()
	if !timed || !v.stored && len(v.catalog().Former) == 0 {
		return v, nil
	}
	c, err := v.Commit(ctx)
	if v.valid == nil {
		v.valid = &t
	}
	v.point = onto.AtCommit(c.ID)
	return v, err
}

// Type returns the schema that the view shows a type with: the present one, or, as
// stored, one that has the fields of all its versions. A type that has ended has one as
// well, for views of earlier moments.
func (v View) Type(name string) (onto.Schema, error) {
	q := v.Find(name)
	if q.err != nil {
		return onto.Schema{}, q.err
	}
	return q.t.Schema, nil
}

// Types returns the schemas of the types that exist in the view, ordered by kind and
// name: the present ones, and those that ended later. As stored they have the names of
// that time.
func (v View) Types(ctx context.Context) ([]onto.Schema, error) {
	v, err := v.pin(ctx)
	if err != nil {
		return nil, err
	}
	at, err := v.resolve(ctx)
	if err != nil {
		return nil, err
	}
	var list []onto.Schema
	for _, n := range v.catalog().EveryName() {
		t, err := v.typ(n.Kind, n.Name)
		if err != nil || fold.IsReserved(n.Name) || v.exists(t, at) != nil || !v.stored && t.End != nil && t.End.RenamedTo != "" {
			continue
		}
		if k := len(list); k == 0 || list[k-1].Name != t.Schema.Name || list[k-1].Kind != t.Schema.Kind {
			list = append(list, t.Schema)
		}
	}
	return list, nil
}

// EveryType is Types for histories: with types that have ended by the view's moment,
// since their versions remain.
func (v View) EveryType() []onto.Schema {
	var list []onto.Schema
	for _, n := range v.catalog().EveryName() {
		if fold.IsReserved(n.Name) || !v.stored && n.Type.End != nil && n.Type.End.RenamedTo != "" {
			continue // appears under its new name
		}
		t, err := v.typ(n.Kind, n.Name)
		if k := len(list); err == nil && (k == 0 || list[k-1].Name != t.Schema.Name || list[k-1].Kind != t.Schema.Kind) {
			list = append(list, t.Schema)
		}
	}
	return list
}

// exists fails if the type does not exist as of a commit: it has ended, or, as stored,
// had another name then.
func (v View) exists(t *catalog.Type, at int64) error {
	if !v.stored {
		if t.End != nil && !t.Covers(at) {
			return t.Gone()
		}
		return nil
	}
	life, err := v.catalog().Life(t.Schema.Kind, t.Schema.Name, at)
	if err != nil {
		return err
	}
	if life.End != nil && !life.Covers(at) {
		return life.Gone()
	}
	if life.Chain != nil && life.Chain.Begun(at) {
		if name := life.Chain.Source(at); name != t.Schema.Name {
			return onto.Errorf(onto.Invalid, "at commit %d type %s was called %s", at, t.Schema.Name, name).
				WithHint("ask for %s to see it as stored", name)
		}
	}
	return nil
}

// structType is the type of a Go struct. A view as stored has none.
func (v View) structType(t reflect.Type) (*catalog.Type, error) {
	if v.stored {
		return nil, onto.Errorf(onto.Invalid, "a view as stored shows versions, not %v", t).WithHint("use View.Get and View.Find")
	}
	found, err := v.catalog().OfStruct(t)
	if err == nil && found.Schema.Kind == onto.KindFact {
		return nil, onto.Errorf(onto.Invalid, "a %s is what several facts tell, not one thing", found.Schema.Name).
			WithHint("use store.About for what holds, and View.Facts for the facts")
	}
	return found, err
}

func (v View) get(ctx context.Context, t *catalog.Type, id onto.Identity) (onto.Version, error) {
	if err := t.CheckIdentity(id); err != nil {
		return onto.Version{}, err
	}
	at, err := v.resolve(ctx)
	if err != nil {
		return onto.Version{}, err
	}
	if err := v.exists(t, at); err != nil {
		return onto.Version{}, err
	}
	found, err := reader{v, t}.get(ctx, id, at)
	if err == nil && !found.Live() {
		return onto.Version{}, onto.Errorf(onto.NotFound, "%s was deleted by commit %d", id, found.Commit).
			WithHint("see its versions").WithCommand(logCommand(id)...)
	}
	return found, err
}

// logCommand shows the versions of an identity.
func logCommand(id onto.Identity) []string {
	command, parts := []string{"log"}, []string{id.Type, id.Key}
	if id.Kind == onto.KindRelation {
		parts = []string{id.Type, id.Left, id.Right}
	}
	if id.Kind == onto.KindFact {
		parts = []string{id.Type, id.Left, id.Right, id.Instance}
	} else if id.Instance != "" {
		command = append(command, "--instance="+id.Instance)
	}
	if slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, "-") }) {
		command = append(command, "--") // no flags after it
	}
	return append(command, parts...)
}

// Source is what [Get], [GetVersion] and [Find] read from: a [View], or a [Tx].
type Source interface{ View | *Tx }

// from returns the view of a source, and the transaction, if it is one.
func from[V Source](source V) (View, *Tx) {
	switch source := any(source).(type) {
	case *Tx:
		return source.view, source
	case View:
		return source, nil
	}
	return View{}, nil
}

// Get returns the T with this key as the view or the transaction shows it, or NotFound. The
// key of an entity is one part; that of a relation is left and right, and its instance key
// if it has one.
func Get[T any, V Source](ctx context.Context, source V, key ...string) (T, error) {
	v, tx := from(source)
	value, _, err := read[T](ctx, v, tx, key)
	return value, err
}

// GetVersion is Get with the version beside the value, and the commit that made it.
func GetVersion[T any, V Source](ctx context.Context, source V, key ...string) (Versioned[T], error) {
	v, tx := from(source)
	value, found, err := read[T](ctx, v, tx, key)
	if err != nil {
		return Versioned[T]{}, err
	}
	commit, err := v.s.b.Resolve(ctx, onto.AtCommit(found.Commit))
	return Versioned[T]{value, Entry{found, commit}}, err
}

// GetRow is Get with the version that was read. It is one question less than GetVersion.
func GetRow[T any, V Source](ctx context.Context, source V, key ...string) (Row[T], error) {
	v, tx := from(source)
	value, found, err := read[T](ctx, v, tx, key)
	return Row[T]{value, found}, err
}

// read reads a T and the version that it was decoded from. A transaction, unless it is nil,
// notes it.
func read[T any](ctx context.Context, v View, tx *Tx, key []string) (value T, found onto.Version, err error) {
	if err := tx.usable(); err != nil {
		return value, found, err
	}
	err = again(func() error {
		v := v.current()
		t, err := v.structType(reflect.TypeFor[T]())
		if err != nil {
			return err
		}
		id, err := t.Identity(key)
		if err != nil {
			return err
		}
		found, err = v.get(ctx, t, id)
		found.Identity = id
		if err != nil {
			return err
		}
		return t.Decode(&found, &value)
	})
	if tx != nil {
		err = tx.readInto(reflect.ValueOf(&value).Elem(), &found, err)
	}
	return value, found, err
}
