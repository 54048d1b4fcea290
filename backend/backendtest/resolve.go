package backendtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func timeStories() []tale {
	return []tale{
		{"commit times are UTC and microseconds", commitTimes},
		{"commit times never go back", timesNeverGoBack},
		{"resolve the head and ids", resolveIDs},
		{"resolve times", resolveTimes},
		{"of equal times the last counts", resolveEqualTimes},
		{"a clock that cannot be right is refused", clockRefused},
		{"the last moment of all", lastMoment},
	}
}

func commitTimes(s *story) {
	s.place.clock.set(time.Date(2026, 3, 1, 1, 2, 3, 456789999, time.FixedZone("", -5*3600)))
	want := time.Date(2026, 3, 1, 6, 2, 3, 456789000, time.UTC)
	c := s.commit(put(person("ada"), 1))
	for _, c := range []onto.Commit{c, s.resolve(onto.Point{}), s.resolve(onto.AtCommit(1))} {
		if !c.Time.Equal(want) || c.Time.Location() != time.UTC {
			s.Errorf("time: got %v, want %v", c.Time, want)
		}
	}
}

func timesNeverGoBack(s *story) {
	start := s.place.clock.Now()
	tests := []struct{ move, want time.Duration }{
		{0, 0},
		{time.Hour, time.Hour},
		{-2 * time.Hour, time.Hour},
		{time.Minute, time.Hour},
		{0, time.Hour},
		{59 * time.Minute, time.Hour},
		{time.Hour, time.Hour},
		{time.Microsecond, time.Hour + time.Microsecond},
		{999 * time.Nanosecond, time.Hour + time.Microsecond},
	}
	for i, test := range tests {
		s.place.clock.move(test.move)
		if i == 4 {
			s.reopen()
		}
		c := s.commit(put(person("ada"), i))
		if got := c.Time.Sub(start); got != test.want {
			s.Errorf("commit %d: got start + %v, want start + %v", c.ID, got, test.want)
		}
	}
}

func resolveIDs(s *story) {
	var commits []onto.Commit
	for n := range 4 {
		s.place.clock.move(time.Second)
		d := rich(fmt.Sprint("k", n), put(person("ada"), n))
		d.Causation = int64(n)
		commits = append(commits, s.do(d).Commit)
		s.want("head", showCommit(s.resolve(onto.Point{})), showCommit(commits[n]))
	}
	for _, c := range commits {
		s.want("by id", showCommit(s.resolve(onto.AtCommit(c.ID))), showCommit(c))
	}
	s.want("commit 0", showCommit(s.resolve(onto.AtCommit(0))), "no commit")
	for _, id := range []int64{5, 6, 1000, math.MaxInt64} {
		_, err := s.Resolve(s.ctx, onto.AtCommit(id))
		s.wantCode(fmt.Sprintf("resolve commit %d", id), err, onto.NotFound)
	}
}

func resolveTimes(s *story) {
	start := s.place.clock.Now()
	_, err := s.Resolve(s.ctx, onto.AtTime(start))
	s.must(err) // an empty store has no commit at any time
	for n := range 3 {
		s.place.clock.set(start.Add(time.Duration(n) * time.Second))
		s.commit(put(person("ada"), n))
	}
	tests := []struct {
		at   time.Time
		want int64
	}{
		{time.Time{}, 0},
		{start.Add(-time.Hour), 0},
		{start.Add(-time.Nanosecond), 0},
		{start, 1},
		{start.Add(time.Nanosecond), 1},
		{start.Add(time.Second - time.Microsecond), 1},
		{start.Add(time.Second - time.Nanosecond), 1},
		{start.Add(time.Second), 2},
		{start.Add(time.Second).In(time.FixedZone("", 9*3600)), 2},
		{start.Add(2*time.Second - time.Nanosecond), 2},
		{start.Add(2 * time.Second), 3},
		{start.Add(time.Hour), 3},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), 3},
	}
	for _, test := range tests {
		if got := s.resolve(onto.AtTime(test.at)).ID; got != test.want {
			s.Errorf("at %v: got commit %d, want %d", test.at, got, test.want)
		}
	}
}

