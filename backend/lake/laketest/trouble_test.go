package laketest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// twice is a bucket behind a proxy that sends writes twice and passes on the last
// answer.
type twice struct{ bucket.Bucket }

func (b twice) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	_, _ = b.Bucket.Create(ctx, key, data)
	return b.Bucket.Create(ctx, key, data)
}

func (b twice) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	_, _ = b.Bucket.Swap(ctx, key, data, old)
	return b.Bucket.Swap(ctx, key, data, old)
}

// What was published is not taken for lost, and not discarded.
func TestWritesSentTwice(t *testing.T) {
	b := memory.New(nil)
	l := openThings(t, twice{b}, lake.Options{})
	for i := range 5 {
		if res, err := l.Append(t.Context(), putThings(fmt.Sprint(i))); err != nil || res.Commit.ID != int64(i)+1 {
			t.Fatalf("append %d: got %v, %v", i, res.Commit.ID, err)
		}
	}
	if got := count(t, openThings(t, b, lake.Options{})); got != 5 {
		t.Errorf("got %d things, want 5", got)
	}
}

// A diff goes on, and repeats nothing, when files of a later type are replaced and
// removed.
func TestDiffWhileFilesAreReplaced(t *testing.T) {
	clock := &hours{}
	b := memory.New(&memory.Options{Now: clock.now})
	w := openThings(t, b, lake.Options{})
	other := things()
	other.Schemas[0].Name = "Zebra"
	if _, err := w.Register(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		d := putThings(fmt.Sprint(i))
		zebra := d.Writes[0]
		zebra.Type = "Zebra"
		d.Writes = append(d.Writes, zebra)
		if _, err := w.Append(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for _, inProcess := range []int64{0, -1} {
		r := openThings(t, b, lake.Options{InProcess: inProcess})
		seen := map[onto.Identity]int{}
		for c, err := range r.Diff(t.Context(), &backend.DiffQuery{From: 0, To: 5}) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[c.Identity]++; len(seen) == 1 {
				clock.pass(2)
				compactAndSweep(t, w, clock)
			}
		}
		if len(seen) != 10 {
			t.Errorf("got %d changes, want 10: %v", len(seen), seen)
		}
		for id, n := range seen {
			if n > 1 {
				t.Errorf("%v comes %d times", id, n)
			}
		}
	}
}

func compactAndSweep(t *testing.T, l *lake.Backend, clock *hours) {
	t.Helper()
	plan, err := l.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
	if err == nil {
		_, err = l.Compact(t.Context(), plan, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	clock.pass(2)
	if _, err := l.Append(t.Context(), putThings(fmt.Sprint("at ", clock.now()))); err != nil { // tells the bucket's time
		t.Fatal(err)
	}
	orphans, err := l.PlanJanitor(t.Context(), 0)
	if err == nil {
		_, err = l.Sweep(t.Context(), orphans)
	}
	if err != nil {
		t.Fatal(err)
	}
	if merged, err := l.Compact(t.Context(), plan, nil); merged != 0 || err != nil {
		t.Errorf("a plan that was done: got %d, %v", merged, err)
	}
}

// Where the head is lost no new lake takes the place of the commits.
func TestOpenWithoutHead(t *testing.T) {
	b := memory.New(nil)
	l := openThings(t, b, lake.Options{})
	if _, err := l.Append(t.Context(), putThings("a")); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), "meta/head.json"); err != nil {
		t.Fatal(err)
	}
	if l, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true}); !errors.Is(err, onto.Corrupt) {
		t.Errorf("got %v, %v, want corrupt", l, err)
	}
	if _, err := b.Get(t.Context(), "meta/head.json", bucket.Range{}, ""); !errors.Is(err, bucket.ErrNotFound) {
		t.Errorf("a head was made: %v", err)
	}
}

// Times that no commit can have.
func TestResolveFarTimes(t *testing.T) {
	l := openThings(t, memory.New(nil), lake.Options{})
	if _, err := l.Append(t.Context(), putThings("a")); err != nil {
		t.Fatal(err)
	}
	for year, want := range map[int]int64{12000: 1, 9999: 1, 1: 0, -5: 0} {
		c, err := l.Resolve(t.Context(), onto.AtTime(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)))
		if err != nil || c.ID != want {
			t.Errorf("year %d: got %d, %v, want %d", year, c.ID, err, want)
		}
	}
}

// Local copies that were damaged or removed are fetched again.
func TestDamagedCopies(t *testing.T) {
	for _, harm := range []func(path string, size int64) error{
		func(path string, _ int64) error { return os.Remove(path) },
		func(path string, size int64) error { return os.Truncate(path, size/2) },
		func(path string, size int64) error { return os.WriteFile(path, make([]byte, size), 0o600) },
	} {
		b, dir := memory.New(nil), t.TempDir()
		l := openThings(t, b, lake.Options{InProcess: -1, CacheDir: dir})
		for i := range 3 {
			if _, err := l.Append(t.Context(), putThings(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		if got := count(t, l); got != 3 {
			t.Fatalf("got %d things, want 3", got)
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".parquet" {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if err := harm(path, info.Size()); err != nil {
				return err
			}
			// Damage is older than the copy that replaces it, also where times are coarse.
			old := info.ModTime().Add(-time.Hour)
			if err := os.Chtimes(path, old, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := count(t, l); got != 3 {
			t.Errorf("got %d things, want 3", got)
		}
		if v, err := l.Get(t.Context(), onto.EntityID("Thing", "1"), backend.Head); err != nil || v.Commit != 2 {
			t.Errorf("got %v, %v", v, err)
		}
	}
}

// Where copies cannot be kept no lake is made.
func TestNoCacheNoLake(t *testing.T) {
	b := kept{memory.New(nil)}
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := lake.Open(t.Context(), b, &lake.Options{Trusted: true, CacheDir: dir}); err == nil {
		l.Close()
		t.Fatal("a lake was opened with a file as its cache directory")
	}
	found, err := b.List(t.Context(), "", "", 10)
	if err != nil || len(found) > 0 {
		t.Errorf("the bucket has %v, %v", found, err)
	}
}
