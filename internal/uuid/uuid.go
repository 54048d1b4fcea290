// Package uuid makes identifiers.
package uuid

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// V4 makes a random identifier.
func V4() string {
	var id [16]byte
	rand.Read(id[:])
	return text(id, 4)
}

// V7 makes an identifier that begins with the time, so that later ones are mostly
// greater.
func V7() string {
	var id [16]byte
	rand.Read(id[6:])
	ms := time.Now().UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return text(id, 7)
}

// Named makes the identifier that stands for a text, always the same.
func Named(name string) string {
	sum := sha256.Sum256([]byte(name))
	return text([16]byte(sum[:16]), 8)
}

// Placed makes the identifier of the fact at a place of a draft with an idempotency key:
// the same when the draft is repeated.
func Placed(place int64, key string) string { return Named(strconv.FormatInt(place, 10) + ":" + key) }

// text is an identifier with its version and variant set.
func text(id [16]byte, version byte) string {
	id[6], id[8] = id[6]&0x0f|version<<4, id[8]&0x3f|0x80
	var b [36]byte
	hex.Encode(b[:], id[:4])
	for i, at := range [...]int{9, 14, 19} {
		b[at-1] = '-'
		hex.Encode(b[at:], id[4+2*i:6+2*i])
	}
	b[23] = '-'
	hex.Encode(b[24:], id[10:])
	return string(b[:])
}
