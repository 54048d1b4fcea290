// Package source reads SQLite files that are not stores of the present format: those of the
// original program, of both its engines, and of formats 1 to 6 of this program, as logs that
// can be copied. It never changes a byte of a file or of what SQLite keeps beside it.
//
// What a copy has otherwise than the file is counted in the notes of [File.LogSize]: commits
// get ids without gaps and times that never go back, and what they were is in the metadata of
// the commit, as onto_source. Fields are canonical JSON and fit the type of the row; keys are
// text or integers; each row is stamped with the version of its type that was in force; and
// of two rows of an identity in one commit, the one that the original's lookup shows counts.
// What has no such form is refused by name: names can be changed with [Options.Rename], and
// rows set aside with [Options.Rejects].
package source

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/snapshot"
)

// Options change how a file is read. The zero value is the default.
type Options struct {
	// Rename gives names that are not allowed here other ones. A name, as a-b, stands for
	// every type and field that is called so; Type.field and 'relation Type' stand for one
	// of them, whose name need not be one that is refused.
	Rename map[string]string

	// Upgraders are for steps between versions of types that the original program has
	// migrated, or whose fields have got other names. Types and fields are named as in the
	// copy.
	Upgraders []backend.TypeUpgrader

	// Rejects is a file for rows that cannot be stored, as JSON lines; "" stops at the first
	// such row. A delete stands in their place where an older value would show otherwise.
	// Nothing is written to it before [File.KeepRejects]. It is a file of its own: one that
	// has anything but such lines of the same source is refused.
	Rejects string

	// Scratch is a directory for a private copy of the file, and for what is noted about
	// its rows; "" for that of the system.
	Scratch string
}

// File is a file that is read as a log. Its methods may be called at once.
type File struct {
	place   *snapshot.Place
	opts    Options
	found   Found
	dir     string   // for temporary files: the plan, and what the place has
	rejects *rejects // nil if there is no file for them

	origin string
	shape  *shape
	tables [kinds]*table

	planning sync.Mutex // guards what follows
	plan     plan

	sizing sync.Mutex       // guards what follows
	sizes  map[int64]*sized // the last answers of LogSize, by the commit that they begin with
}

var _ backend.LogSource = (*File)(nil)

// Open opens a file. It fails with a [*KindError] if the file is nothing that is read here, and
// with other errors if it cannot be read, or has names that are not allowed.
//
// A program on Linux may have the file open itself, through the same SQLite. On other systems
// it must not: its locks would be lost.
func Open(ctx context.Context, path string, o *Options) (*File, error) {
	if o == nil {
		o = &Options{}
	}
	p, err := snapshot.Find(path, o.Scratch)
	if err != nil {
		return nil, err
	}
	f := &File{place: p, opts: *o, plan: newPlan(), sizes: map[int64]*sized{}}
	if err := f.open(ctx); err != nil {
		f.Close()
		return nil, driver.Wrap(path, err)
	}
	return f, nil
}

func (f *File) open(ctx context.Context) error {
	var err error
	if f.found, err = look(ctx, f.place); err == nil {
		err = f.found.check(f.place.Path)
	}
	if err != nil {
		return err
	}
	if f.dir, err = f.place.TempDir(); err != nil {
		return err
	}
	s, err := f.begin(ctx)
	if err == nil {
		err = s.close()
	}
	if err != nil || f.opts.Rejects == "" {
		return err
	}
	if IsAt(f.opts.Rejects, f.place.Path) {
		return onto.Errorf(onto.Invalid, "--rejects %s: this is the source, or belongs to it", f.opts.Rejects).WithHint("name a file of its own")
	}
	f.rejects, err = newRejects(f.opts.Rejects, f.origin)
	return err
}

// KeepRejects opens the file that [Options.Rejects] names. From then on [File.Log] puts the
// rows there that it sets aside from commits after one: the rows of a commit are durable
// before the commit is yielded, and are there once, however often the log is read. What the
// file has of later commits is replaced, and what it has of that commit and earlier ones
// stays. For a fresh copy, a file that has rows is refused: they are those of another copy.
// No other process can write to the file meanwhile.
func (f *File) KeepRejects(since int64, fresh bool) error {
	if f.rejects == nil {
		return nil
	}
	return f.rejects.keep(since, fresh)
}

// EndRejects ends that. It removes the rows of commits after one from the file: a log can be
// read further than it is copied.
func (f *File) EndRejects(until int64) error {
	if f.rejects == nil {
		return nil
	}
	return f.rejects.finish(until)
}

// Close releases everything. All sequences must have ended before.
func (f *File) Close() error {
	return errors.Join(f.rejects.close(), f.place.Close())
}

// Origin implements [backend.LogSource]. For a store of this program it is the store's id;
// for a file of the original it is made of its first rows, which stay as the file grows.
func (f *File) Origin(context.Context) (string, error) { return f.origin, nil }

