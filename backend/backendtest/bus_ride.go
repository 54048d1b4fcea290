package backendtest

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func rideStories() []busTale {
	both := func(name string, tell func(*busStory, appender)) []busTale {
		return []busTale{
			{name, func(s *busStory) { tell(s, s.appendDraft) }},
			{name + ", in a stream", func(s *busStory) { tell(s, s.appendStream) }},
		}
	}
	var list []busTale
	list = append(list, both("events ride in their commit", rideCommit)...)
	list = append(list, both("a commit tells how many events rode in it", rideCounted)...)
	list = append(list, both("an ack rides in a commit", rideAck)...)
	list = append(list, both("an ack counts also if nothing changes", rideNothing)...)
	list = append(list, both("a draft with a lost claim changes nothing", rideLost)...)
	list = append(list, both("a draft that is refused leaves the bus alone", rideRefused)...)
	list = append(list, both("acks count before positions, these before expectations", rideOrder)...)
	list = append(list, both("a repeated key acks and emits nothing", rideRepeated)...)
	list = append(list, both("an ack in a commit frees its key", rideKey)...)
	return append(list,
		busTale{"a stream that breaks leaves the bus alone", rideBroken},
		busTale{"an evolution carries acks and events", rideEvolution},
		busTale{"the write lease stops drafts, not the bus", rideLease},
		busTale{"a lost lease counts before acks", rideLeaseFirst})
}

// appender appends a draft in one of the two ways.
type appender func(*backend.Draft) (onto.Result, error)

func (s *busStory) appendDraft(d *backend.Draft) (onto.Result, error) { return s.Append(s.ctx, d) }

func (s *busStory) appendStream(d *backend.Draft) (onto.Result, error) {
	header := *d
	header.Writes = nil
	return s.AppendStream(s.ctx, &header, sequence(d.Writes, nil))
}

// made requires that a draft makes a commit, or none if it is 0.
func (s *busStory) made(commit int64, r onto.Result, err error) {
	s.Helper()
	if err != nil || r.ID != commit || r.Repeated {
		s.Fatalf("got %s, repeated %v, and error %v; want commit %d", showCommit(r.Commit), r.Repeated, err, commit)
	}
}

// riding adds events to a draft.
func riding(d *backend.Draft, events ...backend.NewEvent) *backend.Draft {
	d.Events = events
	return d
}

// acking adds acks to a draft.
func acking(d *backend.Draft, claims ...onto.Claim) *backend.Draft {
	d.Acks = claims
	return d
}

func rideCommit(s *busStory, send appender) {
	s.emit(event(1, "paid"))
	s.move(time.Second)
	d := riding(draft(put(person("ada"), 1)), event(2, "paid"), delayed(3, "paid", time.Hour), urgent(4, "paid", 500))
	r, err := send(d)
	s.made(1, r, err)
	s.want("events", s.events(backend.EventQuery{Commit: 1}), "e4 pending, e2 pending, e3 pending")
	for n, want := range map[int]string{
		2: `e2 shop/paid {"n":1} at 12:00:01.000000Z, priority 100, root e2, depth 0, parent -, in commit 1`,
		3: `e3 shop/paid {"n":1} at 12:00:01.000001Z, priority 100, root e3, depth 0, parent -, not before 13:00:01.000000Z, in commit 1`,
	} {
		s.want("event", showEvent(s.event(n).Event), want)
	}
	before := s.state()
	r, err = send(riding(draft(put(person("ada"), 1)), event(5, "paid")))
	s.made(0, r, err) // so there is nothing to tell of
	s.wantLines("the bus after a draft that changes nothing", s.state(), before)
	r, err = send(riding(draft(remove(person("ada"))), event(6, "paid")))
	s.made(2, r, err)
	s.also().claim(request("billing", 9, "paid"), "e4 e1 e2 e6")
}

