package laketest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

func TestMain(m *testing.M) {
	tasks := backendtest.Children{
		Open:  func(ctx context.Context, place string) (backend.Backend, error) { return openLake(ctx, place) },
		Draft: func(key string, _ int) *backend.Draft { return thing(key) },
	}.Jobs()
	tasks["copy"] = copyInParts
	child.Main(tasks)
	os.Exit(effort.Main(m))
}

// openLake opens the lake in a directory, or in a bucket of a service on this
// machine.
func openLake(ctx context.Context, place string) (*lake.Backend, error) {
	var b bucket.Bucket
	var err error
	if strings.HasPrefix(place, "http://") {
		b, err = s3.Open(ctx, s3.Options{Bucket: "things", Endpoint: place, AccessKey: accessKey, SecretKey: secretKey})
	} else {
		b, err = file.Open(place, nil)
	}
	if err != nil {
		return nil, err
	}
	return lake.Open(ctx, b, &lake.Options{Patience: time.Minute})
}

func thing(key string) *backend.Draft {
	return &backend.Draft{Writes: []backend.Write{{
		Identity: onto.EntityID("Thing", key), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":%q}`, key), SchemaVersion: 1,
	}}}
}

// newThings is a lake on disk with the type that children write.
func newThings(t *testing.T, dir string) string {
	t.Helper()
	l, err := openLake(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}, {Name: "n", Type: onto.Int, Optional: true}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// wantAll fails unless everything acknowledged is there under its commit, and
// commits have no gaps.
func wantAll(t *testing.T, dir string, acked map[string]int64) int64 {
	t.Helper()
	l, err := openLake(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	backendtest.Check(t, l)
	at := map[string]int64{}
	for v, err := range l.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", Mode: backend.History, At: backend.Head}) {
		if err != nil {
			t.Fatal(err)
		}
		at[v.Key] = v.Commit
	}
	for key, id := range acked {
		if at[key] != id {
			t.Errorf("%s was acknowledged as commit %d and is %d", key, id, at[key])
		}
	}
	next := int64(0)
	for c, err := range l.Commits(t.Context(), &backend.CommitQuery{Until: backend.Head}) {
		if next++; err != nil || c.ID != next {
			t.Fatalf("got commit %d, %v; want %d", c.ID, err, next)
		}
	}
	return next
}

// Processes share a lake on disk: ids have no gaps, and what was acknowledged is
// there.
func TestProcesses(t *testing.T) {
	t.Parallel()
	shareLake(t, t.TempDir())
}

// shareLake lets processes write to one lake.
func shareLake(t *testing.T, dir string) {
	t.Helper()
	processes, length := 2, time.Second
	if effort.Thorough(t) {
		processes, length = 4, time.Duration(effort.Count(t, 60))*time.Second
	}
	newThings(t, dir)
	var writers []*backendtest.Writer
	for i := range processes {
		writers = append(writers, backendtest.StartWriter(t, dir, fmt.Sprint("p", i), 8))
	}
	time.AfterFunc(length, func() {
		for _, w := range writers {
			_ = w.Stdin.Close()
		}
	})
	acked := map[string]int64{}
	for i, w := range writers {
		mine, err := w.Wait()
		if err != nil || len(mine) == 0 {
			t.Errorf("process %d: %d acknowledged, %v", i, len(mine), err)
		}
		maps.Copy(acked, mine)
	}
	t.Logf("%d processes, %v: %d commits, %d acknowledged", processes, length, wantAll(t, dir, acked), len(acked))
}

// A writer that is killed at any moment loses nothing that was acknowledged, and
// leaves nothing that is half there.
func TestKilled(t *testing.T) {
	t.Parallel()
	full := 200
	if !effort.Thorough(t) {
		full = 100
	}
	kills, random := effort.Count(t, full), effort.Rand(t)
	dir, acked := newThings(t, t.TempDir()), map[string]int64{}
	for i := range kills {
		w := backendtest.StartWriter(t, dir, fmt.Sprint("k", i), 1+i%4)
		time.AfterFunc(time.Duration(20+random.IntN(150))*time.Millisecond, func() { _ = w.Process.Process.Kill() })
		mine, _ := w.Wait()
		maps.Copy(acked, mine)
	}
	t.Logf("%d kills: %d commits, %d acknowledged", kills, wantAll(t, dir, acked), len(acked))
}
