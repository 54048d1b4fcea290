package backendtest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// leaseStories are for backends that keep leases.
func leaseStories() []tale {
	list := []struct {
		name string
		tell func(*leasing)
	}{
		{"a lease has one holder", leaseOneHolder},
		{"a lease is renewed", leaseRenewed},
		{"a lease is released", leaseReleased},
		{"a lease that ran out is taken over", leaseTakenOver},
		{"a lease that ran out stays until it is taken", leaseStays},
		{"leases are listed by name", leasesListed},
		{"a lease is broken", leaseBroken},
		{"a lease is waited for", leaseAwaited},
		{"a lease is raced for", leaseRaced},
		{"leases outlive their handles", leaseOutlives},
		{"a closed handle keeps no leases", leaseClosed},
		{"a draft carries a lease", leaseCarried},
		{"a draft with a lost lease is refused", leaseLost},
		{"a lease counts after the key and before expectations", leaseOrder},
		{"an evolution carries a lease", leaseEvolves},
		{"the write lease stops everybody else", writeLeaseStops},
		{"the write lease passes on", writeLeasePasses},
		{"the write lease is waited for", writeLeaseAwaited},
		{"a write lease that was lost stops its holder", writeLeaseLost},
		{"a lease has a note", leaseNoted},
		{"a migration is waited for longer", migrationAwaited},
		{"a migration is not waited for without end", migrationOutlasts},
	}
	var tales []tale
	for _, t := range list {
		tales = append(tales, tale{t.name, func(s *story) {
			if l, ok := backend.As[backend.Leaser](s.Backend); ok {
				t.tell(&leasing{s, l})
			}
		}})
	}
	return append(tales, transientStories()...)
}

// leasing is a story about leases.
type leasing struct {
	*story
	backend.Leaser
}

// also continues the story through another handle.
func (s *leasing) also() *leasing {
	s.Helper()
	other := s.through(s.open())
	l, ok := backend.As[backend.Leaser](other.Backend)
	if !ok {
		s.Fatal("one handle keeps leases and the other does not")
	}
	if _, transient := s.Leaser.(transientNames); transient {
		l = transientNames{l}
	}
	return &leasing{other, l}
}

// take takes a lease for a minute, which must be free.
func (s *leasing) take(name, owner string) onto.Lease {
	s.Helper()
	l, err := s.Acquire(s.ctx, &backend.LeaseRequest{Name: name, Owner: owner, TTL: time.Minute})
	if err != nil {
		s.Fatalf("%s takes %s: %v", owner, name, err)
	}
	return l
}

// cannotTake requires that a lease is held and that its holder is named.
func (s *leasing) cannotTake(name, owner, holder string) {
	s.Helper()
	before := s.leases()
	_, err := s.Acquire(s.ctx, &backend.LeaseRequest{Name: name, Owner: owner, TTL: time.Hour})
	s.wantContention(err, holder)
	s.wantLines("leases", s.leases(), before)
}

func (s *leasing) wantContention(err error, holder string) {
	s.Helper()
	s.wantCode("waiting", err, onto.LockContention)
	if !strings.Contains(err.Error(), holder) {
		s.Errorf("got error %q, want it to name %s", err, holder)
	}
}

// leases lists the leases and their breaks as text.
func (s *leasing) leases() []string {
	s.Helper()
	var lines []string
	list, err := s.Leases(s.ctx)
	s.must(err)
	for _, l := range list {
		lines = append(lines, showLease(l))
	}
	breaks, err := s.Breaks(s.ctx)
	s.must(err)
	for _, b := range breaks {
		lines = append(lines, showBreak(b))
	}
	return lines
}

// wantLost requires that a lease is not held any more.
func (s *leasing) wantLost(l onto.Lease) {
	s.Helper()
	before := s.leases()
	_, err := s.Renew(s.ctx, l, time.Hour)
	s.wantCode("renew", err, onto.LeaseExpired)
	s.wantCode("release", s.Release(s.ctx, l), onto.LeaseExpired)
	s.wantLines("leases", s.leases(), before)
}

