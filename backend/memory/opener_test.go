package memory_test

import (
	"errors"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
)

func TestOpener(t *testing.T) {
	origins := map[string]bool{}
	for _, create := range []bool{false, true, false} {
		b, err := backend.OpenURI(t.Context(), "memory://", create, memory.Opener)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		origin, err := b.(backend.Archive).Origin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		origins[origin] = true
	}
	one, err := backend.IdentityOfURI("memory://", memory.Opener)
	two, err2 := backend.IdentityOfURI("memory://", memory.Opener)
	if err != nil || err2 != nil || one == two || one == "" || len(origins) != 3 {
		t.Errorf("%q and %q, %v, %v; origins %v", one, two, err, err2, origins)
	}
	for _, uri := range []string{"memory:///", "memory://x", "memory"} {
		_, err := memory.Opener.Open(t.Context(), uri, true)
		_, err2 := memory.Opener.Identity(uri)
		if !errors.Is(err, onto.Invalid) || !errors.Is(err2, onto.Invalid) {
			t.Errorf("%s: %v, %v", uri, err, err2)
		}
	}
}
