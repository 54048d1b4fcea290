package laketest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
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

// indexDocument is an index as any program reads it.
type indexDocument struct {
	Type     string        `json:"type_name"`
	Max      int64         `json:"max_indexed_commit"`
	Entries  []indexedFile `json:"entries"`
	Kind     onto.Kind     `json:"kind"`
	StoreID  string        `json:"store_id"`
	Sequence int64         `json:"sequence"`
}

// indexedFile is an entry of an index.
type indexedFile struct {
	First  int64  `json:"min_commit_id"`
	Last   int64  `json:"max_commit_id"`
	Path   string `json:"path"`
	Rows   int64  `json:"row_count"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"content_sha256"`
}

// Where the indexes of the types are.
const (
	thingIndex = "meta/indices/entities/Thing.json"
	likesIndex = "meta/indices/relations/Likes.json"
)

// lastTouched is the last commit that wrote a type.
func lastTouched(s *protocol.Shelf, t onto.TypeName) int64 {
	for _, e := range s.Tip.Manifest.LastTouched {
		if e.TypeName() == t {
			return e.Commit
		}
	}
	return 0
}
