package session

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store"
)

// CompleteTypes completes a flag with the names of types of some kinds, or of all.
func CompleteTypes(c *Session, kinds ...onto.Kind) cobra.CompletionFunc {
	first := CompleteType(c, kinds...)
	return func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return first(cmd, nil, word)
	}
}

// CompleteFields completes a flag with words made of the fields of the type that the
// command line names, and of those inside its declared objects. For a relation and a fact with
// a subject these are also the fields of their ends, as paths.
func CompleteFields(c *Session, more cobra.ShellCompDirective, words func(path string, f onto.Field) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		list, directive := completed(c, cmd, func(s *store.Store) (list []string) {
			schema, err := s.Type(typeOf(cmd, args))
			if err != nil {
				return nil
			}
			add := func(o onto.Operand, f onto.Field) { list = append(list, words(filter.FormatOperand(o), f)...) }
			eachField(onto.Operand{}, schema.Fields, add)
			for _, end := range []struct {
				side onto.Side
				typ  string
			}{{onto.LeftSide, schema.Left}, {onto.RightSide, schema.Right}} {
				if other, err := s.Type(end.typ); end.typ != "" && err == nil {
					eachField(onto.Operand{Side: end.side}, other.Fields, add)
				}
			}
			slices.Sort(list)
			return slices.Compact(list)
		})
		return list, directive | more
	}
}

// eachField calls a function for each field of an object that an operand leads to, and for
// those inside its objects.
func eachField(at onto.Operand, fields []onto.Field, add func(onto.Operand, onto.Field)) {
	for _, f := range fields {
		inner := at
		inner.Path = append(slices.Clip(at.Path), f.Name)
		add(inner, f)
		eachField(inner, f.Fields, add)
	}
}

// Operands is what a filter can compare of a field: the field, or some element of a list or a
// field of it.
func Operands(path string, f onto.Field) []string {
	list := []string{path}
	some, err := filter.ParseOperand(path)
	if err != nil || f.Type != onto.List {
		return list
	}
	some.Any = true
	list = append(list, filter.FormatOperand(some))
	if f.Items != nil {
		for _, inner := range f.Items.Fields {
			some.Under = []string{inner.Name}
			list = append(list, filter.FormatOperand(some))
		}
	}
	return list
}

// CompleteAttributes completes a flag with the attributes of the type of facts that the
// command line names.
func CompleteAttributes(c *Session) cobra.CompletionFunc {
	third := CompleteFact(c)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return third(cmd, []string{typeOf(cmd, args), ""}, word)
	}
}

// typeOf is the type that a command line names: in --type, or first of its arguments.
func typeOf(cmd *cobra.Command, args []string) string {
	if f := cmd.Flags().Lookup("type"); f != nil && f.Changed {
		return f.Value.String()
	}
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// CompleteWords completes with a closed set of words. One that ends with a colon or a slash
// is the beginning of a value.
func CompleteWords(words ...string) cobra.CompletionFunc {
	directive := cobra.ShellCompDirectiveNoFileComp
	if slices.ContainsFunc(words, func(w string) bool { return w[len(w)-1] == ':' || w[len(w)-1] == '/' }) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return cobra.FixedCompletions(words, directive)
}
