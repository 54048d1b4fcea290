package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

// command is one run of onto: where it reads and writes, and its global flags.
type command struct {
	*terminal.Printer
	in io.Reader

	flags place.Flags // that name the store and the configuration

	runtime string            // names this run in commits, heads and manifests
	started bool              // flags and arguments were fine
	opened  []backend.Backend // by this run, closed or not
	writes  atomic.Bool       // something may have been stored
}

func newCommand(stdin io.Reader, stdout, stderr io.Writer) *command {
	return &command{Printer: terminal.NewPrinter(stdout, stderr), in: stdin, runtime: runtimeName()}
}

// run runs the command and returns its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newCommand(stdin, stdout, stderr).run(ctx, args)
}

func (c *command) run(ctx context.Context, args []string) int {
	err := c.execute(ctx, args)
	if flushErr := c.Out.Flush(); err == nil {
		err = flushErr
	}
	err = c.nameLake(err)
	_ = c.Err.Flush() // what cobra wrote
	// Flags that do not parse leave c.json unset.
	asJSON := c.JSON || slices.Contains(args, "--json")
	c.warnOfIndexes(asJSON)
	c.warnOfDamage(asJSON)
	return c.finish(err, asJSON)
}

// runtimeName is a name that no other run has: host, process and a random part.
func runtimeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
}

func (c *command) execute(ctx context.Context, args []string) error {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && !c.started && onto.CodeOf(err) == "" {
		return onto.Errorf(onto.Invalid, "%s", err).WithHint("see: onto --help")
	}
	return err
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "onto",
		Short: "Data that can be explained later",
		Long: `onto keeps typed entities and relations as an append-only log of commits.
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
		RunE:          runGroup,

		PersistentPreRunE: c.start,
	}
	root.SetVersionTemplate("onto {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVar(&c.flags.DB, "db", "", "SQLite file (default onto.db)")
	flags.StringVar(&c.flags.StorageURI, "storage-uri", "", "where the store is: sqlite:///rel.db, sqlite:////abs.db, file:///directory or s3://bucket/prefix")
	flags.StringVar(&c.flags.Config, "config", "", "configuration file (default ./onto.yaml)")
	flags.BoolVar(&c.JSON, "json", false, "print one JSON document")
	root.AddCommand(
		demoCommand(c), initCommand(c), infoCommand(c),
		putCommand(c), linkCommand(c), deleteCommand(c), revertCommand(c),
		queryCommand(c), logCommand(c), diffCommand(c), blameCommand(c), commitsCommand(c),
		schemaCommand(c), migrateCommand(c), verifyCommand(c), importCommand(c), exportCommand(c), projectionCommand(c), doctorCommand(c),
		lockCommand(c), backupCommand(c), restoreCommand(c), compactCommand(c), janitorCommand(c), indexCommand(c),
	)
	addCompletion(root)
	return root
}

// start refuses flags that were given an empty value, as a variable that is not
// set does in a script, where that would change what the command means.
func (c *command) start(cmd *cobra.Command, _ []string) error {
	c.started = true
	for _, name := range []string{
		"db", "storage-uri", "config", "schema", "as-of", "cursor", "kind", "type", "format", "actor", "idempotency-key",
		"search", "having", "input", "output", "upgraders", "token",
	} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return onto.Errorf(onto.Invalid, "--%s is empty", name).WithHint("give a value, or leave the flag out")
		}
	}
	return nil
}

// group makes a command that only has subcommands.
func group(use, short, example string, subcommands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ArbitraryArgs, RunE: runGroup}
	g.AddCommand(subcommands...)
	return g
}

// runGroup runs when no subcommand was found.
func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && !cmd.HasParent() {
		return cmd.Help()
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if len(args) == 0 {
		return onto.Errorf(onto.Invalid, "%s needs a subcommand", cmd.CommandPath()).
			WithHint("use %s", strings.Join(names, ", "))
	}
	err := onto.Errorf(onto.Invalid, "%s has no command %q", cmd.CommandPath(), args[0])
	if near := onto.Suggest(args[0], names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("see: %s --help", cmd.CommandPath())
}

func flagError(cmd *cobra.Command, err error) error {
	what, why, _ := strings.Cut(err.Error(), " flag: strconv.ParseInt:")
	if why != "" { // the parser's words are about Go
		err = onto.Errorf(onto.Invalid, "%s, which takes a whole number", what)
	}
	return onto.Errorf(onto.Invalid, "%s", err).WithHint("see: %s --help", cmd.CommandPath())
}

// argCount checks that the number of arguments is one of those allowed.
func argCount(allowed ...int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if slices.Contains(allowed, len(args)) {
			return nil
		}
		return wrongArgs(cmd, args)
	}
}

// argsFrom checks that there are at least n arguments.
func argsFrom(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= n {
			return nil
		}
		return wrongArgs(cmd, args)
	}
}

func wrongArgs(cmd *cobra.Command, args []string) error {
	err := onto.Errorf(onto.Invalid, "%s: got %s", cmd.CommandPath(), terminal.Count(len(args), "argument", "arguments"))
	if cmd.Flags().Lookup("where") != nil && slices.ContainsFunc(args, isOperator) {
		return err.WithHint(`put the filter in single quotes: --where '$.tier == "Gold"'`)
	}
	return err.WithHint("write: %s", cmd.UseLine())
}

// isOperator reports whether an argument is a piece of a filter that a shell
// has split.
func isOperator(arg string) bool {
	return slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "=", "&", "|", "and", "or"}, arg)
}
