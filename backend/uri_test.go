package backend_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// openerFor is an opener that tells what it was asked.
func openerFor(asked *[]string, scheme string) backend.Opener {
	return backend.Opener{
		Schemes: []string{scheme}, Forms: []string{scheme + ":///x"},
		Open: func(_ context.Context, uri string, create bool) (backend.Backend, error) {
			*asked = append(*asked, uri)
			if create {
				*asked = append(*asked, "create")
			}
			return nil, nil
		},
		Identity: func(uri string) (string, error) { return "the place of " + uri, nil },
	}
}

func TestOpenURI(t *testing.T) {
	var one, two []string
	openers := []backend.Opener{openerFor(&one, "one"), openerFor(&two, "two")}
	if _, err := backend.OpenURI(t.Context(), "two:///x", true, openers...); err != nil {
		t.Fatal(err)
	}
	if len(one) > 0 || strings.Join(two, " ") != "two:///x create" {
		t.Errorf("asked %q and %q", one, two)
	}
	id, err := backend.IdentityOfURI("one:///x", openers...)
	if err != nil || id != "the place of one:///x" {
		t.Errorf("got %q, %v", id, err)
	}
	for _, c := range []struct{ uri, message, hint string }{
		{"hunter2", "no scheme", "this program supports one:///x, two:///x"},
		{"", "no scheme", "this program supports one:///x, two:///x"},
		{"twos:///hunter2", `"twos://" are not supported`, "did you mean two://? this program supports one:///x, two:///x"},
		{"postgres://ana:hunter2@host/x", `"postgres://" are not supported`, "there is no PostgreSQL backend yet; this program supports one:///x, two:///x"},
		{"postgresql://ana:hunter2@host/x", `"postgresql://`, "there is no PostgreSQL backend yet; this program supports"},
		{"hunter2hunter2://x", "with this scheme are not supported", "this program supports"},
	} {
		_, err := backend.OpenURI(t.Context(), c.uri, true, openers...)
		_, other := backend.IdentityOfURI(c.uri, openers...)
		for _, err := range []error{err, other} {
			text := ""
			if err != nil {
				text = err.Error() + onto.HintOf(err).String()
			}
			if !errors.Is(err, onto.Invalid) || !strings.Contains(text, c.message) || !strings.HasPrefix(onto.HintOf(err).String(), c.hint) || strings.Contains(text, "hunter2") {
				t.Errorf("%s: says %q, hint %q", c.uri, err, onto.HintOf(err))
			}
		}
	}
	if _, err := backend.OpenURI(t.Context(), "two:///x", true); !strings.Contains(onto.HintOf(err).String(), "supports no storage URIs") {
		t.Errorf("without openers: %v, %v", err, onto.HintOf(err))
	}
	if len(one) > 0 || len(two) != 2 {
		t.Errorf("a wrong URI was opened: %q, %q", one, two)
	}
}

func TestCanonicalPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.Mkdir("real", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", "link"); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		"real/a.db": "real/a.db", "link/a.db": "real/a.db", "./real/../link/x/y": "real/x/y", dir + "/link": "real", "new": "new",
	} {
		if got, err := backend.CanonicalPath(given); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: got %q, %v, want %q", given, got, err, filepath.Join(dir, want))
		}
	}
	if got, err := backend.CanonicalPath("/"); err != nil || got != "/" {
		t.Errorf("/: got %q, %v", got, err)
	}
}
