// Package store is the core of Ontologia: it opens a backend with types,
// commits drafts and answers questions about any moment of the log.
//
//	db, err := sqlite.Open(ctx, "crm.db", nil)
//	s, err := store.Open(ctx, db, onto.TypeOf[Customer](), onto.TypeOf[Product]())
//	defer s.Close()
//
// Package [github.com/ontologia/onto/object] keeps objects of many tenants in several stores.
//
// # Writing
//
// [Store.Commit] makes a draft true: it compares what the draft wants with
// what is there, under the write lock, and makes one commit of the difference,
// or none. [Store.CommitStream] does the same for more than fits in memory.
//
//	res, err := s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana"), Comment: "import"}.Ensure(ada, bob))
//
// [Update] reads a thing, changes it and writes it, again if another writer was first: it
// is the way to count. [Transact] does the same for as many things as are needed:
//
//	res, err := store.Transact(ctx, s, draft, func(tx *store.Tx) error {
//		ana, err := store.Get[Account](ctx, tx, "ana")
//		…
//		return tx.Ensure(ana, bob)
//	})
//
// [onto.Draft.Merge] sets some fields without reading. A program that
// shows a thing and writes it back later reads it with [GetVersion] and expects that
// version; VersionMismatch then says that another writer was first, and nothing was written.
// One that computes a draft by itself says with [onto.Draft.Given] what of: Stale then says
// that it is to be computed again.
//
// # Reading
//
// Reads start from a [View], a moment of the log: [Store.Now], which follows the head,
// [Store.Pin], which does not, [Store.At] a commit, or [Store.AsOf] a time. [Get] and [Find] return Go structs; [View.Get] and [View.Find]
// return versions, for types known only at run time.
//
//	ada, err := store.Get[Customer](ctx, s.At(1), "c1")
//	for c, err := range store.Find[Customer](s.Now()).Where(onto.Path("tier").Eq("Gold")).All(ctx) { … }
//
// A [Query] filters ([Query.Where]), searches ([Query.Search]), sorts
// ([Query.OrderBy]) and pages ([Query.Page]); it counts and groups
// ([Query.Count], [Query.GroupBy]), follows relations ([Query.Traverse]), and
// tells how it is answered ([Query.Explain]). Its versions over time are
// [Query.Versions]. [GroupsAs] and [RoutesAs] return groups and routes as Go structs.
//
// Sequences stream: they need little memory however much they yield, and leaving the
// loop releases everything.
//
// History is read from the store itself: [History] and [Store.History] of one identity,
// [Store.Commits], [Store.Changes] of a commit, [Store.Diff] of two moments, and
// [Store.Blame] for who last set each field.
//
// # Changing types
//
// A Go struct with more fields than are stored just opens the store, see [Open], and types
// join one that is open with [Store.Register]. For other changes, [PlanMigration] and
// [Migrate] bring a store to other types, [PlanDrop] and [DropTypes] end one. What was stored before is read as the present types have
// it, by the upgraders that came with each migration; [View.AsStored] shows it
// as it was written. These functions take a backend, and leave it open:
//
//	m := &store.Migration{Types: []onto.Type{onto.TypeOf[Customer]()}}
//	plan, err := store.PlanMigration(ctx, db, m)
//	_, _, err = store.Migrate(ctx, db, m, &store.ApplyOptions{Token: plan.Token})
//	s, err := store.Open(ctx, db, m.Types...)
//
// # Examples
//
// The files example*_test.go have a program for most of this; go doc does not show them.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/own"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
	"github.com/ontologia/onto/store/internal/foldkeep"
	"github.com/ontologia/onto/store/internal/queue"
)

// DefaultMaxBatch is how many intents a draft may have.
const DefaultMaxBatch = 10_000

// Options change how a store is opened. The zero value is the default.
type Options struct {
	MaxBatch int    // most intents in a draft; 0 for DefaultMaxBatch
	Runtime  string // names this run of the program in commits; "" for host, process and a random part

	// Actor is on whose behalf new types and folds are registered, and Comment why. They
	// are kept with the versions of the types, and with the commits that keep the folds.
	Actor   onto.Actor
	Comment string

	Namespace     string // of events that name none; "" for onto.DefaultNamespace
	MaxChainDepth int    // how many events may have led to one; 0 for onto.MaxChainDepth

	// ScratchDir is where streams are sorted that do not fit in memory; "" for
	// the system's directory for temporary files.
	ScratchDir string

	// Upgraders are the Go functions that bring fields of older versions of types to
	// the present. Upgraders that are programs are kept in the store.
	Upgraders      []Upgrader
	UpgradeTimeout time.Duration // how long an upgrader may take for one thing; 0 for DefaultUpgradeTimeout

	// Folds are those that the program carries out: [Fold] and [FoldProgram]. Programs
	// are kept in the store, and every program that opens it carries them out.
	Folds       []Folding
	FoldTimeout time.Duration // how long a fold may take for one fact; 0 for DefaultFoldTimeout
}

