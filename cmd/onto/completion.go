package main

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/store"
)

// addCompletion adds cobra's completion command, and makes it refuse a shell
// that it does not know.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, runGroup
			cmd.Example = `  onto completion bash > /etc/bash_completion.d/onto
  source <(onto completion zsh)`
		}
	}
}

// completeType completes the first argument with the names of types of a kind,
// or of both kinds.
func completeType(c *command, kind onto.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		err := c.withStore(cmd.Context(), place.Reading, func(s *store.Store) error {
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