func (s *leasing) breakLease(name string) onto.LeaseBreak {
	s.Helper()
	b, err := s.Break(s.ctx, onto.LeaseBreak{
		Lease: onto.Lease{Name: name}, Runtime: "breaker", Actor: onto.Operator("ana"), Reason: "it hangs",
	})
	s.must(err)
	return b
}

func leaseOneHolder(s *leasing) {
	s.place.clock.set(time.Date(2027, 1, 2, 3, 4, 5, 678901999, time.FixedZone("", 3600)))
	l := s.take("import", "one")
	if l.Name != "import" || l.Owner != "one" || l.Epoch < 1 {
		s.Errorf("got %s, want the lease import of one with an epoch", showLease(l))
	}
	at := time.Date(2027, 1, 2, 2, 4, 5, 678901000, time.UTC)
	if !l.Acquired.Equal(at) || !l.Expires.Equal(at.Add(time.Minute)) {
		s.Errorf("got %s, want a minute from %v", showLease(l), at)
	}
	s.wantLines("leases", s.leases(), []string{showLease(l)})
	other := s.also()
	other.wantLines("leases through another handle", other.leases(), []string{showLease(l)})
	s.cannotTake("import", "two", "one")
	s.cannotTake("import", "one", "one") // it is not extended, not even by its holder
	other.cannotTake("import", "two", "one")
	s.place.clock.move(time.Minute - time.Microsecond - 999) // the last moment
	s.cannotTake("import", "two", "one")
	s.take("export", "two")
	s.commit(put(person("ada"), 1)) // which no such lease stops
	s.wantHead(1)
}

func leaseRenewed(s *leasing) {
	l := s.take("import", "one")
	s.place.clock.move(50 * time.Second)
	renewed, err := s.Renew(s.ctx, l, 2*time.Minute)
	s.must(err)
	want := l
	want.Expires = l.Acquired.Add(50*time.Second + 2*time.Minute)
	s.want("renewed", showLease(renewed), showLease(want))
	s.wantLines("leases", s.leases(), []string{showLease(want)})
	s.place.clock.move(time.Minute)
	s.cannotTake("import", "two", "one")
	again, err := s.also().Renew(s.ctx, l, time.Second) // the lease as first returned is the same lease
	s.must(err)
	if again.Epoch != l.Epoch || !again.Expires.Equal(l.Acquired.Add(111*time.Second)) {
		s.Errorf("got %s, want the same lease for a second from now", showLease(again))
	}
	s.must(s.Release(s.ctx, renewed))
	for _, wrong := range []onto.Lease{
		{Name: "import", Owner: "one", Epoch: l.Epoch}, {Name: "nothing", Owner: "one", Epoch: 1},
	} {
		s.wantLost(wrong)
	}
}

func leaseReleased(s *leasing) {
	first := s.take("import", "one")
	kept := s.take("export", "one")
	for _, wrong := range []onto.Lease{
		{Name: "import", Owner: "two", Epoch: first.Epoch}, {Name: "import", Owner: "one", Epoch: first.Epoch + 1}, {Name: "import", Owner: "one"},
	} {
		s.wantLost(wrong)
	}
	s.must(s.Release(s.ctx, first))
	s.wantLines("leases", s.leases(), []string{showLease(kept)})
	s.wantLost(first)
	second := s.also().take("import", "one")
	if second.Epoch <= first.Epoch {
		s.Errorf("epoch: got %d after %d, want it to grow", second.Epoch, first.Epoch)
	}
	s.wantLost(first) // though the same owner has it
	s.wantLines("leases", s.leases(), []string{showLease(kept), showLease(second)})
}

