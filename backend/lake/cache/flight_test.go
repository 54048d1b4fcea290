package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto/backend/lake/cache"
)

// joining is a context that reports when a Get has joined a fetch: then it waits for
// the end of both.
type joining struct {
	context.Context
	asked chan struct{}
}

// Done is called once by each waiting caller.
func (j joining) Done() <-chan struct{} {
	j.asked <- struct{}{}
	return j.Context.Done()
}

func TestOneFetchForAll(t *testing.T) {
	const callers = 8
	c := open(t, t.TempDir(), 0)
	data, asked, goOn := body(1, 100), make(chan struct{}, 100), make(chan struct{})
	var fetches atomic.Int64
	fetch := fetching(func(context.Context) ([]byte, error) {
		fetches.Add(1)
		<-goOn
		return data, nil
	})
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			_, release, err := c.Get(joining{context.Background(), asked}, objectOf(1, data), fetch)
			if err != nil {
				t.Error(err)
				return
			}
			release()
		})
	}
	for range callers {
		<-asked
	}
	close(goOn)
	wg.Wait()
	if got := fetches.Load(); got != 1 {
		t.Errorf("%d fetches, want 1", got)
	}
	if s := c.Stats(); s.Hits != callers-1 || s.Misses != 1 {
		t.Errorf("stats: got %+v", s)
	}
}

// A caller that gives up fails alone, also the first one, which started the fetch.
func TestWhoGivesUpFailsAlone(t *testing.T) {
	c := open(t, t.TempDir(), 0)
	data, goOn := body(1, 100), make(chan struct{})
	fetch := fetching(func(ctx context.Context) ([]byte, error) {
		select {
		case <-goOn:
			return data, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	first, cancel := context.WithCancel(t.Context())
	results := [2]chan error{make(chan error), make(chan error)}
	for i, ctx := range []context.Context{first, t.Context()} {
		asked := make(chan struct{}, 10)
		go func() {
			_, release, err := c.Get(joining{ctx, asked}, objectOf(1, data), fetch)
			if err == nil {
				release()
			}
			results[i] <- err
		}()
		<-asked
	}
	cancel()
	if err := <-results[0]; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: got %v", err)
	}
	close(goOn)
	if err := <-results[1]; err != nil {
		t.Errorf("who waited: got %v", err)
	}
}

// When all callers have given up the fetch is cancelled, and the next Get starts a new
// one.
func TestAllGiveUp(t *testing.T) {
	t.Run("it ends", func(t *testing.T) { allGiveUp(t, nil) })
	t.Run("it goes on", func(t *testing.T) { allGiveUp(t, body(1, 100)) })
}

// allGiveUp lets the cancelled fetch return the data, or an error without any.
func allGiveUp(t *testing.T, late []byte) {
	c := open(t, t.TempDir(), 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, goOn := make(chan struct{}), make(chan struct{})
	_, _, err := c.Get(ctx, objectOf(1, body(1, 100)), fetching(func(ctx context.Context) ([]byte, error) {
		cancel()
		<-ctx.Done()
		close(cancelled)
		<-goOn
		if late != nil {
			return late, nil
		}
		return nil, ctx.Err()
	}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-cancelled
	asked := make(chan struct{}, 10)
	result := make(chan error)
	go func() {
		_, release, err := c.Get(joining{t.Context(), asked}, objectOf(1, body(1, 100)), giving(body(1, 100)))
		if err == nil {
			release()
		}
		result <- err
	}()
	<-asked // it waits for the end of the first fetch
	close(goOn)
	if err := <-result; err != nil {
		t.Errorf("the next one: %v", err)
	}
	if _, _, err := c.Get(ctx, objectOf(1, body(1, 100)), noFetch); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is done: got %v", err)
	}
	c.Close()
	if _, err := os.Stat(c.Directory()); !os.IsNotExist(err) {
		t.Errorf("the folder after Close, with nothing in use: %v", err)
	}
}

// Caches of one directory with too little room work side by side: every path
// holds its object while it is used.
func TestManyAtOnce(t *testing.T) {
	const objects, workers, rounds = 20, 4, 150
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i, limit := range []int64{1000, 3000, 100000} {
		c := open(t, dir, limit)
		if i == 2 {
			c.ForbidLinks()
		}
		for w := range workers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), uint64(w)))
				for range rounds {
					if err := useOne(c, r, r.IntN(objects)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func useOne(c *cache.Cache, r *rand.Rand, n int) error {
	data := body(n, 100+n*10)
	if r.IntN(4) == 0 {
		c.Put(objectOf(n, data), data)
	}
	name, release, err := c.Get(context.Background(), objectOf(n, data), giving(data))
	if err != nil {
		return fmt.Errorf("get %d: %w", n, err)
	}
	defer release()
	return sameFile(name, data)
}
