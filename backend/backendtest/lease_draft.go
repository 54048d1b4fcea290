package backendtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// carrying makes a draft that carries a lease.
func carrying(l onto.Lease, writes ...backend.Write) *backend.Draft {
	d := draft(writes...)
	d.Lease = &l
	return d
}

// passes requires that drafts with a lease are accepted in both ways.
func (s *leasing) passes(l onto.Lease) {
	s.Helper()
	n := int(s.resolve(onto.Point{}).ID)
	s.do(carrying(l, put(person("ada"), n+1)))
	s.stream(carrying(l), put(person("ada"), n+2))
	s.wantHead(int64(n + 2))
}

// fails requires that drafts with a lease are refused in both ways.
func (s *leasing) fails(l onto.Lease) {
	s.Helper()
	s.refused(onto.LeaseExpired, carrying(l, put(person("ada"), -1)))
	s.refused(onto.LeaseExpired, carrying(l)) // also if it changes nothing
	s.refusedStream(onto.LeaseExpired, carrying(l), put(person("ada"), -1))
	s.refusedStream(onto.LeaseExpired, carrying(l))
	e := s.evolving(adding(grown(tPerson, zipField())))
	e.Lease = &l
	s.refusedEvolution(onto.LeaseExpired, e)
}

func leaseCarried(s *leasing) {
	l := s.take("import", "one")
	before := s.leases()
	s.passes(l)
	s.also().passes(l)
	s.commit(put(person("bob"), 1)) // no draft has to carry it
	s.wantLines("leases", s.leases(), before)
	s.place.clock.move(time.Hour)
	s.passes(l) // it has expired and was not taken over
	renewed, err := s.Renew(s.ctx, l, time.Minute)
	s.must(err)
	s.passes(renewed)
	s.passes(l)
}

func leaseLost(s *leasing) {
	other := s.also()
	s.fails(onto.Lease{Name: "import", Owner: "one", Epoch: 1}) // never taken
	first := s.take("import", "one")
	s.passes(first)
	wrong := first
	wrong.Owner = "two"
	s.fails(wrong)
	wrong = first
	wrong.Epoch++
	s.fails(wrong)
	wrong = first
	wrong.Name = "export"
	s.fails(wrong)

	s.place.clock.move(time.Minute)
	second := other.take("import", "two")
	s.fails(first)
	other.fails(first)
	s.passes(second)
	s.must(s.Release(s.ctx, second))
	s.fails(second)
	third := s.take("import", "two")
	s.fails(second) // though the same owner has it
	s.breakLease("import")
	s.fails(third)
	fourth := other.take("import", "two")
	s.fails(third)
	s.passes(fourth)
}

func leaseOrder(s *leasing) {
	l := s.take("import", "one")
	d := carrying(l, put(person("ada"), 1))
	d.IdempotencyKey = "k"
	first := s.do(d).Commit
	keyed := carrying(l)
	keyed.IdempotencyKey = "k2"
	second := s.stream(keyed, put(person("ada"), 2)).Commit
	s.must(s.Release(s.ctx, l))
	s.repeats(d, first)
	s.wantRepeat(s.stream(keyed, put(person("ada"), 2)), second)
	d = carrying(l, stamped(put(person("ada"), 3), 7))
	d.Expect = []onto.Expectation{headIs(9), isAt(person("ada"), 9)}
	s.refused(onto.LeaseExpired, d)
	d.Lease = nil
	s.refused(onto.HeadMismatch, d)
}

func leaseEvolves(s *leasing) {
	l := s.take(onto.WriteLease, "one")
	before := s.leases()
	s.passes(l)
	d := s.evolving(adding(grown(tPerson, zipField())))
	d.Lease = &l
	s.stream(d, stamped(put(person("ada"), 9), 2))
	s.want("persons", s.versionsOf(tPerson), "v1 since 1, v2 since 3")
	s.wantLines("leases", s.leases(), before) // releasing is up to the holder
	s.must(s.Release(s.ctx, l))
	s.commit(stamped(put(person("ada"), 10), 2))
}

// impatient starts a story about another store, with a short lock timeout.
func (s *leasing) impatient() *leasing { return s.waiting(30*time.Millisecond, 0) }

// waiting starts a story about another store, with a lock timeout and a wait for migrations.
func (s *leasing) waiting(timeout, migration time.Duration) *leasing {
	s.Helper()
	place := newPlace(s.T, s.TempDir())
	place.LockTimeout, place.MigrationWait = timeout, migration
	other := s.at(place)
	l, ok := backend.As[backend.Leaser](other.Backend)
	if !ok {
		s.Fatal("one store keeps leases and the other does not")
	}
	return &leasing{other, l}
}

