package main

import (
	"bytes"
	"testing"
)

// The program prints the same when it is run again.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	const want = `What ana wrote, on all shards:
  m3 in kitchen: Coffee is ready (by operator:ana)
  m1 in lobby: Hello, everybody (by operator:ana)
The lobby has 2 messages, 2 say hello, and the rival sees 0.
`
	for range 2 {
		var out bytes.Buffer
		if err := run(t.Context(), dir, &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("it prints %s, want %s", out.String(), want)
		}
	}
}
