package decide

import (
	"context"
	"iter"

	"github.com/ontologia/onto/backend"
)

// Pieces yields the writes of a stream some at a time, for [Candidate.Chunk]: at most
// so many, of about so many bytes, and of one type. 0 is no bound. A piece is valid
// until the next one is requested. An error of the stream or the context comes last.
func Pieces(ctx context.Context, writes iter.Seq2[backend.Write, error], most, bytes int) iter.Seq2[[]backend.Write, error] {
	return func(yield func([]backend.Write, error) bool) {
		var piece []backend.Write
		size := 0
		hand := func() bool {
			goOn := yield(piece, nil)
			clear(piece) // so that large fields are not kept
			piece, size = piece[:0], 0
			return goOn
		}
		for w, err := range writes {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			full := most > 0 && len(piece) >= most || bytes > 0 && size >= bytes
			if len(piece) > 0 && (full || piece[0].TypeName() != w.TypeName()) && !hand() {
				return
			}
			piece = append(piece, w)
			size += len(w.Key) + len(w.Left) + len(w.Right) + len(w.Instance) + len(w.Fields)
		}
		if len(piece) > 0 {
			hand()
		}
	}
}
