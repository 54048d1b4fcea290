package laketest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/child"
)

// A copy to a file or a lake on a volume that becomes full, early or late, ends with an error
// that says so and what to do. The volume has the beginning of the store, with all that the
// copy has called durable, or nothing, and the copy goes on once there is room.
func TestCopyToAFullDisk(t *testing.T) {
	volume, ok := child.Volumes(t)
	if !ok {
		return
	}
	first := filepath.Join(t.TempDir(), "first.db")
	long := longStore(t, first)
	from, err := openArchive(t.Context(), first, false)
	must(t, err)
	defer from.Close()
	for _, c := range []struct {
		place string
		sizes []string
	}{
		{"copy.db", []string{"16k", "128k", "500k", "640k", "900k", "1400k"}},
		{"lake", []string{"1600k", "1800k", "2m"}},
	} {
		for _, size := range c.sizes {
			t.Run(c.place+" "+size, func(t *testing.T) {
				resize := child.Mount(t, volume, size)
				place, durable := filepath.Join(volume, c.place), int64(0)
				err := copyTo(t, from, place, func(p archive.Progress) { durable = p.Commit })
				if onto.CodeOf(err) != onto.Full || onto.HintOf(err).Text == "" {
					t.Fatalf("after commit %d: got error %v (%s, hint %q), want Full with a hint", durable, err, onto.CodeOf(err), onto.HintOf(err).Text)
				}
				t.Logf("full after commit %d of %d: %v", durable, long, err)
				if err := copyTo(t, from, place, nil); onto.CodeOf(err) != onto.Full {
					t.Errorf("again: got error %v, want Full", err)
				}
				resize("64m")
				if durable > 0 {
					wantUnfinished(t, place)
				}
				wantPrefix(t, from, place, durable)
				must(t, copyTo(t, from, place, nil))
				wantPrefix(t, from, place, long)
			})
		}
	}
}

// copyTo copies in small batches, or goes on with that.
func copyTo(t *testing.T, from backend.LogSource, place string, progress func(archive.Progress)) error {
	t.Helper()
	to, err := openArchive(t.Context(), place, true)
	if err != nil {
		return err
	}
	defer to.Close()
	_, err = (&archive.Job{From: from, To: to, Batch: 2, Progress: progress}).Apply(t.Context())
	return err
}

// wantPrefix fails unless a place has a store's commits up to some at least, or nothing if
// that is none.
func wantPrefix(t *testing.T, from backend.LogSource, place string, least int64) {
	t.Helper()
	if _, err := os.Stat(place); os.IsNotExist(err) && least == 0 {
		return
	}
	to, err := openArchive(t.Context(), place, true)
	must(t, err)
	defer to.Close()
	got, err := (&archive.Job{From: from, To: to}).Verify(t.Context())
	if err != nil || got.First != nil || got.Target < least || got.Commit != got.Target {
		t.Fatalf("got %+v and error %v, want the commits up to %d at least", got, err, least)
	}
}
