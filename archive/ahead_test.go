package archive

import (
	"context"
	"errors"
	"testing"
)

// A log that ends because its reader was given up is not taken for one that was read to its
// end, which would then be too short.
func TestReadAheadIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &ahead{chunks: make(chan chunk)}
	close(a.chunks)
	for range 100 { // select takes either case
		if e, err := a.read(ctx); e != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("got entry %v and error %v, want %v", e, err, context.Canceled)
		}
	}
	if e, err := a.read(t.Context()); e != nil || err != nil {
		t.Errorf("at the end: got entry %v and error %v", e, err)
	}
}
