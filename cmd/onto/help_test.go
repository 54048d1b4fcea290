package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ontologia/onto/cmd/onto/internal/evolve"
)

// walk calls f for a command and all below it.
func walk(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, f)
	}
}

func TestEveryCommandHelps(t *testing.T) {
	c := newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
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

// The help of onto shows each verb in a group, and no text is wider than a terminal.
func TestHelpIsOrdered(t *testing.T) {
	c := newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	root := newRoot(c, nil)
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" && cmd.Name() != "completion" && cmd.Name() != "help" {
			t.Errorf("%s is in no group; see verbs.go", cmd.Name())
		}
	}
	walk(root, func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Long) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 100 && !strings.HasPrefix(line, "  ") {
				t.Errorf("%s has a line of %d: %s", cmd.CommandPath(), n, line)
			}
		}
	})
}

// The help of a flag calls its value by a word of the user, not by a type of Go, and shows
// no default that is nothing.
func TestEveryFlagNamesItsValue(t *testing.T) {
	c := newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	n := 0
	walk(newRoot(c, nil), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			n++
			switch value, usage := pflag.UnquoteUsage(f); {
			case slices.Contains([]string{"string", "strings", "stringArray", "int", "int64", "float"}, value):
				t.Errorf("%s --%s takes a %s: %s", cmd.CommandPath(), f.Name, value, usage)
			case value != strings.ToUpper(value) && !slices.Contains([]string{"", "duration", "PATH[:desc]", "SOURCE=N/s"}, value):
				t.Errorf("%s --%s takes %q", cmd.CommandPath(), f.Name, value)
			}
		})
		if help := cmd.LocalFlags().FlagUsages(); strings.Contains(help, "(default )") {
			t.Errorf("%s has a default that is nothing:\n%s", cmd.CommandPath(), help)
		}
	})
	if n < 100 {
		t.Errorf("looked at %d flags", n)
	}
}

// What completion offers for a flag is what its help says, and files are offered only where
// there are to be some.
func TestEveryFlagCompletes(t *testing.T) {
	c := newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	n := 0
	walk(newRoot(c, nil), func(cmd *cobra.Command) {
		if strings.HasPrefix(cmd.CommandPath(), "onto completion") {
			return // cobra's own
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, usage := pflag.UnquoteUsage(f)
			if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && f.Value.Type() != "bool" && value != "FILE" {
				t.Errorf("%s --%s %s completes with files", cmd.CommandPath(), f.Name, value)
			}
			for _, word := range choices(cmd, f.Name) {
				n++
				if !strings.Contains(usage, strings.TrimSuffix(word, ":")) {
					t.Errorf("%s --%s offers %s, but says %q", cmd.CommandPath(), f.Name, word, usage)
				}
			}
		})
	})
	if n < 50 {
		t.Errorf("looked at %d words", n)
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
