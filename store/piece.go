package store

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Plans look up what they are about in pieces: one question is about many identities,
// and memory is needed for one piece.

const (
	firstPiece   = 64      // identities of the first piece
	largestPiece = 4096    // identities of any piece
	pieceBytes   = 4 << 20 // about what a piece, and what is found for it, may take
)

// pace is how many identities are looked up at once: more while what is found is small.
type pace struct{ most int }

func newPace() *pace { return &pace{firstPiece} }

// took notes how many bytes were found for a piece of so many.
func (p *pace) took(n, bytes int) {
	if bytes > pieceBytes {
		p.most = max(1, n*pieceBytes/bytes)
	} else if bytes < pieceBytes/2 {
		p.most = min(largestPiece, p.most*2)
	}
}

// pieces yields a sequence some at a time, each piece of one type. A piece is valid until
// the next one is requested. An error of the sequence comes last.
func pieces[T any](seq iter.Seq2[T, error], p *pace, about func(*T) (t onto.TypeName, bytes int)) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var piece []T
		var of onto.TypeName
		size := 0
		for item, err := range seq {
			if err != nil {
				yield(nil, err)
				return
			}
			t, bytes := about(&item)
			if len(piece) > 0 && (len(piece) >= p.most || size >= pieceBytes || t != of) {
				if !yield(piece, nil) {
					return
				}
				clear(piece) // so that large fields are not kept
				piece, size = piece[:0], 0
			}
			piece, size, of = append(piece, item), size+bytes, t
		}
		if len(piece) > 0 {
			yield(piece, nil)
		}
	}
}

// lookUp finds the newest versions as of a commit of identities, which are of one type,
// sorted, each once.
func (s *Store) lookUp(ctx context.Context, ids []onto.Identity, at int64) (map[onto.Identity]*onto.Version, error) {
	list, err := backend.Find(ctx, s.b, ids, at)
	if err != nil {
		return nil, err
	}
	found := make(map[onto.Identity]*onto.Version, len(list))
	for i := range list {
		found[list[i].Identity] = &list[i]
	}
	return found, nil
}

// bytesOf is how much the fields of versions take.
func bytesOf(found map[onto.Identity]*onto.Version) int {
	n := 0
	for _, v := range found {
		n += len(v.Fields)
	}
	return n
}
