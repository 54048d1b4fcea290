package scratch_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/scratch"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"make": makeAndWait})
	os.Exit(m.Run())
}

// makeAndWait is the job of a child that makes a directory, and waits.
func makeAndWait(args []string) error {
	root, err := os.OpenRoot(args[0])
	if err != nil {
		return err
	}
	d, err := scratch.Make(root, ".", "own-")
	if err != nil {
		return err
	}
	fmt.Println(d.Name)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A sweep removes what killed processes left, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	own, err := scratch.Make(root, ".", "own-")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var children []*child.Process
	for range 2 {
		p := child.Start(t, "make", dir)
		for name := range p.Lines() {
			names = append(names, name)
			break
		}
		children = append(children, p)
	}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "file"))
	for name, age := range map[string]time.Duration{"own-old": scratch.StaleAge + time.Hour, "own-new": time.Hour, "other-old": scratch.StaleAge + time.Hour} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "own-link")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "own-file"))
	write(t, filepath.Join(dir, names[0], "large"))
	children[0].End()
	left := func() []string {
		scratch.Sweep(root, ".", "own-", time.Now())
		got := scratch.Names(root, ".")
		slices.Sort(got)
		return got
	}
	want := []string{own.Name, names[1], "own-new", "other-old", "own-link", "own-file"}
	slices.Sort(want)
	if got := left(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
	children[1].End()
	if err := own.Release(); err != nil {
		t.Error(err)
	}
	want = []string{"other-old", "own-file", "own-link", "own-new"}
	if got := left(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}
