package archive

import (
	"crypto/sha256"
	"hash"

	"github.com/ontologia/onto"
)

// hashing computes the hash of one commit, in bounded memory.
type hashing struct {
	state  hash.Hash
	buffer encoder
}

// full is how many bytes are hashed at a time.
const full = 16 << 10

// begin starts with the sum of what comes before.
func (h *hashing) begin(before chain) {
	if h.state == nil {
		h.state = sha256.New()
	}
	h.state.Reset()
	h.buffer = append(h.buffer[:0], before[:]...)
}

func (h *hashing) version(v *onto.Version) {
	h.buffer.version(v)
	if len(h.buffer) >= full {
		h.state.Write(h.buffer)
		h.buffer = h.buffer[:0]
	}
}

func (h *hashing) end() (sum chain) {
	h.state.Write(h.buffer)
	h.buffer = h.buffer[:0]
	h.state.Sum(sum[:0])
	return sum
}
