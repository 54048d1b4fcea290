//go:build linux || darwin

package cache_test

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
)

// fullEnv makes the test a child that may write small files only, in the
// directory it names.
const fullEnv = "ONTO_TEST_CACHE_FULL"

// A disk without room fails the write in the middle. The child ends without
// Close, so that its folder is left for the next Open.
func TestNoRoom(t *testing.T) {
	if dir := os.Getenv(fullEnv); dir != "" {
		keepTooMuch(t, dir)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoRoom$", "-test.v")
	cmd.Env = append(os.Environ(), fullEnv+"="+dir)
	var exit *exec.ExitError
	if out, err := cmd.CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
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
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		t.Fatal(err)
	}
	o := objectOf(1, body(1, 10000))
	c.Put(o, body(1, 10000))
	_, _, err := c.Get(t.Context(), o, giving(body(1, 10000)))
	wantCode(t, err, onto.Full, dir, "cache_dir", o.Key)
	load(t, c, 2, 100)
	if !t.Failed() {
		os.Exit(3)
	}
}
