package place

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/shell"
)

// Location is where a store is kept.
type Location struct {
	Path string      // of a SQLite file; "" for a lake
	flag flag        // that names it on a command line; zero for the default
	Lake LakeAddress // of a lake; zero for a SQLite file
}

// flag is a flag of a command line.
type flag struct{ name, value string }

// MemoryPath is the path of a store that is gone when it is closed.
const MemoryPath = ":memory:"

// InMemory reports whether the store is gone when it is closed.
func (l Location) InMemory() bool { return l.Path == MemoryPath }

// IsLake reports whether this is the place of a lake.
func (l Location) IsLake() bool { return l.Lake != LakeAddress{} }

// String is the path, or the URI of a lake.
func (l Location) String() string {
	if l.IsLake() {
		return l.Lake.String()
	}
	return l.Path
}

// Location is what the strongest layer says that says anything. It is an error if that names
// vaults.
func (cfg Settings) Location() (Location, error) {
	if err := cfg.oneStore(); err != nil {
		return Location{}, err
	}
	for _, l := range cfg {
		if found, ok, err := l.location(); ok || err != nil {
			return found, err
		}
	}
	s, err := settingOf("", "db")
	return Location{Path: s.text}, err
}

// location reads db and storage_uri of one layer, which must agree.
func (l layer) location() (Location, bool, error) {
	db, hasDB := l.values["db"]
	uri, hasURI := l.values["storage_uri"]
	var file, named Location
	var err error
	if hasDB {
		if file, err = parsePath(db); err != nil {
			return file, false, err
		}
	}
	if hasURI {
		if named, err = ParseURI(uri); err != nil {
			return named, false, err
		}
	}
	if hasDB && hasURI && !file.Same(named) {
		return file, false, onto.Errorf(onto.Invalid, "db and storage_uri, both from %s, name different stores: %s and %s", l.origin, file, named).
			WithHint("give one of them")
	}
	if hasURI {
		return named, true, nil
	}
	return file, hasDB, nil
}

// Same reports whether both are the same place.
func (l Location) Same(other Location) bool {
	if l.IsLake() || other.IsLake() {
		return l.Lake == other.Lake || l.Lake.Dir != "" && other.Lake.Dir != "" && sameFile(l.Lake.Dir, other.Lake.Dir)
	}
	a, errA := filepath.Abs(l.Path)
	b, errB := filepath.Abs(other.Path)
	if errA != nil || errB != nil {
		return false
	}
	return a == b || sameFile(a, b)
}

// sameFile reports whether both paths lead to one file or directory.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// Parse reads a place as an argument names it: by the path of a SQLite file, or by a
// storage URI.
func Parse(text string) (Location, error) {
	if text == "" {
		return Location{}, onto.Errorf(onto.Invalid, "the place of a store is empty").WithHint("give the path of a SQLite file, or one of: " + uriForms)
	}
	if strings.Contains(text, "://") {
		return ParseURI(text)
	}
	return parsePath(text)
}

func parsePath(path string) (Location, error) {
	if strings.Contains(path, "://") {
		return Location{}, onto.Errorf(onto.Invalid, "--db takes the path of a SQLite file").
			WithHint("give a URI with --storage-uri")
	}
	if path != MemoryPath {
		path = filepath.Clean(path)
	}
	return Location{Path: path, flag: flag{"--db", path}}, nil
}

// Access is what a verb does with a store.
type Access uint8

// The kinds of access.
const (
	Reading   Access = iota // never makes a store; works where nothing can be written
	Writing                 // never makes a store
	Creating                // makes the store if there is none
	Filling                 // is the target of a copy: makes the store if there is none, and continues an unfinished copy
	Examining               // reads the target of a copy, also one that is unfinished
)

// Opener is what a location needs of the program to be opened; for a SQLite file that is
// nothing.
type Opener struct {
	Runtime string   // names this run of the program in the heads and manifests of a lake
	Lake    OpenLake // nil for a program that opens no lakes
}

// OpenLake opens the lake in a bucket. It is given to this package, which reads settings
// and does not need the engines of a lake.
type OpenLake func(ctx context.Context, b bucket.Bucket, set *LakeSettings) (backend.Backend, error)

// LakeSettings is how a lake is used.
type LakeSettings struct {
	MustExist   bool
	Target      bool   // of a copy: may be unfinished
	Location    string // as messages name it
	Runtime     string
	Patience    time.Duration // with the storage and with other processes
	LockTimeout time.Duration

	MigrationWait time.Duration // of writes, for a migration

	CacheDir   string // "" for none
	CacheBytes int64  // 0 for the default
	Memory     string // of DuckDB
}

// Open opens what is kept here.
func (l Location) Open(ctx context.Context, how Access, cfg Settings, by Opener) (backend.Backend, error) {
	if l.IsLake() {
		return l.Lake.open(ctx, how, cfg, by)
	}
	opts := &sqlite.Options{LockTimeout: cfg.Duration("lock_timeout_ms"), MigrationWait: cfg.Duration("migration_wait_ms")}
	opts.MustExist = how != Creating && how != Filling && !l.InMemory()
	opts.Target = how == Filling || how == Examining
	b, err := sqlite.Open(ctx, l.Path, opts)
	if code := onto.CodeOf(err); (how == Reading || how == Examining) && (code == onto.ReadOnly || code == onto.Full || code == onto.Corrupt) {
		opts.ReadOnly = true
		b, err = sqlite.Open(ctx, l.Path, opts)
	}
	if err != nil {
		return nil, l.misnamed(err)
	}
	return b, nil
}

// CheckFolder reports whether a file, or a directory for a lake, can be made here.
func (l Location) CheckFolder() error {
	folder := filepath.Dir(l.Path)
	switch {
	case l.Lake.Dir != "":
		folder = filepath.Dir(l.Lake.Dir)
	case l.IsLake():
		return nil
	}
	if _, err := os.Stat(folder); err != nil {
		return onto.Errorf(onto.Uninitialized, "%s: the directory does not exist: %w", l, err).
			WithHint("make it with: mkdir -p %s", shell.Word(folder))
	}
	return nil
}
