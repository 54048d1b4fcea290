// Package parallel calls a function many times side by side, and waits for all of
// them.
package parallel

import (
	"errors"
	"sync"
)

// Do calls f for each number from 0 on and below n, at most limit at a time, and
// joins their errors.
func Do(limit, n int, f func(i int) error) error {
	errs := make([]error, n)
	free := make(chan struct{}, limit)
	var wg sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i)
			<-free
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
