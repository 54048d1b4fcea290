package laketest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/store"
)

type Counter struct {
	ID string `json:"id" onto:"key"`
	N  int    `json:"n"`
}

// Callers of two handles on one lake count at once, and no step is lost: 64 callers with
// 100 updates each in a long run.
func TestUpdateAtOnce(t *testing.T) {
	t.Parallel()
	callers, times := 16, 10
	if backendtest.Soak() {
		callers, times = 64, 100
	}
	dir := t.TempDir()
	var handles []*store.Store
	for range 2 {
		s, err := store.Open(t.Context(), openFiles(t, dir, 0), onto.TypeOf[Counter]())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		handles = append(handles, s)
	}
	if _, err := handles[0].Commit(t.Context(), onto.Draft{}.Ensure(Counter{ID: "c"})); err != nil {
		t.Fatal(err)
	}
	var tries atomic.Int64
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range times {
				_, err := store.Update(t.Context(), handles[i%2], onto.Draft{}, store.Key{"c"}, func(c *Counter) error {
					tries.Add(1)
					c.N++
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	got, err := store.Get[Counter](t.Context(), handles[0].Now(), "c")
	if err != nil || got.N != callers*times {
		t.Errorf("got %+v, %v; want %d", got, err, callers*times)
	}
	t.Logf("%d callers, %d updates each: %d retries", callers, times, tries.Load()-int64(callers*times))
}
