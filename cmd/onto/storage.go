package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/store"
)

// location is where a store is kept.
type location struct {
	path string      // of a SQLite file; "" for a lake
	flag string      // that names it on a command line; "" for the default
	lake lakeAddress // of a lake; zero for a SQLite file
}

const memoryPath = ":memory:"

func (l location) inMemory() bool { return l.path == memoryPath }

func (l location) isLake() bool { return l.lake != lakeAddress{} }

// String is the path, or the URI of a lake.
func (l location) String() string {
	if l.isLake() {
		return l.lake.String()
	}
	return l.path
}

// location is what the strongest layer says that says anything.
func (cfg configuration) location() (location, error) {
	for _, l := range cfg {
		if found, ok, err := l.location(); ok || err != nil {
			return found, err
		}
	}
	s, err := settingOf("", "db")
	return location{path: s.text}, err
}

// location reads db and storage_uri of one layer, which must agree.
func (l layer) location() (location, bool, error) {
	db, hasDB := l.values["db"]
	uri, hasURI := l.values["storage_uri"]
	var file, named location
	var err error
	if hasDB {
		if file, err = parsePath(db); err != nil {
			return file, false, err
		}
	}
	if hasURI {
		if named, err = parseURI(uri); err != nil {
			return named, false, err
		}
	}
	if hasDB && hasURI && !file.same(named) {
		return file, false, onto.Errorf(onto.Invalid, "db and storage_uri, both from %s, name different stores: %s and %s", l.origin, file, named).
			WithHint("give one of them")
	}
	if hasURI {
		return named, true, nil
	}
	return file, hasDB, nil
}

// same reports whether both are the same place.
func (l location) same(other location) bool {
	if l.isLake() || other.isLake() {
		return l.lake == other.lake
	}
	a, errA := filepath.Abs(l.path)
	b, errB := filepath.Abs(other.path)
	return errA == nil && errB == nil && a == b
}

func parsePath(path string) (location, error) {
	if strings.Contains(path, "://") {
		return location{}, onto.Errorf(onto.Invalid, "--db takes the path of a SQLite file").
			WithHint("give a URI with --storage-uri")
	}
	if path != memoryPath {
		path = filepath.Clean(path)
	}
	return location{path: path, flag: "--db " + shellWord(path)}, nil
}

// access is what a verb does with a store.
type access uint8

const (
	reading  access = iota // never makes a store; works where nothing can be written
	writing                // never makes a store
	creating               // makes the store if there is none
)

// openBackend opens what keeps the store.
func (c *command) openBackend(ctx context.Context, how access) (backend.Backend, configuration, error) {
	cfg, err := c.configure()
	if err != nil {
		return nil, nil, err
	}
	loc, err := cfg.location()
	if err != nil {
		return nil, nil, err
	}
	if how != reading {
		c.writes.Store(true)
	}
	b, err := loc.open(ctx, how, cfg, c.runtime)
	if err == nil {
		c.opened = append(c.opened, b)
	}
	return b, cfg, err
}

// open opens what is kept here. The runtime names this run of the program in the
// heads and manifests of a lake.
func (l location) open(ctx context.Context, how access, cfg configuration, runtime string) (backend.Backend, error) {
	if l.isLake() {
		return l.lake.open(ctx, how, cfg, runtime)
	}
	opts := &sqlite.Options{LockTimeout: cfg.milliseconds("lock_timeout_ms")}
	opts.MustExist = how != creating && !l.inMemory()
	b, err := sqlite.Open(ctx, l.path, opts)
	if code := onto.CodeOf(err); how == reading && (code == onto.ReadOnly || code == onto.Full || code == onto.Corrupt) {
		opts.ReadOnly = true
		b, err = sqlite.Open(ctx, l.path, opts)
	}
	if err != nil {
		return nil, l.misnamed(err)
	}
	return b, nil
}

// warnOfDamage tells what stores that were opened do not show.
func (c *command) warnOfDamage(asJSON bool) {
	for _, b := range c.opened {
		w, ok := backend.As[backend.Warner](b)
		if !ok {
			continue
		}
		if text, remedy := w.Warning(); text != "" {
			c.warn(asJSON, onto.Corrupt, text, remedy)
		}
	}
}

// withStore opens the store, runs f and closes the store.
func (c *command) withStore(ctx context.Context, how access, f func(*store.Store) error) error {
	b, cfg, err := c.openBackend(ctx, how)
	if err != nil {
		return err
	}
	s, err := store.OpenWith(ctx, b, c.storeOptions(cfg))
	if err != nil {
		return err
	}
	defer c.shut(s)
	return f(s)
}

// shut closes what a verb has opened. What the verb did or answered is so even if
// that fails: a commit is durable by then.
func (c *command) shut(opened io.Closer) {
	if err := opened.Close(); err != nil {
		c.warn(c.json, document.CodeOf(err), "what was opened could not be closed: "+document.Message(err), onto.HintOf(err))
	}
}

// milliseconds is a setting that is a length of time.
func (cfg configuration) milliseconds(name string) time.Duration {
	return time.Duration(cfg.number(name)) * time.Millisecond
}

func (c *command) storeOptions(cfg configuration) *store.Options {
	return &store.Options{MaxBatch: int(cfg.number("max_batch_size")), Runtime: c.runtime, ScratchDir: cfg.text("cache_dir")}
}

// unsupported is the error for a verb that the kind of storage has no answer to.
func (c *command) unsupported(verb, why, instead string) error {
	kind := "a SQLite file"
	if c.place().isLake() {
		kind = "a lake"
	}
	return onto.Errorf(onto.Unsupported, "%s: %s %s", verb, kind, why).WithHint("%s", instead)
}
