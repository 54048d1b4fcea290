package lake

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/upkeep"
)

// sample is a lake to plant faults in, and what is needed to navigate it.
type sample struct {
	testing.TB
	bucket *memory.Bucket
	lake   *Backend
}

func sampleSchemas() []onto.Schema {
	entity := func(name string) onto.Schema {
		return onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}, {Name: "n", Type: onto.Int, Index: true}}}
	}
	contract := onto.Schema{Kind: onto.KindFact, Name: "Contract", Left: "Person", Fields: append(onto.FactFields(false), onto.Field{Name: "salary", Type: onto.Int, Optional: true})}
	contract.SortFields()
	return []onto.Schema{entity("Person"), entity("City"), entity("Ghost"), contract, {
		Kind: onto.KindRelation, Name: "Knows", Left: "Person", Right: "Person", Fields: []onto.Field{{Name: "n", Type: onto.Int}},
	}}
}

func entityPut(typ, key string, version, n int) backend.Write {
	return backend.Write{Identity: onto.EntityID(typ, key), Op: onto.Put, SchemaVersion: version, Fields: fmt.Appendf(nil, `{"id":%q,"n":%d}`, key, n)}
}

func knowsPut(left, right string, n int) backend.Write {
	return backend.Write{Identity: onto.RelationID("Knows", left, right), Op: onto.Put, SchemaVersion: 1, Fields: fmt.Appendf(nil, `{"n":%d}`, n)}
}

// salaryPut wants a fact about a person's salary.
func salaryPut(subject, id string, n int) backend.Write {
	return backend.Write{Identity: onto.FactID("Contract", subject, "salary", id), Op: onto.Put, SchemaVersion: 1, Fields: fmt.Appendf(nil, `{"salary":%d}`, n)}
}

func ended(w backend.Write) backend.Write {
	w.Op, w.Fields = onto.Delete, nil
	return w
}

func openSample(t testing.TB, b *memory.Bucket, patience time.Duration) *sample {
	t.Helper()
	return openSampleThrough(t, b, b, patience)
}

