package buckettest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto/backend/lake/bucket"
)

const (
	racers = 16
	rounds = 200
)

// race calls from many goroutines at the same moment and returns their tags and
// errors.
func race(call func(racer int) (bucket.Tag, error)) ([]bucket.Tag, []error) {
	tags, errs := make([]bucket.Tag, racers), make([]error, racers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			<-start
			tags[i], errs[i] = call(i)
		})
	}
	close(start)
	wg.Wait()
	return tags, errs
}

// winner returns the one that succeeded. All others must have lost by the error
// of the contract.
func (t *tester) winner(errs []error, lost error) int {
	t.Helper()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won >= 0:
			t.Fatalf("both %d and %d succeeded", won, i)
		case err == nil:
			won = i
		case !errors.Is(err, lost):
			t.Fatalf("racer %d: got error %v, want %v", i, err, lost)
		}
	}
	if won < 0 {
		t.Fatalf("nobody succeeded: %v", errs[0])
	}
	return won
}

func raceCreate(t *tester) {
	for round := range rounds {
		key := fmt.Sprintf("r/%d", round)
		body := func(i int) string { return fmt.Sprintf("%d of round %d", i, round) }
		tags, errs := race(func(i int) (bucket.Tag, error) { return t.create(key, []byte(body(i))) })
		won := t.winner(errs, bucket.ErrExists)
		t.wantObject(key, body(won), tags[won])
	}
	t.Logf("%d rounds of %d creates", rounds, racers)
}

func raceSwap(t *tester) {
	tag := t.mustCreate("a", "start")
	for round := range rounds {
		body := func(i int) string { return fmt.Sprintf("%d of round %d", i, round) }
		tags, errs := race(func(i int) (bucket.Tag, error) { return t.swap("a", []byte(body(i)), tag) })
		won := t.winner(errs, bucket.ErrChanged)
		tag = tags[won]
		t.wantObject("a", body(won), tag)
	}
	t.Logf("%d rounds of %d swaps", rounds, racers)
}

// raceCount lets all racers add to one number: no addition may be lost.
func raceCount(t *tester) {
	const each = 10
	t.mustCreate("n", "0")
	_, errs := race(func(int) (bucket.Tag, error) {
		for range each {
			if err := t.increment("n"); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	o, err := t.get("n", bucket.Range{}, "")
	if want := strconv.Itoa(racers * each); err != nil || string(o.Data) != want {
		t.Errorf("got %q after %s additions, error %v", o.Data, want, err)
	}
}

// increment adds one to a number. A racer that loses 10,000 times against 15 others has
// met a bucket in which no swap wins.
func (t *tester) increment(key string) error {
	for range 10000 {
		o, err := t.get(key, bucket.Range{}, "")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(o.Data))
		if err != nil {
			return err
		}
		if _, err = t.swap(key, []byte(strconv.Itoa(n+1)), o.Tag); !errors.Is(err, bucket.ErrChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: every swap was lost", key)
}

// raceDelete swaps and deletes at once. In either order the object is gone at the end:
// the swap came first, or found nothing.
func raceDelete(t *tester) {
	for round := range rounds / 4 {
		key := fmt.Sprintf("d/%d", round)
		tag := t.mustCreate(key, "start")
		_, errs := race(func(i int) (bucket.Tag, error) {
			if i == 0 {
				return "", t.delete(key)
			}
			return t.swap(key, fmt.Appendf(nil, "%d", i), tag)
		})
		if errs[0] != nil {
			t.Fatalf("delete: %v", errs[0])
		}
		swapped := 0
		for _, err := range errs[1:] {
			switch {
			case err == nil:
				swapped++
			case !errors.Is(err, bucket.ErrChanged) && !errors.Is(err, bucket.ErrNotFound):
				t.Fatalf("swap: got error %v, want %v or %v", err, bucket.ErrChanged, bucket.ErrNotFound)
			}
		}
		if swapped > 1 {
			t.Fatalf("%d swaps with one tag succeeded", swapped)
		}
		t.wantNone(key)
	}
}

// wholeReads reads while objects are swapped. Each body is one byte repeated, in a
// length of its own, so that a mixture is recognised.
func wholeReads(t *tester) {
	body := func(n int) []byte { return bytes.Repeat([]byte{byte('a' + n%26)}, 60000+n) }
	tag := t.mustCreate("a", string(body(0)))
	var written atomic.Int64
	done := make(chan struct{})
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = t.readWhole(done, &written, body) })
	}
	err := func() (err error) {
		defer close(done)
		for n := 1; n <= 100 && err == nil; n++ {
			written.Store(int64(n)) // from here on, readers may see it
			tag, err = t.swap("a", body(n), tag)
		}
		return err
	}()
	wg.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Error(err)
	}
}

// readWhole reads until done is closed. What it sees is whole, has the size it
// says, and never goes back.
func (t *tester) readWhole(done chan struct{}, written *atomic.Int64, body func(int) []byte) error {
	last := 0
	for {
		o, err := t.get("a", bucket.Range{}, "")
		if err != nil {
			return err
		}
		n := len(o.Data) - 60000
		if n < 0 || n > int(written.Load()) || !bytes.Equal(o.Data, body(n)) || o.Size != int64(len(o.Data)) {
			return fmt.Errorf("a reader saw a mixture: %s, size %d", brief(o.Data), o.Size)
		}
		if n < last {
			return fmt.Errorf("a reader saw swap %d after swap %d", n, last)
		}
		last = n
		select {
		case <-done:
			return nil
		default:
		}
	}
}
