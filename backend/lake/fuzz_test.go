package lake

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// document is one that is changed: where it is, and how the changed one is put into a
// bucket so that it is read.
type document struct {
	key   func(s *sample) string
	place func(s *sample, b overlay, key string, body []byte)
}

// documents are all that a lake has.
func documents() map[string]document {
	sealed := func(s *sample, b overlay, key string, body []byte) { overwrite(s, b, key, sealText(body)) }
	return map[string]document{
		"head":       {func(*sample) string { return headKey }, sealed},
		"manifest":   {func(s *sample) string { return *s.tip().head.ManifestPath }, sealed},
		"catalog":    {func(s *sample) string { return s.tip().head.Catalog }, sealed},
		"checkpoint": {func(s *sample) string { return s.tip().catalog.Checkpoints[0].Path }, placeCheckpoint},
		"index":      {func(*sample) string { return indexKey(onto.TypeName{Kind: onto.KindEntity, Name: "Person"}) }, overwrite},
		"lock":       {func(*sample) string { return lockKey(onto.WriteLease) }, overwrite},
	}
}

// placeCheckpoint lets the catalog say of the checkpoint what it would of its own.
func placeCheckpoint(s *sample, b overlay, key string, body []byte) {
	overwrite(s, b, key, body)
	c := *s.tip().catalog
	c.Checkpoints = append([]checkpointEntry(nil), c.Checkpoints...)
	c.Checkpoints[0].SHA256 = hashOf(body)
	if len(body)%2 == 1 {
		c.Checkpoints[0].Level = 1
	}
	overwrite(s, b, s.tip().head.Catalog, encodeSealed(&c))
}

// try changes a document, by members or by bytes, and then opens and uses the lake.
func (d document) try(t testing.TB, members bool, how []byte) {
	t.Helper()
	s := hostileSample(t)
	key, body := d.key(s), how
	if members {
		body = mutate(s.read(key), how)
	}
	b := overlay{s.bucket, memory.New(nil)}
	d.place(s, b, key, body)
	endure(t, b)
}

// fuzzDocument changes a document as the fuzzer likes.
func fuzzDocument(f *testing.F, name string) {
	d := documents()[name]
	for seed := range byte(4) {
		how := make([]byte, 24)
		for i := range how {
			how[i] = seed*37 + byte(i)*(seed+1)
		}
		f.Add(true, how)
	}
	f.Add(false, []byte("{"))
	f.Add(false, []byte(`{"format":1,"store_id":"x","sequence":-1,"commits":[{}]}`))
	f.Add(false, []byte("[[[[[["))
	f.Add(false, []byte(nil))
	f.Fuzz(func(t *testing.T, members bool, how []byte) { d.try(t, members, how) })
}

func overwrite(s *sample, b overlay, key string, body []byte) {
	s.Helper()
	_, err := b.put(context.Background(), key, body)
	s.must(err)
}

func FuzzHead(f *testing.F)       { fuzzDocument(f, "head") }
func FuzzManifest(f *testing.F)   { fuzzDocument(f, "manifest") }
func FuzzCatalog(f *testing.F)    { fuzzDocument(f, "catalog") }
func FuzzCheckpoint(f *testing.F) { fuzzDocument(f, "checkpoint") }
func FuzzIndex(f *testing.F)      { fuzzDocument(f, "index") }
func FuzzLock(f *testing.F)       { fuzzDocument(f, "lock") }

// Documents that were changed at random, and have the checksum that they would have,
// are refused or used: nothing panics, hangs or takes much memory.
func TestRandomDocuments(t *testing.T) {
	times := 8
	if backendtest.Soak() {
		times = 400
	}
	for name, d := range documents() {
		t.Run(name, func(t *testing.T) {
			for i := range times {
				r := rand.New(rand.NewPCG(uint64(i), 12))
				how := make([]byte, 4+r.IntN(28))
				for j := range how {
					how[j] = byte(r.Uint32())
				}
				if d.try(t, true, how); t.Failed() {
					t.Fatalf("seed %d", i)
				}
			}
			t.Logf("%d changed documents", times)
		})
	}
}
