package decide_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/decide"
)

// streamed yields writes, and then an error unless that is nil.
func streamed(err error, writes ...backend.Write) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
		if err != nil {
			yield(backend.Write{}, err)
		}
	}
}

// keysOf is the keys of each piece, and what came last.
func keysOf(pieces iter.Seq2[[]backend.Write, error]) (list []string, err error) {
	for piece, err := range pieces {
		if err != nil {
			return list, err
		}
		text := ""
		for _, w := range piece {
			text += w.Key
		}
		list = append(list, text)
	}
	return list, nil
}

// Pieces end where one is full or another type begins, and every write is in one.
func TestPieces(t *testing.T) {
	x, y := put("x", 1), put("y", 1)
	x.Type, y.Type = "Place", "Place"
	writes := []backend.Write{put("a", 1), put("b", 1), put("c", 1), x, y}
	size := len("a") + len(put("a", 1).Fields)
	for _, c := range []struct {
		most, bytes int
		want        []string
	}{
		{0, 0, []string{"abc", "xy"}},
		{1, 0, []string{"a", "b", "c", "x", "y"}},
		{2, 0, []string{"ab", "c", "xy"}},
		{0, size, []string{"a", "b", "c", "x", "y"}},
		{0, size + 1, []string{"ab", "c", "xy"}},
		{2, 3 * size, []string{"ab", "c", "xy"}},
	} {
		got, err := keysOf(decide.Pieces(t.Context(), streamed(nil, writes...), c.most, c.bytes))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("at most %d writes and %d bytes: got %q, %v; want %q", c.most, c.bytes, got, err, c.want)
		}
	}
	if got, err := keysOf(decide.Pieces(t.Context(), streamed(nil), 1, 1)); err != nil || len(got) != 0 {
		t.Errorf("of nothing: got %q, %v", got, err)
	}
}

// An error of the stream, or the end of the context, is the last that comes, and a
// piece that is not complete by then does not come at all.
func TestPiecesOfAStreamThatFails(t *testing.T) {
	broken := errors.New("the source is gone")
	got, err := keysOf(decide.Pieces(t.Context(), streamed(broken, put("a", 1), put("b", 1), put("c", 1)), 2, 0))
	if !errors.Is(err, broken) || !slices.Equal(got, []string{"ab"}) {
		t.Errorf("got %q, %v; want one piece and the error", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	for piece, err := range decide.Pieces(ctx, streamed(nil, put("a", 1), put("b", 1), put("c", 1)), 1, 0) {
		if seen++; seen == 1 {
			cancel()
			continue
		}
		if !errors.Is(err, context.Canceled) || piece != nil {
			t.Errorf("after the end of the context: got %v, %v", piece, err)
		}
	}
	if seen != 2 {
		t.Errorf("got %d pieces and errors, want 2", seen)
	}
	for range decide.Pieces(t.Context(), streamed(nil, put("a", 1), put("b", 1)), 1, 0) {
		break // the consumer may stop
	}
}

// The contents of a piece are released when the next is requested.
func TestPiecesLetGo(t *testing.T) {
	var last []backend.Write
	for piece := range decide.Pieces(t.Context(), streamed(nil, put("a", 1), put("b", 1)), 1, 0) {
		last = piece
	}
	if last[0].Fields != nil {
		t.Errorf("still held: %+v", last[0])
	}
}
