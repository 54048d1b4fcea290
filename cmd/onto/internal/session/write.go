package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/store"
)

// WriteFlags is what every writing verb takes about its commit.
type WriteFlags struct {
	meta, emit                  []string
	actor, comment, correlation string
	signature, idempotencyKey   string
	causation, expectHead       int64
	dryRun                      bool

	Relation *onto.Identity // that the verb puts, whose ends may be missing; nil for none
}

// Register adds the flags.
func (w *WriteFlags) Register(cmd *cobra.Command) {
	w.RegisterOrigin(cmd)
	w.registerSafety(cmd)
}

// RegisterOrigin is the flags that say who and why.
func (w *WriteFlags) RegisterOrigin(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&w.meta, "meta", nil, "metadata of the commit, as `K=V`; may be repeated")
	flags.StringVar(&w.actor, "actor", "", "on whose behalf, as `KIND:ID` with operator, component, daemon or remote (default: the setting actor)")
	flags.StringVar(&w.comment, "comment", "", "why, a `TEXT` for people")
	AllowEmpty(cmd, "comment")
	flags.StringVar(&w.correlation, "correlation", "", "the `ID` of commits that belong together")
	w.registerCause(cmd)
	w.registerEmit(cmd)
}

// registerCause is the flags that name what a commit follows from, and its signature.
func (w *WriteFlags) registerCause(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&w.causation, "causation", 0, "the `ID` of the commit that led to this one")
	cmd.Flags().StringVar(&w.signature, "signature", "", "the `REF` of a signature that is kept elsewhere")
}

// registerSafety is the flags that make a commit safe to repeat, or conditional.
func (w *WriteFlags) registerSafety(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.idempotencyKey, "idempotency-key", "", "a `KEY` that makes the commit safe to repeat")
	cmd.Flags().Int64Var(&w.expectHead, "expect-head", 0, "fail unless the head is commit `N`")
}

// RegisterRevert is register without --correlation, which says what to revert.
func (w *WriteFlags) RegisterRevert(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&w.meta, "meta", nil, "metadata of the commit, as `K=V`; may be repeated")
	flags.StringVar(&w.actor, "actor", "", "on whose behalf, as `KIND:ID` with operator, component, daemon or remote (default: the setting actor)")
	flags.StringVar(&w.comment, "comment", "", "why, a `TEXT` for people (default says what was reverted)")
	AllowEmpty(cmd, "comment")
	w.registerCause(cmd)
	w.registerEmit(cmd)
	w.registerSafety(cmd)
}

// ByFlags is what a verb takes that writes something, and makes no commit.
type ByFlags struct {
	Comment string
	actor   string
}

// Register adds the flags.
func (b *ByFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.actor, "actor", "", "on whose behalf, as `KIND:ID` with operator, component, daemon or remote (default: the setting actor)")
	cmd.Flags().StringVar(&b.Comment, "comment", "", "why, a `TEXT` for people")
	AllowEmpty(cmd, "comment")
}

// Actor is on whose behalf the verb writes.
func (b *ByFlags) Actor(c *Session, cmd *cobra.Command) (onto.Actor, error) {
	return c.actor(b.actor, cmd.Flags().Changed("actor"))
}

// Draft is a draft with everything but its contents.
func (w *WriteFlags) Draft(c *Session, cmd *cobra.Command) (onto.Draft, error) {
	d := onto.Draft{Comment: w.comment, Causation: w.causation, Correlation: w.correlation, Signature: w.signature, IdempotencyKey: w.idempotencyKey}
	changed := cmd.Flags().Changed
	err := NotNegative("expect-head", w.expectHead)
	if err != nil {
		return d, err
	}
	if changed("causation") && w.causation < 1 {
		return d, onto.Errorf(onto.Invalid, "--causation %d is no commit", w.causation).WithHint("commit ids start at 1; leave it out if no commit led to this one")
	}
	if changed("expect-head") {
		d = d.ExpectHead(w.expectHead)
	}
	if d.Actor, err = c.actor(w.actor, changed("actor")); err != nil {
		return d, err
	}
	if d.Metadata, err = ParseMeta(w.meta); err != nil {
		return d, err
	}
	return c.addEvents(d, w.emit)
}

