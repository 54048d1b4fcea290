package care

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/upkeep"
)

// doctor is one examination.
type doctor struct {
	*session.Session
	quick, checkpoint, acceptLoss, all bool
}

// Doctor is the verb doctor: what is wrong with a store and how to repair it.
func Doctor(c *session.Session) *cobra.Command {
	d := doctor{Session: c}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out what is wrong with a store and how to mend it",
		Long: `Examine a store: room, locks, the clock and how statements are answered, events
that nothing is done about, then everything that is stored. Exit status 3 if a
finding is an error.

Each finding has a stable code, a severity, what it means and what to do. Many of
one kind about one type are shown as one, with their number and the first few; --all
shows each.

It mends nothing by itself. With --checkpoint the WAL of a SQLite file is emptied
first. With --accept-loss a store whose WAL is damaged goes on without the commits
that are cut off, and the WAL is kept beside it. A lake that cannot be opened is
examined as far as its objects tell.

With --vaults, the shards of a tenant are examined one after the other, and their
list: each finding names its shard, and a shard that is down is one.`,
		Example: `  onto doctor
  onto doctor --quick --json
  onto doctor --all
  onto doctor --checkpoint --db crm.db
  onto doctor --vaults vaults.yaml --tenant acme
  onto doctor explain projection_differs`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return session.RunGroup(cmd, args)
			}
			return d.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&d.all, "all", false, allUsage)
	cmd.Flags().BoolVar(&d.quick, "quick", false, "look at circumstances only, not at what is stored")
	cmd.Flags().BoolVar(&d.acceptLoss, "accept-loss", false, "go on without commits that a damaged WAL cuts off; SQLite only")
	cmd.Flags().BoolVar(&d.checkpoint, "checkpoint", false, "copy the WAL into the file and empty it first; SQLite only")
	c.RegisterVaults(cmd.Flags())
	cmd.AddCommand(doctorS3Command(c), &cobra.Command{
		Use:   "explain CODE",
		Short: "Say what a finding means and what to do",
		Example: `  onto doctor explain projection_differs
  onto doctor explain wal_large --json`,
		Args:              session.ArgCount(1),
		ValidArgsFunction: completeCodes,
		RunE:              func(_ *cobra.Command, args []string) error { return explainCode(c, args[0]) },
	})
	return cmd
}

func completeCodes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return codeNames(), cobra.ShellCompDirectiveNoFileComp
}

func codeNames() []string {
	var names []string
	for _, e := range upkeep.Codes() {
		names = append(names, e.Code)
	}
	return names
}

// explainCode prints what is known in general about a finding.
func explainCode(c *session.Session, code string) error {
	e, ok := upkeep.Lookup(code)
	if !ok {
		err := onto.Errorf(onto.NotFound, "there is no finding with the code %q", code)
		if near := suggest.Name(code, codeNames()); near != "" {
			return err.WithHint("did you mean %s?", near)
		}
		return err.WithHint("docs/findings.md lists them all")
	}
	if c.JSON {
		return c.Document(document.FindingCode{Code: e.Code, Severity: e.Severity, Explanation: e.Explanation, Remedy: e.Remedy.String(), Command: document.Command(e.Remedy)})
	}
	return c.Pairs([][2]string{{"code", e.Code}, {"severity", string(e.Severity)}, {"meaning", e.Explanation}, {"remedy", e.Remedy.String()}})
}

// lookedAt is how much there was. What is not known is nil.
type lookedAt struct{ commits, versions, types, bytes *int64 }

func (d *doctor) run(ctx context.Context) error {
	sharded, err := d.Sharded()
	if err != nil {
		return err
	}
	if sharded {
		return d.examineTenant(ctx)
	}
	how := place.Reading
	if d.checkpoint {
		how = place.Writing
	}
	found := newFindings(d.Session, d.all)
	if d.acceptLoss {
		if err := d.accept(ctx); err != nil {
			return err
		}
	}
	cfg, err := d.Configure()
	if err != nil {
		return err
	}
	loc, err := cfg.Location()
	if err != nil {
		return err
	}
	l, err := d.examineAt(ctx, how, loc, cfg, found)
	if err != nil {
		found.stop()
		return err
	}
	return d.conclude(found, l)
}

