package codec_test

import (
	"testing"

	"github.com/ontologia/onto/internal/codec"
)

// Objects of 250 bytes, as a typical entity has.
const (
	sortedObject = `{"active":true,"address":{"city":"Lisbon","street":"Rua Augusta 12","zip":"1100-053"},` +
		`"age":41,"email":"ada@example.com","id":"c-000184","name":"Ada Lovelace","notes":null,` +
		`"score":0.875,"tags":["gold","early","beta"],"tier":"Gold","visits":123456}`
	unsortedObject = `{"id":"c-000184","name":"Ada Lovelace","tier":"Gold","age":41,"email":"ada@example.com",` +
		`"address":{"street":"Rua Augusta 12","city":"Lisbon","zip":"1100-053"},"active":true,` +
		`"score":0.875,"visits":123456,"tags":["gold","early","beta"],"notes":null}`
	escapedObject = `{"id":"c-000184","name":"Ad\u00e1 \"Lovelace\"","note":"line one\nline two\ttabbed",` +
		`"address":{"street":"Rua Augusta 12 \u2013 R/C","city":"Lisboa, capital de Portugal"},` +
		`"tier":"Gold","emoji":"\ud83d\ude00 and \\ more text here"}`
)

func BenchmarkAppendCanonical(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"sorted", sortedObject}, {"unsorted", unsortedObject}, {"escaped", escapedObject},
	} {
		b.Run(c.name, func(b *testing.B) {
			src, dst := []byte(c.text), make([]byte, 0, 1024)
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := codec.AppendCanonical(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMembers(b *testing.B) {
	src := []byte(sortedObject)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		codec.Members(src)
	}
}
