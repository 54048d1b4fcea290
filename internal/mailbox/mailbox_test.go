package mailbox

import (
	"sync"
	"testing"
)

// Everything that is posted is done once, in the order of each poster, and a loop that
// waits for the signal misses nothing.
func TestMailbox(t *testing.T) {
	const posters, each = 8, 1000
	m := New()
	var wg sync.WaitGroup
	last, done := make([]int, posters), 0
	for p := range posters {
		wg.Go(func() {
			for i := 1; i <= each; i++ {
				m.Post(func() {
					if done++; last[p] != i-1 {
						t.Errorf("%d after %d", i, last[p])
					}
					last[p] = i
				})
			}
		})
	}
	for done < posters*each {
		<-m.Signal()
		for _, f := range m.Take() {
			f()
		}
	}
	wg.Wait()
	m.Ring()
	if <-m.Signal(); len(m.Take()) != 0 {
		t.Error("a ring is no mail")
	}
}
