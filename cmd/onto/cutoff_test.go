package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// crashedStore makes a store as a crash leaves it, with a bit flipped in the
// middle of its WAL.
func crashedStore(t *testing.T) string {
	t.Helper()
	path := newStore(t, t.TempDir(), 1)
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i := range 20 {
		w := backend.Write{Identity: onto.EntityID("Thing", fmt.Sprint("k", i)), Op: onto.Put, SchemaVersion: 1, Fields: fmt.Appendf(nil, `{"id":"k%d"}`, i)}
		if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{w}}); err != nil {
			t.Fatal(err)
		}
	}
	crashed := filepath.Join(t.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix != "" {
			data[len(data)/2] ^= 4
		}
		if err := os.WriteFile(crashed+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return crashed
}

// The story of a WAL that has rotted after a crash: reads work and warn, writes are
// refused, the doctor reports it, and the operator decides.
func TestCutOffCommits(t *testing.T) {
	t.Parallel()
	path := crashedStore(t)
	tell := func(wantStatus int, want string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append(args, "--db", path), strings.NewReader(""), &stdout, &stderr)
		if status != wantStatus || !strings.Contains(stdout.String()+stderr.String(), want) {
			t.Errorf("%v: got status %d, stdout %q and stderr %q; want %d and %q", args, status, &stdout, &stderr, wantStatus, want)
		}
	}
	tell(session.ExitOK, "warning: frame ", "query", "entities", "Thing")
	tell(session.ExitOK, `{"warning":{"code":"corrupt"`, "commits", "--json")
	tell(session.ExitStorage, "doctor --accept-loss --db "+path, "put", "Thing", `{"id":"new"}`)
	tell(session.ExitMismatch, "wal_cut_off", "doctor", "--quick")
	tell(session.ExitMismatch, "wal_cut_off", "doctor")
	tell(session.ExitOK, "is kept in "+path+"-wal.cut-off-1", "doctor", "--accept-loss")
	tell(session.ExitOK, "no commits are cut off", "doctor", "--accept-loss", "--quick")
	tell(session.ExitOK, "", "put", "Thing", `{"id":"new"}`)
	tell(session.ExitOK, "no findings", "doctor")
}
