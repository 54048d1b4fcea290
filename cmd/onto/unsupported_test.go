package main

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// partialVerbs lists the verbs that only some kinds of storage can do, by the kind that
// cannot: the command lines are right but for that.
func partialVerbs(dir string) map[string][][]string {
	return map[string][][]string{
		"sqlite": {
			{"compact"}, {"compact", "--all", "--apply"},
			{"janitor"}, {"janitor", "--apply"},
			{"index", "verify"}, {"index", "repair"}, {"index", "repair", "--apply"},
			{"recover"}, {"recover", "--apply"},
			{"doctor", "s3"},
		},
		"lake": {
			{"projection", "verify"}, {"projection", "rebuild"},
			{"doctor", "--checkpoint"}, {"doctor", "--accept-loss"},
			{"restore", filepath.Join(dir, "sqlite.db")}, {"restore", filepath.Join(dir, "sqlite.db"), "--apply"},
			{"put", "T", `{"id":"b"}`, "--emit", "Ping=1"},
			{"commits", "follow", "--name", "x", "--once"}, {"commits", "positions"},
			{"events", "emit", "--type", "Ping"}, {"events", "show"}, {"events", "inspect", "--event-id", "e"},
			{"events", "list-namespaces"}, {"events", "sessions"}, {"events", "dead-letters"},
			{"events", "replay", "--all"}, {"events", "replay", "--all", "--apply"},
			{"events", "drop", "--all"}, {"events", "drop", "--all", "--apply"},
			{"events", "cleanup", "--before", "1d"}, {"events", "cleanup", "--before", "1d", "--apply"},
			{"events", "handle", "--handler", "h", "--type", "Ping", "--until-idle", "--", "cat"},
			{"work", "add", "http://localhost/"}, {"work", "cleanup", "--before", "90d"}, {"work", "list"}, {"work", "stats"}, {"work", "runs"}, {"work", "tree"},
			{"work", "export", "--output", filepath.Join(dir, "items.jsonl")}, {"work", "import", filepath.Join(dir, "sqlite.db")}, {"work", "inspect", "1"},
			{"work", "recrawl", "--all"}, {"work", "retry"}, {"work", "skip", "--all"}, {"work", "seed", "--input", "-"},
			{"work", "run", "--into", "T"},
		},
	}
}

// anywhere is the verbs that every kind of storage can do, or that need none.
const anywhere = `init, demo, info, doctor, doctor explain, put, link, delete, revert, fact assert, fact revoke, fact retract,
get, query entities, query relations, query facts, query traverse, timeline, log, diff, blame, commits, commits examine,
import, export, copy, backup, migrate, verify, schema history, schema drop, schema export, fold list, fold rebuild,
fold verify, lock show, lock release, shard status`

// What a kind of storage cannot do is a wrong command line, and nothing is wrong with the
// storage: exit status 2, a next step, and nothing is changed.
func TestVerbsThatAStorageCannotDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	places := map[string][]string{
		"sqlite": {"--db", filepath.Join(dir, "sqlite.db")},
		"lake":   {"--storage-uri", "file://" + filepath.Join(dir, "lake")},
	}
	for _, where := range places {
		must(t, "entities: {T: {key: id, fields: {id: {type: string}}}}\n", append([]string{"init", "--schema", "-"}, where...)...)
		must(t, "", append([]string{"put", "T", `{"id":"a"}`}, where...)...)
	}
	before := map[string]string{}
	for kind, where := range places {
		before[kind] = must(t, "", append([]string{"info", "--json"}, where...)...)
	}
	for kind, verbs := range partialVerbs(dir) {
		for _, verb := range verbs {
			args := append([]string{}, verb...)
			at := slices.Index(args, "--")
			if at < 0 {
				at = len(args)
			}
			args = slices.Insert(args, at, append(slices.Clone(places[kind]), "--json")...)
			var out, errs bytes.Buffer
			status := run(t.Context(), args, strings.NewReader(""), &out, &errs)
			if status != 2 || !strings.Contains(errs.String(), `"code":"unsupported_operation"`) || strings.Contains(errs.String(), `"hint":""`) {
				t.Errorf("%s: onto %s: status %d: %s%s", kind, strings.Join(verb, " "), status, &out, &errs)
			}
		}
		if after := must(t, "", append([]string{"info", "--json"}, places[kind]...)...); after != before[kind] {
			t.Errorf("%s: the store was changed from %s to %s", kind, before[kind], after)
		}
	}
}

// A verb is known to be one that every kind of storage can do, or is tried on one that cannot.
func TestVerbsAreOfSomeStorageOrOfAll(t *testing.T) {
	root := newRoot(newSession(strings.NewReader(""), io.Discard, io.Discard), nil)
	known := map[string]bool{}
	for _, verbs := range partialVerbs(t.TempDir()) {
		for _, verb := range verbs {
			if cmd, _, err := root.Find(verb); err == nil {
				known[cmd.CommandPath()] = true
			}
		}
	}
	for _, verb := range strings.Split(strings.ReplaceAll(anywhere, "\n", " "), ", ") {
		known["onto "+verb] = true
	}
	walk(root, func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && !known[cmd.CommandPath()] && !strings.HasPrefix(cmd.CommandPath(), "onto completion ") {
			t.Errorf("it is not known whether every kind of storage can do %s", cmd.CommandPath())
		}
	})
}