// rideCounted looks at what a commit says of its events when they are gone, and in a copy,
// where they never were.
func rideCounted(s *busStory, send appender) {
	r, err := send(riding(draft(put(person("ada"), 1)), event(1, "paid"), delayed(2, "paid", time.Hour)))
	s.made(1, r, err)
	if r.Events != 2 {
		s.Errorf("the result says %d events, want 2", r.Events)
	}
	r, err = send(draft(put(person("ada"), 2)))
	s.made(2, r, err)
	s.emit(event(3, "paid"))
	var want int64
	for n := range 2 {
		e := s.event(n + 1)
		want += backend.EventSum(&e.Event)
	}
	s.move(time.Hour)
	s.want("cleaned", s.clean(backend.Cleaning{Before: s.now(), Unhandled: true, Apply: true}), "3 events, 0 claims, 21 bytes, 0 kept; shop/paid: 3 and 0 kept")
	s.want("events", s.events(backend.EventQuery{}), "")
	s.reopen()
	told := func(who *archiveStory) {
		for _, e := range who.entries(0) {
			c, events, sum := e.Commit, 2, want
			if c == nil {
				continue
			}
			if c.ID == 2 {
				events, sum = 0, 0
			}
			if c.Events != events || c.EventSum != sum {
				s.Errorf("commit %d: got %d events of the sum %d, want %d and %d", c.ID, c.Events, c.EventSum, events, sum)
			}
		}
	}
	if _, ok := backend.As[backend.Archive](s.Backend); ok {
		original := s.asArchive()
		told(original)
		told(original.copied())
	}
}

func rideAck(s *busStory, send appender) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	c := s.claim(request("billing", 9, "paid"), "e1 e2 e3")
	s.move(time.Second)
	c[0].Deliveries, c[1].Deliveries = 1, 7
	r, err := send(riding(acking(draft(put(person("ada"), 1)), c[0], c[1]), event(4, "paid")))
	s.made(1, r, err)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 acked, e3 claimed, e4 pending")
	s.want("claim", showClaimState(s.claimed(2)),
		`billing of one at 12:00:00.000000Z until 12:01:00.000000Z, available 12:00:00.000000Z, acked 12:00:01.000000Z, dead -, 0 attempts, 7 deliveries, error ""`)
	s.stale(c[0])
	s.move(time.Hour)
	r, err = send(acking(draft(put(person("ada"), 2)), c[2])) // it ran out, and was not taken
	s.made(2, r, err)
	s.claim(request("billing", 9, "paid"), "e4")
}

func rideNothing(s *busStory, send appender) {
	s.commit(put(person("ada"), 1))
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	c := s.claim(request("billing", 9, "paid"), "e1 e2 e3")
	r, err := send(acking(draft(), c[0]))
	s.made(0, r, err)
	r, err = send(riding(acking(draft(put(person("ada"), 1), remove(person("bob"))), c[1]), event(4, "told"), event(5, "told")))
	s.made(0, r, err)
	keyed := riding(acking(draft(put(person("ada"), 1)), c[2]), event(6, "told"))
	keyed.IdempotencyKey = "k"
	r, err = send(keyed)
	s.made(0, r, err)
	if r.At != 1 {
		s.Errorf("it holds at %d, want 1", r.At)
	}
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 acked, e3 acked, e4 pending, e5 pending, e6 pending")
	s.want("event without a commit", showEvent(s.event(5).Event), `e5 shop/told {"n":1} at 12:00:00.000004Z, priority 100, root e5, depth 0, parent -`)
	s.wantHead(1)
	_, err = send(keyed) // the key was not used: the claim is not held any more
	s.wantCode("again", err, onto.LeaseExpired)
}

func rideLost(s *busStory, send appender) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	c := s.claim(request("billing", 3, "paid"), "e1 e2 e3")
	s.move(time.Minute)
	taken := s.claim(request("billing", 1, "paid"), "e1")[0]
	s.settle(settling(backend.Release, c[2]))
	before := append(s.state(), s.everything()...)
	for _, lost := range []onto.Claim{c[0], c[2]} {
		for _, d := range []*backend.Draft{
			riding(acking(draft(put(person("ada"), 1)), c[1], lost), event(4, "paid")), acking(draft(), lost, c[1]),
		} {
			_, err := send(d)
			s.wantCode("a lost claim", err, onto.LeaseExpired)
		}
	}
	s.wantLines("the store", append(s.state(), s.everything()...), before)
	r, err := send(riding(acking(draft(put(person("ada"), 1)), c[1], taken), event(4, "paid")))
	s.made(1, r, err)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 acked, e3 pending, e4 pending")
}

