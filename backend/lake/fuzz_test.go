package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/effort"
)

// document is a kind of document: where those of it are, and how a changed one is put
// into a bucket so that it is read.
type document struct {
	keys  func(t testing.TB, o *original) []string
	place func(t testing.TB, o *original, b overlay, key string, body []byte)
}

// documents are all that a lake has.
func documents() map[string]document {
	return map[string]document{
		"head":       {named(protocol.HeadKey), placeSealed},
		"manifest":   {manifestKeys, placeSealed},
		"catalog":    {func(_ testing.TB, o *original) []string { return []string{o.tip.Head.Catalog} }, placeSealed},
		"checkpoint": {checkpointKeys, placeCheckpoint},
		"index":      {below("meta/indices/"), overwrite},
		"lock":       {below("meta/locks/"), overwrite},
	}
}

func named(key string) func(testing.TB, *original) []string {
	return func(testing.TB, *original) []string { return []string{key} }
}

func below(prefix string) func(testing.TB, *original) []string {
	return func(_ testing.TB, o *original) (keys []string) {
		for _, key := range o.keys {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
		return keys
	}
}

// manifestKeys are those of the rounds, newest first.
func manifestKeys(_ testing.TB, o *original) []string {
	keys := []string{*o.tip.Head.ManifestPath}
	for _, a := range o.tip.Manifest.Ancestors {
		keys = append(keys, a.Path)
	}
	return keys
}

// checkpointKeys are those of all levels.
func checkpointKeys(t testing.TB, o *original) (keys []string) {
	for _, e := range o.tip.Catalog.Checkpoints {
		keys = append(keys, e.Path)
		for _, c := range o.checkpoint(t, e.Path).Children {
			keys = append(keys, c.Path)
		}
	}
	return keys
}

func (o *original) checkpoint(t testing.TB, key string) *protocol.Checkpoint {
	t.Helper()
	doc := new(protocol.Checkpoint)
	if err := json.Unmarshal(o.read(t, key), doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func overwrite(t testing.TB, _ *original, b overlay, key string, body []byte) {
	t.Helper()
	if _, err := b.put(context.Background(), key, body); err != nil {
		t.Fatal(err)
	}
}

func placeSealed(t testing.TB, o *original, b overlay, key string, body []byte) {
	t.Helper()
	overwrite(t, o, b, key, sealText(body))
}

// placeCheckpoint makes the entries that name the checkpoint match it.
func placeCheckpoint(t testing.TB, o *original, b overlay, key string, body []byte) {
	t.Helper()
	overwrite(t, o, b, key, body)
	c := *o.tip.Catalog
	c.Checkpoints = slices.Clone(c.Checkpoints)
	for i := range c.Checkpoints {
		e := &c.Checkpoints[i]
		if e.Path == key {
			e.SHA256 = protocol.HashOf(body)
			continue
		}
		doc := o.checkpoint(t, e.Path)
		for j := range doc.Children {
			if doc.Children[j].Path == key {
				doc.Children[j].SHA256 = protocol.HashOf(body)
				branch := protocol.Encode(doc)
				overwrite(t, o, b, e.Path, branch)
				e.SHA256 = protocol.HashOf(branch)
			}
		}
	}
	overwrite(t, o, b, o.tip.Head.Catalog, sealText(protocol.Encode(&c)))
}

// changed returns a lake with a document that was changed, by members or by bytes.
func (d document) changed(t testing.TB, o *original, which byte, members bool, how []byte) overlay {
	t.Helper()
	keys := d.keys(t, o)
	key, body := keys[int(which)%len(keys)], how
	if members {
		body = mutate(o.read(t, key), how, o.keys)
	}
	b := newOverlay(o.bucket)
	d.place(t, o, b, key, body)
	return b
}

// fuzzDocument changes a document of the small lake by the fuzzer's bytes.
func fuzzDocument(f *testing.F, name string) {
	d, o, e := documents()[name], small(f), newEndurance(f)
	for seed := range byte(4) {
		how := make([]byte, 24)
		for i := range how {
			how[i] = seed*37 + byte(i)*(seed+1)
		}
		f.Add(seed, true, how)
	}
	f.Add(byte(0), true, []byte("%')+-/13579;=?ACEiz-Z\xf2&\xca5GIKMOQS")) // failed once, on a busy machine
	for i, key := range d.keys(f, o) {
		text, _, _ := bytes.Cut(o.read(f, key), []byte(sealMember))
		f.Add(byte(i), false, append(bytes.TrimSuffix(text, []byte("}")), '}'))
	}
	f.Add(byte(0), false, []byte("{"))
	f.Add(byte(0), false, []byte(`{"format":1,"store_id":"x","sequence":-1,"commits":[{}]}`))
	f.Add(byte(0), false, []byte("[[[[[["))
	f.Add(byte(0), false, []byte(nil))
	f.Fuzz(func(t *testing.T, which byte, members bool, how []byte) {
		e.test(t, d.changed(t, o, which, members, how))
	})
}

func FuzzHead(f *testing.F)       { fuzzDocument(f, "head") }
func FuzzManifest(f *testing.F)   { fuzzDocument(f, "manifest") }
func FuzzCatalog(f *testing.F)    { fuzzDocument(f, "catalog") }
func FuzzCheckpoint(f *testing.F) { fuzzDocument(f, "checkpoint") }
func FuzzIndex(f *testing.F)      { fuzzDocument(f, "index") }
func FuzzLock(f *testing.F)       { fuzzDocument(f, "lock") }

// randomly calls a function with randomly changed documents of each kind, full of them in
// all, with matching checksums.
func randomly(t *testing.T, o *original, full int, use func(t *testing.T, b overlay)) {
	t.Helper()
	for name, d := range documents() {
		t.Run(name, func(t *testing.T) {
			times := 0
			for seed := range effort.Seeds(t, full) {
				times++
				r := rand.New(rand.NewPCG(seed, 12))
				how := make([]byte, 4+r.IntN(28))
				for j := range how {
					how[j] = byte(r.Uint32())
				}
				b := d.changed(t, o, how[0], true, how[1:])
				if use(t, b); t.Failed() {
					t.Fatalf("seed %d: %d, %q", seed, how[0], how[1:])
				}
			}
			t.Logf("%d changed documents", times)
		})
	}
}

// Documents that were changed at random are refused or used: nothing panics, hangs or
// takes much memory, and what was acknowledged is there.
func TestRandomDocuments(t *testing.T) {
	full := 2000
	if !effort.Thorough(t) {
		full = 600
	}
	e := newEndurance(t)
	randomly(t, small(t), full, e.test)
}

// The same with a large lake, which is read from local copies, and may be read by
// DuckDB.
func TestRandomDocumentsOfLargeLake(t *testing.T) {
	full := 100
	if !effort.Thorough(t) {
		full = 20
	}
	randomly(t, large(t), full, func(t *testing.T, b overlay) { useAll(t, b, Options{Patience: time.Millisecond}) })
}