func resolveEqualTimes(s *story) {
	start := s.place.clock.Now()
	for n := range 3 {
		s.commit(put(person("ada"), n))
	}
	s.place.clock.move(time.Microsecond)
	for n := range 2 {
		s.commit(put(person("bob"), n))
	}
	s.place.clock.move(-time.Hour)
	s.commit(put(person("cy"), 1)) // gets the time of the previous one
	tests := []struct {
		at   time.Time
		want int64
	}{
		{start.Add(-time.Microsecond), 0},
		{start, 3},
		{start.Add(time.Microsecond), 6},
		{start.Add(time.Second), 6},
	}
	for _, test := range tests {
		c := s.resolve(onto.AtTime(test.at))
		if c.ID != test.want {
			s.Errorf("at %v: got commit %d, want %d", test.at, c.ID, test.want)
		}
		s.want("by id", showCommit(s.resolve(onto.AtCommit(c.ID))), showCommit(c))
	}
	s.want("ada at the start", s.get(person("ada"), s.resolve(onto.AtTime(start)).ID), `Person "ada" @3 {"id":"ada","n":2}`)
	s.want("ada now", s.get(person("ada"), backend.Head), `Person "ada" @3 {"id":"ada","n":2}`)
}

// wrongClocks are times that cannot be stored: years have four digits.
func wrongClocks() []time.Time {
	return []time.Time{
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -3600)),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(9700, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(292277026596, 12, 4, 0, 0, 0, 0, time.UTC), time.Date(0, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// clockRefused requires that every write is refused as a whole, and that reads work.
func clockRefused(s *story) {
	s.lively()
	right, before := s.place.clock.Now(), s.everything()
	leaser, leases := backend.As[backend.Leaser](s.Backend)
	var held onto.Lease
	if leases {
		var err error
		held, err = leaser.Acquire(s.ctx, &backend.LeaseRequest{Name: "nightly", Owner: "ana", TTL: time.Hour})
		s.must(err)
	}
	d := draft(put(person("ada"), 4711))
	header := *d
	header.Writes = nil
	tries := map[string]func() error{
		"append": func() error { _, err := s.Append(s.ctx, d); return err },
		"stream": func() error { _, err := s.AppendStream(s.ctx, &header, sequence(d.Writes, nil)); return err },
		"evolution": func() error {
			_, err := s.AppendStream(s.ctx, s.evolving(adding(tagged("New"))), sequence(nil, nil))
			return err
		},
		"register": func() error {
			_, err := s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("New")}})
			return err
		},
	}
	if leases {
		tries["acquire"] = func() error {
			_, err := leaser.Acquire(s.ctx, &backend.LeaseRequest{Name: "other", Owner: "ana", TTL: time.Minute})
			return err
		}
		tries["renew"] = func() error { _, err := leaser.Renew(s.ctx, held, time.Minute); return err }
		tries["release"] = func() error { return leaser.Release(s.ctx, held) }
		tries["break"] = func() error { _, err := leaser.Break(s.ctx, onto.LeaseBreak{Lease: held}); return err }
	}
	for _, wrong := range wrongClocks() {
		s.place.clock.set(wrong)
		for name, try := range tries {
			err := try()
			s.wantCode(fmt.Sprintf("%s in the year %d", name, wrong.UTC().Year()), err, onto.Invalid)
			if onto.HintOf(err).Text == "" {
				s.Errorf("%s: %v has no hint", name, err)
			}
		}
		s.wantLines("with the wrong clock", s.everything(), before)
	}
	s.place.clock.set(right)
	s.reopen()
	s.wantLines("with the right clock", s.everything(), before)
	s.commit(d.Writes...)
}

// lastMoment writes at the last time that a clock can show. What begins then can end later.
func lastMoment(s *story) {
	last := time.Date(9699, 12, 31, 23, 59, 59, 999999999, time.UTC)
	s.place.clock.set(last)
	s.commit(put(person("ada"), 1))
	if leaser, ok := backend.As[backend.Leaser](s.Backend); ok {
		held, err := leaser.Acquire(s.ctx, &backend.LeaseRequest{Name: "nightly", Owner: "ana", TTL: math.MaxInt64})
		var want []onto.Lease
		if onto.CodeOf(err) != onto.Invalid { // which is for a backend that numbers leases by the clock
			s.must(err)
			want = []onto.Lease{held}
		}
		list, err := leaser.Leases(s.ctx)
		if err != nil || !slices.Equal(list, want) || len(want) > 0 && held.Expires.Year() != 9992 {
			s.Errorf("got leases %v, error %v; want %v, of which one ends in 9992", list, err, want)
		}
	}
	s.reopen()
	s.place.clock.set(time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)) // it went back
	c := s.commit(put(person("ada"), 2))
	if want := last.Truncate(time.Microsecond); !c.Time.Equal(want) {
		s.Errorf("got %v, want %v", c.Time, want)
	}
	for at, want := range map[int]int64{-3: 0, 9699: 0, 9999: 2, 12000: 2} {
		if got := s.resolve(onto.AtTime(time.Date(at, 6, 1, 0, 0, 0, 0, time.UTC))); got.ID != want {
			s.Errorf("in the year %d: got commit %d, want %d", at, got.ID, want)
		}
	}
}
