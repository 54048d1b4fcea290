package derived_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/derived"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// derivedBucket is a bucket that counts writes of derived objects, delays the indexes
// until it is opened, and may fail all of them.
type derivedBucket struct {
	bucket.Bucket
	gate chan struct{} // nil if nothing is delayed

	mu     sync.Mutex // guards what follows
	broken bool
	writes map[string]int
}

func newDerivedBucket() *derivedBucket {
	return &derivedBucket{Bucket: memory.New(&memory.Options{SameTag: true}), writes: map[string]int{}}
}

func (b *derivedBucket) note(key string) error {
	if !strings.HasPrefix(key, "meta/indices/") && !strings.HasPrefix(key, "meta/schema/") {
		return nil
	}
	if b.gate != nil {
		<-b.gate
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes[key]++
	if b.broken {
		return errors.New("the derived objects cannot be reached")
	}
	return nil
}

func (b *derivedBucket) setBroken(broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = broken
}

func (b *derivedBucket) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if err := b.note(key); err != nil {
		return "", err
	}
	return b.Bucket.Create(ctx, key, data)
}

func (b *derivedBucket) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	if err := b.note(key); err != nil {
		return "", err
	}
	return b.Bucket.Swap(ctx, key, data, old)
}

func (b *derivedBucket) Close() error { return nil }

// derivingLake is a lake with a deriver that is called after each commit.
type derivingLake struct {
	*lake.Backend
	log       *protocol.Log
	publisher *protocol.Publisher
	deriver   *derived.Deriver
	aside     sync.WaitGroup

	mu    sync.Mutex // guards shelf
	shelf *protocol.Shelf
}

