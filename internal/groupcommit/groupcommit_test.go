package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
)

// caller wants to commit its name.
type caller struct {
	Member
	name    string
	code    func() // runs when it is committed
	verdict error
}

var errRefused = errors.New("refused")

// ledger is a backend: it commits names, one group at a time.
type ledger struct {
	*Queue[*caller]
	lock  chan struct{}
	begin func(leader *caller) error // nil if beginning always succeeds
	ended func()                     // called before lead returns; nil for nothing

	leading atomic.Int32
	groups  [][]string
}

func newLedger(t *testing.T, bounds Bounds) *ledger {
	l := &ledger{lock: make(chan struct{}, 1)}
	l.Queue = New(bounds, func(leader *caller) error {
		select {
		case l.lock <- struct{}{}:
		case <-leader.Context().Done():
			return leader.Context().Err()
		}
		defer func() { <-l.lock }()
		if l.begin != nil {
			if err := l.begin(leader); err != nil {
				return err
			}
		}
		if l.leading.Add(1) != 1 {
			t.Error("two callers lead")
		}
		defer l.leading.Add(-1)
		l.commit(l.Take())
		if l.ended != nil {
			l.ended()
		}
		return nil
	})
	return l
}

func (l *ledger) commit(group []*caller) {
	var names []string
	for _, c := range group {
		ok := c.Run(func() {
			if c.code != nil {
				c.code()
			}
		})
		switch {
		case !ok:
		case c.name == "":
			c.verdict = errRefused
		default:
			names = append(names, c.name)
		}
	}
	l.groups = append(l.groups, names)
}

// committed returns all names, and fails if one comes twice.
func (l *ledger) committed(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, name := range slices.Concat(l.groups...) {
		if all[name] {
			t.Errorf("%s was committed twice", name)
		}
		all[name] = true
	}
	return all
}

func (l *ledger) append(ctx context.Context, c *caller, size Size) error {
	if err := l.Do(ctx, c, size); err != nil {
		return err
	}
	return c.verdict
}

// gather lets callers join one after the other while the lock is held, and returns a
// function that frees the lock and returns their errors.
func (l *ledger) gather(ctxs []context.Context, callers []*caller, sizes []Size) (free func() []error) {
	l.lock <- struct{}{}
	errs := make([]error, len(callers))
	var wg sync.WaitGroup
	for i, c := range callers {
		before := l.Len()
		wg.Go(func() { errs[i] = l.append(ctxs[i], c, sizes[i]) })
		l.awaitLen(before + 1)
	}
	return func() []error {
		<-l.lock
		wg.Wait()
		return errs
	}
}

func (l *ledger) awaitLen(n int) {
	for l.Len() != n {
		runtime.Gosched()
	}
}

// named makes callers, with a context and a size of one write for each.
func named(t *testing.T, n int) ([]context.Context, []*caller, []Size) {
	ctxs, callers, sizes := make([]context.Context, n), make([]*caller, n), make([]Size, n)
	for i := range n {
		ctxs[i], callers[i], sizes[i] = t.Context(), &caller{name: fmt.Sprint(i)}, Size{Writes: 1}
	}
	return ctxs, callers, sizes
}

// Each caller gets a verdict of its own, once, whatever group it is in; a queue that
// was used by many is empty and free afterwards.
func TestManyCallers(t *testing.T) {
	const callers, rounds = 64, 100
	l := newLedger(t, Bounds{Callers: 16})
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			again := &caller{} // a place may be reused
			for i := range rounds {
				again.name, again.verdict = fmt.Sprintf("%d-%d", c, i), nil
				var want error
				if i%10 == 9 {
					again.name, want = "", errRefused
				}
				if err := l.append(t.Context(), again, Size{Writes: 1}); err != want {
					t.Errorf("%s: got %v, want %v", again.name, err, want)
				}
			}
		})
	}
	wg.Wait()
	if n := len(l.committed(t)); n != callers*rounds*9/10 {
		t.Errorf("got %d commits, want %d", n, callers*rounds*9/10)
	}
	for _, g := range l.groups {
		if len(g) > 16 {
			t.Errorf("a group has %d callers, want at most 16", len(g))
		}
	}
	if l.Len() != 0 || l.led {
		t.Errorf("%d wait and led is %v, want an empty queue", l.Len(), l.led)
	}
	t.Logf("%d commits in %d groups", callers*rounds*9/10, len(l.groups))
}

