package source

import (
	"context"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/snapshot"
)

// Kind is what a file turns out to be.
type Kind string

// The kinds of files.
const (
	Empty      Kind = "empty"       // nothing, or a database without tables
	Store      Kind = "store"       // a store of this program, of the first format that is upgraded in place or a later one
	OlderStore Kind = "older_store" // a store of this program, of a format before that
	Original   Kind = "original"    // written by the original program
	WorkQueue  Kind = "work_queue"  // a work queue of another program
	Other      Kind = "other"       // some other database
	NoDatabase Kind = "no_database" // no SQLite database, or an encrypted one
)

// lastFormat is the last format of stores of this program that is read as a source.
const lastFormat = 6

// The engines of the original program that are known.
const (
	firstEngine  = "v1"
	secondEngine = "v2"
)

// Found is what is known about a file.
type Found struct {
	Kind   Kind
	Format int    // of a store of this program
	Engine string // of the original program: v1, v2, or another one that is not known; "" if it does not say
}

// Copyable reports whether Open reads the file.
func (f Found) Copyable() bool {
	return f.Kind == OlderStore || f.Kind == Original && f.known()
}

func (f Found) known() bool {
	return f.Engine == "" || f.Engine == firstEngine || f.Engine == secondEngine
}

// String describes the file for messages.
func (f Found) String() string {
	switch f.Kind {
	case Empty:
		return "a database without tables"
	case Store, OlderStore:
		return fmt.Sprintf("a store of format %d", f.Format)
	case Original:
		if f.Engine == "" {
			return "a file of the original Ontologia"
		}
		return fmt.Sprintf("a file of the original Ontologia, engine %.20q", f.Engine)
	case WorkQueue:
		return "a work queue of another program"
	case NoDatabase:
		return "not a SQLite database, or an encrypted one"
	}
	return "a SQLite database of another program"
}

// KindError says that a file is not read by Open, because of what it is.
type KindError struct {
	Found Found
	err   error
}

// Error implements error.
func (e *KindError) Error() string { return e.err.Error() }

// Unwrap returns the error with its code and hint.
func (e *KindError) Unwrap() error { return e.err }

// check refuses what is no source.
func (f Found) check(path string) error {
	if f.Copyable() {
		return nil
	}
	return &KindError{f, f.refusal(path)}
}

// refusal says why the file is no source.
func (f Found) refusal(path string) error {
	switch {
	case f.Kind == Original:
		return onto.Errorf(onto.Unsupported, "%s: it is for the engine %.20q of the original Ontologia, and this program knows %s and %s", path, f.Engine, firstEngine, secondEngine).
			WithHint("use a newer version of this program, or export it there as JSON Lines and import that here")
	case f.Kind == WorkQueue:
		return onto.Errorf(onto.Unsupported, "%s: %s", path, f).WithHint("import its items").WithCommand("work", "import", path)
	case f.Kind == Store:
		return onto.Errorf(onto.Unsupported, "%s: %s, which is read as it is", path, f).WithHint("open it as a store")
	case f.Kind == Empty:
		return onto.Errorf(onto.Uninitialized, "%s: %s", path, f).WithHint("name the file that holds the data")
	}
	return onto.Errorf(onto.Unsupported, "%s: %s", path, f).WithHint("name another file")
}

// Inspect finds out what a file is, and changes nothing. Scratch is a directory for a private
// copy; "" for that of the system. Open needs no call of Inspect before: its error says what
// the file is.
func Inspect(ctx context.Context, path, scratch string) (Found, error) {
	p, err := snapshot.Find(path, scratch)
	if err != nil {
		return Found{}, err
	}
	defer p.Close()
	found, err := look(ctx, p)
	return found, driver.Wrap(path, err)
}

// look finds out what a file is. That it is a store is known without its WAL and journal.
func look(ctx context.Context, p *snapshot.Place) (found Found, err error) {
	err = p.Look(ctx, func(c *driver.Conn) (bool, error) {
		var err error
		found, _, err = inspect(ctx, c, p.Path)
		return found.Kind == Store, err
	})
	switch {
	case driver.IsNoDatabase(err):
		return Found{Kind: NoDatabase}, nil
	case err != nil:
		return Found{}, err
	}
	return found, nil
}

// inspect finds out what the file of a connection is.
func inspect(ctx context.Context, c *driver.Conn, path string) (Found, *shape, error) {
	s, err := readShape(ctx, c, path)
	if err != nil {
		return Found{}, s, err
	}
	switch {
	case len(s.names) == 0:
		return Found{Kind: Empty}, s, nil
	case s.has("onto_meta"):
		if err := s.sound(path, "onto_meta"); err != nil {
			return Found{}, s, err
		}
		format, err := c.QueryIntContext(ctx, `SELECT format FROM main.onto_meta LIMIT 1`)
		if err == nil && (format < 1 || format > 1<<31) {
			err = onto.Errorf(onto.Corrupt, "%s: its format is %d", path, format).WithHint("restore a backup of it")
		}
		found := Found{Kind: OlderStore, Format: int(format)}
		if format > lastFormat {
			found.Kind = Store
		}
		return found, s, err
	case s.has("commits", "entity_history", "relation_history"):
		engine, err := s.engine(ctx, c, path)
		return Found{Kind: Original, Engine: engine}, s, err
	case s.has("storage_meta") && s.odd["storage_meta"] == nil: // perhaps of a later engine
		engine, err := s.engine(ctx, c, path)
		if engine != "" {
			return Found{Kind: Original, Engine: engine}, s, err
		}
		return Found{Kind: Other}, s, err
	case s.has("work_items") && s.odd["work_items"] == nil:
		return Found{Kind: WorkQueue}, s, nil
	}
	return Found{Kind: Other}, s, nil
}

// engine is the engine of the original program that a file is for; "" if it does not say,
// which is the first.
func (s *shape) engine(ctx context.Context, c *driver.Conn, path string) (string, error) {
	if !s.has("storage_meta") {
		return "", nil
	}
	if err := s.sound(path, "storage_meta"); err != nil {
		return "", err
	}
	row, ok, err := c.QueryRowContext(ctx, `SELECT value FROM main.storage_meta WHERE key = 'engine_version' LIMIT 1`)
	if err != nil || !ok {
		return "", err
	}
	return row.Text(0), nil
}
