package session

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ontologia/onto"
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
	if h, known := originalVerbs()[args[0]]; known && !cmd.HasParent() {
		return err.WithHint("%s", h.text).WithCommand(h.command...)
	}
	if command, known := synonyms()[args[0]]; known && !cmd.HasParent() {
		return err.WithHint("here it is").WithCommand(command...)
	}
	if near := suggest.Name(args[0], names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("see the commands").WithCommand(helpOf(cmd)...)
}

// CheckKind refuses what is no kind.
func CheckKind(kind onto.Kind) error {
	if slices.Contains(onto.Kinds(), kind) {
		return nil
	}
	return onto.Errorf(onto.Invalid, "kind %q is unknown", kind).WithHint("use entity, fact or relation")
}

// FlagError is the error for a flag that does not parse.
func FlagError(cmd *cobra.Command, err error) error {
	what, why, _ := strings.Cut(err.Error(), " flag: strconv.ParseInt:")
	if why != "" { // the parser's message is about Go
		err = onto.Errorf(onto.Invalid, "%s, which takes a whole number", what)
	}
	if _, number, ok := strings.Cut(err.Error(), " in -"); ok && '0' <= number[0] && number[0] <= '9' {
		return onto.Errorf(onto.Invalid, "%s", err).WithHint("put -- before the arguments, so that a negative number is no flag")
	}
	if h, known := originalFlag(cmd, err.Error()); known {
		return onto.Errorf(onto.Invalid, "%s", err).WithHint("%s", h.text).WithCommand(h.command...)
	}
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		if near := suggest.Name(name, flagNames(cmd)); near != "" {
			return onto.Errorf(onto.Invalid, "%s", err).WithHint("did you mean --%s?", near)
		}
	}
	return onto.Errorf(onto.Invalid, "%s", err).WithHint("see the flags").WithCommand(helpOf(cmd)...)
}

// mayBeEmpty marks flags for AllowEmpty.
const mayBeEmpty = "onto_may_be_empty"

// AllowEmpty says that an empty text in some flags of a command is the same as none.
func AllowEmpty(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.Flags().SetAnnotation(name, mayBeEmpty, []string{"true"}) // the flag exists
	}
}

// MayBeEmpty reports whether an empty text in a flag is the same as none.
func MayBeEmpty(f *pflag.Flag) bool { return f.Annotations[mayBeEmpty] != nil }

// flagNames is the names of the flags that a command shows.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
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

// CompleteType completes the first argument with the names of types of some kinds,
// or of all.
func CompleteType(c *Session, kinds ...onto.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completed(c, cmd, func(s *store.Store) (names []string) {
			for _, t := range s.Types() {
				if len(kinds) == 0 || slices.Contains(kinds, t.Kind) {
					names = append(names, t.Name)
				}
			}
			return names
		})
	}
}

// CompleteFact completes TYPE SUBJECT ATTRIBUTE: types of facts, and their attributes.
func CompleteFact(c *Session) cobra.CompletionFunc {
	types := CompleteType(c, onto.KindFact)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 2 {
			return types(cmd, args, word)
		}
		return completed(c, cmd, func(s *store.Store) (names []string) {
			schema, err := s.Type(args[0])
			if err != nil || schema.Kind != onto.KindFact {
				return nil
			}
			for _, f := range schema.Attributes() {
				names = append(names, f.Name)
			}
			return names
		})
	}
}

// completed is the words that a store gives.
func completed(c *Session, cmd *cobra.Command, words func(*store.Store) []string) ([]string, cobra.ShellCompDirective) {
	var names []string
	err := c.withSomeStore(cmd.Context(), func(s *store.Store) { names = append(names, words(s)...) })
	slices.Sort(names)
	names = slices.Compact(names)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