// examineAt examines the store at a place, and returns how much there was.
func (d *doctor) examineAt(ctx context.Context, how place.Access, loc place.Location, cfg place.Settings, found *findings) (fmt.Stringer, error) {
	b, err := d.OpenAt(ctx, how, loc, cfg)
	if err != nil {
		return whatIsLeft{}, d.examineUnopened(ctx, loc, cfg, found, err)
	}
	defer d.Shut(b)
	if d.checkpoint {
		if err := d.empty(ctx, b, found); err != nil {
			return nil, err
		}
	}
	opts := &upkeep.Options{Quick: d.quick, SessionTTL: cfg.Duration("session_ttl_ms")}
	if err := d.examine(ctx, b, opts, found); err != nil {
		return nil, err
	}
	return d.lookAt(ctx, loc, b), nil
}

// accept opens a store whose WAL is cut off, so that it can be written again.
func (d *doctor) accept(ctx context.Context) error {
	loc := d.Place()
	if loc.IsLake() {
		return d.Unsupported("doctor --accept-loss", "has no WAL", "leave out --accept-loss")
	}
	d.Writes.Store(true)
	b, err := sqlite.Open(ctx, loc.Path, &sqlite.Options{MustExist: true, AcceptLoss: true})
	if err != nil {
		return err
	}
	kept := b.KeptWAL()
	if err := b.Close(); err != nil {
		return err
	}
	if kept == "" {
		d.Say("no commits are cut off")
		return nil
	}
	d.Say("what was cut off is kept in %s", kept)
	return nil
}

// empty runs a checkpoint.
func (d *doctor) empty(ctx context.Context, b backend.Backend, found *findings) error {
	checkpointer, ok := backend.As[backend.Checkpointer](b)
	if !ok {
		return d.Unsupported("doctor --checkpoint", "has no WAL to empty", "leave out --checkpoint")
	}
	done, err := checkpointer.Checkpoint(ctx)
	if err != nil {
		return err
	}
	d.Say("checkpoint: the WAL had %s and has %s", terminal.Bytes(done.Before), terminal.Bytes(done.After))
	for _, f := range done.Findings {
		if err := found.add(upkeep.Explain(f)); err != nil {
			return err
		}
	}
	return nil
}

func (d *doctor) examine(ctx context.Context, b backend.Backend, opts *upkeep.Options, found *findings) error {
	show, done := d.Steps()
	defer done()
	opts.Progress = show
	for f, err := range upkeep.Examine(ctx, b, opts) {
		done()
		if err != nil {
			return err
		}
		if err := found.add(f); err != nil {
			return err
		}
	}
	return nil
}

// lookAt counts what there is. A damaged store may not allow it.
func (d *doctor) lookAt(ctx context.Context, loc place.Location, b backend.Backend) lookedAt {
	var l lookedAt
	if head, err := b.Resolve(ctx, onto.Point{}); err == nil {
		l.commits = &head.ID
	}
	info, err := loc.Describe(ctx, b, !d.quick)
	if err != nil {
		return l
	}
	types := int64(len(info.Types))
	l.types = &types
	if info.Bytes != 0 {
		l.bytes = &info.Bytes
	}
	if !d.quick {
		l.versions = &info.Versions
	}
	return l
}

// String tells what is known.
func (l lookedAt) String() string {
	text := ""
	for _, part := range []struct {
		n         *int64
		one, many string
	}{{l.commits, "commit", "commits"}, {l.versions, "version", "versions"}, {l.types, "type", "types"}} {
		if part.n != nil {
			text += terminal.Count(*part.n, part.one, part.many) + ", "
		}
	}
	if l.bytes != nil {
		return text + terminal.Bytes(*l.bytes)
	}
	return text + "size unknown"
}

// conclude prints the rest and fails if there were errors.
func (d *doctor) conclude(found *findings, l fmt.Stringer) error {
	what := "looked at"
	if d.quick {
		what = "looked at the circumstances of"
	}
	if err := found.close(); err != nil {
		return err
	}
	if found.n == 0 {
		what = "no findings; " + what
	}
	d.Say("%s %s", what, l)
	if found.errors == 0 {
		return nil
	}
	return onto.Errorf(document.CheckFailed, "the examination found %s", terminal.Count(found.errors, "error", "errors"))
}
