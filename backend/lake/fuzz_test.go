package lake

import (
	"context"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// fuzzDocument changes a document of a lake, by members or by bytes, and then opens
// and uses the lake. Place puts the changed document into a bucket.
func fuzzDocument(f *testing.F, find func(s *sample) []byte, place func(s *sample, b overlay, body []byte)) {
	for seed := range byte(12) {
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
	f.Fuzz(func(t *testing.T, members bool, how []byte) {
		s := hostileSample(t)
		body := how
		if members {
			body = mutate(find(s), how)
		}
		b := overlay{s.bucket, memory.New(nil)}
		place(s, b, body)
		endure(t, b)
	})
}

func overwrite(s *sample, b overlay, key string, body []byte) {
	s.Helper()
	_, err := b.put(context.Background(), key, body)
	s.must(err)
}

func FuzzHead(f *testing.F) {
	fuzzDocument(f, func(s *sample) []byte { return s.read(headKey) },
		func(s *sample, b overlay, body []byte) { overwrite(s, b, headKey, sealText(body)) })
}

func FuzzManifest(f *testing.F) {
	path := func(s *sample) string { return *s.tip().head.ManifestPath }
	fuzzDocument(f, func(s *sample) []byte { return s.read(path(s)) },
		func(s *sample, b overlay, body []byte) { overwrite(s, b, path(s), sealText(body)) })
}

func FuzzCatalog(f *testing.F) {
	path := func(s *sample) string { return s.tip().head.Catalog }
	fuzzDocument(f, func(s *sample) []byte { return s.read(path(s)) },
		func(s *sample, b overlay, body []byte) { overwrite(s, b, path(s), sealText(body)) })
}

// The catalog says of the checkpoint what it would of its own.
func FuzzCheckpoint(f *testing.F) {
	path := func(s *sample) string { return s.tip().catalog.Checkpoints[0].Path }
	fuzzDocument(f, func(s *sample) []byte { return s.read(path(s)) },
		func(s *sample, b overlay, body []byte) {
			overwrite(s, b, path(s), body)
			c := *s.tip().catalog
			c.Checkpoints = append([]checkpointEntry(nil), c.Checkpoints...)
			c.Checkpoints[0].SHA256 = hashOf(body)
			if len(body)%2 == 1 {
				c.Checkpoints[0].Level = 1
			}
			overwrite(s, b, s.tip().head.Catalog, encodeSealed(&c))
		})
}

func FuzzIndex(f *testing.F) {
	key := indexKey(typeName{onto.KindEntity, "Person"})
	fuzzDocument(f, func(s *sample) []byte { return s.read(key) },
		func(s *sample, b overlay, body []byte) { overwrite(s, b, key, body) })
}

func FuzzLock(f *testing.F) {
	key := lockKey(onto.WriteLease)
	fuzzDocument(f, func(s *sample) []byte { return s.read(key) },
		func(s *sample, b overlay, body []byte) { overwrite(s, b, key, body) })
}
