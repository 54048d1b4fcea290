package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// endless is an object that never ends.
type endless struct{ started bool }

func (e *endless) Read(p []byte) (int, error) {
	if !e.started {
		e.started = true
		return copy(p, `{"id":"`), nil
	}
	for i := range p {
		p[i] = 'A'
	}
	return len(p), nil
}

// Objects on stdin are bounded, so that one cannot fill the memory.
func TestEndlessObject(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	db := filepath.Join(t.TempDir(), "x.db")
	if status := run(context.Background(), []string{"init", "--db", db}, strings.NewReader(""), io.Discard, &stderr); status != session.ExitOK {
		t.Fatalf("init: %s", &stderr)
	}
	status := run(context.Background(), []string{"put", "Customer", "-", "--db", db}, &endless{}, io.Discard, &stderr)
	if status != session.ExitUsage || !strings.Contains(stderr.String(), "object 1 is larger than") {
		t.Errorf("got status %d and %.200q, want %d and an error about the size", status, &stderr, session.ExitUsage)
	}
}
