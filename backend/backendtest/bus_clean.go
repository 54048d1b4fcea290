package backendtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func cleanStories() []busTale {
	return []busTale{
		{"cleaning removes what is old and handled", cleanOld},
		{"cleaning keeps what a handler has still to handle", cleanKeeps},
		{"cleaning removes all that is old if asked", cleanAll},
		{"types of removed events stay known", cleanTypes},
		{"cleaning is planned first", cleanPlanned},
		{"cleaning one namespace", cleanNamespace},
		{"a handler that is no more is forgotten", cleanForgets},
		{"a forgotten handler begins anew", cleanForgotten},
		{"a removed event gives its key to the next one", cleanKey},
	}
}

// clean cleans, and formats the plan.
func (s *busStory) clean(c backend.Cleaning) string {
	s.Helper()
	last := int64(0)
	plan, err := s.Clean(s.ctx, &c, func(done, total int64) {
		if done < last || done > total {
			s.Errorf("progress: got %d of %d after %d", done, total, last)
		}
		last = done
	})
	s.must(err)
	if c.Apply && last != plan.Events {
		s.Errorf("progress ended at %d, want %d", last, plan.Events)
	}
	return showPlan(plan)
}

func cleanOld(s *busStory) {
	long := event(3, "shipped")
	long.Payload = []byte(`{"text":"é and more"}`)
	s.emit(event(1, "paid"), event(2, "paid"), long, event(4, "lost"))
	for _, c := range s.claim(request("billing", 9, "paid"), "e1 e2") {
		s.ack(c)
	}
	s.settle(settling(backend.Bury, s.one("post", "lost")))
	s.move(time.Hour)
	s.emit(event(5, "paid"))
	s.beat(alive("one"))
	before := s.event(5).Time
	want := fmt.Sprintf("4 events, 3 claims, %d bytes, 0 kept; shop/lost: 1 and 0 kept; shop/paid: 2 and 0 kept; shop/shipped: 1 and 0 kept", 3*7+len(long.Payload))
	s.want("cleaned", s.clean(backend.Cleaning{Before: before, Apply: true}), want)
	s.want("events", s.events(backend.EventQuery{}), "e5 pending")
	s.want("cleaned again", s.clean(backend.Cleaning{Before: before, Apply: true}), "0 events, 0 claims, 0 bytes, 0 kept")
	if n := len(s.letters(backend.DeadLetterQuery{})); n != 1 {
		s.Errorf("got %d dead letters, want 1", n)
	}
	s.want("namespace", s.spaces()[0], "namespace shop: 1 events, 1 dead letters\n\tsession one in shop since 13:00:00.000000Z, beat 13:00:00.000000Z, "+
		"\n\thandler billing of paid: 1 waiting, 0 claimed\n\thandler post of lost: 0 waiting, 0 claimed\n\ttype paid: 1 events, handled true")
	s.claim(request("billing", 9, "paid"), "e5")
}

func cleanTypes(s *busStory) {
	b := s
	types := func(namespace string) string {
		list, err := b.Types(s.ctx, namespace)
		s.must(err)
		return strings.Join(list, " ")
	}
	s.want("at first", types("shop"), "")
	far := event(5, "sent")
	far.Namespace = "far"
	s.emit(event(1, "shipped"), event(2, "paid"), event(3, "paid"), far)
	s.claim(request("billing", 0, "typo"), "")
	s.want("emitted", types("shop"), "paid shipped")
	s.want("in another namespace", types("far"), "sent")
	s.want("in none", types("nowhere"), "")
	s.move(time.Hour)
	s.clean(backend.Cleaning{Before: s.now(), Unhandled: true})
	s.clean(backend.Cleaning{Before: s.now(), Unhandled: true, Apply: true})
	s.want("events", s.events(backend.EventQuery{}), "")
	s.want("removed", types("shop"), "paid shipped")
	s.want("removed elsewhere", types("far"), "sent")
	s.emit(event(6, "lost"))
	s.settle(settling(backend.Bury, s.one("post", "lost")))
	s.reopen()
	b = s.with(s.story)
	s.want("one more", types("shop"), "lost paid shipped")
	s.wantLines("namespaces are those that have something", b.spaces(), []string{
		"namespace shop: 1 events, 1 dead letters\n\thandler billing of typo: 0 waiting, 0 claimed\n\thandler post of lost: 0 waiting, 0 claimed\n\ttype lost: 1 events, handled true",
	})
}

