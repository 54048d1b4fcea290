package main

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// location is where a store is kept.
type location struct {
	path string // of a SQLite file
	flag string // that names it on a command line; "" for the default
}

const memoryPath = ":memory:"

func (l location) inMemory() bool { return l.path == memoryPath }

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
		return file, false, onto.Errorf(onto.Invalid, "db and storage_uri, both from %s, name different stores: %s and %s", l.origin, file.path, named.path).
			WithHint("give one of them")
	}
	if hasURI {
		return named, true, nil
	}
	return file, hasDB, nil
}

// same reports whether both are the same place.
func (l location) same(other location) bool {
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
	return location{path, "--db " + shellWord(path)}, nil
}

// parseURI reads a storage URI. Messages repeat no more of it than the scheme,
// since the rest may hold a password.
func parseURI(uri string) (location, error) {
	const supported = "this build supports sqlite:///rel.db, sqlite:////abs.db and sqlite:///:memory:"
	scheme, rest, ok := strings.Cut(uri, "://")
	switch {
	case !ok:
		return location{}, onto.Errorf(onto.Invalid, "the storage URI has no scheme").WithHint(supported)
	case scheme != "sqlite":
		return location{}, onto.Errorf(onto.Invalid, "storage URIs with %.20q are not supported", scheme+"://").WithHint(supported)
	}
	path, ok := strings.CutPrefix(rest, "/")
	switch {
	case !ok || path == "":
		return location{}, onto.Errorf(onto.Invalid, "the storage URI names no file").WithHint("sqlite:// is followed by a slash and the path: sqlite:///rel.db or sqlite:////abs.db")
	case strings.ContainsAny(path, "?#"):
		return location{}, onto.Errorf(onto.Invalid, "the storage URI has parameters, which sqlite:// does not take").
			WithHint("name a file with ? or # in its path with --db")
	}
	loc, err := parsePath(path)
	loc.flag = "--storage-uri " + shellWord(uri) // nothing in it is secret
	return loc, err
}

// access is what a verb does with a store.
type access uint8

const (
	reading  access = iota // never makes a file; works where nothing can be written
	writing                // never makes a file
	creating               // makes the file if there is none
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
	b, err := loc.open(ctx, how, cfg.sqliteOptions())
	return b, cfg, err
}

func (l location) open(ctx context.Context, how access, opts *sqlite.Options) (backend.Backend, error) {
	opts.MustExist = how != creating && !l.inMemory()
	b, err := sqlite.Open(ctx, l.path, opts)
	if code := onto.CodeOf(err); how == reading && (code == onto.ReadOnly || code == onto.Full) {
		opts.ReadOnly = true
		b, err = sqlite.Open(ctx, l.path, opts)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// withStore opens the store, runs f and closes the store.
func (c *command) withStore(ctx context.Context, how access, f func(*store.Store) error) (err error) {
	b, cfg, err := c.openBackend(ctx, how)
	if err != nil {
		return err
	}
	s, err := store.OpenWith(ctx, b, cfg.storeOptions())
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	return f(s)
}

func (cfg configuration) sqliteOptions() *sqlite.Options {
	return &sqlite.Options{LockTimeout: cfg.milliseconds("lock_timeout_ms")}
}

// milliseconds is a setting that is a length of time.
func (cfg configuration) milliseconds(name string) time.Duration {
	return time.Duration(cfg.number(name)) * time.Millisecond
}

func (cfg configuration) storeOptions() *store.Options {
	return &store.Options{MaxBatch: int(cfg.number("max_batch_size"))}
}

// missingAbility is the error for a backend that cannot do what a verb needs.
func missingAbility(what string) error {
	return onto.Errorf(onto.Unsupported, "this storage cannot %s", what)
}