func leaseTakenOver(s *leasing) {
	first := s.take("import", "one")
	s.place.clock.move(time.Minute)
	second := s.also().take("import", "two")
	if second.Epoch <= first.Epoch || !second.Acquired.Equal(first.Expires) {
		s.Errorf("got %s after %s, want a larger epoch and the present time", showLease(second), showLease(first))
	}
	s.wantLost(first)
	s.wantLines("leases", s.leases(), []string{showLease(second)})
	s.place.clock.move(time.Hour)
	third := s.take("import", "one")
	if third.Epoch <= second.Epoch {
		s.Errorf("epoch: got %d after %d, want it to grow", third.Epoch, second.Epoch)
	}
	s.wantLost(first)
	s.wantLost(second)
	s.must(s.Release(s.ctx, third))
}

func leaseStays(s *leasing) {
	l := s.take("import", "one")
	s.place.clock.move(time.Hour)
	s.wantLines("leases", s.leases(), []string{showLease(l)})
	renewed, err := s.Renew(s.ctx, l, time.Minute)
	s.must(err)
	if renewed.Epoch != l.Epoch || !renewed.Acquired.Equal(l.Acquired) {
		s.Errorf("got %s, want the lease as it was first", showLease(renewed))
	}
	s.cannotTake("import", "two", "one")
	s.place.clock.move(time.Hour)
	s.must(s.Release(s.ctx, l))
	s.wantLines("leases", s.leases(), nil)
}

func leasesListed(s *leasing) {
	s.wantLines("leases", s.leases(), nil)
	var want []string
	for _, name := range []string{"b", "a", "C", "a.1", "b-2", onto.WriteLease} {
		s.place.clock.move(time.Minute) // all but the last have expired
		want = append(want, showLease(s.take(name, "of "+name)))
	}
	s.wantLines("leases", s.leases(), []string{want[2], want[1], want[3], want[0], want[4], want[5]})
}

func leaseBroken(s *leasing) {
	_, err := s.Break(s.ctx, onto.LeaseBreak{Lease: onto.Lease{Name: "import"}, Reason: "nothing there"})
	s.wantCode("break", err, onto.NotFound)
	s.wantLines("leases", s.leases(), nil)

	first := s.take("import", "one")
	kept := s.take("export", "one")
	s.place.clock.move(time.Second + 999)
	broken := s.also().breakLease("import")
	record := onto.LeaseBreak{
		Lease: first, Time: first.Acquired.Add(time.Second), Runtime: "breaker", Actor: onto.Operator("ana"), Reason: "it hangs",
	}
	s.want("the record", showBreak(broken), showBreak(record))
	s.wantLines("leases", s.leases(), []string{showLease(kept), showBreak(record)})
	s.wantLost(first)
	_, err = s.Break(s.ctx, onto.LeaseBreak{Lease: onto.Lease{Name: "import"}})
	s.wantCode("break", err, onto.NotFound)
	second := s.take("import", "one")
	if second.Epoch <= first.Epoch {
		s.Errorf("epoch: got %d after %d, want it to grow", second.Epoch, first.Epoch)
	}
	s.wantLost(first)
	s.place.clock.move(time.Hour)
	another := s.breakLease("import") // an expired one is held too
	s.want("the second record", showLease(another.Lease), showLease(second))
	s.wantLines("leases", s.leases(), []string{showLease(kept), showBreak(record), showBreak(another)})
	s.reopen()
	s.wantLines("leases after reopening", s.also().leases(), []string{showLease(kept), showBreak(record), showBreak(another)})
}