// Store is one log, open for reading and writing. It may be used concurrently.
type Store struct {
	b     backend.Backend
	opts  Options
	head  atomic.Int64               // a commit that is known to exist; only a restore takes it away
	known atomic.Pointer[originSeen] // see origin; nil until it is needed

	types    atomic.Pointer[catalog.Catalog] // what is known of the types
	watcher  backend.TypeWatcher             // tells when they have changed; nil if the backend cannot
	learning sync.Mutex                      // held while a catalog is made
	program  catalog.Program                 // what the caller knows of the types; guarded by learning
	joining  sync.Mutex                      // held while types join

	updates queue.Queues // of things that Update is at work on
	folds   foldkeep.Keeper
	recheck recheck
}

// Open opens the store that a backend keeps. The given types are registered if they are
// new. If the Go struct of one has every field that is stored, and more, or is changed
// compatibly otherwise (see onto.Compatible), the type gets a new version: a new field that
// is required begins as the zero value of its Go type, which becomes its default, at every
// depth (see onto.Type.Joining). What is stored is carried over in one commit, as by
// [Migrate]; other writers wait for it. Programs with the older struct go on, and one with
// the newer struct opens the store again without a further change.
//
// If a type is stored differently otherwise, Open fails with SchemaOutdated, and no type is
// changed: a field is gone or has another type, a new field has no zero value that it may
// have, or it was dropped by a migration before. So it does if a type without a Go struct
// differs, unless what is stored serves it; [Migrate] changes these. [PlanTypes] says what
// would change.
//
// Marking other fields for index or search is no difference: indexes are made or removed,
// which takes a while if there is much data. Types that are stored but not given can be used
// by name; those that another program registers later are known after the next Open or
// [Store.Register]. The store owns the backend from then on, also when Open fails.
func Open(ctx context.Context, b backend.Backend, types ...onto.Type) (*Store, error) {
	return OpenWith(ctx, b, nil, types...)
}

// OpenWith is Open with options.
func OpenWith(ctx context.Context, b backend.Backend, opts *Options, types ...onto.Type) (*Store, error) {
	s := newStore(b, opts)
	err := s.opts.check()
	if err == nil {
		err = s.load(ctx, types)
	}
	if err == nil {
		err = s.folds.Start(ctx)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return s, nil
}

// newStore makes a store with its options filled in. It knows no types yet.
func newStore(b backend.Backend, opts *Options) *Store {
	s := &Store{b: b}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.MaxBatch <= 0 {
		s.opts.MaxBatch = DefaultMaxBatch
	}
	if s.opts.Runtime == "" {
		s.opts.Runtime = runtimeName()
	}
	s.opts.Namespace = cmp.Or(s.opts.Namespace, onto.DefaultNamespace)
	if s.opts.MaxChainDepth <= 0 {
		s.opts.MaxChainDepth = onto.MaxChainDepth
	}
	if s.opts.UpgradeTimeout <= 0 {
		s.opts.UpgradeTimeout = DefaultUpgradeTimeout
	}
	if s.opts.FoldTimeout <= 0 {
		s.opts.FoldTimeout = DefaultFoldTimeout
	}
	s.folds = foldkeep.Keeper{
		Backend: b, Types: s.catalog, Fresh: s.relearn, Relearn: s.relearnAll, Seen: s.seen, Runtime: s.opts.Runtime, Timeout: s.opts.FoldTimeout,
		Actor: s.opts.Actor, Comment: s.opts.Comment,
		Former: s.formerFact, Exclusive: s.exclusively,
	}
	return s
}

// check refuses names that could not be stored.
func (o *Options) check() error {
	if err := onto.CheckBusName("namespace", o.Namespace); err != nil {
		return err
	}
	if r := o.Runtime; len(r) > onto.MaxKey || !utf8.ValidString(r) || strings.IndexByte(r, 0) >= 0 {
		return onto.Errorf(onto.Invalid, "the runtime name is not text of at most %d bytes", onto.MaxKey)
	}
	return onto.Draft{Actor: o.Actor, Comment: o.Comment}.Check()
}

// registration asks for types to exist.
func (o *Options) registration(types []onto.Schema) *backend.Registration {
	return &backend.Registration{Schemas: types, Runtime: o.Runtime, Reason: "initial", Actor: o.Actor, Comment: o.Comment}
}

func runtimeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
}