func cleanKeeps(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"), event(4, "paid"), event(5, "paid"), event(6, "shipped"))
	c := s.claim(request("billing", 4, "paid"), "e1 e2 e3 e4")
	s.ack(c[0])
	s.settle(settling(backend.Bury, c[1]))
	s.settle(settling(backend.Release, c[2]))
	s.move(time.Hour)
	s.want("cleaned", s.clean(backend.Cleaning{Before: s.now(), Apply: true}), "3 events, 2 claims, 21 bytes, 3 kept; shop/paid: 2 and 3 kept; shop/shipped: 1 and 0 kept")
	s.want("events", s.events(backend.EventQuery{}), "e3 pending, e4 pending, e5 pending")
	s.ack(c[3])
	s.claim(request("mail", 0, "paid"), "")
	s.want("cleaned", s.clean(backend.Cleaning{Before: s.now(), Apply: true}), "0 events, 0 claims, 0 bytes, 3 kept; shop/paid: 0 and 3 kept")
	for _, c := range s.claim(request("mail", 9, "paid"), "e3 e4 e5") {
		s.ack(c)
	}
	s.want("cleaned", s.clean(backend.Cleaning{Before: s.now(), Apply: true}), "1 events, 2 claims, 7 bytes, 2 kept; shop/paid: 1 and 2 kept")
	s.claim(request("billing", 9, "paid"), "e3 e5")
}

func cleanAll(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	c := s.claim(request("billing", 2, "paid"), "e1 e2")
	s.want("cleaned", s.clean(backend.Cleaning{Before: s.event(3).Time, Unhandled: true, Apply: true}), "2 events, 2 claims, 14 bytes, 0 kept; shop/paid: 2 and 0 kept")
	s.want("events", s.events(backend.EventQuery{}), "e3 pending")
	s.stale(c[0])
	s.want("lost", s.beat(alive("one", c...)), "e1 e2")
	s.move(time.Hour)
	s.claim(request("billing", 9, "paid"), "e3")
	s.claim(request("mail", 9, "paid"), "e3")
}

func cleanPlanned(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	s.ack(s.claim(request("billing", 1, "paid"), "e1")[0])
	s.move(time.Hour)
	for _, c := range []backend.Cleaning{
		{Before: s.now()}, {Before: s.now(), Unhandled: true}, {Before: s.now(), Forget: []string{"billing", "nobody"}}, {},
	} {
		before := s.state()
		planned := s.clean(c)
		s.wantLines("the bus", s.state(), before)
		other := s.with(s.another())
		other.emit(event(1, "paid"), event(2, "paid"))
		other.ack(other.claim(request("billing", 1, "paid"), "e1")[0])
		c.Apply = true
		s.want("applied", other.clean(c), planned)
	}
	if _, err := s.Clean(s.ctx, &backend.Cleaning{Before: s.now(), Apply: true}, nil); err != nil {
		s.Errorf("without progress: %v", err)
	}
	s.want("events", s.events(backend.EventQuery{}), "e2 pending")
}

func cleanNamespace(s *busStory) {
	far := func(n int, typ string) backend.NewEvent {
		e := event(n, typ)
		e.Namespace = "far"
		return e
	}
	s.emit(event(1, "paid"), far(2, "paid"), far(3, "shipped"), event(4, "shipped"))
	s.claim(request("billing", 0, "paid"), "")
	r := request("billing", 0, "shipped")
	r.Namespace = "far"
	s.claim(r, "")
	s.move(time.Hour)
	s.want("planned", s.clean(backend.Cleaning{Before: s.now()}),
		"2 events, 0 claims, 14 bytes, 2 kept; far/paid: 1 and 0 kept; far/shipped: 0 and 1 kept; shop/paid: 0 and 1 kept; shop/shipped: 1 and 0 kept")
	s.want("cleaned", s.clean(backend.Cleaning{Namespace: "far", Before: s.now(), Apply: true}),
		"1 events, 0 claims, 7 bytes, 1 kept; far/paid: 1 and 0 kept; far/shipped: 0 and 1 kept")
	s.want("nowhere", s.clean(backend.Cleaning{Namespace: "nowhere", Before: s.now(), Apply: true}), "0 events, 0 claims, 0 bytes, 0 kept")
	s.want("cleaned", s.clean(backend.Cleaning{Namespace: "shop", Before: s.now(), Forget: []string{"billing"}, Apply: true}),
		"2 events, 0 claims, 14 bytes, 0 kept; shop/paid: 1 and 0 kept; shop/shipped: 1 and 0 kept")
	s.want("events", s.events(backend.EventQuery{}), "e3 pending")
	s.wantLines("namespaces", s.spaces(), []string{
		"namespace far: 1 events, 0 dead letters\n\thandler billing of shipped: 1 waiting, 0 claimed\n\ttype shipped: 1 events, handled true",
	})
}

