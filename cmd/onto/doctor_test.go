package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ontologia/onto/cmd/onto/internal/session"
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

// What one cause has damaged two thousand times is one finding for people, and each of
// them on demand.
func TestDoctorGroups(t *testing.T) {
	t.Parallel()
	path := newStore(t, t.TempDir(), 2_000)
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`DELETE FROM entity_current`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags       []string
		least, most int
		want        string
	}{
		{nil, 4, 10, "error projection_missing: 2000 of Thing, such as: the projection lacks Thing "},
		{nil, 4, 10, " and 1995 more; --all lists them\n"},
		{[]string{"--json"}, 3, 5, `"count":2000,"examples":[{"kind":"entity","type":"Thing","key":`},
		{[]string{"--all"}, 2_000, 2_010, "error projection_missing: the projection lacks Thing "},
		{[]string{"--all", "--json"}, 2_000, 2_010, `"type":"Thing","key":`},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"doctor", "--db", path}, c.flags...), strings.NewReader(""), &stdout, &stderr)
		if n := strings.Count(stdout.String(), "\n"); status != session.ExitMismatch || n < c.least || n > c.most || !strings.Contains(stdout.String(), c.want) {
			t.Errorf("doctor %v: status %d, %d lines, want %d to %d with %q: %.1000s", c.flags, status, n, c.least, c.most, c.want, &stdout)
		}
		if !strings.Contains(stderr.String(), "2000 errors") {
			t.Errorf("doctor %v says %s", c.flags, &stderr)
		}
	}
}
