package lake

import (
	"bytes"

	"github.com/ontologia/onto"
)

// The documents that everything rests on, head, manifests and catalogs, end with a
// checksum of what comes before it. A document that was changed on its way, on disk
// or by hand is found out before anybody goes by it, or writes it down again
// elsewhere. One without a checksum is taken as it is.

const (
	sealBegin  = `,"checksum":"`
	sealDigits = 16
	sealEnd    = `"}`
)

// encodeSealed writes a document with its checksum.
func encodeSealed(doc any) []byte {
	text := encode(doc)
	sum := hashOf(text)[:sealDigits]
	return append(text[:len(text)-1], sealBegin+sum+sealEnd...)
}

// sealBroken reports whether a document has a checksum that is not its own.
func sealBroken(body []byte) bool {
	body = bytes.TrimRight(body, " \t\r\n")
	begin := len(body) - len(sealBegin) - sealDigits - len(sealEnd)
	if begin < 1 || !bytes.HasPrefix(body[begin:], []byte(sealBegin)) || !bytes.HasSuffix(body, []byte(sealEnd)) {
		return false
	}
	sum := body[begin+len(sealBegin):][:sealDigits]
	return hashOf(append(bytes.Clone(body[:begin]), '}'))[:sealDigits] != string(sum)
}

// checkSeal fails if a document has a checksum that is not its own.
func checkSeal(key string, body []byte) error {
	if !sealBroken(body) {
		return nil
	}
	return onto.Errorf(onto.Corrupt, "%s: %w", key, onto.Errorf(onto.Corrupt, "it is not as it was written: its checksum is another")).
		WithHint("restore the object from a backup; if it was changed on purpose, take the member checksum out")
}