// openSampleThrough opens the sample through a wrapping bucket.
func openSampleThrough(t testing.TB, b *memory.Bucket, through bucket.Bucket, patience time.Duration) *sample {
	t.Helper()
	l, err := Open(t.Context(), unclosed{through}, &Options{Trusted: true, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &sample{t, b, l}
}

// unclosed is a bucket that outlives its lakes.
type unclosed struct{ bucket.Bucket }

func (unclosed) Close() error { return nil }

func (s *sample) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *sample) commit(key string, writes ...backend.Write) {
	s.Helper()
	sorted, err := backend.SortWrites(writes)
	s.must(err)
	d := &backend.Draft{Header: backend.Header{IdempotencyKey: key, Metadata: []byte(`{"m":1}`)}, Writes: sorted}
	_, err = s.lake.Append(s.Context(), d)
	s.must(err)
}

func (s *sample) evolve(e backend.Evolution, writes ...backend.Write) {
	s.Helper()
	all, err := s.lake.Schemas(s.Context())
	s.must(err)
	e.Base = typelist.Hash(all)
	var list iter.Seq2[backend.Write, error] = func(yield func(backend.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
	}
	_, err = s.lake.AppendStream(s.Context(), &backend.Draft{Evolve: &e}, list)
	s.must(err)
}

// sampleRounds is how many rounds the sample has: the oldest are compacted, a
// checkpoint lists some, and the newest are listed by manifests only.
const sampleRounds = protocol.CheckpointRounds + 12

// sampled is the sample that the first test has made, since its two writers wait for each
// other for a second.
var sampled struct {
	mu     sync.Mutex // guards what follows
	bucket *memory.Bucket
}

// makeSample returns a copy of the sample.
func makeSample(t testing.TB) *memory.Bucket {
	t.Helper()
	sampled.mu.Lock()
	defer sampled.mu.Unlock()
	if sampled.bucket == nil {
		sampled.bucket = copyBucket(t, fillSample(t))
	}
	return copyBucket(t, sampled.bucket)
}

// fillSample fills a lake with a bit of everything. The last rounds are one put of
// a person each.
func fillSample(t testing.TB) *memory.Bucket {
	t.Helper()
	b := memory.New(nil)
	s := openSample(t, b, 10*time.Second)
	_, err := s.lake.Register(t.Context(), &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	s.commit("k1", entityPut("Person", "a", 1, 1), entityPut("Person", "b", 1, 1), entityPut("City", "rome", 1, 1), entityPut("Ghost", "g", 1, 1), salaryPut("c", "s1", 1), salaryPut("b", "s2", 1), knowsPut("a", "b", 1))
	s.commit("", entityPut("Person", "a", 1, 2), entityPut("Ghost", "g", 1, 2))
	s.commit("k2", ended(entityPut("Person", "b", 1, 0)), ended(salaryPut("b", "s2", 0)), ended(knowsPut("a", "b", 0)), entityPut("City", "oslo", 1, 1))
	s.evolve(backend.Evolution{End: []backend.EndedType{{Kind: onto.KindEntity, Type: "City"}}}, ended(entityPut("City", "oslo", 1, 0)), ended(entityPut("City", "rome", 1, 0)))
	s.evolve(backend.Evolution{End: []backend.EndedType{{Kind: onto.KindEntity, Type: "Ghost", Purge: true}}})
	wider := sampleSchemas()[0]
	wider.Fields = append(wider.Fields, onto.Field{Name: "note", Type: onto.String, Optional: true})
	s.evolve(backend.Evolution{Add: []backend.NewVersion{{Schema: wider}}}, entityPut("Person", "c", 2, 1))
	other := openSample(t, b, 10*time.Second)
	for i := 5; i <= sampleRounds; i++ {
		by := []*sample{s, other}[i%2]
		key := ""
		if i%10 == 0 {
			key = fmt.Sprint("key", i)
		}
		by.commit(key, entityPut("Person", fmt.Sprint("p", i), 2, i))
		if i == 20 {
			plan, err := s.lake.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
			s.must(err)
			_, err = s.lake.Compact(t.Context(), plan, nil)
			s.must(err)
		}
	}
	s.must(other.lake.publisher.Checkpoint(t.Context()))
	s.lake.aside.Wait()
	other.lake.aside.Wait()
	return b
}

// copyBucket returns a bucket with the same objects.
func copyBucket(t testing.TB, b *memory.Bucket) *memory.Bucket {
	t.Helper()
	c := memory.New(nil)
	for after := ""; ; {
		page, err := b.List(t.Context(), "", after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			object, err := b.Get(t.Context(), e.Key, bucket.Range{}, "")
			if err == nil {
				_, err = c.Create(t.Context(), e.Key, object.Data)
			}
			if err != nil {
				t.Fatal(err)
			}
			after = e.Key
		}
		if len(page) < 1000 {
			return c
		}
	}
}

func (s *sample) read(key string) []byte {
	s.Helper()
	object, err := s.bucket.Get(s.Context(), key, bucket.Range{}, "")
	s.must(err)
	return object.Data
}

func (s *sample) write(key string, body []byte) {
	s.Helper()
	s.remove(key)
	_, err := s.bucket.Create(s.Context(), key, body)
	s.must(err)
}

func (s *sample) remove(key string) {
	s.Helper()
	s.must(s.bucket.Delete(s.Context(), key))
}

func (s *sample) tip() *protocol.Tip {
	s.Helper()
	return s.lake.log.Last()
}

// round returns the manifest of the nth newest round; 0 is the newest.
func (s *sample) round(n int) (string, *protocol.Manifest) {
	s.Helper()
	m := s.tip().Manifest
	path := m.Entry().Path
	if n > 0 {
		path = m.Ancestors[n-1].Path
	}
	m, err := protocol.ParseManifest(path, s.read(path))
	s.must(err)
	return path, m
}

// editRound changes the nth newest manifest.
func (s *sample) editRound(n int, edit func(m *protocol.Manifest)) string {
	s.Helper()
	path, m := s.round(n)
	edit(m)
	s.write(path, protocol.Encode(m))
	return path
}

func (s *sample) editHead(edit func(h *protocol.Head)) string {
	h := *s.tip().Head
	edit(&h)
	s.write(protocol.HeadKey, sealText(protocol.Encode(&h)))
	return protocol.HeadKey
}

func (s *sample) editCatalog(edit func(c *protocol.Catalog)) string {
	s.Helper()
	path := s.tip().Head.Catalog
	c, err := protocol.ParseCatalog(path, s.read(path))
	s.must(err)
	edit(c)
	s.write(path, sealText(protocol.Encode(c)))
	return path
}

// editCheckpoint changes the oldest checkpoint, and the catalog so that it matches.
func (s *sample) editCheckpoint(edit func(d *protocol.Checkpoint)) string {
	s.Helper()
	path := s.tip().Catalog.Checkpoints[0].Path
	doc := new(protocol.Checkpoint)
	s.must(json.Unmarshal(s.read(path), doc))
	edit(doc)
	body := protocol.Encode(doc)
	s.write(path, body)
	s.editCatalog(func(c *protocol.Catalog) { c.Checkpoints[0].SHA256 = protocol.HashOf(body) })
	return path
}

// editRows changes the versions in the file of the newest round, and its manifest so
// that it matches.
func (s *sample) editRows(edit func(list []onto.Version) []onto.Version) string {
	s.Helper()
	return s.editFile(edit, func(l *parquet.Layout) *parquet.Layout { return l })
}

// editFile is editRows with other columns.
func (s *sample) editFile(edit func(list []onto.Version) []onto.Version, columns func(l *parquet.Layout) *parquet.Layout) string {
	s.Helper()
	var path string
	s.editRound(0, func(m *protocol.Manifest) {
		f := &m.Files[0]
		path = f.Path
		file, err := parquet.Open(strings.NewReader(string(s.read(path))), f.Bytes, f.Kind, f.Type)
		s.must(err)
		var list []onto.Version
		for v, err := range file.All(s.Context()) {
			s.must(err)
			list = append(list, v)
		}
		types, err := protocol.ReadTypes(s.tip().Catalog)
		s.must(err)
		list = edit(list)
		body, sum, err := parquet.Encode(columns(datafile.LayoutOf(types, f.TypeName())), list)
		s.must(err)
		s.write(path, body)
		m.Commits[0].Operations, m.Commits[0].Touched[0].Operations = int(sum.Rows), int(sum.Rows)
		f.Rows, f.SHA256, f.Bytes, f.Typed, f.Unique = sum.Rows, protocol.HashOf(body), int64(len(body)), sum.Typed, sum.Unique
		f.Identities = datafile.IdentityHashes(list)
	})
	return path
}

func checked(t testing.TB, l *Backend) []onto.Finding {
	t.Helper()
	var found []onto.Finding
	for f, err := range l.Check(context.Background()) {
		if err != nil {
			t.Fatalf("after %v: %v", found, err)
		}
		if f = upkeep.Explain(f); f.Message == "" || f.Remedy.Text == "" || strings.Contains(f.Message, "\n") {
			t.Errorf("%+v lacks a message on one line or a remedy", f)
		}
		found = append(found, f)
	}
	return found
}

func codesOf(found []onto.Finding) string {
	var codes []string
	for _, f := range found {
		codes = append(codes, f.Code)
	}
	return strings.Join(codes, " ")
}

// fault is a way to damage the sample. Plant returns what the first finding must
// name.
type fault struct {
	name  string
	want  string // the codes
	plant func(s *sample) string
}

// Each fault is found, and nothing else is.
func TestCheckFindsFaults(t *testing.T) {
	healthy := makeSample(t)
	if found := checked(t, openSample(t, healthy, time.Second).lake); len(found) != 0 {
		t.Fatalf("the sample has findings: %v", found)
	}
	for _, f := range slices.Concat(logFaults(), checkpointFaults(), fileFaults(), versionFaults(), columnFaults(), typeFaults()) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel() // some wait
			s := openSample(t, copyBucket(t, healthy), time.Second)
			name := f.plant(s)
			found := checked(t, s.lake)
			if got := codesOf(found); got != f.want {
				t.Fatalf("got %v, want %s", found, f.want)
			}
			if !strings.Contains(found[0].Message, name) {
				t.Errorf("got %v, want one that names %s", found[0], name)
			}
		})
	}
}

// A check of a lake that is closed, or whose reader stops, ends.
func TestCheckEnds(t *testing.T) {
	s := openSample(t, makeSample(t), time.Second)
	s.editRound(3, func(m *protocol.Manifest) {
		m.Round, m.Commits[0].Metadata, m.Commits[0].Time = 1, []byte("[]"), "soon"
	})
	all := codesOf(checked(t, s.lake))
	if len(strings.Fields(all)) < 4 {
		t.Fatalf("got only %s", all)
	}
	for n := range len(strings.Fields(all)) {
		var some []onto.Finding
		for f, err := range s.lake.Check(t.Context()) {
			s.must(err)
			if some = append(some, f); len(some) > n {
				break
			}
		}
		if got := codesOf(some); !strings.HasPrefix(all, got) {
			t.Errorf("the first %d: got %s, want the beginning of %s", n+1, got, all)
		}
	}
	s.must(s.lake.Close())
	for f, err := range s.lake.Check(t.Context()) {
		if onto.CodeOf(err) != onto.Closed {
			t.Errorf("closed: got %v, %v", f, err)
		}
	}
}
