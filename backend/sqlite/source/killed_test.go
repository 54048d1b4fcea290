package source_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

// copyUntilKilled is the job of a child: it copies a file to a store, and prints the last commit of
// each batch that is durable.
func copyUntilKilled(args []string) (err error) {
	ctx := context.Background()
	from, err := source.Open(ctx, args[0], &source.Options{Scratch: args[2]})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := sqlite.Open(ctx, args[1], &sqlite.Options{Target: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	job := archive.Job{From: from, To: to, Batch: 2, Progress: func(p archive.Progress) { fmt.Println(p.Commit) }}
	_, err = job.Apply(ctx)
	return err
}

// A copy is killed again and again while the original program writes to the file. Each run
// goes on where the one before ended, and at the end the copy is as the file.
func TestKilledCopiesBesideTheOriginal(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			path, target := load(t, "plain", rollback, emptied), filepath.Join(t.TempDir(), "copy.db")
			original, random := child.Start(t, "original", path, mode, "600"), effort.Rand(t)
			for range original.Lines() {
				break // there is a commit
			}
			go func() {
				for range original.Lines() { // so that it is not held up
				}
			}()
			kills, killed, last := effort.Count(t, 50), 0, "0"
			for killed < kills {
				p := child.Start(t, "copy", path, target, t.TempDir())
				after := 1 + random.IntN(3)
				for line := range p.Lines() {
					last = line
					if after--; after == 0 {
						killed++
						break
					}
				}
				if after == 0 {
					p.End()
				} else if err := p.Wait(); err != nil {
					t.Fatal(err)
				} else if last == "601" {
					t.Fatalf("the copy ended after %d of %d kills", killed, kills)
				}
			}
			original.End()
			wantCopyOf(t, path, target)
			t.Logf("%d kills, the last after commit %s", killed, last)
		})
	}
}

// wantCopyOf completes a copy, and fails unless it is as its source.
func wantCopyOf(t *testing.T, path, target string) {
	t.Helper()
	f := opened(t, path, source.Options{})
	b, err := sqlite.Open(t.Context(), target, &sqlite.Options{Target: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	job := &archive.Job{From: f, To: b}
	if _, err := job.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := job.Verify(t.Context())
	if err != nil || c.First != nil || c.Source != c.Target {
		t.Fatalf("got %+v and error %v, want a copy that is equal", c, err)
	}
	if _, err := b.Resolve(t.Context(), onto.Point{}); err != nil {
		t.Fatal(err)
	}
	backendtest.Check(t, b)
}
