package derived_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/derived"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// countingBucket is a bucket that counts writes.
type countingBucket struct {
	bucket.Bucket

	mu     sync.Mutex // guards writes
	writes map[string]int
}

func newCountingBucket() *countingBucket {
	return &countingBucket{Bucket: memory.New(&memory.Options{SameTag: true}), writes: map[string]int{}}
}

func (b *countingBucket) note(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes[key]++
}

func (b *countingBucket) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	b.note(key)
	return b.Bucket.Create(ctx, key, data)
}

func (b *countingBucket) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	b.note(key)
	return b.Bucket.Swap(ctx, key, data, old)
}

func thingType() onto.TypeName { return onto.TypeName{Kind: onto.KindEntity, Name: "Thing"} }

// A thousand rounds cost few writes of a growing index even if each is written faster
// than the next round comes. Delayed writes are done when the burst is over, or when
// the lake is closed.
func TestIndexIsPaced(t *testing.T) {
	for _, closes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newCountingBucket()
			l := protocol.NewLog(b, protocol.Settings{Now: time.Now, Attempt: func() string { return rand.Text()[:16] }, Jitter: func(int64) int64 { return 0 }, Patience: time.Second})
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
			o, err := b.Get(t.Context(), derived.IndexKey(thingType()), bucket.Range{}, "")
			if err != nil {
				t.Fatal(err)
			}
			var x derived.Index
			if err := json.Unmarshal(o.Data, &x); err != nil || x.Max != 1000 || len(x.Entries) != 1000 {
				t.Errorf("the index covers commit %d with %d entries, error %v; want 1000", x.Max, len(x.Entries), err)
			}
		})
	}
}
