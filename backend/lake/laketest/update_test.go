package laketest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

type Counter struct {
	ID string `json:"id" onto:"key"`
	N  int    `json:"n"`
}

// Many callers count at once, and no step is lost: 64 callers of one handle, and of
// three, which race each other.
func TestUpdateAtOnce(t *testing.T) {
	full := 100
	if !effort.Thorough(t) {
		full = 30
	}
	for _, c := range []struct{ handles, times int }{{1, effort.Count(t, full)}, {3, effort.Count(t, 20)}} {
		t.Run(fmt.Sprint(c.handles, " handles"), func(t *testing.T) {
			t.Parallel()
			countOn(t, c.handles, c.times)
		})
	}
}

func countOn(t *testing.T, handles, times int) {
	const callers = 64
	dir := t.TempDir()
	var stores []*store.Store
	for range handles {
		s, err := store.Open(t.Context(), openFiles(t, dir, 0), onto.TypeOf[Counter]())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	if _, err := stores[0].Commit(t.Context(), onto.Draft{}.Ensure(Counter{ID: "c"})); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards what follows
	tries, most := 0, 0
	increment := func(s *store.Store) error {
		n := 0
		_, err := store.Update(t.Context(), s, onto.Draft{}, store.Key{"c"}, func(c *Counter) error {
			n++
			c.N++
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		tries, most = tries+n, max(most, n)
		return err
	}
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range times {
				if err := increment(stores[i%handles]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	got, err := store.Get[Counter](t.Context(), stores[0].Now(), "c")
	if err != nil || got.N != callers*times {
		t.Errorf("got %+v, %v; want %d", got, err, callers*times)
	}
	t.Logf("%d callers of %d handles, %d updates each: %d retries, at most %d tries for one", callers, handles, times, tries-callers*times, most)
}
