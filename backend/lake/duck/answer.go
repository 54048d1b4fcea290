package duck

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
)

// An open answer holds memory of DuckDB until its reader is done, and DuckDB has
// little. So only a few answers are streamed as they are computed. Further ones are
// computed to their end, to disk if they are long, and read from there; and only so
// many are computed at a time. None of these waits for a reader.

const (
	streamBytes = 32 << 20 // of memory for each answer that is streamed
	maxStreams  = 8
	maxRunning  = 4 // further statements at a time
)

// places are the slots of answers that need memory.
type places struct {
	streams chan struct{} // streamed answers
	running chan struct{} // further statements
}

func newPlaces(memory int64) places {
	return places{
		streams: make(chan struct{}, min(max(1, memory/streamBytes), maxStreams)),
		running: make(chan struct{}, maxRunning),
	}
}

// finish calls f with a connection when a slot is free. F must not wait for a reader.
func (e *Engine) finish(ctx context.Context, f func(c *conn) error) error {
	select {
	case e.places.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closed:
		return errClosed()
	}
	defer func() { <-e.places.running }()
	return e.use(ctx, f)
}

// answer pushes what a question pushes: as it is computed if a slot for streaming is
// free, otherwise when it is complete.
func answer[T any](ctx context.Context, e *Engine, ask func(c *conn, push func(T) error) error, push func(T) error) error {
	select {
	case e.places.streams <- struct{}{}:
		defer func() { <-e.places.streams }()
		return e.use(ctx, func(c *conn) error { return ask(c, push) })
	default:
	}
	kept := &spill[T]{directory: e.spill}
	defer kept.close()
	if err := e.finish(ctx, func(c *conn) error { return ask(c, kept.add) }); err != nil {
		return err
	}
	return kept.each(func(v T) error {
		select {
		case <-e.closed:
			return errClosed()
		default:
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return push(v)
	})
}

// tooLarge names the limit that an answer has exceeded.
func (e *Engine) tooLarge(err error) error {
	if !errors.Is(err, onto.TooLarge) {
		return err
	}
	return onto.Errorf(onto.TooLarge, "the query engine may take %s of memory, and %d answers are being read beside this one: %w", e.memory, max(0, len(e.places.streams)-1), err).
		WithHint("raise s3_duckdb_memory_limit, or Options.Memory in a program, or read fewer answers at a time")
}

// units are those of a memory limit.
var units = map[string]float64{
	"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
}

// bytesOf is how much a memory limit is, such as 256MB; 0 if that is not known.
func bytesOf(limit string) int64 {
	digits := strings.TrimRight(limit, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	unit, known := units[strings.ToUpper(strings.TrimSpace(limit[len(digits):]))]
	if err != nil || !known || n < 0 || n*unit > 1<<60 {
		return 0
	}
	return int64(n * unit)
}
