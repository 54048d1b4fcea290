package child_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/child"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{
		"echo": func(args []string) error {
			for _, a := range args {
				fmt.Printf("%q\n", a)
			}
			_, err := io.Copy(os.Stdout, os.Stdin)
			return err
		},
		"fail": func([]string) error { return errors.New("planted") },
	})
	os.Exit(m.Run())
}

// A child gets its arguments unchanged, and its output is read line by line.
func TestJob(t *testing.T) {
	p := child.Start(t, "echo", "", "a b", "line\nbreak")
	p.Until(t, `"line\nbreak"`)
	if _, err := io.WriteString(p.Stdin, "one\ntwo\n"); err != nil {
		t.Fatal(err)
	}
	p.Stdin.Close()
	if got := slices.Collect(p.Lines()); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %q", got)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

func TestJobThatFails(t *testing.T) {
	for job, want := range map[string]string{"fail": "planted", "nonsense": `no job "nonsense"`} {
		out, err := child.Command(job).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %v, %q; want %q", job, err, out, want)
		}
	}
}

// A test that runs itself once more knows which of the two it is.
func TestAlone(t *testing.T) {
	if args, ok := child.Args(); ok {
		t.Fatalf("got %q: planted", args)
	}
	out, err := child.Test("^TestAlone$", "x").CombinedOutput()
	if err == nil || child.Passed(t, string(out)) || !strings.Contains(string(out), `got ["x"]: planted`) {
		t.Errorf("got %v, %s", err, out)
	}
}

func TestAloneWithALimit(t *testing.T) {
	if !child.Alone(t) {
		return
	}
	path := t.TempDir() + "/file"
	undo := child.LimitFiles(t, 10)
	if err := os.WriteFile(path, make([]byte, 11), 0o600); err == nil {
		t.Error("the file has grown beyond the limit")
	}
	undo()
	if err := os.WriteFile(path, make([]byte, 11), 0o600); err != nil {
		t.Error(err)
	}
}
