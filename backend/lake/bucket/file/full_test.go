//go:build linux || darwin

package file_test

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// fullEnv makes the test a child that may write small files only, in the
// directory it names.
const fullEnv = "ONTO_TEST_BUCKET_FULL"

// A disk without room fails the write in the middle. The error names the key,
// the outcome is no secret, and nothing has changed.
func TestNoRoom(t *testing.T) {
	if dir := os.Getenv(fullEnv); dir != "" {
		writeTooMuch(t, dir)
		return
	}
	dir := t.TempDir()
	b := openBucket(t, dir, nil)
	mustCreate(t, b, "a", "one")
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoRoom$", "-test.v")
	cmd.Env = append(os.Environ(), fullEnv+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "refused twice") {
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
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 10000)
	_, createErr := b.Create(t.Context(), "folder/b", large)
	_, swapErr := b.Swap(t.Context(), "a", large, o.Tag)
	for key, err := range map[string]error{"folder/b": createErr, "a": swapErr} {
		if !errors.Is(err, syscall.EFBIG) || !errors.Is(err, bucket.ErrRefused) || onto.CodeOf(err) != onto.Full || onto.HintOf(err) == "" || !strings.Contains(err.Error(), key) {
			t.Errorf("write %s: got %v, want Full with the system's error, the key and a hint", key, err)
		}
	}
	if _, err := b.Create(t.Context(), "folder/small", []byte("fits")); err != nil {
		t.Errorf("what fits: %v", err)
	}
	t.Log("refused twice")
}
