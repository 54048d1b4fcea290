package backendtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// migrating takes the write lease for a migration, with a note.
func (s *leasing) migrating(owner, note string) onto.Lease {
	s.Helper()
	l, err := s.Acquire(s.ctx, &backend.LeaseRequest{
		Name: onto.WriteLease, Owner: owner, TTL: time.Minute, Purpose: onto.MigrationLease, Note: note,
	})
	s.must(err)
	return l
}

// leaseNoted gives a lease notes, which everybody sees that meets it.
func leaseNoted(s *leasing) {
	s = s.impatient()
	other := s.also()
	l := s.migrating("one", "planning")
	check := func(note string) {
		s.Helper()
		if l.Purpose != onto.MigrationLease || l.Note != note {
			s.Errorf("got %s, want the note %q", showLease(l), note)
		}
		s.wantLines("leases", s.leases(), []string{showLease(l)})
		other.wantLines("leases through another handle", other.leases(), []string{showLease(l)})
		_, err := other.Acquire(s.ctx, &backend.LeaseRequest{Name: onto.WriteLease, Owner: "two", TTL: time.Hour})
		s.wantContention(err, "one")
		if want := "migration" + strings.TrimSuffix(", "+note, ", "); !strings.HasSuffix(err.Error(), want) {
			s.Errorf("got error %q, want it to end with %q", err, want)
		}
	}
	check("planning")
	for _, note := range []string{"40% of 1,200,000", "41% — \"ä\"", ""} {
		s.place.clock.move(time.Second)
		l.Note = note
		var err error
		l, err = s.Renew(s.ctx, l, time.Minute)
		s.must(err)
		check(note)
	}

	l.Note = "nearly done"
	l, err := s.Renew(s.ctx, l, time.Minute)
	s.must(err)
	b := s.breakLease(onto.WriteLease)
	s.want("the lease of the break", showLease(b.Lease), showLease(l))
	s.wantLines("the breaks", other.leases(), []string{showBreak(b)})
	again := other.take(onto.WriteLease, "two") // which says nothing
	if again.Purpose != "" || again.Note != "" {
		s.Errorf("got %s, want neither purpose nor note", showLease(again))
	}
	other.wantLines("leases", other.leases(), []string{showLease(again), showBreak(b)})
	s.must(other.Release(s.ctx, again))
}

// migrationAwaited lets writes wait for a migration much longer than for others.
func migrationAwaited(s *leasing) {
	s = s.waiting(5*time.Millisecond, time.Minute)
	other := s.also()
	l := s.migrating("one", "")
	done := make(chan error)
	for i, b := range []backend.Backend{other.Backend, s.Backend, other.Backend} {
		go func() {
			_, err := b.Append(s.ctx, draft(put(city(fmt.Sprint(i)), i)))
			done <- err
		}()
	}
	go func() {
		_, err := s.AppendStream(s.ctx, draft(), sequence([]backend.Write{put(person("ada"), 1)}, nil))
		done <- err
	}()
	go func() {
		_, err := other.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("New")}})
		done <- err
	}()
	// Meanwhile another request for the lease waits in vain, and so many lock timeouts pass.
	_, err := other.Acquire(s.ctx, &backend.LeaseRequest{Name: onto.WriteLease, Owner: "two", TTL: time.Minute, Wait: 300 * time.Millisecond})
	s.wantContention(err, "one")
	s.do(carrying(l, put(person("holder"), 1)))
	s.must(s.Release(s.ctx, l))
	for range 5 {
		if err := <-done; err != nil {
			s.Errorf("after the migration: %v", err)
		}
	}
	s.wantHead(5)
}

// migrationOutlasts lets a migration take longer than writes wait for one.
func migrationOutlasts(s *leasing) {
	s = s.waiting(5*time.Millisecond, 40*time.Millisecond)
	other := s.also()
	l := s.migrating("one", "40% of 1,200,000")
	before := s.whole()
	_, err := other.Append(s.ctx, draft(put(person("ada"), 1)))
	s.wantContention(err, "one")
	if !strings.HasSuffix(err.Error(), "migration, 40% of 1,200,000") {
		s.Errorf("got error %q, want the note in it", err)
	}
	s.wantLines("the store", s.whole(), before)
	s.must(s.Release(s.ctx, l))
	other.commit(put(person("ada"), 1))
}
