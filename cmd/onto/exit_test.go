package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// full is a disk that has no room left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	var stderr bytes.Buffer
	if got := run(t.Context(), []string{"--version"}, strings.NewReader(""), full{}, &stderr); got != session.ExitGeneral {
		t.Errorf("got status %d, want %d", got, session.ExitGeneral)
	}
	if got, want := stderr.String(), "onto: no space left on device\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// gone is a reader that has left: a pipe without its other end.
func gone(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}
