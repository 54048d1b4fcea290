package parallel

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Every number comes once, as many at a time as allowed, and all errors come back.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []int
		running, most := 0, 0
		odd := errors.New("odd")
		began := time.Now()
		err := Do(3, 10, func(i int) error {
			mu.Lock()
			seen = append(seen, i)
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			if i%2 == 1 {
				return odd
			}
			return nil
		})
		slices.Sort(seen)
		if !slices.Equal(seen, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) || most != 3 || time.Since(began) != 4*time.Second {
			t.Errorf("got %v, %d at a time, after %v; want each once, 3 at a time, after 4s", seen, most, time.Since(began))
		}
		var joined interface{ Unwrap() []error }
		if !errors.Is(err, odd) || !errors.As(err, &joined) || len(joined.Unwrap()) != 5 {
			t.Errorf("got %v, want 5 errors", err)
		}
	})
}
