package backendtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func busRaceStories() []busTale {
	return []busTale{
		{"an event is claimed by one of many", raceClaims},
		{"a claim is acked by one draft of many", raceAcks},
		{"a tick and a dead letter have one winner", raceTicks},
		{"a position counts the commits of many", racePositions},
		{"events of many emitters have times of their own", raceEmits},
		{"handlers that commit at once handle each event once", raceHandlers},
	}
}

// racing lets workers of two handles work at once.
func (s *busStory) racing(workers int, work func(worker int, b *busStory) error) {
	s.Helper()
	handles := []*busStory{s, s.also()}
	s.together(workers, []backend.Backend{s.Backend, handles[1].Backend}, func(worker int, _ backend.Backend) error {
		return work(worker, handles[worker%2])
	})
}

// raceClaims lets workers claim and ack at once. No event is claimed twice, and of a key
// no event is claimed before the one in front of it is acked.
func raceClaims(s *busStory) {
	const events, keys = 60, 3
	keyOf := func(n int) string {
		if n%2 == 1 {
			return ""
		}
		return fmt.Sprint("k", n%keys)
	}
	for n := range events {
		s.emit(keyedEvent(n, "paid", keyOf(n)))
	}
	var mu sync.Mutex // guards claimed and acked
	claimed, acked := map[string]int{}, map[string]bool{}
	s.racing(6, func(worker int, b *busStory) error {
		var last []backend.Settlement
		for {
			r := request("billing", 1+worker%3, "paid")
			r.Session, r.Settle = fmt.Sprint("s", worker), last
			mu.Lock()
			for _, t := range last {
				acked[t.ID] = true // before it can be seen
			}
			done := len(acked)
			mu.Unlock()
			got, err := b.Claim(s.ctx, r)
			if err != nil || done == events {
				return err
			}
			last = nil
			mu.Lock()
			for _, c := range got.Claims {
				claimed[c.ID]++
				last = append(last, settling(backend.Ack, c))
				for n := 0; eventID(n) != c.ID; n++ {
					if c.OrderingKey != "" && keyOf(n) == c.OrderingKey && !acked[eventID(n)] {
						s.Errorf("%s of %s was claimed before %s was acked", eventName(c.ID), c.OrderingKey, eventName(eventID(n)))
					}
				}
			}
			mu.Unlock()
		}
	})
	for n := range events {
		if claimed[eventID(n)] != 1 {
			s.Errorf("%s was claimed %d times", eventName(eventID(n)), claimed[eventID(n)])
		}
	}
	s.want("left", s.events(backend.EventQuery{Status: onto.EventClaimed}), "")
}

// raceAcks lets drafts and settlements ack one claim at once.
func raceAcks(s *busStory) {
	for round := range s.times(3) {
		s.emit(event(10*round, "paid"))
		c := s.one("billing", "paid")
		var won atomic.Int64
		s.racing(9, func(worker int, b *busStory) error {
			var err error
			if worker == 8 {
				var verdicts []error
				if verdicts, err = b.Settle(s.ctx, []backend.Settlement{settling(backend.Ack, c)}); err == nil {
					err = verdicts[0]
				}
			} else {
				d := riding(acking(draft(put(person(fmt.Sprint(worker)), round+1)), c), event(10*round+worker+1, "told"))
				_, err = b.appendDraft(d)
			}
			if errors.Is(err, onto.LeaseExpired) {
				return nil
			}
			won.Add(1)
			return err
		})
		if won.Load() != 1 {
			s.Errorf("round %d: %d won, want 1", round, won.Load())
		}
	}
	head := s.resolve(onto.Point{}).ID
	told := list(s.story, s.Events(s.ctx, &backend.EventQuery{Types: []string{"told"}}), showState)
	if int64(len(told)) != head {
		s.Errorf("got %d events in %d commits, want one in each", len(told), head)
	}
}

