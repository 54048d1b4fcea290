package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ontologia/onto"
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

// completeValues gives completions to the flags of a command and of those below it that
// have none of their own. Files are offered only where a file is asked for.
func completeValues(c *session.Session, cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, has := cmd.GetFlagCompletionFunc(f.Name); has || f.Value.Type() == "bool" {
			return
		}
		if complete := valuesOf(c, cmd, f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists
		}
	})
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, "FILE") && !strings.Contains(cmd.Use, "COMMAND") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "completion" {
			completeValues(c, sub)
		}
	}
}

// valuesOf is the completion of a flag, by what its usage calls the value; nil for files.
func valuesOf(c *session.Session, cmd *cobra.Command, f *pflag.Flag) cobra.CompletionFunc {
	if words := choices(cmd, f.Name); words != nil {
		return session.CompleteWords(words...)
	}
	const open = cobra.ShellCompDirectiveNoSpace
	value, _ := pflag.UnquoteUsage(f)
	switch value {
	case "FILE":
		return nil
	case "DIRECTORY":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "TYPE":
		if isBelow(cmd, "work") { // of a resource
			return cobra.NoFileCompletions
		}
		return session.CompleteTypes(c, kindsOf(f.Name)...)
	case "VAULT":
		return session.CompleteVaults(c, false)
	case "TENANT":
		return session.CompleteVaults(c, true)
	case "RELATION":
		return session.CompleteTypes(c, onto.KindRelation)
	case "ATTRIBUTE":
		return session.CompleteAttributes(c)
	case "FILTER":
		return session.CompleteFields(c, open, session.Operands)
	case "PATH", "PATHS":
		return session.CompleteFields(c, 0, func(path string, _ onto.Field) []string { return []string{path} })
	case "PATH[:desc]":
		return session.CompleteFields(c, 0, func(path string, _ onto.Field) []string { return []string{path, path + ":desc"} })
	case "LIST":
		if f.Name == "select" {
			return session.CompleteFields(c, open, columns)
		}
		return session.CompleteFields(c, open, aggregates)
	}
	return cobra.NoFileCompletions
}

// choices is the closed set of values that a flag has; nil if it has none.
func choices(cmd *cobra.Command, flag string) []string {
	switch flag {
	case "format":
		switch {
		case isBelow(cmd, "export"):
			return []string{"jsonl", "csv", "parquet"}
		case isBelow(cmd, "import"), isBelow(cmd, "work"):
			return []string{"jsonl", "csv"}
		case isBelow(cmd, "schema"):
			return []string{"yaml", "json"}
		}
		return []string{"table", "json", "jsonl", "csv"}
	case "kind":
		if isBelow(cmd, "schema") {
			return []string{string(onto.KindEntity), string(onto.KindFact), string(onto.KindRelation)}
		}
	case "actor":
		return []string{"operator:", "component:", "daemon:", "remote:"}
	case "status":
		if isBelow(cmd, "events") {
			return []string{string(onto.EventPending), string(onto.EventClaimed), string(onto.EventAcked), string(onto.EventDead)}
		}
	case "on-conflict":
		return []string{"abort", "skip", "upsert"}
	case "precondition":
		return []string{"must_exist", "must_not_exist", "if_commit_id:"}
	case "scope":
		return []string{"forever", "run"}
	case "as-of":
		return []string{"head"}
	case "storage-uri":
		return []string{"sqlite:///", "file:///", "s3://"}
	}
	return nil
}

// isBelow reports whether a command is a verb, or one of its subcommands.
func isBelow(cmd *cobra.Command, verb string) bool {
	path := strings.Fields(cmd.CommandPath())
	return len(path) > 1 && path[1] == verb
}

// kindsOf is the kinds of the types that a flag takes; none for all.
func kindsOf(flag string) []onto.Kind {
	switch flag {
	case "entity":
		return []onto.Kind{onto.KindEntity}
	case "relation":
		return []onto.Kind{onto.KindRelation}
	case "drop-relation":
		return []onto.Kind{onto.KindRelation, onto.KindFact}
	}
	return nil
}

// columns is the column of a field of a row; ends of relations have none.
func columns(path string, _ onto.Field) []string {
	if strings.HasPrefix(path, "$") {
		return []string{path}
	}
	return nil
}

// aggregates is what can be computed of a field, and the number of rows.
func aggregates(path string, f onto.Field) []string {
	list := []string{string(onto.FuncCount)}
	for _, each := range []onto.Func{onto.FuncMin, onto.FuncMax, onto.FuncCountDistinct} {
		list = append(list, string(each)+":"+path)
	}
	switch f.Type {
	case onto.Int, onto.Float:
		list = append(list, string(onto.FuncSum)+":"+path, string(onto.FuncAvg)+":"+path)
	case onto.List:
		list = append(list, string(onto.FuncAvgLen)+":"+path)
	}
	return list
}

// describePlainly takes the quotes out of the usage of flags. They mark the name of the
// value for the help, and completion would show them.
func describePlainly(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, sub := range cmd.Commands() {
		describePlainly(sub)
	}
}

// completes reports whether a command line is a question of a shell.
func completes(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}
