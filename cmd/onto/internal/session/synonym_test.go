package session

import "testing"

// A word is not explained in two ways.
func TestSynonyms(t *testing.T) {
	for word, command := range synonyms() {
		if _, twice := originalVerbs()[word]; twice {
			t.Errorf("%s is a word of the original program, too", word)
		}
		if len(command) == 0 || command[0] == word {
			t.Errorf("%s leads to %q", word, command)
		}
	}
}
