// Package duck answers questions about versions that lie in local Parquet files
// with DuckDB. The files are those of package parquet. DuckDB finds the newest
// version of each identity, filters, sorts and computes what it can do exactly;
// the rest is done in process.
package duck

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	_ "github.com/ontologia/onto/internal/needcgo" // without cgo, the build says what it needs
)

// Options are the limits of an engine.
type Options struct {
	Directory string // where the files are: the only place that the engine can read
	Memory    string // limit, such as 256MB; "" for that
	Threads   int    // 0 for the engine's default
	Spill     string // directory for what does not fit in memory; "" for none
}

// Source is the versions of one type: files that together hold each version
// once.
type Source struct {
	Kind   onto.Kind
	Type   string
	Layout *parquet.Layout
	Files  []string // local paths; none if there are no versions
	Typed  bool     // typed columns say the same as the fields in every row of every file
	Unique bool     // no identity has two versions, and none is a delete
	Purged int      // rows of schema versions up to this one do not exist; 0 if all exist
	Head   int64    // rows of later commits do not exist
}

// Engine answers questions. Its methods may be called concurrently.
type Engine struct {
	closed chan struct{} // closed by Close
	memory string        // the limit
	spill  string        // directory for answers that are complete before they are read; "" for none
	places places

	mu   sync.Mutex // guards what follows
	db   *instance  // nil once closed
	idle []*conn
}

// Open starts an engine.
func Open(o *Options) (*Engine, error) {
	if o == nil || o.Directory == "" {
		return nil, onto.Errorf(onto.Invalid, "the engine was given no directory").WithHint("name the directory where the files are")
	}
	directory, err := filepath.Abs(o.Directory)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "the directory %s has no absolute path: %w", o.Directory, err)
	}
	db, err := openInstance(settings(o))
	if err != nil {
		return nil, err
	}
	c, err := db.connect()
	if err == nil {
		if err = c.exec(lockdown(directory)...); err != nil {
			c.close()
		}
	}
	if err != nil {
		db.close()
		return nil, err
	}
	e := &Engine{closed: make(chan struct{}), memory: settings(o)["memory_limit"], spill: o.Spill, db: db, idle: []*conn{c}}
	e.places = newPlaces(bytesOf(e.memory))
	return e, nil
}

const defaultMemory = "256MB"

// settings are those that are given before there is a database.
func settings(o *Options) map[string]string {
	list := map[string]string{
		"memory_limit":                 defaultMemory,
		"temp_directory":               o.Spill,
		"autoload_known_extensions":    "false",
		"autoinstall_known_extensions": "false",
		"allow_community_extensions":   "false",
		"allow_persistent_secrets":     "false",
	}
	if o.Memory != "" {
		list["memory_limit"] = o.Memory
	}
	if o.Threads > 0 {
		list["threads"] = strconv.Itoa(o.Threads)
	}
	return list
}

// lockdown is the statements after which nothing but the directory can be read and no
// setting can be changed. A path is checked as the pattern that it is given as, and
// again as what the pattern matches.
func lockdown(directory string) []string {
	directory += string(filepath.Separator)
	return []string{
		"SET GLOBAL parquet_metadata_cache = true", // files never change
		"SET GLOBAL allowed_directories = [" + quoteText(directory) + ", " + quoteText(literalPath(directory)) + "]",
		"SET GLOBAL enable_external_access = false",
		"SET GLOBAL lock_configuration = true",
	}
}

// quoteText writes a text as a literal.
func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// quoteName writes a name as an identifier.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Close ends the engine. Questions under way fail with Closed.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.db == nil {
		return nil
	}
	close(e.closed)
	for _, c := range e.idle {
		c.close()
	}
	e.db.close()
	e.db, e.idle = nil, nil
	return nil
}

// maxIdle is how many connections wait for the next question.
const maxIdle = 8

func (e *Engine) connect() (*conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.db == nil {
		return nil, errClosed()
	}
	if last := len(e.idle) - 1; last >= 0 {
		c := e.idle[last]
		e.idle = e.idle[:last]
		return c, nil
	}
	return e.db.connect()
}

func (e *Engine) release(c *conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.db == nil || len(e.idle) >= maxIdle {
		c.close()
		return
	}
	e.idle = append(e.idle, c)
}

func errClosed() error { return onto.Errorf(onto.Closed, "the engine was closed") }

// use runs f with a connection, which is interrupted when the context ends or
// the engine is closed.
func (e *Engine) use(ctx context.Context, f func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := e.connect()
	if err != nil {
		return err
	}
	defer e.release(c)
	stop := c.watch(ctx, e.closed)
	defer stop() // before the connection is released
	return e.tooLarge(e.why(ctx, f(c)))
}

// why replaces the error of an interrupted call by the reason of the interrupt.
func (e *Engine) why(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	select {
	case <-e.closed:
		return errClosed()
	default:
		return err
	}
}