func TestBounds(t *testing.T) {
	size := func(sizes ...int) (list []Size) {
		for _, n := range sizes {
			list = append(list, Size{Writes: n % 100, Bytes: n})
		}
		return list
	}
	for name, c := range map[string]struct {
		bounds Bounds
		sizes  []Size
		want   []int
	}{
		"none":               {Bounds{}, size(1, 1, 1, 1, 1), []int{5}},
		"callers":            {Bounds{Callers: 2}, size(1, 1, 1, 1, 1), []int{2, 2, 1}},
		"writes":             {Bounds{Writes: 10}, size(4, 6, 1, 9, 1), []int{2, 2, 1}},
		"bytes":              {Bounds{Writes: 1000, Bytes: 500}, size(400, 400, 400, 1), []int{2, 2}},
		"one beyond a bound": {Bounds{Writes: 10}, size(99, 1, 99, 1), []int{1, 2, 1}},
		"whichever is first": {Bounds{Callers: 3, Writes: 10}, size(1, 1, 1, 10, 1), []int{3, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(t, c.bounds)
			ctxs, callers, _ := named(t, len(c.sizes))
			for i, err := range l.gather(ctxs, callers, c.sizes)() {
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			}
			var got []int
			for _, g := range l.groups {
				got = append(got, len(g))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got groups of %v, want %v", got, c.want)
			}
			if all := slices.Concat(l.groups...); !slices.IsSorted(all) {
				t.Errorf("got %v, want the order in which they joined", all)
			}
		})
	}
}

// A leader that cannot begin fails alone, and the next one leads.
func TestLeaderFails(t *testing.T) {
	l := newLedger(t, Bounds{})
	planted := errors.New("planted")
	l.begin = func(leader *caller) error {
		if leader.name == "0" || leader.name == "1" {
			return planted
		}
		return nil
	}
	errs := l.gather(named(t, 4))()
	if want := []error{planted, planted, nil, nil}; !slices.Equal(errs, want) {
		t.Errorf("got %v, want %v", errs, want)
	}
	if got := fmt.Sprint(l.groups); got != "[[2 3]]" {
		t.Errorf("got %s, want one group of the others", got)
	}
}

// A caller whose context ends before its turn is in no group; that it waits for the
// lock as the leader makes no difference to the others.
func TestLeaving(t *testing.T) {
	for gone := range 3 {
		l := newLedger(t, Bounds{})
		ctxs, callers, sizes := named(t, 3)
		ctx, cancel := context.WithCancel(t.Context())
		ctxs[gone] = ctx
		free := l.gather(ctxs, callers, sizes)
		cancel()
		l.awaitLen(2)
		for i, err := range free() {
			if want := map[bool]error{true: context.Canceled}[i == gone]; err != want {
				t.Errorf("caller %d when %d leaves: got %v, want %v", i, gone, err, want)
			}
		}
		if all := l.committed(t); len(all) != 2 || all[callers[gone].name] {
			t.Errorf("got %v, want all but %d", all, gone)
		}
	}
}

// A context that ends at the last moment, with the lock already taken, counts.
func TestEndedContextIsNotTaken(t *testing.T) {
	for gone := range 3 {
		l := newLedger(t, Bounds{})
		ctxs, callers, sizes := named(t, 3)
		ctx, cancel := context.WithCancel(t.Context())
		ctxs[gone] = ctx
		l.begin = func(*caller) error { cancel(); return nil }
		for i, err := range l.gather(ctxs, callers, sizes)() {
			if want := map[bool]error{true: context.Canceled}[i == gone]; err != want {
				t.Errorf("caller %d when %d leaves: got %v, want %v", i, gone, err, want)
			}
		}
		if all := l.committed(t); len(all) != 2 || all[callers[gone].name] {
			t.Errorf("got %v, want all but %d", all, gone)
		}
	}
	l := newLedger(t, Bounds{})
	ctx, cancel := context.WithCancel(t.Context())
	l.begin = func(*caller) error { cancel(); return nil }
	if err := l.append(ctx, &caller{name: "alone"}, Size{}); err != context.Canceled || len(l.committed(t)) != 0 {
		t.Errorf("alone: got %v and %v, want nothing committed", err, l.groups)
	}
}

