//go:build linux || darwin

package file_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/child"
)

// A disk without room fails the write in the middle. The error names the key, the
// outcome is certain, and nothing has changed.
func TestNoRoom(t *testing.T) {
	if args, ok := child.Args(); ok {
		writeTooMuch(t, args[0])
		return
	}
	dir := t.TempDir()
	b := openBucket(t, dir, nil)
	mustCreate(t, b, "a", "one")
	if out, err := child.Test("^TestNoRoom$", dir).CombinedOutput(); err != nil || !child.Passed(t, string(out)) {
		t.Errorf("the child: %v\n%s", err, out)
	}
	wantData(t, b, "a", "one")
	if _, err := b.Get(t.Context(), "folder/b", bucket.Range{}, ""); !errors.Is(err, bucket.ErrNotFound) {
		t.Errorf("get folder/b: got %v, want %v", err, bucket.ErrNotFound)
	}
	if left := temps(t, dir); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func writeTooMuch(t *testing.T, dir string) {
	b := openBucket(t, dir, nil)
	o, err := b.Get(t.Context(), "a", bucket.Range{}, "")
	if err != nil {
		t.Fatal(err)
	}
	child.LimitFiles(t, 4096)
	large := make([]byte, 10000)
	_, createErr := b.Create(t.Context(), "folder/b", large)
	_, swapErr := b.Swap(t.Context(), "a", large, o.Tag)
	for key, err := range map[string]error{"folder/b": createErr, "a": swapErr} {
		if !errors.Is(err, syscall.EFBIG) || !errors.Is(err, bucket.ErrRefused) || onto.CodeOf(err) != onto.Full || onto.HintOf(err).Text == "" || !strings.Contains(err.Error(), key) {
			t.Errorf("write %s: got %v, want Full with the system's error, the key and a hint", key, err)
		}
	}
	if _, err := b.Create(t.Context(), "folder/small", []byte("fits")); err != nil {
		t.Errorf("what fits: %v", err)
	}
}