func rideRefused(s *busStory, send appender) {
	s.commit(put(person("ada"), 1))
	s.emit(event(1, "paid"))
	c := s.one("billing", "paid")
	before := append(s.state(), s.everything()...)
	for _, d := range []*backend.Draft{
		expecting([]onto.Expectation{headIs(9)}, put(person("ada"), 2)),
		expecting([]onto.Expectation{isAt(person("ada"), 9)}, put(person("ada"), 2)),
		draft(stamped(put(person("ada"), 2), 9)),
	} {
		_, err := send(riding(acking(d, c), event(2, "paid")))
		if err == nil {
			s.Error("got no error")
		}
	}
	s.wantLines("the store", append(s.state(), s.everything()...), before)
	s.ack(c)
}

func rideOrder(s *busStory, send appender) {
	s.emit(event(1, "paid"))
	c := s.one("billing", "paid")
	lost := c
	lost.Session = "two"
	d := acking(expecting([]onto.Expectation{headIs(9), isAt(person("ada"), 9)}, stamped(put(person("ada"), 2), 7)), lost)
	if _, ok := backend.As[backend.Positions](s.Backend); ok {
		d.Advance = &onto.Advance{Name: "mirror", From: 5, To: 6}
	}
	_, err := send(d)
	s.wantCode("everything wrong", err, onto.LeaseExpired)
	d.Acks = []onto.Claim{c}
	if d.Advance != nil {
		_, err = send(d)
		s.wantCode("with an ack", err, onto.Conflict)
		d.Advance.From = 0
	}
	_, err = send(d)
	s.wantCode("with a position", err, onto.HeadMismatch)
	s.want("events", s.events(backend.EventQuery{}), "e1 claimed")
}

func rideRepeated(s *busStory, send appender) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	c := s.claim(request("billing", 9, "paid"), "e1 e2 e3")
	d := riding(acking(draft(put(person("ada"), 1)), c[0]), event(4, "told"))
	d.IdempotencyKey = "k"
	r, err := send(d)
	s.made(1, r, err)
	first := r.Commit
	again := func(d *backend.Draft) {
		s.Helper()
		r, err := send(d)
		s.must(err)
		s.wantRepeat(r, first)
	}
	before := s.state()
	again(d) // whose claim is not held any more
	s.wantLines("the bus", s.state(), before)
	d.Events = []backend.NewEvent{event(5, "told")} // another id says nothing about what was asked for
	d.Acks = []onto.Claim{c[0], c[1]}
	again(d)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 acked, e3 claimed, e4 pending")
	other := riding(acking(draft(put(person("ada"), 2)), c[2]), event(6, "told"))
	other.IdempotencyKey = "k"
	_, err = send(other)
	s.wantCode("another draft", err, onto.IdempotencyConflict)
	other = riding(acking(draft(put(person("ada"), 1)), c[2]), event(6, "other"))
	other.IdempotencyKey = "k"
	_, err = send(other)
	s.wantCode("another event", err, onto.IdempotencyConflict)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 acked, e3 claimed, e4 pending")
}

func rideKey(s *busStory, send appender) {
	s.emit(keyedEvent(1, "paid", "k"), keyedEvent(2, "paid", "k"), keyedEvent(3, "paid", "k"), keyedEvent(4, "paid", "k"))
	r, err := send(acking(draft(put(person("ada"), 1)), s.claim(request("billing", 9, "paid"), "e1")[0]))
	s.made(1, r, err)
	r, err = send(acking(draft(), s.claim(request("billing", 9, "paid"), "e2")[0]))
	s.made(0, r, err)
	d := draft(put(person("ada"), 2))
	d.IdempotencyKey = "k"
	r, err = send(d)
	s.made(2, r, err)
	d.Acks = s.claim(request("billing", 9, "paid"), "e3")
	_, err = send(d)
	s.must(err)
	s.claim(request("billing", 9, "paid"), "e4")
}

