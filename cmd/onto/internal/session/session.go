package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Session is one run of onto: where it reads and writes, and its global flags.
type Session struct {
	*terminal.Printer
	In io.Reader

	Flags place.Flags // that name the store and the configuration

	Runtime  string            // names this run in commits, heads and manifests
	OpenLake place.OpenLake    // nil if no verb of this run opens a lake
	opening  sync.Mutex        // guards opened
	opened   []backend.Backend // by this run, closed or not
	Writes   atomic.Bool       // something may have been stored

	here *place.Location // that the verb is about, if it is not that of the settings

	Patience atomic.Int64 // how long the verb may take to stop, a time.Duration; 0 for the usual
}

// New starts a session.
func New(stdin io.Reader, stdout, stderr io.Writer) *Session {
	return &Session{Printer: terminal.NewPrinter(stdout, stderr), In: stdin, Runtime: runtimeName()}
}

// runtimeName is a name that no other run has: host, process and a random part.
func runtimeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
}

// Stdin is standard input.
func (c *Session) Stdin(ctx context.Context) io.Reader { return WaitingReader(ctx, c.In) }

// WaitingReader is a reader of which a read ends with an error when ctx is cancelled.
// The blocked read is abandoned then, since the process ends.
func WaitingReader(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}

// Configure reads every source of settings.
func (c *Session) Configure() (place.Settings, error) { return place.Configure(c.Flags) }

// Place is where the store is, for hints. Without a flag it is the default, or unknown
// because the settings are invalid.
func (c *Session) Place() place.Location {
	if c.here != nil {
		return *c.here
	}
	cfg, err := c.Configure()
	if err != nil {
		return place.Location{}
	}
	loc, err := cfg.Location()
	if err != nil {
		return place.Location{}
	}
	return loc
}

// OpenBackend opens what keeps the store.
func (c *Session) OpenBackend(ctx context.Context, how place.Access) (backend.Backend, place.Settings, error) {
	cfg, err := c.Configure()
	if err != nil {
		return nil, nil, err
	}
	loc, err := cfg.Location()
	if err != nil {
		return nil, nil, err
	}
	b, err := c.OpenAt(ctx, how, loc, cfg)
	return b, cfg, err
}

// OpenAt opens what keeps the store at a place.
func (c *Session) OpenAt(ctx context.Context, how place.Access, loc place.Location, cfg place.Settings) (backend.Backend, error) {
	if how != place.Reading && how != place.Examining {
		c.Writes.Store(true)
	}
	b, err := loc.Open(ctx, how, cfg, place.Opener{Runtime: c.Runtime, Lake: c.OpenLake})
	if err == nil {
		c.opening.Lock()
		c.opened = append(c.opened, b)
		c.opening.Unlock()
	}
	return b, err
}

// About says which store the hints of errors are about from now on.
func (c *Session) About(loc place.Location) { c.here = &loc }

// WithStore opens the store, runs f and closes the store.
func (c *Session) WithStore(ctx context.Context, how place.Access, f func(*store.Store) error) error {
	b, cfg, err := c.OpenBackend(ctx, how)
	if err != nil {
		return err
	}
	return c.withBackend(ctx, how, b, cfg, f)
}

// WithStoreAt is WithStore for the store at a place.
func (c *Session) WithStoreAt(ctx context.Context, how place.Access, loc place.Location, cfg place.Settings, f func(*store.Store) error) error {
	b, err := c.OpenAt(ctx, how, loc, cfg)
	if err != nil {
		return err
	}
	return c.withBackend(ctx, how, b, cfg, f)
}

func (c *Session) withBackend(ctx context.Context, how place.Access, b backend.Backend, cfg place.Settings, f func(*store.Store) error) error {
	s, err := store.OpenWith(ctx, b, c.StoreOptions(cfg))
	if err != nil {
		return err
	}
	defer c.Shut(s)
	if err := f(s); err != nil || how == place.Reading {
		return err
	}
	c.catchUp(ctx, s)
	return nil
}

// catchUp brings folds up to date that the verb has left behind: there is no background
// after its end. What fails does not change what the verb did.
func (c *Session) catchUp(ctx context.Context, s *store.Store) {
	if err := s.CatchUp(ctx); err != nil && ctx.Err() == nil {
		c.warn(c.JSON, document.CodeOf(err), "folds are behind: "+document.Message(err), onto.NewHint("see which", "fold", "list"))
	}
}

// Shut closes what a verb has opened. An error does not change what the verb did or
// answered: a commit is durable by then.
func (c *Session) Shut(opened io.Closer) {
	if err := opened.Close(); err != nil {
		c.warn(c.JSON, document.CodeOf(err), "what was opened could not be closed: "+document.Message(err), onto.HintOf(err))
	}
}

// StoreOptions is how stores are opened.
func (c *Session) StoreOptions(cfg place.Settings) *store.Options {
	rules := Rules(cfg)
	return &store.Options{
		MaxBatch: int(cfg.Number("max_batch_size")), Runtime: c.Runtime, ScratchDir: cfg.Text("cache_dir"),
		Namespace: rules.Namespace, MaxChainDepth: rules.MaxDepth,
	}
}

// Unsupported is the error for a verb that the kind of storage cannot do. Its exit status is
// that of a wrong command line.
func (c *Session) Unsupported(verb, why, instead string, command ...string) error {
	kind := "a SQLite file"
	if c.Place().IsLake() {
		kind = "a lake"
	}
	return onto.Errorf(onto.UnsupportedOperation, "%s: %s %s", verb, kind, why).WithHint("%s", instead).WithCommand(command...)
}

// warnOfDamage reports what damaged stores that were opened do not show.
func (c *Session) warnOfDamage(asJSON bool) {
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

// nameLake names the lake in an error that came from its storage after it was
// opened. Those of opening it name it already.
func (c *Session) nameLake(err error) error {
	here := c.Place()
	code := onto.CodeOf(err)
	if len(c.opened) == 0 || !here.IsLake() || code != onto.Corrupt && code != onto.Unavailable && code != onto.OutcomeUnknown {
		return err
	}
	if strings.Contains(err.Error(), here.String()) {
		return err
	}
	return here.Lake.Failed(err)
}

// Each calls f with each item of a sequence, up to the first error.
func Each[T any](items iter.Seq2[T, error], f func(T) error) error {
	for item, err := range items {
		if err == nil {
			err = f(item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// warnOfIndexes reports derived objects that lakes could not write beside their
// commits, which are not affected. It is called after they were closed: until then they
// may be writing.
func (c *Session) warnOfIndexes(asJSON bool) {
	for _, b := range c.opened {
		w, ok := backend.As[backend.Indexer](b)
		if !ok || w.LastIndexWarning() == "" {
			continue
		}
		c.warn(asJSON, document.IndexBehind, "indexes of the lake are behind its commits: "+w.LastIndexWarning(),
			onto.NewHint("write them when the cause is gone", "index", "repair", "--apply"))
	}
}

// End tells how the command ended, and what is wrong with stores that it opened, and
// returns the exit status.
func (c *Session) End(err error, asJSON bool) int {
	err = c.nameLake(err)
	_ = c.Err.Flush() // what cobra wrote
	c.warnOfIndexes(asJSON)
	c.warnOfDamage(asJSON)
	return c.finish(err, asJSON)
}
