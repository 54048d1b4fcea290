package datafile

import (
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// An entry lists the identities of few rows only. A list that no writer can have made
// excludes only what is not in it.
func TestIdentityHashes(t *testing.T) {
	var list []onto.Version
	for i := range hashedRows + 1 {
		list = append(list, onto.Version{Identity: onto.EntityID("Person", fmt.Sprintf("p%02d", i))})
	}
	if h := IdentityHashes(list); h != "" {
		t.Errorf("%d rows: got %q, want none", len(list), h)
	}
	f := protocol.FileEntry{Identities: IdentityHashes(list[:hashedRows])}
	for i := range list {
		wanted := map[string]bool{IdentityHash(&list[i].Identity): true}
		if got, want := mayHold(&f, wanted), i < hashedRows; got != want {
			t.Errorf("%s: got %t, want %t", list[i].Identity, got, want)
		}
	}
	twice := append(list[:1:1], list[0])
	if got := IdentityHashes(twice); len(got) != hashDigits {
		t.Errorf("an identity with two versions: got %q", got)
	}
}