// leaseAwaited waits for a lease, until it is free or the wait is over.
func leaseAwaited(s *leasing) {
	waiting := &backend.LeaseRequest{Name: "import", Owner: "two", TTL: time.Minute, Wait: time.Hour}
	for _, end := range []func(onto.Lease){
		func(l onto.Lease) { s.must(s.Release(s.ctx, l)) },
		func(onto.Lease) { s.breakLease("import") },
		func(onto.Lease) { s.place.clock.move(time.Minute) },
	} {
		first := s.take("import", "one")
		taken := make(chan onto.Lease)
		go func() {
			defer close(taken)
			l, err := s.Acquire(s.ctx, waiting)
			if err != nil {
				s.Errorf("waiting: %v", err)
			}
			taken <- l
		}()
		end(first)
		l := <-taken
		if l.Owner != "two" || l.Epoch <= first.Epoch {
			s.Fatalf("got %s after %s, want it to change hands", showLease(l), showLease(first))
		}
		s.must(s.Release(s.ctx, l))
	}
	first := s.take("import", "one")
	s.place.clock.run(5 * time.Second) // so it expires after some looks
	l, err := s.Acquire(s.ctx, waiting)
	s.place.clock.run(0)
	s.must(err)
	if l.Owner != "two" || l.Acquired.Before(first.Expires) {
		s.Errorf("got %s after %s, want it to be taken over", showLease(l), showLease(first))
	}
	ctx, cancel := context.WithCancel(s.ctx)
	gone := make(chan error)
	go func() {
		_, err := s.Acquire(ctx, waiting)
		gone <- err
	}()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled: got error %v, want %v", err, context.Canceled)
	}
	_, err = s.Acquire(s.ctx, &backend.LeaseRequest{Name: "import", Owner: "one", TTL: time.Minute, Wait: 20 * time.Millisecond})
	s.wantContention(err, "two")
	s.must(s.Release(s.ctx, l))
}

// leaseRaced lets workers take one lease in turn: there is never more than one holder.
func leaseRaced(s *leasing) {
	handles := []*leasing{s, s.also()}
	var holders, last atomic.Int64
	s.together(6, []backend.Backend{s.Backend}, func(worker int, _ backend.Backend) error {
		h := handles[worker%2]
		for range s.times(3) {
			l, err := h.Acquire(s.ctx, &backend.LeaseRequest{Name: "import", Owner: "same", TTL: time.Minute, Wait: time.Hour})
			if err != nil {
				return err
			}
			if n := holders.Add(1); n != 1 {
				s.Errorf("holders: got %d at once, want 1", n)
			}
			if before := last.Swap(l.Epoch); before >= l.Epoch {
				s.Errorf("epoch: got %d after %d, want it to grow", l.Epoch, before)
			}
			holders.Add(-1)
			if err := h.Release(s.ctx, l); err != nil {
				return err
			}
		}
		return nil
	})
	s.wantLines("leases", s.leases(), nil)
}

func leaseOutlives(s *leasing) {
	l, ended := s.take("import", "one"), s.take("export", "one")
	s.must(s.Release(s.ctx, ended))
	before := s.leases()
	s.reopen()
	s = s.also()
	s.wantLines("leases after reopening", s.leases(), before)
	s.cannotTake("import", "two", "one")
	if again := s.take("export", "one"); again.Epoch <= ended.Epoch {
		s.Errorf("epoch after reopening: got %d after %d, want it to grow", again.Epoch, ended.Epoch)
	}
	if _, err := s.Renew(s.ctx, l, time.Hour); err != nil {
		s.Errorf("renew after reopening: %v", err)
	}
	d := draft(put(person("ada"), 1))
	d.Lease = &l
	s.do(d)
}

func leaseClosed(s *leasing) {
	l := s.take("import", "one")
	other := s.also()
	s.must(s.Close())
	errs := map[string]error{"release": s.Release(s.ctx, l)}
	_, errs["acquire"] = s.Acquire(s.ctx, &backend.LeaseRequest{Name: "export", Owner: "one", TTL: time.Minute})
	_, errs["renew"] = s.Renew(s.ctx, l, time.Hour)
	_, errs["leases"] = s.Leases(s.ctx)
	_, errs["break"] = s.Break(s.ctx, onto.LeaseBreak{Lease: l})
	_, errs["breaks"] = s.Breaks(s.ctx)
	for name, err := range errs {
		if onto.CodeOf(err) != onto.Closed {
			s.Errorf("%s: got error %v, want code %q", name, err, onto.Closed)
		}
	}
	other.wantLines("leases", other.leases(), []string{showLease(l)})
}