func writeLeaseStops(s *leasing) {
	s = s.impatient()
	other := s.also()
	held := s.take(onto.WriteLease, "one")
	lease := other.take("import", "two") // taking another lease is no commit
	before := s.whole()
	for _, err := range s.stopped(other, lease) {
		s.wantContention(err, "one")
	}
	s.wantLines("the store", s.whole(), before)
	_, err := other.Renew(s.ctx, lease, time.Hour)
	s.must(err)
	s.must(other.Release(s.ctx, lease))
	s.register(testSchemas()...) // which changes nothing
	s.passes(held)
	other.passes(held)
	s.place.clock.move(time.Minute) // it has expired: it stops no commit, and is still held
	other.commit(put(person("bob"), 1))
	other.register(tagged("New"))
	s.passes(held)
	_, err = s.Renew(s.ctx, held, time.Minute)
	s.must(err)
	_, err = other.Append(s.ctx, draft(put(person("bob"), 2)))
	other.wantContention(err, "one")
	s.must(s.Release(s.ctx, held))
	other.commit(put(person("bob"), 2))
}

// stopped tries each way to change something through two handles at once, with
// a lease that is not the write lease, and returns the errors.
func (s *leasing) stopped(other *leasing, lease onto.Lease) []error {
	s.Helper()
	bob := []backend.Write{put(person("bob"), 1)}
	evolving := s.evolving(adding(tagged("New")))
	appending := func(d *backend.Draft) func(backend.Backend) error {
		return func(b backend.Backend) error {
			_, err := b.Append(s.ctx, d)
			return err
		}
	}
	streaming := func(d *backend.Draft, writes []backend.Write) func(backend.Backend) error {
		return func(b backend.Backend) error {
			_, err := b.AppendStream(s.ctx, d, sequence(writes, nil))
			return err
		}
	}
	calls := []func(backend.Backend) error{
		appending(draft(bob...)), appending(carrying(lease, bob...)),
		streaming(draft(), bob), streaming(carrying(lease), bob), streaming(evolving, nil),
		func(b backend.Backend) error {
			_, err := b.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("New")}})
			return err
		},
	}
	errs := make([]error, 2*len(calls))
	s.together(len(errs), []backend.Backend{s.Backend, other.Backend}, func(worker int, b backend.Backend) error {
		errs[worker] = calls[worker/2](b)
		return nil
	})
	return errs
}

// writeLeasePasses makes writes wait until the lease is free.
func writeLeasePasses(s *leasing) {
	other := s.also()
	for round, end := range []func(onto.Lease){
		func(l onto.Lease) { s.must(s.Release(s.ctx, l)) },
		func(onto.Lease) { s.breakLease(onto.WriteLease) },
		func(onto.Lease) { s.place.clock.move(time.Minute) },
	} {
		l := s.take(onto.WriteLease, "one")
		done := make(chan error)
		for i, b := range []backend.Backend{other.Backend, s.Backend, other.Backend} {
			go func() {
				_, err := b.Append(s.ctx, draft(put(city(fmt.Sprint(i)), round)))
				done <- err
			}()
		}
		go func() {
			_, err := s.AppendStream(s.ctx, draft(), sequence([]backend.Write{put(person("ada"), round)}, nil))
			done <- err
		}()
		s.do(carrying(l, put(person("holder"), round)))
		end(l)
		for range 4 {
			if err := <-done; err != nil {
				s.Errorf("after the lease: %v", err)
			}
		}
		first := int64(5*round + 1)
		s.want("the holder's commit", s.get(person("holder"), first), fmt.Sprintf(`Person "holder" @%d {"id":"holder","n":%d}`, first, round))
		s.wantHead(first + 4)
	}
}

// writeLeaseAwaited waits for the write lease to expire, and times out.
func writeLeaseAwaited(s *leasing) {
	other := s.also()
	l := s.take(onto.WriteLease, "one")
	s.place.clock.run(5 * time.Second) // so it expires after some looks
	c := other.commit(put(person("ada"), 1))
	s.place.clock.run(0)
	if c.Time.Before(l.Expires) {
		s.Errorf("got %s, want it to wait for %s", showCommit(c), showLease(l))
	}
	s.place.clock.move(time.Hour)
	s.take(onto.WriteLease, "two")
	ctx, cancel := context.WithCancel(s.ctx)
	gone := make(chan error)
	go func() {
		_, err := other.Append(ctx, draft(put(person("ada"), 2)))
		gone <- err
	}()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled while waiting: got error %v, want %v", err, context.Canceled)
	}
	s.wantHead(1)
	s.breakLease(onto.WriteLease)
	other.commit(put(person("ada"), 2))
}

func writeLeaseLost(s *leasing) {
	other := s.also()
	first := s.take(onto.WriteLease, "one")
	s.breakLease(onto.WriteLease)
	s.fails(first)
	second := other.take(onto.WriteLease, "two")
	s.fails(first) // at once: a draft that carries it does not wait for it
	other.passes(second)
	s.place.clock.move(time.Minute)
	third := s.take(onto.WriteLease, "one")
	other.fails(second)
	s.fails(first)
	s.passes(third)
	s.must(s.Release(s.ctx, third))
}
