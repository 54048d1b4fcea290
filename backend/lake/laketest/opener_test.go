package laketest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
)

func TestOpenerOfDirectories(t *testing.T) {
	above, err := backend.CanonicalPath(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(above, "crm")
	empty := filepath.Join(above, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{dir, empty} {
		if _, err := backend.OpenURI(t.Context(), "file://"+place, false, lake.Opener); !errors.Is(err, onto.Uninitialized) || !strings.Contains(err.Error(), place) {
			t.Errorf("%s without create: %v", place, err)
		}
	}
	if left, _ := filepath.Glob(above + "/*/*"); len(left) > 0 {
		t.Fatalf("made %q", left)
	}
	b, err := backend.OpenURI(t.Context(), "file://"+dir, true, lake.Opener)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if err := os.Symlink(dir, filepath.Join(above, "link")); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"file://" + dir, "file://" + above + "/empty/..//crm/", "file://" + above + "/link"} {
		if id, err := backend.IdentityOfURI(uri, lake.Opener); err != nil || id != "file://"+dir {
			t.Errorf("%s: %q, %v", uri, id, err)
		}
		b, err := backend.OpenURI(t.Context(), uri, false, lake.Opener)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		b.Close()
	}
	if err := os.WriteFile(filepath.Join(above, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"/file", "/file/crm"} {
		for _, create := range []bool{false, true} {
			if _, err := backend.OpenURI(t.Context(), "file://"+above+place, create, lake.Opener); !errors.Is(err, onto.Unsupported) {
				t.Errorf("%s, create %v: %v", place, create, err)
			}
		}
	}
	for _, uri := range []string{"file://hunter2/x", "file:///hunter2%20x", "s3://hunter2/x"} {
		_, err := lake.Opener.Open(t.Context(), uri, true)
		_, err2 := lake.Opener.Identity(uri)
		for _, err := range []error{err, err2} {
			if !errors.Is(err, onto.Invalid) || strings.Contains(err.Error()+onto.HintOf(err).String(), "hunter2") {
				t.Errorf("%s: %v", uri, err)
			}
		}
	}
}
