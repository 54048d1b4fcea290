package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

func TestOpener(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := backend.OpenURI(t.Context(), "sqlite:///rel.db", false, sqlite.Opener)
	if left, _ := filepath.Glob("*"); !errors.Is(err, onto.Uninitialized) || len(left) > 0 {
		t.Fatalf("without create: %v, made %q", err, left)
	}
	b, err := backend.OpenURI(t.Context(), "sqlite:///rel.db", true, sqlite.Opener)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	full, err := filepath.Abs("rel.db")
	if err != nil {
		t.Fatal(err)
	}
	if b, err = backend.OpenURI(t.Context(), "sqlite:///"+full, false, sqlite.Opener); err != nil {
		t.Fatalf("by its absolute path: %v", err)
	}
	b.Close()
	for _, create := range []bool{false, true} {
		if b, err = backend.OpenURI(t.Context(), "sqlite:///:memory:", create, sqlite.Opener); err != nil {
			t.Fatalf("in memory, create %v: %v", create, err)
		}
		b.Close()
	}
	if left, _ := filepath.Glob("*memory*"); len(left) > 0 {
		t.Errorf("memory has left %q", left)
	}
}

func TestIdentityOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink(".", "link"); err != nil {
		t.Fatal(err)
	}
	full, err := backend.CanonicalPath("a.db")
	if err != nil {
		t.Fatal(err)
	}
	want := "sqlite:///" + full
	for _, uri := range []string{"sqlite:///a.db", "sqlite:///./x/../a.db", "sqlite:///link/a.db", "sqlite:///" + full, want} {
		if got, err := backend.IdentityOfURI(uri, sqlite.Opener); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", uri, got, err, want)
		}
	}
	one, err := backend.IdentityOfURI("sqlite:///:memory:", sqlite.Opener)
	two, err2 := backend.IdentityOfURI("sqlite:///:memory:", sqlite.Opener)
	if err != nil || err2 != nil || one == two || one == "" {
		t.Errorf("in memory: %q and %q, %v, %v", one, two, err, err2)
	}
}

func TestWrongURIs(t *testing.T) {
	for uri, message := range map[string]string{
		"sqlite://hunter2":                "names no file",
		"sqlite:///":                      "names no file",
		"sqlite:///a?password=hunter2":    "parameters",
		"sqlite:///a#hunter2":             "parameters",
		"sqlite:///file:///hunter2":       "another URI",
		"file:///hunter2":                 "not one of a SQLite file",
		"postgres://ana:hunter2@host/one": "not one of a SQLite file",
	} {
		_, err := sqlite.Opener.Open(t.Context(), uri, true)
		_, err2 := sqlite.Opener.Identity(uri)
		for _, err := range []error{err, err2} {
			if !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), message) || onto.HintOf(err).Text == "" || strings.Contains(err.Error()+onto.HintOf(err).String(), "hunter2") {
				t.Errorf("%s: %v, hint %q", uri, err, onto.HintOf(err))
			}
		}
	}
}
