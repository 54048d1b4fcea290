package protocol

import (
	"encoding/json"
	"testing"

	"github.com/ontologia/onto"
)

// A sealed document with any changed byte is refused, or says the same.
func TestSeal(t *testing.T) {
	h := &Head{Format: formatFacts, StoreID: "S", Sequence: 3, Attempt: "A", Recent: []string{"B"}, Catalog: "meta/catalog/3-A.json", UpdatedAt: "2026-02-10T12:34:56.789012+00:00"}
	body := encodeSealed(h)
	if SealBroken(body) || SealBroken(append(body, '\n')) || SealBroken(Encode(h)) {
		t.Fatal("a document that nobody has changed is refused")
	}
	if _, err := ParseHead(body); err != nil {
		t.Fatal(err)
	}
	same := Encode(h)
	for i := range body {
		for bit := range 8 {
			flipped := append([]byte(nil), body...)
			flipped[i] ^= 1 << bit
			got, err := ParseHead(flipped)
			if err == nil && string(Encode(got)) != string(same) {
				t.Fatalf("byte %d, bit %d: %s is taken for whole", i, bit, flipped)
			}
		}
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	members["sequence"] = 4
	edited, _ := json.Marshal(members)
	if _, err := ParseHead(edited); onto.CodeOf(err) != onto.Corrupt { // its checksum is not the last member
		t.Errorf("an edited head: got %v, want that it is corrupt", err)
	}
}
