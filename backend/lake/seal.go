package lake

import (
	"bytes"

	"github.com/ontologia/onto"
)

// The documents that everything rests on, head, manifests and catalogs, end with a
// checksum of what comes before it. A document that was changed on its way, on disk
// or by hand is found out before anybody goes by it, or writes it down again
// elsewhere. A head and a catalog must have one. A manifest without one is taken as it
// is: the first programs wrote some, and a manifest is never written again.

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

// sealOf reports whether a document ends with a checksum, and whether it is its own.
func sealOf(body []byte) (sealed, whole bool) {
	body = bytes.TrimRight(body, " \t\r\n")
	begin := len(body) - len(sealBegin) - sealDigits - len(sealEnd)
	if begin < 1 || !bytes.HasPrefix(body[begin:], []byte(sealBegin)) || !bytes.HasSuffix(body, []byte(sealEnd)) {
		return false, false
	}
	sum := body[begin+len(sealBegin):][:sealDigits]
	return true, hashOf(append(bytes.Clone(body[:begin]), '}'))[:sealDigits] == string(sum)
}

// sealBroken reports whether a document has a checksum that is not its own.
func sealBroken(body []byte) bool {
	sealed, whole := sealOf(body)
	return sealed && !whole
}

// checkSeal fails if a document has a checksum that is not its own, or none where
// there must be one.
func checkSeal(key string, body []byte, must bool) error {
	sealed, whole := sealOf(body)
	what := "it is not as it was written: its checksum is another"
	switch {
	case whole || !sealed && !must:
		return nil
	case !sealed:
		what = "it does not end with a checksum"
	}
	return onto.Errorf(onto.Corrupt, "%s: %w", key, onto.Errorf(onto.Corrupt, "%s", what)).
		WithHint("restore the object from a backup; if it was changed on purpose, docs/format/lake.md tells how to make the checksum")
}
