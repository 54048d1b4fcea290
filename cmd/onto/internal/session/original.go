package session

import (
	"strings"

	"github.com/spf13/cobra"
)

// The command of the original program is called onto as well, and most of its verbs are
// the same. What it calls otherwise is hinted at.

// originalHint is what to write here, and the command that does it, if there is one.
type originalHint struct {
	text    string
	command []string
}

const typesAreKept = "the types are in the store: leave it out"

// originalFlags is flags of the original's command, of one verb or of any.
func originalFlags() map[string]originalHint {
	asFile := originalHint{text: "give the types as a schema file with --schema; print the present ones", command: []string{"schema", "export"}}
	return map[string]originalHint{
		"filter":                           {text: `write the filter as --where '$.tier == "Gold" & $.age >= 21'`},
		"models":                           {text: typesAreKept},
		"models-path":                      {text: typesAreKept},
		"migrate models":                   asFile,
		"migrate models-path":              asFile,
		"verify models":                    asFile,
		"verify models-path":               asFile,
		"verify strict":                    {text: "leave it out: the exit status is 3 if anything differs"},
		"init engine-version":              {text: "leave it out: this program has one engine"},
		"init force":                       {text: "leave it out: init changes nothing that is there"},
		"migrate dry-run":                  {text: "leave it out: without --apply nothing is changed"},
		"schema drop dry-run":              {text: "leave it out: without --apply nothing is changed"},
		"query traverse without-relations": {text: "leave it out, and take the last thing of each path of --json"},
		"commits id":                       {text: "one commit is shown by another verb", command: []string{"commits", "examine", "--id", "ID"}},
		"schema history version":           {text: "one version is shown by another verb", command: []string{"schema", "export", "--type", "TYPE", "--version", "N"}},
		"schema history last":              {text: "leave it out: all versions are listed, the newest last"},
		"schema history since-version":     {text: "leave it out: all versions are listed, the newest last"},
		"schema export output":             {text: "leave it out, and write standard output into a file"},
		"schema export with-hash":          {text: "leave it out: the hash is in the first lines, and in --json"},
		"c":                                {text: "write --config"},
	}
}

// originalVerbs is words of the original program that people try as verbs.
func originalVerbs() map[string]originalHint {
	byPut := originalHint{text: "entities are written by put, relations by link", command: []string{"put", "--help"}}
	return map[string]originalHint{
		"ensure":    byPut,
		"upsert":    byPut,
		"update":    byPut,
		"entities":  {text: "entities are asked for by query", command: []string{"query", "entities", "--help"}},
		"relations": {text: "relations are asked for by query", command: []string{"query", "relations", "--help"}},
		"traverse":  {text: "traversals are asked for by query", command: []string{"query", "traverse", "--help"}},
		"history":   {text: "the versions of one thing are shown by log, those of a type by query entities --with-history", command: []string{"log", "--help"}},
		"examine":   {text: "one commit is shown by a verb of commits", command: []string{"commits", "examine", "--help"}},
		"drop":      {text: "types are dropped by a verb of schema", command: []string{"schema", "drop", "--help"}},
		"run":       {text: "handlers run in programs, or as commands", command: []string{"events", "handle", "--help"}},
		"repair":    {text: "indexes are repaired by a verb of index", command: []string{"index", "repair", "--help"}},
	}
}

// originalFlag is the hint for a flag that only the original's command has.
func originalFlag(cmd *cobra.Command, message string) (originalHint, bool) {
	name, ok := strings.CutPrefix(message, "unknown flag: --")
	if !ok {
		if name, ok = strings.CutPrefix(message, "unknown shorthand flag: '"); ok {
			name, _, _ = strings.Cut(name, "'")
		}
	}
	_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
	hints := originalFlags()
	if h, known := hints[verb+" "+name]; known && ok {
		return h, true
	}
	h, known := hints[name]
	return h, known && ok
}
