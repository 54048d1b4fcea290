package source_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/iofault"
)

// rejectTwice is the job of a child: it reads the log of a file twice, and prints how that ended.
func rejectTwice(args []string) error {
	ctx := context.Background()
	f, err := source.Open(ctx, args[0], &source.Options{Rejects: args[1], Scratch: args[2]})
	if err == nil {
		err = f.KeepRejects(0, false)
	}
	for i := 0; i < 2 && err == nil; i++ {
		err = failure(f.Log(ctx, 0))
		fmt.Println(err == nil)
		err = nil
	}
	return err
}

// The rows of a commit are durable before it is yielded, also where they were in the file
// before, and so is the name of the file. After a sync that has failed nothing is trusted.
func TestRejectsAreDurable(t *testing.T) {
	iofault.Need(t)
	path, dir, scratch := load(t, "plain", rollback, bad), t.TempDir(), t.TempDir()
	rejects := filepath.Join(dir, "rejects")
	run := func(plan iofault.Plan) (synced []string, out string) {
		t.Helper()
		told, err := os.Create(filepath.Join(scratch, "told"))
		if err != nil {
			t.Fatal(err)
		}
		defer told.Close()
		cmd := child.Command("reject", path, rejects, scratch)
		cmd.Stdout, cmd.Stderr = told, os.Stderr
		plan.Below, plan.Effects = dir, []iofault.Effect{iofault.Syncs}
		o, err := iofault.Run(t.Context(), cmd, plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range o.Calls {
			synced = append(synced, filepath.Base(c.Path))
		}
		return synced, string(read(t, told.Name()))
	}
	for i, text := range []string{"a new file", "a file that has all rows"} {
		synced, out := run(iofault.Plan{})
		if !slices.Contains(synced, filepath.Base(dir)) || !slices.Contains(synced, "rejects") || out != "true\ntrue\n" {
			t.Errorf("%s (%d): %q are synced, and the child has said %q", text, i, synced, out)
		}
	}
	if _, out := run(iofault.Plan{Suffix: "rejects", Call: 1, Fault: iofault.EIO}); out != "false\nfalse\n" {
		t.Errorf("after a sync that fails: got %q", out)
	}
}