func openDeriving(t *testing.T, b bucket.Bucket) *derivingLake {
	t.Helper()
	l, err := lake.Open(t.Context(), b, &lake.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	log := protocol.NewLog(b, protocol.Settings{Now: time.Now, Attempt: attempt, Jitter: func(int64) int64 { return 0 }, Patience: lake.DefaultPatience})
	publisher := protocol.NewPublisher(log)
	d := &derivingLake{Backend: l, log: log, publisher: publisher, deriver: derived.NewDeriver(publisher, b)}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func attempt() string { return rand.Text()[:16] }

// Close closes the lake and waits for what is derived.
func (l *derivingLake) Close() error {
	err := l.Backend.Close()
	l.aside.Wait()
	return err
}

// rest waits until all that was committed is derived, also by the lake itself, which
// a survey waits for.
func (l *derivingLake) rest(t *testing.T) {
	t.Helper()
	l.aside.Wait()
	for _, err := range l.Survey(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// newest is the shelf of the newest head.
func (l *derivingLake) newest(ctx context.Context) (*protocol.Shelf, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tip, err := l.log.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	s, err := l.log.Shelve(ctx, tip, l.shelf)
	if err == nil {
		l.shelf = s
	}
	return s, err
}

// derived lets the deriver follow what was published last.
func (l *derivingLake) derived(touched []onto.TypeName, schemaChanged bool) {
	s, err := l.newest(context.Background())
	if err != nil {
		panic(err) // the bucket is in memory
	}
	l.aside.Go(func() { l.deriver.Derive(context.Background(), s, touched, schemaChanged) })
}

func thingType() onto.TypeName { return onto.TypeName{Kind: onto.KindEntity, Name: "Thing"} }

func likesType() onto.TypeName { return onto.TypeName{Kind: onto.KindRelation, Name: "Likes"} }

func (l *derivingLake) register(t *testing.T) {
	t.Helper()
	_, err := l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}},
		{Kind: onto.KindRelation, Name: "Likes", Left: "Thing", Right: "Thing"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	l.derived(nil, true)
}

// put commits a thing.
func (l *derivingLake) put(ctx context.Context, key string) error {
	_, err := l.Append(ctx, &backend.Draft{Writes: []backend.Write{{
		Identity: onto.EntityID("Thing", key), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":%q}`, key), SchemaVersion: 1,
	}}})
	l.derived([]onto.TypeName{thingType()}, false)
	return err
}

// link commits a relation between two things.
func (l *derivingLake) link(ctx context.Context, left, right string) error {
	_, err := l.Append(ctx, &backend.Draft{Writes: []backend.Write{{
		Identity: onto.RelationID("Likes", left, right), Op: onto.Put, Fields: []byte(`{}`), SchemaVersion: 1,
	}}})
	l.derived([]onto.TypeName{likesType()}, false)
	return err
}

// fill makes a few commits of both types and waits for what is derived.
func (l *derivingLake) fill(t *testing.T) {
	t.Helper()
	l.register(t)
	err := errors.Join(l.put(t.Context(), "a"), l.put(t.Context(), "b"), l.link(t.Context(), "a", "b"), l.put(t.Context(), "c"))
	if err != nil {
		t.Fatal(err)
	}
	l.rest(t)
}

// readJSON reads an object as any program would.
func readJSON[T any](t *testing.T, b bucket.Bucket, key string) T {
	t.Helper()
	o, err := b.Get(t.Context(), key, bucket.Range{}, "")
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	var doc T
	if err := json.Unmarshal(o.Data, &doc); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return doc
}

// wantSound fails if a derived object is not as it should be.
func wantSound(t *testing.T, b bucket.Bucket) {
	t.Helper()
	l, err := lake.Open(t.Context(), b, &lake.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	findings, err := l.VerifyIndex(t.Context())
	if err != nil || len(findings) > 0 {
		t.Errorf("got findings %v, error %v; want none", findings, err)
	}
}

// After commits each index lists the files that the head leads to, in the
// members that other programs look for.
func TestIndexesMatchTheShelf(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.fill(t)
	s, err := l.newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[onto.TypeName]string{thingType(): "meta/indices/entities/Thing.json", likesType(): "meta/indices/relations/Likes.json"} {
		doc := readJSON[map[string]any](t, b, key)
		if doc["type_name"] != name.Name || doc["max_indexed_commit"].(float64) < float64(derived.LastTouched(s, name)) {
			t.Errorf("%s: got %v, want the type and commit %d", key, doc, derived.LastTouched(s, name))
		}
		var paths, want []string
		for _, e := range doc["entries"].([]any) {
			e := e.(map[string]any)
			paths = append(paths, fmt.Sprint(e["min_commit_id"], e["max_commit_id"], e["path"], e["row_count"], e["bytes"], e["content_sha256"]))
		}
		for _, f := range s.Files[name] {
			want = append(want, fmt.Sprint(f.First, f.Last, f.Path, f.Rows, f.Bytes, f.SHA256))
		}
		if !slices.Equal(paths, want) || len(want) == 0 {
			t.Errorf("%s: got %q, want %q", key, paths, want)
		}
	}
	wantSound(t, b)
}

// The checks that D1 gives for an index that lags find nothing.
func TestIndexCoversTheHead(t *testing.T) {
	b := newDerivedBucket()
	openDeriving(t, b).fill(t)
	type file struct {
		Kind string `json:"kind"`
		Type string `json:"type_name"`
		Path string `json:"path"`
	}
	type entry struct {
		Min  int64  `json:"min_commit_id"`
		Max  int64  `json:"max_commit_id"`
		Path string `json:"path"`
	}
	h := readJSON[struct {
		Commit int64  `json:"commit_id"`
		Path   string `json:"manifest_path"`
	}](t, b, "meta/head.json")
	m := readJSON[struct {
		Files []file `json:"files"`
	}](t, b, h.Path)
	x := readJSON[struct {
		Max     int64   `json:"max_indexed_commit"`
		Entries []entry `json:"entries"`
	}](t, b, "meta/indices/entities/Thing.json")
	if x.Max != h.Commit {
		t.Errorf("the index covers commit %d, want the head %d", x.Max, h.Commit)
	}
	i := slices.IndexFunc(m.Files, func(f file) bool { return f.Kind == "entity" && f.Type == "Thing" })
	j := slices.IndexFunc(x.Entries, func(e entry) bool { return e.Min <= h.Commit && h.Commit <= e.Max })
	if i < 0 || j < 0 || x.Entries[j].Path != m.Files[i].Path {
		t.Errorf("got files %v and entries %v, want the same path for the head", m.Files, x.Entries)
	}
}

// Commits do not wait for what is derived, and a burst of them costs few writes.
func TestIndexBurst(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.register(t)
	l.rest(t)
	b.gate = make(chan struct{})
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			for j := range 125 {
				errs[i] = errors.Join(errs[i], l.put(t.Context(), fmt.Sprintf("%d-%d", i, j)))
			}
		})
	}
	wg.Wait() // all are published while the first index is delayed
	close(b.gate)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := b.writes[derived.IndexKey(thingType())]; n < 1 || n > 8 {
		t.Errorf("the index was written %d times, want a few", n)
	}
	if x := readJSON[derived.Index](t, b, derived.IndexKey(thingType())); x.Max != 500 {
		t.Errorf("the index covers commit %d, want 500", x.Max)
	}
	wantSound(t, b)
}

// A thousand rounds cost few writes of a growing index even if each is written faster
// than the next round comes. Delayed writes are done when the burst is over, or when
// the lake is closed.
func TestIndexIsPaced(t *testing.T) {
	for _, closes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newDerivedBucket()
			l := protocol.NewLog(b, protocol.Settings{Now: time.Now, Attempt: attempt, Jitter: func(int64) int64 { return 0 }, Patience: time.Second})
			d := derived.NewDeriver(protocol.NewPublisher(l), b)
			s := &protocol.Shelf{Types: &protocol.Types{}}
			var wg sync.WaitGroup
			for i := range int64(1000) {
				files := append(s.Files[thingType()], protocol.FileEntry{Kind: onto.KindEntity, Type: "Thing", Version: 1, First: i + 1, Last: i + 1})
				s = &protocol.Shelf{
					Tip: &protocol.Tip{Head: &protocol.Head{StoreID: "s", CommitID: i + 1, Sequence: i + 1}}, Types: s.Types, Files: map[onto.TypeName][]protocol.FileEntry{thingType(): files},
				}
				now := s
				wg.Go(func() { d.Derive(t.Context(), now, []onto.TypeName{thingType()}, false) })
				time.Sleep(10 * time.Millisecond)
			}
			start := time.Now()
			if closes {
				d.Settle()
			}
			wg.Wait()
			if waited := time.Since(start); closes && waited > 0 {
				t.Errorf("closing has waited for %v, want not at all", waited)
			}
			if n := b.writes[derived.IndexKey(thingType())]; n < 10 || n > 100 {
				t.Errorf("the index was written %d times, want some dozens", n)
			}
			if x := readJSON[derived.Index](t, b, derived.IndexKey(thingType())); x.Max != 1000 || len(x.Entries) != 1000 {
				t.Errorf("the index covers commit %d with %d entries, want 1000", x.Max, len(x.Entries))
			}
		})
	}
}

