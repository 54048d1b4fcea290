package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/ask"
	"github.com/ontologia/onto/cmd/onto/internal/care"
	"github.com/ontologia/onto/cmd/onto/internal/change"
	"github.com/ontologia/onto/cmd/onto/internal/events"
	"github.com/ontologia/onto/cmd/onto/internal/evolve"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/cmd/onto/internal/transfer"
	"github.com/ontologia/onto/cmd/onto/internal/work"
)

// run runs the command and returns its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runIn(ctx, newSession(stdin, stdout, stderr), args)
}

// newSession is one run of the command, which opens every kind of store.
func newSession(stdin io.Reader, stdout, stderr io.Writer) *session.Session {
	c := session.New(stdin, stdout, stderr)
	c.OpenLake = care.OpenLake
	return c
}

// runIn runs the command in a session and returns its exit status.
func runIn(ctx context.Context, c *session.Session, args []string) int {
	err := execute(ctx, c, args)
	if flushErr := c.Out.Flush(); err == nil {
		err = flushErr
	}
	// Flags that do not parse leave c.JSON unset.
	return c.End(err, c.JSON || slices.Contains(args, "--json"))
}

func execute(ctx context.Context, c *session.Session, args []string) error {
	started := false // flags and arguments were fine
	root := newRoot(c, func(cmd *cobra.Command, _ []string) error {
		started = true
		return checkFlags(cmd)
	})
	if completes(args) {
		describePlainly(root)
	}
	root.SetArgs(args)
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && !started && onto.CodeOf(err) == "" {
		return onto.Errorf(onto.Invalid, "%s", err).WithHint("see the commands").WithCommand("--help")
	}
	return err
}

// newRoot is the command with its verbs. Start runs when flags and arguments were
// parsed.
func newRoot(c *session.Session, start func(*cobra.Command, []string) error) *cobra.Command {
	root := &cobra.Command{
		Use:   "onto",
		Short: "Data that can be explained later",
		Long: `onto keeps typed entities, relations and facts as an append-only log of commits.
Any state can be read as it was at any commit or time.

Start with a story:  onto demo

Exit status: 0 success, 1 general, 2 usage or a filter that does not fit,
3 a check failed, a schema differs or a token is stale, 4 interrupted or an
upgrader failed, 5 the storage failed or cannot do this, 6 a conflict or an
expectation that is not met, 7 refused because it would destroy something, 8 it is
not known whether the commit was made, 9 not found.`,
		Example: `  onto demo
  onto init --schema schema.yaml
  onto put Customer '{"id":"c1","name":"Ada","tier":"Silver"}' --actor operator:ana
  onto query entities Customer --as-of 1`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          session.RunGroup,

		PersistentPreRunE: start,
	}
	root.SetHelpCommand(helpCommand())
	root.SetVersionTemplate("onto {{.Version}}\n")
	root.SetFlagErrorFunc(session.FlagError)
	flags := root.PersistentFlags()
	flags.StringVar(&c.Flags.DB, "db", "", "SQLite `FILE` (default onto.db)")
	flags.StringVar(&c.Flags.StorageURI, "storage-uri", "", "the `URI` of the store: sqlite:///rel.db, sqlite:////abs.db, file:///directory or s3://bucket/prefix")
	flags.StringVar(&c.Flags.Config, "config", "", "configuration `FILE` (default ./onto.yaml)")
	flags.BoolVar(&c.JSON, "json", false, "print one JSON document")
	root.AddCommand(
		demoCommand(c), evolve.Init(c), ask.Info(c),
		change.Put(c), change.Link(c), change.Delete(c), change.Fact(c), change.Revert(c),
		ask.Get(c), ask.Query(c), ask.Log(c), ask.Diff(c), ask.Blame(c), ask.Timeline(c), ask.Commits(c, events.Follow(c), events.Positions(c)),
		session.Group("schema", "Show the types and their versions, and end a type", `  onto schema export > schema.yaml
  onto schema history --type Customer`,
			ask.SchemaExport(c), ask.SchemaHistory(c), evolve.SchemaDrop(c)),
		events.Events(c), work.Work(c),
		evolve.Migrate(c), evolve.Verify(c), transfer.Import(c), transfer.Export(c), transfer.Copy(c), care.Projection(c), care.Fold(c), care.Doctor(c),
		care.Lock(c), care.Backup(c), care.Restore(c), care.Compact(c), care.Janitor(c), care.Recover(c), care.Index(c), care.Shard(c),
	)
	groupVerbs(root)
	addCompletion(root)
	completeValues(c, root)
	return root
}

// checkFlags refuses flags with an empty text, such as from an unset variable in a script:
// the command would mean something else. Flags that [session.AllowEmpty] names may be empty.
func checkFlags(cmd *cobra.Command) error {
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil && f.Changed && hasEmpty(f) && !session.MayBeEmpty(f) {
			err = onto.Errorf(onto.Invalid, "--%s is empty", f.Name).WithHint("give a value, or leave the flag out")
		}
	})
	return err
}

// hasEmpty reports whether a flag that takes texts was given an empty one.
func hasEmpty(f *pflag.Flag) bool {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		texts := list.GetSlice()
		return len(texts) == 0 || slices.Contains(texts, "")
	}
	return f.Value.Type() == "string" && f.Value.String() == ""
}
