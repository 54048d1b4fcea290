package main

import "github.com/spf13/cobra"

// groupVerbs puts the verbs in groups by what they are for, so that the help can be
// read.
func groupVerbs(root *cobra.Command) {
	verbs := map[string]*cobra.Command{}
	for _, cmd := range root.Commands() {
		verbs[cmd.Name()] = cmd
	}
	for _, g := range []struct {
		id, title string
		verbs     []string
	}{
		{"begin", "Begin:", []string{"demo", "init", "info"}},
		{"write", "Write, each as one commit:", []string{"put", "link", "delete", "fact", "revert", "import"}},
		{"ask", "Ask, now or as of any moment:", []string{"get", "query", "timeline", "export"}},
		{"explain", "Explain:", []string{"log", "blame", "diff", "commits"}},
		{"types", "Types:", []string{"schema", "verify", "migrate", "fold"}},
		{"react", "React and fetch:", []string{"events", "work"}},
		{"care", "Look after a store:", []string{"doctor", "shard", "lock", "copy", "backup", "restore", "projection", "compact", "janitor", "recover", "index"}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range g.verbs {
			verbs[name].GroupID = g.id
		}
	}
}