func raceTicks(s *busStory) {
	s.emit(event(1, "paid"))
	s.settle(settling(backend.Bury, s.one("billing", "paid")))
	var fired, resolved atomic.Int64
	s.racing(8, func(worker int, b *busStory) error {
		list, err := b.Emit(s.ctx, &backend.Emission{
			Events: []backend.NewEvent{event(10+worker, "due")}, Tick: &backend.Tick{Namespace: "shop", Schedule: "daily", Time: s.now()},
		})
		if err != nil {
			return err
		}
		fired.Add(int64(len(list)))
		_, err = b.Emit(s.ctx, &backend.Emission{
			Events: []backend.NewEvent{event(20+worker, "again")}, Resolve: []backend.DeadLetterEnd{{ID: 1, Kind: onto.Dropped}},
		})
		if errors.Is(err, onto.Conflict) {
			return nil
		}
		resolved.Add(1)
		return err
	})
	if fired.Load() != 1 || resolved.Load() != 1 {
		s.Errorf("got %d ticks and %d resolutions, want one of each", fired.Load(), resolved.Load())
	}
	for _, t := range []string{"due", "again"} {
		if n := len(list(s.story, s.Events(s.ctx, &backend.EventQuery{Types: []string{t}}), showState)); n != 1 {
			s.Errorf("got %d events of type %s, want 1", n, t)
		}
	}
}

func racePositions(s *busStory) {
	p, ok := backend.As[backend.Positions](s.Backend)
	if !ok {
		return
	}
	at := func() (int64, error) {
		list, err := p.Positions(s.ctx)
		if err != nil || len(list) == 0 {
			return 0, err
		}
		return list[0].Commit, nil
	}
	rounds := s.times(5)
	s.racing(4, func(worker int, b *busStory) error {
		for n := 0; n < rounds; {
			from, err := at()
			if err != nil {
				return err
			}
			d := advancing(draft(put(person(fmt.Sprint(worker)), n)), "mirror", from, from+1)
			_, err = b.appendDraft(d)
			switch {
			case err == nil:
				n++
			case !errors.Is(err, onto.Conflict):
				return err
			}
		}
		return nil
	})
	s.wantHead(int64(4 * rounds))
	s.wantPositions(fmt.Sprint("positions mirror at ", 4*rounds))
}

func raceEmits(s *busStory) {
	const workers, each = 6, 10
	s.racing(workers, func(worker int, b *busStory) error {
		for n := range each {
			id := 100*worker + 2*n
			if _, err := b.Emit(s.ctx, &backend.Emission{Events: []backend.NewEvent{event(id, "paid")}}); err != nil {
				return err
			}
			if _, err := b.appendDraft(riding(draft(put(person(fmt.Sprint(worker)), n)), event(id+1, "paid"))); err != nil {
				return err
			}
		}
		return nil
	})
	seen, last := 0, onto.Event{}
	for e, err := range s.Events(s.ctx, &backend.EventQuery{}) {
		s.must(err)
		if seen++; seen > 1 && !e.Time.After(last.Time) {
			s.Errorf("%s comes after %s", showEvent(e.Event), showEvent(last))
		}
		last = e.Event
	}
	if seen != 2*workers*each {
		s.Errorf("got %d events, want %d", seen, 2*workers*each)
	}
}

// raceHandlers handles events as a program does: each in a commit of its own, with the
// ack and an event in it.
func raceHandlers(s *busStory) {
	const events = 40
	for n := range events {
		s.emit(keyedEvent(n, "paid", fmt.Sprint("k", n%5)))
	}
	var handled atomic.Int64
	s.racing(4, func(worker int, b *busStory) error {
		for handled.Load() < events {
			r := request("billing", 2, "paid")
			r.Session = fmt.Sprint("s", worker)
			got, err := b.Claim(s.ctx, r)
			if err != nil {
				return err
			}
			for _, c := range got.Claims {
				n := int(handled.Add(1))
				d := riding(acking(draft(put(person(eventName(c.ID)), n)), c), event(1000+n, "told"))
				if _, err := b.appendDraft(d); err != nil {
					return err
				}
			}
		}
		return nil
	})
	s.wantHead(events)
	last := map[string]int64{}
	for n := range events {
		e := s.event(n)
		v, err := s.Get(s.ctx, person(eventName(e.ID)), backend.Head)
		s.must(err)
		if e.Status != onto.EventAcked || v.Commit <= last[e.OrderingKey] {
			s.Errorf("%s was handled in commit %d, the one before it in commit %d", showState(e), v.Commit, last[e.OrderingKey])
		}
		last[e.OrderingKey] = v.Commit
	}
}
