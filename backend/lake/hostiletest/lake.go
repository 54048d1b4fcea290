// Package hostiletest makes lakes that must not be trusted, for tests: healthy ones in
// which objects are replaced, with matching documents and checksums.
package hostiletest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/codec"
)

// HeadKey is where the head of a lake is.
const HeadKey = "meta/head.json"

// Lake is a lake whose objects are changed. Its newest commit has put one entity of
// the type Person.
type Lake struct {
	testing.TB
	Bucket bucket.Bucket
}

func (l Lake) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// Read returns an object.
func (l Lake) Read(key string) []byte {
	l.Helper()
	o, err := l.Bucket.Get(l.Context(), key, bucket.Range{}, "")
	l.must(err)
	return o.Data
}

// Write puts an object in the place of what is there.
func (l Lake) Write(key string, body []byte) {
	l.Helper()
	l.must(l.Bucket.Delete(l.Context(), key))
	_, err := l.Bucket.Create(l.Context(), key, body)
	l.must(err)
}

// Document is a head, a catalog or a manifest.
type Document map[string]any

// Text returns a member that is a text.
func (d Document) Text(name string) string { s, _ := d[name].(string); return s }

// First returns the first element of a member that is a list of objects.
func (d Document) First(name string) Document { return d[name].([]any)[0].(map[string]any) }

// Document reads a document.
func (l Lake) Document(key string) Document {
	l.Helper()
	d := json.NewDecoder(bytes.NewReader(l.Read(key)))
	d.UseNumber()
	var doc Document
	l.must(d.Decode(&doc))
	return doc
}

// Edit changes a document and gives it the checksum of its new contents.
func (l Lake) Edit(key string, edit func(Document)) (path string) {
	l.Helper()
	doc := l.Document(key)
	edit(doc)
	delete(doc, "checksum")
	text, err := json.Marshal(doc)
	l.must(err)
	text, err = codec.AppendCanonical(nil, text)
	l.must(err)
	l.Write(key, seal(text))
	return key
}

// seal adds the checksum of a document.
func seal(text []byte) []byte {
	sum := hashOf(text)[:16]
	return append(text[:len(text)-1], `,"checksum":"`+sum+`"}`...)
}

// Manifest is the key of the newest manifest.
func (l Lake) Manifest() string { l.Helper(); return l.Document(HeadKey).Text("manifest_path") }

// Catalog is the key of the catalog.
func (l Lake) Catalog() string { l.Helper(); return l.Document(HeadKey).Text("catalog_path") }

// File is the key of the newest data file.
func (l Lake) File() string { l.Helper(); return l.Document(l.Manifest()).First("files").Text("path") }

// Vouch makes the newest manifest describe another body of its data file.
func (l Lake) Vouch(sha256 string, bytes, rows int64) (path string) {
	l.Helper()
	l.Edit(l.Manifest(), func(m Document) {
		f := m.First("files")
		f["content_sha256"], f["bytes"], f["row_count"] = sha256, bytes, rows
		path = f.Text("path")
	})
	return path
}

// Plant replaces the newest data file by a body, and makes the manifest describe it.
func (l Lake) Plant(body []byte, rows int64) (path string) {
	l.Helper()
	path = l.Vouch(hashOf(body), int64(len(body)), rows)
	l.Write(path, body)
	return path
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
