package main

import (
	"context"
	"io"
	"iter"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/store"
)

// configure reads every source of settings.
func (c *command) configure() (place.Settings, error) { return place.Configure(c.flags) }

// place is where the store is, for hints. Without a flag it is the default, or
// not known because the settings are wrong.
func (c *command) place() place.Location {
	cfg, err := c.configure()
	if err != nil {
		return place.Location{}
	}
	loc, err := cfg.Location()
	if err != nil {
		return place.Location{}
	}
	return loc
}

// openBackend opens what keeps the store.
func (c *command) openBackend(ctx context.Context, how place.Access) (backend.Backend, place.Settings, error) {
	cfg, err := c.configure()
	if err != nil {
		return nil, nil, err
	}
	loc, err := cfg.Location()
	if err != nil {
		return nil, nil, err
	}
	if how != place.Reading {
		c.writes.Store(true)
	}
	b, err := loc.Open(ctx, how, cfg, c.runtime)
	if err == nil {
		c.opened = append(c.opened, b)
	}
	return b, cfg, err
}

// withStore opens the store, runs f and closes the store.
func (c *command) withStore(ctx context.Context, how place.Access, f func(*store.Store) error) error {
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
		c.warn(c.JSON, document.CodeOf(err), "what was opened could not be closed: "+document.Message(err), onto.HintOf(err))
	}
}

func (c *command) storeOptions(cfg place.Settings) *store.Options {
	return &store.Options{MaxBatch: int(cfg.Number("max_batch_size")), Runtime: c.runtime, ScratchDir: cfg.Text("cache_dir")}
}

// unsupported is the error for a verb that the kind of storage has no answer to.
func (c *command) unsupported(verb, why, instead string) error {
	kind := "a SQLite file"
	if c.place().IsLake() {
		kind = "a lake"
	}
	return onto.Errorf(onto.Unsupported, "%s: %s %s", verb, kind, why).WithHint("%s", instead)
}

// warnOfDamage tells what stores that were opened do not show.
func (c *command) warnOfDamage(asJSON bool) {
	for _, b := range c.opened {
		w, ok := backend.As[interface{ Warning() (text, remedy string) }](b)
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
func (c *command) nameLake(err error) error {
	here := c.place()
	code := onto.CodeOf(err)
	if len(c.opened) == 0 || !here.IsLake() || code != onto.Corrupt && code != onto.Unavailable && code != onto.OutcomeUnknown {
		return err
	}
	if strings.Contains(err.Error(), here.String()) {
		return err
	}
	return here.Lake.Failed(err)
}

// each calls f with each item of a sequence, up to the first error.
func each[T any](items iter.Seq2[T, error], f func(T) error) error {
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
