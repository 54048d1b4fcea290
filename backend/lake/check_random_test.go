package lake

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/typelist"
)

// Whatever several handles write, drop, purge, begin again and compact, a check
// finds nothing but endpoints that are missing.
func TestCheckOfRandomHistories(t *testing.T) {
	for seed := range effort.Seeds(t, 20) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			t.Parallel() // its handles wait for each other
			random := rand.New(rand.NewPCG(seed, 1))
			b := memory.New(nil)
			handles := []*sample{openSample(t, b, 10*time.Second), openSample(t, b, 10*time.Second), openSample(t, b, 10*time.Second)}
			for step := range 90 {
				s := handles[random.IntN(len(handles))]
				switch n := random.IntN(20); {
				case step == 0 || n == 0:
					_, err := s.lake.Register(t.Context(), &backend.Registration{Schemas: sampleSchemas()})
					s.must(err)
				case n == 1:
					s.drop([]string{"City", "Ghost"}[random.IntN(2)], random.IntN(2) == 0)
				case n == 2:
					plan, err := s.lake.PlanCompaction(t.Context(), &backend.CompactionOptions{All: random.IntN(2) == 0})
					s.must(err)
					_, err = s.lake.Compact(t.Context(), plan, nil)
					s.must(err)
				default:
					s.commit("", s.randomWrites(random)...)
				}
			}
			for _, s := range handles {
				s.lake.aside.Wait()
				for _, f := range checked(t, s.lake) {
					if f.Code != "endpoint_missing" {
						t.Errorf("got %v", f)
					}
				}
			}
		})
	}
}

// drop ends a type if it exists.
func (s *sample) drop(name string, purge bool) {
	s.Helper()
	all, err := s.lake.Schemas(s.Context())
	s.must(err)
	for _, v := range typelist.Newest(all) {
		if v.Schema.Name == name {
			s.evolve(backend.Evolution{End: []backend.EndedType{{Kind: v.Schema.Kind, Type: name, Purge: purge}}})
		}
	}
}

// randomWrites are puts and deletes of the types that there are.
func (s *sample) randomWrites(random *rand.Rand) []backend.Write {
	s.Helper()
	all, err := s.lake.Schemas(s.Context())
	s.must(err)
	byID := map[onto.Identity]backend.Write{}
	for _, v := range typelist.Newest(all) {
		for range random.IntN(4) {
			w := entityPut(v.Schema.Name, fmt.Sprint(random.IntN(6)), v.Version, random.IntN(3))
			switch v.Schema.Kind {
			case onto.KindFact:
				w = salaryPut(fmt.Sprint(random.IntN(6)), fmt.Sprint(random.IntN(3)), random.IntN(3))
			case onto.KindRelation:
				w = knowsPut(fmt.Sprint(random.IntN(3)), fmt.Sprint(random.IntN(3)), random.IntN(3))
			}
			if random.IntN(3) == 0 {
				w = ended(w)
			}
			byID[w.Identity] = w
		}
	}
	var list []backend.Write
	for _, w := range byID {
		list = append(list, w)
	}
	return list
}

// Whatever is removed, cut off or changed, a check of the bucket comes to its end,
// and finds an error where the lake cannot be opened.
func TestCheckBucketOfRandomDamage(t *testing.T) {
	healthy := makeSample(t)
	for seed := range effort.Seeds(t, 100) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := openSample(t, copyBucket(t, healthy), time.Second)
		what := ""
		for range 1 + random.IntN(3) {
			what += s.damage(random) + "; "
		}
		found, err := bucketChecked(t, s.bucket, nil)
		if err != nil {
			t.Errorf("seed %d, %s: %v", seed, what, err)
		}
		_, err = Open(t.Context(), unclosed{s.bucket}, &Options{Patience: 20 * time.Millisecond, MustExist: true})
		if onto.CodeOf(err) == onto.Corrupt && !slices.ContainsFunc(found, func(f onto.Finding) bool { return f.Severity == onto.SeverityError }) {
			t.Errorf("seed %d, %s: it cannot be opened (%v), and nothing was found: %v", seed, what, err, found)
		}
	}
}

// damage damages an object that a lake needs, and tells how.
func (s *sample) damage(random *rand.Rand) string {
	s.Helper()
	m := s.tip().Manifest
	keys := []string{protocol.HeadKey, s.tip().Head.Catalog, m.Entry().Path, m.Ancestors[0].Path, s.tip().Catalog.Checkpoints[0].Path, m.Files[0].Path}
	key := keys[random.IntN(len(keys))]
	object, err := s.bucket.Get(s.Context(), key, bucket.Range{}, "")
	if err != nil || len(object.Data) == 0 {
		return key + " is gone already"
	}
	body := slices.Clone(object.Data)
	at := random.IntN(len(body))
	switch n := random.IntN(3); {
	case n == 0:
		s.remove(key)
		return key + " removed"
	case n == 1 || key == protocol.HeadKey:
		s.write(key, body[:at])
		return fmt.Sprintf("%s cut off at %d", key, at)
	}
	body[at] ^= 1 << random.IntN(8)
	s.write(key, body)
	return fmt.Sprintf("%s changed at %d", key, at)
}
