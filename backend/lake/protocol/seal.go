package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/ontologia/onto"
)

// Heads, manifests and catalogs end with a checksum of what comes before it. A document
// that was changed in transit, on disk or by hand is detected before it is used, or
// copied into another one. A head and a catalog must have a checksum. A manifest
// without one is accepted: the first versions of this program wrote some, and a
// manifest is never rewritten.

const (
	sealBegin  = `,"checksum":"`
	sealDigits = 16
	sealEnd    = `"}`
)

// encodeSealed writes a document with its checksum.
func encodeSealed(doc any) []byte {
	text := Encode(doc)
	sum := HashOf(text)[:sealDigits]
	return append(text[:len(text)-1], sealBegin+sum+sealEnd...)
}

// sealOf reports whether a document ends with a checksum, and whether it matches.
func sealOf(body []byte) (sealed, whole bool) {
	body = bytes.TrimRight(body, " \t\r\n")
	begin := len(body) - len(sealBegin) - sealDigits - len(sealEnd)
	if begin < 1 || !bytes.HasPrefix(body[begin:], []byte(sealBegin)) || !bytes.HasSuffix(body, []byte(sealEnd)) {
		return false, false
	}
	sum := body[begin+len(sealBegin):][:sealDigits]
	h := sha256.New()
	h.Write(body[:begin])
	h.Write([]byte("}"))
	return true, hex.EncodeToString(h.Sum(nil))[:sealDigits] == string(sum)
}

// SealBroken reports whether a document has a checksum that does not match.
func SealBroken(body []byte) bool {
	sealed, whole := sealOf(body)
	return sealed && !whole
}

// decodeSealed reads a document. It fails if its checksum does not match, or is missing
// where there must be one.
func decodeSealed(key string, body []byte, doc any, must bool) error {
	sealed, whole := sealOf(body)
	if sealed && !whole {
		return unsealed(key, "it is not as it was written: its checksum is another")
	}
	if err := Decode(key, body, doc); err != nil {
		return err
	}
	if must && !sealed {
		return unsealed(key, "it does not end with a checksum")
	}
	return nil
}

func unsealed(key, what string) error {
	return onto.Errorf(onto.Corrupt, "%s: %w", key, onto.Errorf(onto.Corrupt, "%s", what)).
		WithHint("restore the object from a backup; if it was changed on purpose, docs/format/lake.md tells how to make the checksum")
}
