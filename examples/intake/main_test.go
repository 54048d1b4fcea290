package main

import (
	"bytes"
	"context"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "intake")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := open(ctx, ":memory:", items)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := run(ctx, s, vault(dir)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// now: released
	// received: deleted
	// redacted: A person asks for help
}

// The items are what a replay of the facts gives, and no file of the store has a word
// of the texts.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "intake.db")
	s, err := open(t.Context(), path, items)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), s, vault(t.TempDir())); err != nil {
		t.Fatal(err)
	}
	if err := s.VerifyFolds(t.Context()); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(dir + "/*")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, private := range []string{"Lovelace", "asks for help"} {
			if bytes.Contains(text, []byte(private)) {
				t.Errorf("%s has %q", filepath.Base(file), private)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	other := items
	other.Apply = func(it *Item, f onto.Fact, d onto.Draft) error {
		if f.Attribute == "redacted" {
			return nil // shows the raw text
		}
		return apply(it, f, d)
	}
	if s, err = open(t.Context(), path, other); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.VerifyFolds(t.Context()); err == nil {
		t.Error("a changed fold was not noticed")
	}
}
