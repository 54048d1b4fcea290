package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func Example() {
	if err := run(context.Background(), ":memory:"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// then: Silver
	// 1 operator:ana Silver
	// 2 daemon:billing Gold
}

// The program in the README is this one, so it compiles and runs as it stands there.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(readme), "```go\n")
	block, _, ends := strings.Cut(block, "```\n")
	if !found || !ends {
		t.Fatal("the README has no Go program")
	}
	for _, part := range strings.Split(block, "\n\nfunc ") {
		if !strings.Contains(string(program), strings.TrimSpace(part)) {
			t.Errorf("main.go has no\n%s", part)
		}
	}
}