// Once a caller was taken it stays to the end and is told the outcome.
func TestTakenCallersStay(t *testing.T) {
	l := newLedger(t, Bounds{})
	ctxs, callers, sizes := named(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	ctxs[1] = ctx
	callers[0].code = cancel
	for i, err := range l.gather(ctxs, callers, sizes)() {
		if err != nil {
			t.Errorf("caller %d: got %v, want its commit", i, err)
		}
	}
}

// Callers leave at any moment: what was acknowledged is committed, the rest is not.
func TestManyLeave(t *testing.T) {
	const callers, rounds = 32, 100
	l := newLedger(t, Bounds{Callers: 5})
	var mu sync.Mutex
	acks, left := map[string]bool{}, 0
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("%d-%d", c, i)
				ctx, cancel := context.WithCancel(t.Context())
				if c%2 == 0 {
					go cancel()
				}
				err := l.append(ctx, &caller{name: name}, Size{})
				cancel()
				mu.Lock()
				if err == nil {
					acks[name] = true
				} else if left++; err != context.Canceled {
					t.Errorf("%s: %v", name, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	all := l.committed(t)
	for name := range acks {
		if !all[name] {
			t.Errorf("%s was acknowledged and is not there", name)
		}
	}
	if len(all) != len(acks) || l.Len() != 0 || l.led {
		t.Errorf("%d committed, %d acknowledged, %d wait, led is %v", len(all), len(acks), l.Len(), l.led)
	}
	t.Logf("%d acknowledged, %d left", len(acks), left)
}

// recovered calls f and returns what it panicked with.
func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// A caller's panic stays its own, whether it leads or not.
func TestPanicOfACaller(t *testing.T) {
	for bad := range 3 {
		l := newLedger(t, Bounds{})
		_, callers, sizes := named(t, 3)
		callers[bad].code = func() { panic("planted") }
		l.lock <- struct{}{}
		panics, errs := make([]any, 3), make([]error, 3)
		var wg sync.WaitGroup
		for i, c := range callers {
			wg.Go(func() { panics[i] = recovered(func() { errs[i] = l.append(t.Context(), c, sizes[i]) }) })
			l.awaitLen(i + 1)
		}
		<-l.lock
		wg.Wait()
		for i := range callers {
			want := map[bool]any{true: "planted"}[i == bad]
			if panics[i] != want || errs[i] != nil {
				t.Errorf("caller %d when %d panics: got %v, %v; want %v", i, bad, panics[i], errs[i], want)
			}
		}
		if n := len(l.committed(t)); n != 2 {
			t.Errorf("got %d commits, want 2", n)
		}
		callers[bad].code = nil
		if err := l.append(t.Context(), callers[bad], Size{}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

// A leader that never returns leaves no caller waiting.
func TestLeaderDies(t *testing.T) {
	for name, die := range map[string]func(){"panic": func() { panic("planted") }, "goexit": runtime.Goexit} {
		for _, taken := range []bool{false, true} {
			l := newLedger(t, Bounds{Callers: 2})
			died := false
			once := func() {
				if !died {
					died = true
					die()
				}
			}
			if taken {
				l.ended = once
			} else {
				l.begin = func(*caller) error { once(); return nil }
			}
			_, callers, sizes := named(t, 4)
			l.lock <- struct{}{}
			errs := make([]error, 4)
			var wg sync.WaitGroup
			for i, c := range callers {
				wg.Go(func() { recovered(func() { errs[i] = l.append(t.Context(), c, sizes[i]) }) })
				l.awaitLen(i + 1)
			}
			<-l.lock
			wg.Wait()
			for i, err := range errs[1:] {
				if unknown := errors.Is(err, onto.OutcomeUnknown); unknown != (taken && i == 0) || !unknown && err != nil {
					t.Errorf("%s of the leader, taken %v: caller %d got %v", name, taken, i+1, err)
				}
			}
			if l.Len() != 0 || l.led {
				t.Errorf("%d wait and led is %v, want an empty queue", l.Len(), l.led)
			}
		}
	}
}

// A closed queue refuses new callers. Waiting ones are still served.
func TestClose(t *testing.T) {
	l := newLedger(t, Bounds{Callers: 1})
	free := l.gather(named(t, 3))
	l.Close()
	l.Close()
	if err := l.append(t.Context(), &caller{name: "late"}, Size{}); err != ErrClosed {
		t.Errorf("got %v, want ErrClosed", err)
	}
	for i, err := range free() {
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if got := fmt.Sprint(l.groups); got != "[[0] [1] [2]]" {
		t.Errorf("got %s, want those that waited", got)
	}
}

// The context of a group ends with the last of its callers.
func TestWanted(t *testing.T) {
	_, callers, _ := named(t, 3)
	var cancels []func()
	for _, c := range callers {
		ctx, cancel := context.WithCancel(t.Context())
		c.ctx, cancels = ctx, append(cancels, cancel)
	}
	ctx, end := Wanted(callers)
	defer end()
	for i, cancel := range cancels {
		if ctx.Err() != nil {
			t.Errorf("it ended when %d of 3 had", i)
		}
		cancel()
	}
	<-ctx.Done()
}

// A lone caller allocates nothing but its own place.
func TestLoneCallerAllocates(t *testing.T) {
	q := New(Bounds{Callers: 4}, func(*caller) error { return nil })
	q.lead = func(*caller) error { q.Take(); return nil }
	c := &caller{}
	if n := testing.AllocsPerRun(100, func() { _ = q.Do(t.Context(), c, Size{Writes: 1}) }); n > 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
