package object_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// Process and Each hand out objects one by one, and end when they are told to.
func TestProcess(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		insert(t, acme, 60)
		want, err := acme.Select(ctx, object.All().OrderBy("sent"))
		must(t, err)
		for _, n := range []int{0, 1, 17, 59, 60} {
			stop := errors.New("stop")
			seen := 0
			done, err := acme.Process(ctx, object.All().OrderBy("sent"), func(_ context.Context, m Message) error {
				if m.ID != want[seen].ID {
					t.Errorf("object %d is %s, want %s", seen, m.ID, want[seen].ID)
				}
				if seen == n {
					return stop
				}
				seen++
				return nil
			})
			if done != n || n < 60 && err != stop || n == 60 && err != nil {
				t.Errorf("stopped at %d: processed %d, %v", n, done, err)
			}
			left := 0
			for o, err := range acme.EachWithMetadata(ctx, object.All().OrderBy("sent")) {
				if err != nil || o.Metadata.Version == 0 {
					t.Fatalf("got %+v, %v", o, err)
				}
				if left++; left > n {
					break
				}
			}
			if left != min(n+1, 60) {
				t.Errorf("left after %d, want %d", left, n+1)
			}
		}
		func() {
			defer func() {
				if r := recover(); r != "no" {
					t.Errorf("recovered %v", r)
				}
			}()
			acme.Process(ctx, nil, func(context.Context, Message) error { panic("no") })
		}()
		ending, cancel := context.WithCancel(ctx)
		n, err := acme.Process(ending, nil, func(context.Context, Message) error {
			cancel()
			return ending.Err()
		})
		if n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: processed %d, %v", n, err)
		}
		// After all of this the shards are as good as before: writes go on while a read is open.
		for m, err := range acme.Each(ctx, nil) {
			must(t, err)
			m.Text = "changed"
			must(t, acme.Update(ctx, m))
		}
		if n, err := acme.Count(ctx, object.Where().Key("text").Equal("changed")); n != 60 || err != nil {
			t.Errorf("changed %d, %v", n, err)
		}
		for _, err := range acme.Each(ctx, nil, "") {
			wantCode(t, err, onto.Invalid)
		}
	})
}
