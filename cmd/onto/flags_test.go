package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An empty text in any flag is refused, but for a comment.
func TestEmptyFlags(t *testing.T) {
	tried := 0
	for _, cmd := range everyCommand(newRoot(newSession(strings.NewReader(""), io.Discard, io.Discard), nil)) {
		cmd.InheritedFlags() // which adds them to those of the command
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, list := f.Value.(pflag.SliceValue); f.Value.Type() != "string" && !list {
				return
			}
			tried++
			if err := cmd.Flags().Set(f.Name, ""); err != nil {
				t.Errorf("%s --%s: %v", cmd.CommandPath(), f.Name, err)
			}
			err := checkFlags(cmd)
			switch {
			case f.Name == "comment" && err != nil:
				t.Errorf("%s: got %v for an empty comment, want no error", cmd.CommandPath(), err)
			case f.Name != "comment" && (err == nil || err.Error() != "--"+f.Name+" is empty"):
				t.Errorf("%s: got %v for an empty --%s, want that it is empty", cmd.CommandPath(), err, f.Name)
			}
			f.Changed = false
		})
	}
	if tried < 200 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// everyCommand is a command and all below it.
func everyCommand(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		list = append(list, everyCommand(sub)...)
	}
	return list
}