func rideBroken(s *busStory) {
	s.emit(event(1, "paid"))
	c := s.one("billing", "paid")
	before := append(s.state(), s.everything()...)
	d := riding(acking(draft(), c), event(2, "paid"))
	_, err := s.AppendStream(s.ctx, d, sequence([]backend.Write{put(person("ada"), 1)}, errBroken))
	if err != errBroken {
		s.Errorf("got error %v, want that of the stream", err)
	}
	_, err = s.port().AppendStream(s.ctx, d, sequence([]backend.Write{put(person("ada"), 1)}, errBroken))
	if err != errBroken {
		s.Errorf("got error %v, want that of the stream", err)
	}
	s.wantLines("the store", append(s.state(), s.everything()...), before)
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) { return false, nil }
	r, err := s.AppendStream(s.ctx, d, sequence([]backend.Write{put(person("ada"), 1)}, nil))
	s.made(0, r, err)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 pending")
}

func rideEvolution(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	c := s.claim(request("billing", 9, "paid"), "e1 e2")
	outdated := s.evolving(adding(tagged("Other")))
	r, err := s.AppendStream(s.ctx, riding(acking(s.evolving(adding(tagged("New"))), c[0]), event(3, "told")), sequence(nil, nil))
	s.made(0, r, err)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 claimed, e3 pending")
	before := append(s.state(), s.everything()...)
	_, err = s.AppendStream(s.ctx, riding(acking(outdated, c[1]), event(4, "told")), sequence(nil, nil))
	s.wantCode("types that have changed", err, onto.MigrationToken)
	s.wantLines("the store", append(s.state(), s.everything()...), before)
	d := riding(acking(s.evolving(adding(tagged("Other"))), c[1]), event(4, "told"))
	r, err = s.AppendStream(s.ctx, d, sequence([]backend.Write{put(onto.EntityID("Other", "x"), 1)}, nil))
	s.made(1, r, err)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 acked, e3 pending, e4 pending")
	s.want("riding", s.events(backend.EventQuery{Commit: 1}), "e4 pending")
}

func rideLease(s *busStory) {
	place := newPlace(s.T, s.TempDir())
	place.LockTimeout = 30 * time.Millisecond
	s = s.with(s.at(place))
	leaser, ok := backend.As[backend.Leaser](s.Backend)
	if !ok {
		return
	}
	s.emit(event(1, "paid"), event(2, "paid"))
	c := s.claim(request("billing", 1, "paid"), "e1")[0]
	held, err := leaser.Acquire(s.ctx, &backend.LeaseRequest{Name: onto.WriteLease, Owner: "one", TTL: time.Minute})
	s.must(err)
	s.refuse(onto.LockContention, riding(acking(draft(put(person("ada"), 1)), c), event(3, "paid")))
	s.refuse(onto.LockContention, acking(draft(), c))

	s.emit(event(4, "paid"))
	other := s.also()
	second := other.claim(request("billing", 1, "paid"), "e2")[0]
	s.beat(alive("one", c, second))
	s.settle(settling(backend.Bury, second))
	_, err = s.Emit(s.ctx, &backend.Emission{Resolve: []backend.DeadLetterEnd{{ID: 1, Kind: onto.Dropped}}})
	s.must(err)
	if p, ok := backend.As[backend.Positions](s.Backend); ok {
		s.must(p.Advance(s.ctx, onto.Advance{Name: "mirror", To: 1}))
	}
	s.want("cleaned", s.clean(backend.Cleaning{Before: s.now().Add(time.Second), Apply: true}), "1 events, 1 claims, 7 bytes, 2 kept; shop/paid: 1 and 2 kept")
	d := acking(draft(put(person("ada"), 1)), c)
	d.Lease = &held
	s.do(d)
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e4 pending")
}

func rideLeaseFirst(s *busStory) {
	leaser, ok := backend.As[backend.Leaser](s.Backend)
	if !ok {
		return
	}
	s.emit(event(1, "paid"))
	d := acking(draft(put(person("ada"), 1)), s.one("billing", "paid"))
	l, err := leaser.Acquire(s.ctx, &backend.LeaseRequest{Name: "import", Owner: "one", TTL: time.Minute})
	s.must(err)
	s.must(leaser.Release(s.ctx, l))
	d.Lease = &l
	if p, ok := backend.As[backend.Positions](s.Backend); ok && p != nil {
		d.Advance = &onto.Advance{Name: "mirror", From: 7, To: 8} // which would be a conflict
		s.refuse(onto.LeaseExpired, d)
		d.Advance = nil
	}
	s.refuse(onto.LeaseExpired, d)
	d.Lease = nil
	s.do(d)
}
