package main

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// addCompletion adds cobra's completion command, and makes it refuse an unknown shell.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, session.RunGroup
			cmd.Example = `  onto completion bash > /etc/bash_completion.d/onto
  source <(onto completion zsh)`
		}
	}
}