// Schemas implements [backend.LogSource].
func (f *File) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	s, err := f.begin(ctx)
	if err != nil {
		return nil, driver.Wrap(f.place.Path, err)
	}
	return s.types.all(), s.close()
}

// moment is the file as it is at one time: a connection in a transaction, with the plan of
// the commits up to then.
type moment struct {
	*driver.Conn
	f     *File
	live  bool // the file may change between two transactions
	plan  plan
	types *types
}

// begin starts to read the file as it is now.
func (f *File) begin(ctx context.Context) (*moment, error) {
	var m *moment
	_, live, err := f.place.Begin(ctx, func(c *driver.Conn) error {
		m = &moment{Conn: c, f: f}
		return m.begin(ctx)
	})
	if err != nil {
		return nil, err
	}
	m.live = live
	return m, nil
}

func (m *moment) begin(ctx context.Context) error {
	f := m.f
	err := f.prepare(ctx, m.Conn)
	if err == nil {
		err = f.update(ctx, m.Conn)
	}
	if err == nil {
		err = m.Exec(`BEGIN`)
	}
	if err != nil {
		return err
	}
	f.planning.Lock()
	m.plan = f.plan
	f.planning.Unlock()
	if m.types, err = f.readTypes(ctx, m.Conn); err == nil {
		err = f.settle(ctx, m.Conn, m.types, &m.plan)
	}
	return err
}

// prepare attaches the plan, and makes sure that the file is what it was.
func (f *File) prepare(ctx context.Context, c *driver.Conn) error {
	f.planning.Lock()
	defer f.planning.Unlock()
	path := filepath.Join(f.dir, "plan.db")
	_, missing := os.Stat(path)
	if err := c.Attach(path, "plan"); err != nil {
		return f.place.ScratchError(err)
	}
	if err := c.Script(`PRAGMA plan.synchronous = OFF`); err != nil {
		return err
	}
	if missing != nil {
		if err := c.Script(`PRAGMA plan.journal_mode = WAL;` + createPlan); err != nil {
			return err
		}
	}
	found, s, err := inspect(ctx, c, f.place.Path)
	if err == nil {
		err = found.check(f.place.Path)
	}
	if err == nil {
		err = s.sound(f.place.Path, "commits", "entity_history", "relation_history")
	}
	if err != nil {
		return err
	}
	for _, name := range []string{"fact_history", "schema_registry", "schema_versions", "events", "event_claims", "work_items"} {
		if err := s.odd[name]; err != nil {
			return err
		}
	}
	origin, err := readOrigin(ctx, c, found, s)
	if err == nil && f.origin != "" && (origin != f.origin || !maps.Equal(s.columns, f.shape.columns)) {
		err = onto.Errorf(onto.Stale, "%s: the file was replaced while it was read, or its tables were changed", f.place.Path).WithHint("start again")
	}
	if err != nil || f.origin != "" {
		return err
	}
	f.origin, f.shape = origin, s
	types, err := f.readTypes(ctx, c)
	if err != nil {
		f.origin = ""
		return err
	}
	retyped := map[onto.Kind]map[string]string{}
	for _, of := range types.list {
		if of.name != of.was {
			if retyped[of.was.Kind] == nil {
				retyped[of.was.Kind] = map[string]string{}
			}
			retyped[of.was.Kind][of.was.Name] = of.name.Name
		}
	}
	for i, kind := range onto.Kinds() {
		f.tables[i] = historyTable(s, kind, retyped[kind])
	}
	return nil
}

// again ends the transaction and begins another one, so that what other programs write to
// the file need not be kept for this one. The log is still the same then, but for what was
// appended.
func (m *moment) again(ctx context.Context) error {
	if err := m.Exec(`COMMIT`); err != nil {
		return err
	}
	if err := m.Exec(`BEGIN`); err != nil {
		return err
	}
	origin, err := readOrigin(ctx, m.Conn, m.f.found, m.f.shape)
	if err != nil {
		return err
	}
	types, err := m.f.readTypes(ctx, m.Conn)
	if err != nil {
		return err
	}
	follows, err := m.f.follows(ctx, m.Conn, &m.plan)
	if err == nil && (origin != m.f.origin || !follows || purged(types) != purged(m.types)) {
		err = onto.Errorf(onto.Stale, "%s: commits that were read already have changed meanwhile", m.f.place.Path).WithHint("start again")
	}
	return err
}

// purged is how many versions of types were purged.
func purged(t *types) (n int) {
	for _, of := range t.list {
		for i := range of.versions {
			if end := of.versions[i].End; end != nil && end.Purged {
				n++
			}
		}
	}
	return n
}

func (m *moment) close() error {
	_ = m.Exec(`ROLLBACK`) // nothing was written
	return m.Conn.Close()
}
