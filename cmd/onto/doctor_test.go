package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A terminal is shown the present step, in a line that is removed at the end.
func TestDoctorOnATerminal(t *testing.T) {
	path := newStore(t, t.TempDir(), 1)
	var stderr watched
	if err := onTerminal(t.Context(), &stderr, "doctor", "--db", path); err != nil {
		t.Fatal(err)
	}
	got := stderr.String()
	for _, want := range []string{"\r\x1b[Klooking at circumstances", "\r\x1b[Klooking at the projection", "\r\x1b[Kno findings; looked at 1 commit, "} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// An examination can be stopped.
func TestStoppedDoctor(t *testing.T) {
	path := newStore(t, t.TempDir(), 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := onTerminal(ctx, &watched{watch: cancel}, "doctor", "--db", path) // at the first sign of progress
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was stopped", err)
	}
}
