package source_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

// copyUntilKilled is the job of a child: it copies a file to a store, and prints the last commit of
// each batch that is durable. What cannot be stored goes to a file.
func copyUntilKilled(args []string) (err error) {
	ctx := context.Background()
	from, err := source.Open(ctx, args[0], &source.Options{Rejects: args[2], Scratch: args[3]})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := sqlite.Open(ctx, args[1], &sqlite.Options{Target: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	head, err := to.LogHead(ctx)
	if err == nil {
		err = from.KeepRejects(head, false)
	}
	if err != nil {
		return err
	}
	job := archive.Job{From: from, To: to, Batch: 2, Progress: func(p archive.Progress) { fmt.Println(p.Commit) }}
	_, err = job.Apply(ctx)
	return err
}

// A copy is killed again and again while the program that has made the file writes to it. Each
// run goes on where the one before ended, and at the end the copy is as the file, rows that
// cannot be stored are set aside once, and no copy has changed a byte of the file.
func TestKilledCopiesBesideTheOriginal(t *testing.T) {
	const most = 300
	i := -1
	for _, mode := range []string{"WAL", "DELETE"} {
		for _, name := range []string{"original-v1", "format6", "original-v2", "format1", "format2", "format3", "format4", "format5", "plain"} {
			if i++; !effort.Includes(t, i) {
				continue
			}
			t.Run(name+" "+mode, func(t *testing.T) {
				more := ""
				if name == "plain" {
					more = emptied
				}
				path := load(t, name, rollback, more)
				target, rejects := filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "rejects")
				size, err := opened(t, path, source.Options{Rejects: filepath.Join(t.TempDir(), "rejects")}).LogSize(t.Context(), 0, backend.Head)
				if err != nil {
					t.Fatal(err)
				}
				original, random := child.Start(t, "original", path, mode, fmt.Sprint(most)), effort.Rand(t)
				for range original.Lines() {
					break // there is a commit
				}
				var made atomic.Int64
				made.Add(1)
				rests := make(chan struct{})
				go func() {
					for line := range original.Lines() {
						if made.Add(1); line == fmt.Sprint(most+1) {
							close(rests)
						}
					}
				}()
				const kills = 6
				killed, last := 0, "0"
				for killed < kills {
					select {
					case <-rests:
						if done := copyOnce(t, path, target, rejects, 1+random.IntN(3), &last); done {
							t.Fatalf("the copy ended after %d of %d kills", killed, kills)
						}
						killed++
					default:
						if done := copyOnce(t, path, target, rejects, 1+random.IntN(3), &last); !done {
							killed++
						}
					}
				}
				original.End()
				before := bytesOf(t, path, left(mode))
				for range 2 { // one that is killed beside a file at rest, unless there is little left, and one more
					copyOnce(t, path, target, rejects, 1, &last)
				}
				wantCopyOf(t, path, target, rejects, size.Head+made.Load())
				if !maps.Equal(bytesOf(t, path, left(mode)), before) {
					t.Error("the file, or what is beside it, has changed")
				}
				if n, want := strings.Count(string(read(t, rejects)), "\n"), strings.Count(name, "original")*3; n != want {
					t.Errorf("%d rows are set aside, want %d", n, want)
				}
				t.Logf("%d kills, %d commits made beside them, the last kill after commit %s", killed, made.Load(), last)
			})
		}
	}
}

// copyOnce goes on with a copy, and kills it after some batches. It reports whether the copy
// ended before.
func copyOnce(t *testing.T, path, target, rejects string, after int, last *string) (done bool) {
	t.Helper()
	p := child.Start(t, "copy", path, target, rejects, t.TempDir())
	for line := range p.Lines() {
		*last = line
		if after--; after == 0 {
			p.End()
			return false
		}
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return true
}

// wantCopyOf completes a copy, and fails unless it is as its source and has at least so many
// commits.
func wantCopyOf(t *testing.T, path, target, rejects string, commits int64) {
	t.Helper()
	f := opened(t, path, source.Options{Rejects: rejects})
	b, err := sqlite.Open(t.Context(), target, &sqlite.Options{Target: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	head, err := b.LogHead(t.Context())
	if err == nil {
		err = f.KeepRejects(head, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	job := &archive.Job{From: f, To: b}
	res, err := job.Apply(t.Context())
	if err == nil {
		err = f.EndRejects(res.Until)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := job.Verify(t.Context())
	if err != nil || c.First != nil || c.Source != c.Target || c.Source < commits {
		t.Fatalf("got %+v and error %v, want a copy that is equal, of at least %d commits", c, err, commits)
	}
	if _, err := b.Resolve(t.Context(), onto.Point{}); err != nil {
		t.Fatal(err)
	}
	backendtest.Check(t, b)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