func cleanForgets(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	c := s.claim(request("billing", 2, "paid"), "e1 e2")
	s.ack(c[0])
	s.claim(request("mail", 1, "paid"), "e1")
	s.move(time.Hour)
	s.want("planned", s.clean(backend.Cleaning{Before: s.now(), Forget: []string{"mail"}}), "1 events, 2 claims, 7 bytes, 2 kept; shop/paid: 1 and 2 kept")
	s.want("planned", s.clean(backend.Cleaning{Before: s.now(), Forget: []string{"billing"}}), "0 events, 0 claims, 0 bytes, 3 kept; shop/paid: 0 and 3 kept")
	s.want("cleaned", s.clean(backend.Cleaning{Forget: []string{"billing"}, Apply: true}), "0 events, 0 claims, 0 bytes, 0 kept")
	s.stale(c[1]) // its claims that were not settled are gone
	s.want("events", s.events(backend.EventQuery{}), "e1 acked, e2 pending, e3 pending")
	s.want("claims left", fmt.Sprint(len(s.event(1).Claims), len(s.event(2).Claims)), "2 0")
	s.want("namespace", s.spaces()[0], "namespace shop: 3 events, 0 dead letters\n\thandler mail of paid: 3 waiting, 0 claimed\n\ttype paid: 3 events, handled true")
	s.want("cleaned", s.clean(backend.Cleaning{Forget: []string{"mail"}, Apply: true}), "0 events, 0 claims, 0 bytes, 0 kept")
	s.want("namespace", s.spaces()[0], "namespace shop: 3 events, 0 dead letters\n\ttype paid: 3 events, handled false") // though an acked claim is left
	s.want("cleaned", s.clean(backend.Cleaning{Before: s.now(), Forget: []string{"mail", "nobody"}, Apply: true}), "3 events, 1 claims, 21 bytes, 0 kept; shop/paid: 3 and 0 kept")
	s.wantLines("namespaces", s.spaces(), nil)
}

func cleanForgotten(s *busStory) {
	s.emit(keyedEvent(1, "paid", "k"), keyedEvent(2, "paid", "k"), keyedEvent(3, "paid", "k"), event(4, "paid"), keyedEvent(5, "late", "k"))
	c := s.claim(request("billing", 9, "paid"), "e1 e4")
	s.ack(c[0])
	second := s.claim(request("billing", 9, "paid"), "e2")[0]
	t := settling(backend.Release, c[1])
	t.Attempts, t.Delay = 3, time.Hour
	s.settle(t)
	s.clean(backend.Cleaning{Forget: []string{"billing"}, Apply: true})
	s.claim(request("billing", 9, "late"), "e5")
	got := s.claim(request("billing", 9, "paid"), "e4")[0]
	if got.Attempts != 0 || got.Lost {
		s.Errorf("got %s, want a claim that begins anew", showClaim(got))
	}
	s.stale(second)
	s.move(time.Hour)
	s.ack(s.claim(request("billing", 9, "late"), "e5")[0])
	for _, name := range []string{"e2 e4", "e3 e4", "e4"} {
		for _, c := range s.claim(request("billing", 9, "paid"), name) {
			if c.OrderingKey != "" {
				s.ack(c)
			} else {
				s.settle(settling(backend.Return, c))
			}
		}
	}
}

func cleanKey(s *busStory) {
	s.emit(keyedEvent(1, "paid", "k"), keyedEvent(2, "paid", "k"))
	s.move(time.Minute)
	s.emit(keyedEvent(3, "paid", "k"), keyedEvent(4, "paid", "k"))
	c := s.claim(request("billing", 9, "paid"), "e1")[0]
	s.claim(request("mail", 0, "paid"), "")
	s.want("cleaned", s.clean(backend.Cleaning{Before: s.now(), Unhandled: true, Apply: true}), "2 events, 1 claims, 14 bytes, 0 kept; shop/paid: 2 and 0 kept")
	s.stale(c)
	for _, name := range []string{"e3", "e4"} {
		s.ack(s.claim(request("billing", 9, "paid"), name)[0])
	}
	s.claim(request("mail", 9, "paid"), "e3")
	s.clean(backend.Cleaning{Before: s.now().Add(time.Hour), Unhandled: true, Apply: true})
	s.emit(keyedEvent(5, "paid", "k"))
	s.claim(request("mail", 9, "paid"), "e5")
	s.want("left", s.events(backend.EventQuery{Status: onto.EventPending}), "")
}
