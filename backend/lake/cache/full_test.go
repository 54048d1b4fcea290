//go:build linux || darwin

package cache_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/child"
)

// A disk without room fails the write in the middle. The child ends without
// Close, so that its folder is left for the next Open.
func TestNoRoom(t *testing.T) {
	if args, ok := child.Args(); ok {
		keepTooMuch(t, args[0])
		return
	}
	dir := t.TempDir()
	var exit *exec.ExitError
	if out, err := child.Test("^TestNoRoom$", dir).CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("the child: %v\n%s", err, out)
	}
	left := files(t, dir)
	if len(left) != 3 { // the lock, and one copy under two names
		t.Errorf("the child left %v", left)
	}
	c := open(t, dir, 0)
	_, release := get(t, c, 2, 100, noFetch)
	release()
	if left := files(t, dir); len(left) != 3 || !strings.HasPrefix(left[len(left)-1], c.Directory()) {
		t.Errorf("after the next Open: %v", left)
	}
}

func keepTooMuch(t *testing.T, dir string) {
	c := open(t, dir, 0)
	child.LimitFiles(t, 4096)
	o := objectOf(1, body(1, 10000))
	c.Put(o, body(1, 10000))
	_, _, err := c.Get(t.Context(), o, giving(body(1, 10000)))
	wantCode(t, err, onto.Full, dir, "cache_dir", o.Key)
	load(t, c, 2, 100)
	if !t.Failed() {
		os.Exit(3)
	}
}