// When derived objects cannot be written, commits succeed all the same. The next commit
// writes what is missing.
func TestIndexFaults(t *testing.T) {
	b := newDerivedBucket()
	b.setBroken(true)
	l := openDeriving(t, b)
	l.fill(t)
	for _, want := range []string{"meta/", "could not be written", "the derived objects cannot be reached"} {
		if got := l.deriver.Warning(); !strings.Contains(got, want) {
			t.Errorf("the warning is %q, want it to tell %q", got, want)
		}
	}
	findings, err := l.VerifyIndex(t.Context())
	if err != nil || len(findings) == 0 {
		t.Errorf("got findings %v, error %v; want what is missing", findings, err)
	}
	plan, err := l.PlanIndexRepair(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.RepairIndex(t.Context(), plan); onto.CodeOf(err) != onto.Unavailable {
		t.Errorf("repair: got %v, want Unavailable", err)
	}
	b.setBroken(false)
	if err := l.put(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	l.rest(t)
	if got := l.deriver.Warning(); got != "" {
		t.Errorf("the warning is %q, want none", got)
	}
	wantSound(t, b)
}

// A tip tells what its publication has touched, and nothing that other publications
// have.
func TestTouchedBy(t *testing.T) {
	l := openDeriving(t, newDerivedBucket())
	want := func(types []onto.TypeName, schemaChanged bool) {
		t.Helper()
		tip, err := l.log.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, changed := derived.TouchedBy(tip); !slices.Equal(got, types) || changed != schemaChanged {
			t.Errorf("got %v, %v; want %v, %v", got, changed, types, schemaChanged)
		}
	}
	l.register(t)
	want(nil, true)
	if err := l.put(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	want([]onto.TypeName{thingType()}, false)
	if _, err := l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Other", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}},
	}}); err != nil {
		t.Fatal(err)
	}
	want(nil, true)
}

// A handle that is behind leaves newer indexes alone, unless no head is as new.
func TestIndexNeverGoesBack(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.fill(t)
	old, err := l.newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.put(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	l.rest(t)
	late := derived.NewDeriver(l.publisher, b)
	late.Derive(t.Context(), old, []onto.TypeName{thingType()}, false)
	if x := readJSON[derived.Index](t, b, derived.IndexKey(thingType())); x.Max != 5 || len(x.Entries) != 4 {
		t.Errorf("the index covers commit %d with %d entries, want 5 and 4", x.Max, len(x.Entries))
	}
	replaceJSON(t, b, derived.IndexKey(thingType()), func(x *derived.Index) { x.Max, x.Sequence = 1000, 1000 })
	late = derived.NewDeriver(l.publisher, b) // that remembers no tags
	late.Derive(t.Context(), old, []onto.TypeName{thingType()}, false)
	wantSound(t, b)
}

// Two handles that commit at the same time leave correct indexes.
func TestIndexRace(t *testing.T) {
	b := newDerivedBucket()
	first := openDeriving(t, b)
	first.register(t)
	lakes := []*derivingLake{first, openDeriving(t, b)}
	var wg sync.WaitGroup
	errs := make([]error, len(lakes))
	for i, l := range lakes {
		wg.Go(func() {
			for j := range 30 {
				key := fmt.Sprintf("%d-%d", i, j)
				errs[i] = errors.Join(errs[i], l.put(t.Context(), key), l.link(t.Context(), key, key))
			}
		})
	}
	wg.Wait()
	for i, l := range lakes {
		if err := errors.Join(errs[i], l.Close()); err != nil {
			t.Fatal(err)
		}
		if w := l.deriver.Warning(); w != "" {
			t.Errorf("the warning is %q, want none", w)
		}
	}
	wantSound(t, b)
}

// replaceJSON edits an object without the knowledge of any handle.
func replaceJSON[T any](t *testing.T, b bucket.Bucket, key string, edit func(*T)) {
	t.Helper()
	doc := readJSON[T](t, b, key)
	edit(&doc)
	replaceBody(t, b, key, protocol.Encode(doc))
}

func replaceBody(t *testing.T, b bucket.Bucket, key string, body []byte) {
	t.Helper()
	err := b.Delete(t.Context(), key)
	if err == nil && body != nil {
		_, err = b.Create(t.Context(), key, body)
	}
	if err != nil {
		t.Fatal(err)
	}
}
