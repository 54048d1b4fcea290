package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto/cmd/onto/internal/evolve"
	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// walk calls f for a command and all below it.
func walk(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, f)
	}
}

func TestEveryCommandHelps(t *testing.T) {
	c := session.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	n := 0
	walk(newRoot(c, nil), func(cmd *cobra.Command) {
		if cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
			return // cobra's own, with examples in their text
		}
		n++
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s: short %q, example %q", cmd.CommandPath(), cmd.Short, cmd.Example)
		}
		for line := range strings.Lines(cmd.Example) {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example %q is not indented", cmd.CommandPath(), line)
			}
		}
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		help := must(t, "", args...)
		if !strings.Contains(help, "Usage:") || !strings.Contains(help, "Examples:") {
			t.Errorf("%v prints %q", args, help)
		}
	})
	if n < 20 {
		t.Errorf("walked %d commands", n)
	}
}

func TestTheSchemaFileInTheHelpWorks(t *testing.T) {
	help := must(t, "", "init", "--help")
	if !strings.Contains(help, evolve.ExampleSchema) {
		t.Errorf("the help does not show the example: %s", help)
	}
	got := must(t, evolve.ExampleSchema, "init", "--schema", "-", "--db", t.TempDir()+"/new.db")
	for _, want := range []string{"registered entity Customer", "registered entity Product", "registered relation Subscription", "registered fact Contract"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
