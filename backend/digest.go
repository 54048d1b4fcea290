package backend

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/ontologia/onto"
)

// Digest identifies a draft: its header, its expectations, its events, and the writes in
// their order. The value is stored with idempotency keys.
type Digest struct {
	sum hash.Hash
	buf []byte
}

// NewDigest starts with everything but the writes.
func NewDigest(d *Draft) *Digest {
	h := &Digest{sum: sha256.New()}
	h.texts(d.Actor.String(), d.Correlation, d.Signature, d.Comment, string(d.Metadata))
	h.number(d.Causation)
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
	for i := range d.Events {
		h.event(&d.Events[i])
	}
	return h
}

// event includes what the caller asked for, not what was generated.
func (h *Digest) event(e *NewEvent) {
	h.texts("event", e.Namespace, e.Type, string(e.Payload), e.OrderingKey, e.Parent)
	h.number(int64(e.Priority))
	h.number(int64(e.Delay))
	if !e.NotBefore.IsZero() {
		h.number(e.NotBefore.UnixMicro())
	}
}

func (h *Digest) evolution(e *Evolution) {
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

// Add includes a write, unless it is derived.
func (h *Digest) Add(w *Write) {
	if w.Derived {
		return
	}
	h.identity(w.Identity)
	h.texts(string(w.Op), string(w.Fields))
	if w.Merge {
		h.texts("merge")
		w.Known.paths("", func(path string) { h.texts(path) })
	}
}

// Sum returns it in hex.
func (h *Digest) Sum() string { return hex.EncodeToString(h.sum.Sum(nil)) }

// DigestOf is the digest of a whole draft.
func DigestOf(d *Draft) string {
	h := NewDigest(d)
	for i := range d.Writes {
		h.Add(&d.Writes[i])
	}
	return h.Sum()
}

func (h *Digest) identity(id onto.Identity) {
	h.texts(string(id.Kind), id.Type, id.Key, id.Left, id.Right, id.Instance)
}

// texts adds each text with its length, so that texts cannot run into each other.
func (h *Digest) texts(list ...string) {
	for _, s := range list {
		h.number(int64(len(s)))
		h.buf = append(h.buf[:0], s...)
		h.sum.Write(h.buf)
	}
}

func (h *Digest) number(n int64) {
	h.buf = binary.BigEndian.AppendUint64(h.buf[:0], uint64(n))
	h.sum.Write(h.buf)
}
