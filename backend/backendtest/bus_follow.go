package backendtest

import (
	"context"
	"errors"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func followStories() []busTale {
	list := []busTale{
		{"a position moves from where it is", func(s *busStory) { s.follow(positionMoves) }},
		{"a position rides in a commit", func(s *busStory) { s.follow(positionRides) }},
		{"a position counts also if nothing changes", func(s *busStory) { s.follow(positionNothing) }},
		{"a position and a repeated key", func(s *busStory) { s.follow(positionRepeated) }},
	}
	for _, t := range []struct {
		name string
		tell func(*busStory, func() backend.Watcher)
	}{
		{"a watcher returns at once for the first time", watchFirst},
		{"a watcher notices each kind of write", watchWrites},
		{"a watcher waits for a write", watchWaits},
		{"a watcher ends with its context and its handle", watchEnds},
	} {
		list = append(list, busTale{t.name, func(s *busStory) {
			if _, ok := backend.As[backend.Watcher](s.Backend); ok {
				t.tell(s, func() backend.Watcher {
					w, _ := backend.As[backend.Watcher](s.open())
					return w
				})
			}
		}})
	}
	return list
}

// follow tells a story about positions, if the backend keeps any.
func (s *busStory) follow(tell func(*busStory, backend.Positions)) {
	if p, ok := backend.As[backend.Positions](s.Backend); ok {
		tell(s, p)
	}
}

// wantPositions compares the positions, seen through another handle.
func (s *busStory) wantPositions(want string) {
	s.Helper()
	p, _ := backend.As[backend.Positions](s.open())
	list, err := p.Positions(s.ctx)
	s.must(err)
	s.want("positions", showPositions(list), want)
}

func positionMoves(s *busStory, p backend.Positions) {
	s.wantPositions("positions")
	s.must(p.Advance(s.ctx, onto.Advance{Name: "mirror", To: 3}))
	s.must(p.Advance(s.ctx, onto.Advance{Name: "Mirror", To: 1}))
	s.must(p.Advance(s.ctx, onto.Advance{Name: "index", From: 0, To: 9}))
	s.wantPositions("positions Mirror at 1 index at 9 mirror at 3")
	for _, a := range []onto.Advance{
		{Name: "mirror", From: 0, To: 4}, {Name: "mirror", From: 2, To: 4}, {Name: "mirror", From: 4, To: 5}, {Name: "other", From: 3, To: 4},
	} {
		s.wantCode("advance", p.Advance(s.ctx, a), onto.Conflict)
	}
	s.wantPositions("positions Mirror at 1 index at 9 mirror at 3")
	s.must(p.Advance(s.ctx, onto.Advance{Name: "mirror", From: 3, To: 2})) // also back
	s.must(p.Advance(s.ctx, onto.Advance{Name: "index", From: 9, To: 0}))
	s.must(p.Advance(s.ctx, onto.Advance{Name: "nothing", From: 0, To: 0}))
	s.wantPositions("positions Mirror at 1 mirror at 2")
	s.wantHead(0)
	s.reopen()
	s.wantPositions("positions Mirror at 1 mirror at 2")
}

// advancing adds a position to a draft.
func advancing(d *backend.Draft, name string, from, to int64) *backend.Draft {
	d.Advance = &onto.Advance{Name: name, From: from, To: to}
	return d
}

func positionRides(s *busStory, _ backend.Positions) {
	for n, send := range []appender{s.appendDraft, s.appendStream} {
		at := int64(n)
		r, err := send(advancing(draft(put(person("ada"), n+1)), "mirror", at, at+1))
		s.made(at+1, r, err)
		s.refuse(onto.Conflict, riding(advancing(draft(put(person("ada"), 9)), "mirror", at, at+1), event(1, "paid")))
	}
	s.wantPositions("positions mirror at 2")
	s.refuse(onto.HeadMismatch, advancing(expecting([]onto.Expectation{headIs(9)}, put(person("ada"), 9)), "mirror", 2, 3))
	s.do(advancing(draft(put(person("ada"), 9)), "mirror", 2, 0))
	s.wantPositions("positions")
}

func positionNothing(s *busStory, _ backend.Positions) {
	s.commit(put(person("ada"), 1))
	r, err := s.appendDraft(riding(advancing(draft(put(person("ada"), 1)), "mirror", 0, 1), event(1, "paid")))
	s.made(0, r, err)
	r, err = s.appendStream(advancing(draft(), "mirror", 1, 2))
	s.made(0, r, err)
	s.wantPositions("positions mirror at 2")
	s.want("events without a commit", s.events(backend.EventQuery{}), "")
	s.refuse(onto.Conflict, advancing(draft(), "mirror", 1, 2))
}

func positionRepeated(s *busStory, p backend.Positions) {
	d := advancing(draft(put(person("ada"), 1)), "mirror", 0, 1)
	d.IdempotencyKey = "k"
	first := s.do(d).Commit
	for _, send := range []appender{s.appendDraft, s.appendStream} {
		r, err := send(d) // it is not at 0 any more
		s.must(err)
		s.wantRepeat(r, first)
		s.wantPositions("positions mirror at 1")
		s.must(p.Advance(s.ctx, onto.Advance{Name: "mirror", From: 1, To: 0}))
		r, err = send(d)
		s.must(err)
		s.wantRepeat(r, first)
		s.wantPositions("positions mirror at 1")
	}
}

func watchFirst(s *busStory, watch func() backend.Watcher) {
	w := watch()
	for range 3 {
		mark, err := w.Await(s.ctx, 0)
		if err != nil || mark == 0 {
			s.Fatalf("got mark %d and error %v, want another mark than 0", mark, err)
		}
	}
}

// watchWrites asks after each kind of write, by this handle and by another one.
func watchWrites(s *busStory, watch func() backend.Watcher) {
	watchers := []backend.Watcher{watch()}
	own, _ := backend.As[backend.Watcher](s.Backend)
	watchers = append(watchers, own)
	marks := make([]int64, len(watchers))
	look := func(i int, what string) {
		s.Helper()
		mark, err := watchers[i].Await(s.ctx, marks[i])
		if err != nil || mark == marks[i] || mark == 0 {
			s.Fatalf("%s: got mark %d after %d, and error %v", what, mark, marks[i], err)
		}
		marks[i] = mark
	}
	var c []onto.Claim
	for _, w := range []struct {
		name string
		do   func()
	}{
		{"a commit", func() { s.commit(put(person("ada"), 1)) }},
		{"emit", func() { s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid")) }},
		{"claim", func() { c = s.claim(request("billing", 3, "paid"), "e1 e2 e3") }},
		{"settle", func() { s.settle(settling(backend.Release, c[0])) }},
		{"beat", func() { s.beat(alive("one")) }},
		{"an ack without a commit", func() { s.do(acking(draft(), c[1])) }},
		{"a settlement with a claim", func() {
			r := request("billing", 0, "paid")
			r.Settle = []backend.Settlement{settling(backend.Ack, c[2])}
			s.claim(r, "")
		}},
		{"cleaning", func() { s.clean(backend.Cleaning{Before: s.now().Add(time.Second), Apply: true}) }},
		{"register", func() { s.register(tagged("New")) }},
		{"advance", func() {
			if p, ok := backend.As[backend.Positions](s.Backend); ok {
				s.must(p.Advance(s.ctx, onto.Advance{Name: "mirror", To: 1}))
			} else {
				s.emit(event(9, "paid"))
			}
		}},
	} {
		for i := range watchers {
			marks[i] = 0
			look(i, "at first")
		}
		w.do()
		for i := range watchers {
			look(i, w.name)
		}
	}
}

func watchWaits(s *busStory, watch func() backend.Watcher) {
	w := watch()
	mark, err := w.Await(s.ctx, 0)
	s.must(err)
	for n := range 5 {
		type answer struct {
			mark int64
			err  error
		}
		answers := make(chan answer)
		go func() {
			mark, err := w.Await(s.ctx, mark)
			answers <- answer{mark, err}
		}()
		if n%2 == 0 {
			s.emit(event(n+1, "paid"))
		} else {
			s.commit(put(person("ada"), n))
		}
		got := <-answers
		if got.err != nil || got.mark == mark {
			s.Fatalf("got mark %d after %d, and error %v", got.mark, mark, got.err)
		}
		mark = got.mark
	}
}

func watchEnds(s *busStory, watch func() backend.Watcher) {
	w := watch()
	quiet := func(ctx context.Context, b backend.Watcher) error {
		mark, err := b.Await(ctx, 0)
		for err == nil { // it may tell of a write that there was not
			mark, err = b.Await(ctx, mark)
		}
		return err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error)
	go func() { ended <- quiet(ctx, w) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled: got error %v, want %v", err, context.Canceled)
	}
	b := s.target.Open(s.T, s.place)
	w, _ = backend.As[backend.Watcher](b)
	go func() { ended <- quiet(s.ctx, w) }()
	s.must(b.Close())
	if err := <-ended; !errors.Is(err, onto.Closed) {
		s.Errorf("closed: got error %v, want code %s", err, onto.Closed)
	}
}