// actor is on whose behalf a verb writes: as its flag says, or the setting.
func (c *Session) actor(flag string, given bool) (onto.Actor, error) {
	if given {
		return onto.ParseActor(flag)
	}
	cfg, err := c.Configure()
	if err != nil || cfg.Text("actor") == "" {
		return onto.Actor{}, err
	}
	return onto.ParseActor(cfg.Text("actor"))
}

// NotNegative refuses a flag that is no commit id.
func NotNegative(flag string, id int64) error {
	if id >= 0 {
		return nil
	}
	return onto.Errorf(onto.Invalid, "--%s %d is negative", flag, id).WithHint("commit ids start at 1; 0 is the empty store")
}

// ParseMeta reads K=V pairs.
func ParseMeta(pairs []string) (map[string]any, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	meta := make(map[string]any, len(pairs))
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, onto.Errorf(onto.Invalid, "--meta %.80q is not K=V", pair).WithHint("for example: --meta source=import")
		}
		if before, twice := meta[k]; twice && before != v {
			return nil, onto.Errorf(onto.Invalid, "--meta gives %.80q twice, with different values", k)
		}
		meta[k] = v
	}
	return meta, nil
}

// builder adds to a draft what a verb wants of a store.
type builder = func(*store.Store, onto.Draft) (onto.Draft, error)

// Commit opens the store, lets build add to the draft, commits it and prints the result;
// with --dry-run it plans the commit.
func (c *Session) Commit(ctx context.Context, w *WriteFlags, d onto.Draft, build builder) error {
	return c.CommitStream(ctx, w, d, build, nil)
}

// CommitStream is Commit for a draft and further things, which may be nil.
func (c *Session) CommitStream(ctx context.Context, w *WriteFlags, d onto.Draft, build builder, more things) error {
	if w.dryRun {
		return c.plan(ctx, w, d, build, more)
	}
	return c.WithStore(ctx, place.Writing, func(s *store.Store) error {
		d, err := build(s, d)
		if err != nil {
			return err
		}
		var result onto.Result
		if more != nil {
			result, err = s.CommitStream(ctx, d, more)
		} else {
			result, err = s.Commit(ctx, d)
		}
		if err != nil {
			return err
		}
		return c.printCommitted(d, result, c.missingEnds(ctx, s.At(result.At), w))
	})
}

// PrintCommitted is printResult for what cannot be undone: if it fails, the
// error says what was done.
func (c *Session) PrintCommitted(d onto.Draft, r onto.Result) error {
	return c.printCommitted(d, r, nil)
}

// printCommitted is PrintCommitted for a relation with ends that do not exist.
func (c *Session) printCommitted(d onto.Draft, r onto.Result, missing []onto.Identity) error {
	err := c.printResult(d, r, missing)
	if err == nil {
		err = c.Out.Flush()
	}
	if err != nil && r.Changed() && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("commit %d was made, but this could not be printed: %w", r.ID, err)
	}
	return err
}

// printResult prints the commit id, alone so that scripts can use it.
func (c *Session) printResult(d onto.Draft, r onto.Result, missing []onto.Identity) error {
	if c.JSON {
		doc := document.NewResult(r)
		doc.Emitted = document.Emitted(d, r)
		doc.Refs = document.Asserted(d)
		doc.MissingEnds = document.NewIdentities(missing)
		return c.Document(doc)
	}
	if !r.Changed() {
		c.SayNoCommit(d, "nothing changed")
		return nil
	}
	if r.Repeated {
		c.Say("committed before with this idempotency key")
	}
	for _, ref := range document.Asserted(d) {
		c.Say("asserted %s", ref)
	}
	return c.Out.Line("%d", r.ID)
}
