package laketest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// fewCalls is a bucket that is closed after some calls.
type fewCalls struct {
	bucket.Bucket
	left atomic.Int64
}

func (b *fewCalls) spend() {
	if b.left.Add(-1) == -1 {
		b.Bucket.Close()
	}
}

func (b *fewCalls) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	b.spend()
	return b.Bucket.Get(ctx, key, r, ifNot)
}

func (b *fewCalls) Sync(ctx context.Context, key string) error {
	b.spend()
	return b.Bucket.Sync(ctx, key)
}

// A call during which the bucket is closed says so at once, whichever of its requests
// is the first to fail.
func TestBucketClosedUnderACall(t *testing.T) {
	things := &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head}
	draft := putThings("a")
	draft.IdempotencyKey = "again"
	calls := map[string]func(context.Context, *lake.Backend) error{
		"Get": func(ctx context.Context, l *lake.Backend) error {
			_, err := l.Get(ctx, onto.EntityID("Thing", "a"), backend.Head)
			return err
		},
		"Scan": func(ctx context.Context, l *lake.Backend) error {
			for _, err := range l.Scan(ctx, things) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Commits": func(ctx context.Context, l *lake.Backend) error {
			for _, err := range l.Commits(ctx, &backend.CommitQuery{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"unchanged": func(ctx context.Context, l *lake.Backend) error {
			_, err := l.Append(ctx, putThings("b"))
			return err
		},
		"repeated": func(ctx context.Context, l *lake.Backend) error {
			_, err := l.Append(ctx, draft)
			return err
		},
	}
	for name, call := range calls {
		failed := 0
		for n := range int64(40) {
			m := memory.New(nil)
			writer := openThings(t, m, lake.Options{})
			for _, d := range []*backend.Draft{draft, putThings("b"), putThings("c")} {
				if _, err := writer.Append(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			b := &fewCalls{Bucket: m}
			b.left.Store(1 << 40)
			l := openThings(t, b, lake.Options{})
			if _, err := writer.Append(t.Context(), putThings("d")); err != nil {
				t.Fatal(err)
			}
			writer.Close()
			b.left.Store(n)
			err := call(t.Context(), l)
			if err == nil {
				break
			}
			if failed++; onto.CodeOf(err) != onto.Closed {
				t.Errorf("%s, closed after %d requests: got error %v, want code %q", name, n, err, onto.Closed)
			}
		}
		if failed == 0 {
			t.Errorf("%s never failed", name)
		}
		t.Logf("%s: closed at %d places", name, failed)
	}
}