// learn makes a catalog of the stored types for the program.
func (s *Store) learn(stored []onto.SchemaVersion) *catalog.Catalog {
	c := catalog.New(stored, s.program.Upgraders)
	s.program.Use(c)
	return c
}

// catalog is what is known of the types.
func (s *Store) catalog() *catalog.Catalog { return s.types.Load() }

// schemasOf returns the schemas of types, each once.
func schemasOf(ctx context.Context, types []onto.Type) ([]onto.Schema, error) {
	schemas := make([]onto.Schema, len(types))
	for i, t := range types {
		schema, err := t.Schema()
		if err != nil {
			return nil, err
		}
		if err := checkUserNames(ctx, &schema); err != nil {
			return nil, err
		}
		schemas[i] = schema
		if slices.ContainsFunc(schemas[:i], func(o onto.Schema) bool { return o.Name == schema.Name }) {
			return nil, onto.Errorf(onto.Invalid, "type %s is given twice", schema.Name)
		}
	}
	return schemas, nil
}

// checkUserNames refuses a type that is named, or has a field that is named, as only the
// store itself names them. Packages that keep types of their own may name these so.
func checkUserNames(ctx context.Context, s *onto.Schema) error {
	if strings.HasPrefix(s.Name, onto.OwnPrefix) && (s.Name == fold.Guards || !own.Allowed(ctx)) {
		return onto.CheckUserName("type", s.Name)
	}
	for _, f := range s.Fields {
		if f.Compute == nil && strings.HasPrefix(f.Name, onto.OwnPrefix) {
			return onto.CheckUserName(s.Name+": field", f.Name)
		}
	}
	return nil
}

// checkEndpoints refuses relations between types, and facts about a type, that are
// neither stored nor given.
func checkEndpoints(stored []onto.SchemaVersion, given []onto.Schema) error {
	var entities []string
	for _, v := range stored {
		if v.Schema.Kind == onto.KindEntity {
			entities = append(entities, v.Schema.Name)
		}
	}
	for _, g := range given {
		if g.Kind == onto.KindEntity {
			entities = append(entities, g.Name)
		}
	}
	for _, g := range given {
		for _, end := range endpoints(&g) {
			switch {
			case slices.Contains(entities, end):
			case g.Kind == onto.KindFact:
				return catalog.UnknownName(onto.Errorf(onto.Invalid, "the facts %s are about %s, which is not an entity type of this store", g.Name, end),
					end, entities, "register the type of the subjects together with the facts")
			default:
				return catalog.UnknownName(onto.Errorf(onto.Invalid, "relation %s has the endpoint %s, which is not an entity type of this store", g.Name, end),
					end, entities, "register the endpoint's type together with the relation")
			}
		}
	}
	return nil
}

// endpoints returns the entity types that a type refers to: the two ends of a relation,
// the subjects of facts that are about entities.
func endpoints(s *onto.Schema) []string {
	switch {
	case s.Kind == onto.KindRelation:
		return []string{s.Left, s.Right}
	case s.Kind == onto.KindFact && s.Left != "":
		return []string{s.Left}
	}
	return nil
}

// Close ends what the store does in the background, and closes it and its backend.
func (s *Store) Close() error {
	s.folds.Stop()
	s.conclude()
	return s.b.Close()
}

// Backend returns the backend of the store, for its optional interfaces.
func (s *Store) Backend() backend.Backend { return s.b }

// Namespace is that of events that name none.
func (s *Store) Namespace() string { return s.opts.Namespace }

// MaxChainDepth is how many events may have led to one.
func (s *Store) MaxChainDepth() int { return s.opts.MaxChainDepth }

// Schemas returns every version of every type, ordered by kind, name and version.
func (s *Store) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) { return s.b.Schemas(ctx) }

// Types returns the present schemas, ordered by kind and name, without those of the
// store's own types, whose names begin with onto_.
func (s *Store) Types() []onto.Schema {
	var list []onto.Schema
	for name, t := range s.catalog().Present {
		if !fold.IsReserved(name.Name) {
			list = append(list, t.Schema)
		}
	}
	sortTypes(list)
	return list
}

func sortTypes(list []onto.Schema) {
	slices.SortFunc(list, func(a, b onto.Schema) int {
		return onto.Identity{Kind: a.Kind, Type: a.Name}.Compare(onto.Identity{Kind: b.Kind, Type: b.Name})
	})
}

// Type returns the schema of a type by its name.
func (s *Store) Type(name string) (onto.Schema, error) {
	for _, kind := range onto.Kinds() {
		if t, ok := s.catalog().Present[onto.TypeName{Kind: kind, Name: name}]; ok {
			return t.Schema, nil
		}
	}
	return onto.Schema{}, s.catalog().Unknown("", name)
}
