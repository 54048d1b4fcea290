package session

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Group makes a command that only has subcommands.
func Group(use, short, example string, subcommands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ArbitraryArgs, RunE: RunGroup}
	g.AddCommand(subcommands...)
	return g
}

// RunGroup runs when no subcommand was found.
func RunGroup(cmd *cobra.Command, args []string) error {
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
	if near := suggest.Name(args[0], names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("see the commands").WithCommand(helpOf(cmd)...)
}

// FlagError is the error for a flag that does not parse.
func FlagError(cmd *cobra.Command, err error) error {
	what, why, _ := strings.Cut(err.Error(), " flag: strconv.ParseInt:")
	if why != "" { // the parser's message is about Go
		err = onto.Errorf(onto.Invalid, "%s, which takes a whole number", what)
	}
	return onto.Errorf(onto.Invalid, "%s", err).WithHint("see the flags").WithCommand(helpOf(cmd)...)
}

// helpOf is the command that shows how one is used.
func helpOf(cmd *cobra.Command) []string {
	return append(strings.Fields(cmd.CommandPath())[1:], "--help")
}

// ArgCount checks that the number of arguments is one of those allowed.
func ArgCount(allowed ...int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if slices.Contains(allowed, len(args)) {
			return nil
		}
		return wrongArgs(cmd, args)
	}
}

// ArgsFrom checks that there are at least n arguments.
func ArgsFrom(n int) cobra.PositionalArgs {
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
	_, takes, some := strings.Cut(cmd.Use, " ")
	if !some {
		takes = "no arguments"
	}
	return err.WithHint("give it %s", takes).WithCommand(helpOf(cmd)...)
}

// isOperator reports whether an argument is a piece of a filter that a shell
// has split.
func isOperator(arg string) bool {
	return slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "=", "&", "|", "and", "or"}, arg)
}

// CompleteType completes the first argument with the names of types of a kind,
// or of both kinds.
func CompleteType(c *Session, kind onto.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		err := c.WithStore(cmd.Context(), place.Reading, func(s *store.Store) error {
			for _, t := range s.Types() {
				if kind == "" || t.Kind == kind {
					names = append(names, t.Name)
				}
			}
			return nil
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
