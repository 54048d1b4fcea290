package archive

import (
	"context"
	"iter"
	"sync"

	"github.com/ontologia/onto/backend"
)

// ahead reads a log in a goroutine, some entries ahead of its consumer.
type ahead struct {
	chunks chan chunk
	now    chunk
}

// chunk is some entries, and the error that came after them.
type chunk struct {
	entries []backend.LogEntry
	err     error
}

// The limits of a chunk.
const (
	chunkEntries = 256
	chunkBytes   = 1 << 20
)

// readAhead starts to read. Stop ends that, and waits for it.
func readAhead(ctx context.Context, log iter.Seq2[backend.LogEntry, error]) (a *ahead, stop func()) {
	a = &ahead{chunks: make(chan chunk, 4)}
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(a.chunks)
		a.fill(ctx, log)
	})
	return a, func() {
		cancel()
		reading.Wait()
	}
}

func (a *ahead) fill(ctx context.Context, log iter.Seq2[backend.LogEntry, error]) {
	var c chunk
	bytes := 0
	send := func() bool {
		select {
		case a.chunks <- c:
			c, bytes = chunk{}, 0
			return true
		case <-ctx.Done():
			return false
		}
	}
	for e, err := range log {
		if err != nil {
			c.err = err
			break
		}
		c.entries = append(c.entries, e)
		bytes += e.Size()
		if (len(c.entries) >= chunkEntries || bytes >= chunkBytes) && !send() {
			return
		}
	}
	send()
}

// read returns the next entry, or nil at the end of the log.
func (a *ahead) read(ctx context.Context) (*backend.LogEntry, error) {
	for len(a.now.entries) == 0 {
		if a.now.err != nil {
			return nil, a.now.err
		}
		select {
		case c, ok := <-a.chunks:
			if !ok {
				return nil, ctx.Err() // without an error, it was read to its end
			}
			a.now = c
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e := &a.now.entries[0]
	a.now.entries = a.now.entries[1:]
	return e, nil
}
