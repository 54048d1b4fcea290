package backend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"iter"

	"github.com/ontologia/onto"
)

// Hash identifies a draft's content, for idempotency: what is said about the
// commit, what is expected, and the writes in their order.
type Hash struct {
	sum hash.Hash
	buf []byte
}

// NewHash starts with everything but the writes.
func NewHash(d *Draft) *Hash {
	h := &Hash{sum: sha256.New()}
	c := &d.Commit
	h.texts(c.Actor.String(), c.Correlation, c.Signature, c.Comment, string(d.Metadata))
	h.number(c.Causation)
	h.number(int64(len(d.Expect)))
	for _, e := range d.Expect {
		if e.Head {
			h.texts("head")
		} else {
			h.identity(e.Identity)
		}
		h.number(e.Commit)
	}
	if d.Evolve != nil {
		h.evolution(d.Evolve)
	}
	return h
}

func (h *Hash) evolution(e *Evolution) {
	for _, a := range e.Add {
		h.texts("add", a.Schema.Hash())
	}
	for _, t := range e.End {
		h.texts("end", string(t.Kind), t.Type, t.RenamedTo)
	}
	for _, l := range e.Learn {
		h.texts("learn", string(l.Kind), l.Type, l.Upgrader.Program)
		h.number(int64(l.Version))
	}
}

// Add includes a write.
func (h *Hash) Add(w *Write) {
	h.identity(w.Identity)
	h.texts(string(w.Op), string(w.Fields))
}

// Sum returns the hash in hex.
func (h *Hash) Sum() string { return hex.EncodeToString(h.sum.Sum(nil)) }

// Hash returns the hash of the whole draft.
func (d *Draft) Hash() string {
	h := NewHash(d)
	for i := range d.Writes {
		h.Add(&d.Writes[i])
	}
	return h.Sum()
}

// ReadWrites reads the writes of a stream into memory, for a backend that decides
// on all of them at once. They come back sorted, with the hash of the draft.
func ReadWrites(ctx context.Context, d *Draft, writes iter.Seq2[Write, error]) ([]Write, string, error) {
	hash := NewHash(d)
	var list []Write
	for w, err := range writes {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, "", err
		}
		hash.Add(&w)
		w.Fields = bytes.Clone(w.Fields)
		list = append(list, w)
	}
	list, err := SortWrites(list)
	return list, hash.Sum(), err
}

func (h *Hash) identity(id onto.Identity) {
	h.texts(string(id.Kind), id.Type, id.Key, id.Left, id.Right, id.Instance)
}

// texts adds each text with its length, so that none can run into the next.
func (h *Hash) texts(list ...string) {
	for _, s := range list {
		h.number(int64(len(s)))
		h.buf = append(h.buf[:0], s...)
		h.sum.Write(h.buf)
	}
}

func (h *Hash) number(n int64) {
	h.buf = binary.BigEndian.AppendUint64(h.buf[:0], uint64(n))
	h.sum.Write(h.buf)
}
