package uuid

import (
	"regexp"
	"testing"
)

func TestForm(t *testing.T) {
	for version, make := range map[string]func() string{"4": V4, "7": V7} {
		form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-` + version + `[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
		seen := map[string]bool{}
		for range 10_000 {
			id := make()
			if !form.MatchString(id) || seen[id] {
				t.Fatalf("version %s: %s, seen before: %v", version, id, seen[id])
			}
			seen[id] = true
		}
	}
}

// Identifiers of different milliseconds are in the order of time.
func TestV7BeginsWithTheTime(t *testing.T) {
	a := V7()
	for b := V7(); ; b = V7() {
		if a[:13] != b[:13] {
			if b < a {
				t.Fatalf("%s after %s", b, a)
			}
			return
		}
	}
}
