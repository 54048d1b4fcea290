package backendtest

import (
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func sessionStories() []busTale {
	return []busTale{
		{"a session says that it is alive", sessionBeats},
		{"a session without a sign of life is dead", sessionDies},
		{"a beat extends leases", beatExtends},
		{"a beat tells of claims that were lost", beatTells},
		{"a claim is extended from now also if the clock went back", beatBack},
		{"the end of a session leaves its claims", sessionEnds},
		{"a namespace tells what is in it", namespaces},
	}
}

// sessionTTL is how long a session lives without a sign of life.
const sessionTTL = time.Minute

// beat sends a beat and returns the names of the claims that were lost.
func (s *busStory) beat(b *backend.Beat) string {
	s.Helper()
	lost, err := s.Beat(s.ctx, b)
	s.must(err)
	return claimNames(lost)
}

func alive(id string, claims ...onto.Claim) *backend.Beat {
	return &backend.Beat{Session: onto.Session{ID: id, Namespace: "shop"}, Claims: claims, Lease: time.Minute}
}

func sessionBeats(s *busStory) {
	b := alive("one")
	b.Metadata, b.Started, b.Session.Beat = []byte(`{"pid":1}`), s.now().Add(time.Hour), s.now().Add(time.Hour)
	s.beat(b)
	s.beat(alive("Two"))
	s.move(time.Second)
	s.beat(alive("Two"))
	s.wantLines("namespaces", s.spaces(), []string{
		"namespace shop: 0 events, 0 dead letters\n\tsession Two in shop since 12:00:00.000000Z, beat 12:00:01.000000Z, " +
			"\n\tsession one in shop since 12:00:00.000000Z, beat 12:00:00.000000Z, {\"pid\":1}",
	})
	b.Namespace, b.Metadata = "other", []byte(`{"pid":2}`)
	s.also().beat(b)
	two := alive("Two")
	two.End = true
	s.beat(two)
	s.beat(two) // which is gone
	s.wantLines("namespaces", s.spaces(), []string{
		"namespace other: 0 events, 0 dead letters\n\tsession one in other since 12:00:00.000000Z, beat 12:00:01.000000Z, {\"pid\":2}",
	})
	s.beat(alive("Two"))
	s.want("a session that begins again", s.spaces()[1], "namespace shop: 0 events, 0 dead letters\n\tsession Two in shop since 12:00:01.000000Z, beat 12:00:01.000000Z, ")
}

// A session is dead when its last beat is longer ago than its time to live, which each
// question gives. It is still there, with its claims, until it beats again or is ended.
func sessionDies(s *busStory) {
	alone := func(id string) *backend.Beat {
		return &backend.Beat{Session: onto.Session{ID: id, Namespace: id}, Lease: time.Minute}
	}
	lives := func(ttl time.Duration) string {
		list, err := s.Namespaces(s.ctx, ttl)
		s.must(err)
		var text []string
		for _, n := range list {
			for _, one := range n.Sessions {
				text = append(text, one.ID+" alive")
			}
			for _, one := range n.Dead {
				text = append(text, one.ID+" dead")
			}
		}
		return strings.Join(text, ", ")
	}
	s.beat(alone("a"))
	s.beat(alone("b"))
	s.move(sessionTTL)
	s.want("at the end of their time", lives(sessionTTL), "a alive, b alive")
	s.want("asked for another time", lives(sessionTTL-time.Microsecond), "a dead, b dead")
	s.move(time.Microsecond)
	s.beat(alone("b"))
	s.want("one goes on", lives(sessionTTL), "a dead, b alive")
	s.want("without a time", lives(0), "a alive, b alive")
	s.wantLines("a dead session is shown", s.spaces(), []string{
		"namespace a: 0 events, 0 dead letters\n\tdead session a in a since 12:00:00.000000Z, beat 12:00:00.000000Z, ",
		"namespace b: 0 events, 0 dead letters\n\tsession b in b since 12:00:00.000000Z, beat 12:01:00.000001Z, ",
	})
	s.beat(alone("a"))
	s.want("a late beat", lives(sessionTTL), "a alive, b alive")
	s.move(-sessionTTL - time.Microsecond)
	s.want("beats of a clock that was ahead", lives(sessionTTL), "a dead, b dead")
	end := alone("a")
	end.End = true
	s.beat(end)
	s.want("ended", lives(sessionTTL), "b dead")
}

func beatExtends(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"))
	c := s.claim(request("billing", 9, "paid"), "e1 e2 e3")
	s.move(50 * time.Second)
	s.want("lost", s.beat(alive("one", c[0], c[1])), "")
	s.want("extended", showTime(s.claimed(1).Until), "12:01:50.000000Z")
	s.move(10 * time.Second)
	s.claim(request("billing", 9, "paid"), "e3")
	s.move(50*time.Second - time.Microsecond)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Microsecond)
	s.want("lost", s.beat(alive("one", c[1])), "") // it ran out, and was not taken
	s.claim(request("billing", 9, "paid"), "e1")
	s.want("not before", showTime(s.asked(request("billing", 9, "paid")).Next), "12:02:00.000000Z")
	s.ack(c[1])
	short := alive("one")
	short.Lease = time.Second
	short.Claims = s.claim(requestAfter(s, time.Hour), "e1 e3")
	s.want("lost", s.beat(short), "")
	s.move(time.Second)
	s.claim(request("billing", 9, "paid"), "e1 e3")
}

// requestAfter moves the clock and asks for what is there by then.
func requestAfter(s *busStory, d time.Duration) *backend.ClaimRequest {
	s.move(d)
	return request("billing", 9, "paid")
}

func beatTells(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "paid"), event(4, "paid"))
	c := s.claim(request("billing", 9, "paid"), "e1 e2 e3 e4")
	s.ack(c[0])
	s.settle(settling(backend.Return, c[2]))
	s.claim(request("billing", 9, "paid"), "e3")
	other := c[1]
	other.Session = "two"
	c[2].Claimed = c[2].Claimed.Add(-time.Second)
	s.move(time.Second)
	s.want("lost", s.beat(alive("one", c[3], c[2], c[0], other)), "e3 e1 e2")
	s.want("held", showTime(s.claimed(4).Until), "12:01:01.000000Z")
	s.want("not extended", showTime(s.claimed(2).Until), "12:01:00.000000Z")
	s.settle(settling(backend.Bury, c[3]))
	s.want("lost", s.beat(alive("one", c[3])), "e4")
}

func beatBack(s *busStory) {
	s.emit(event(1, "paid"))
	c := s.one("billing", "paid")
	s.move(-time.Hour)
	s.want("lost", s.beat(alive("one", c)), "")
	s.want("claim", showClaimState(s.claimed(1)),
		`billing of one at 12:00:00.000000Z until 11:01:00.000000Z, available 11:00:00.000000Z, acked -, dead -, 0 attempts, 0 deliveries, error ""`)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Minute)
	if c := s.one("billing", "paid"); !c.Lost {
		s.Errorf("got %s, want a lost claim", showClaim(c))
	}
}

func sessionEnds(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	s.beat(alive("one"))
	c := s.claim(request("billing", 1, "paid"), "e1")
	s.move(time.Second)
	end := alive("one", c...)
	end.End = true
	before := showState(s.event(1))
	s.want("lost", s.beat(end), "")
	s.want("its claim", showState(s.event(1)), before)
	s.ack(c[0])
	end.Claims = c
	s.want("lost at its end", s.beat(end), "")
}

func namespaces(s *busStory) {
	s.wantLines("at first", s.spaces(), nil)
	far := event(5, "paid")
	far.Namespace = "far"
	s.emit(event(1, "paid"), event(2, "paid"), event(3, "shipped"), event(4, "lost"), far)
	c := s.claim(request("mail", 2, "shipped", "paid"), "e1 e2")
	s.claim(request("billing", 0, "paid"), "")
	s.ack(c[0])
	gone := request("gone", 9, "lost")
	gone.Namespace = "empty"
	s.claim(gone, "")
	s.settle(settling(backend.Bury, s.one("audit", "lost")))
	want := []string{
		"namespace empty: 0 events, 0 dead letters\n\thandler gone of lost: 0 waiting, 0 claimed",
		"namespace far: 1 events, 0 dead letters\n\ttype paid: 1 events, handled false",
		"namespace shop: 4 events, 1 dead letters\n\thandler audit of lost: 0 waiting, 0 claimed\n\thandler billing of paid: 2 waiting, 0 claimed" +
			"\n\thandler mail of paid shipped: 2 waiting, 1 claimed\n\ttype lost: 1 events, handled true\n\ttype paid: 2 events, handled true\n\ttype shipped: 1 events, handled true",
	}
	s.wantLines("namespaces", s.spaces(), want)
	s.claim(request("mail", 0, "lost"), "")
	s.move(time.Hour)
	s.want("later", s.spaces()[2], "namespace shop: 4 events, 1 dead letters\n\thandler audit of lost: 0 waiting, 0 claimed\n\thandler billing of paid: 2 waiting, 0 claimed"+
		"\n\thandler mail of lost paid shipped: 3 waiting, 0 claimed\n\ttype lost: 1 events, handled true\n\ttype paid: 2 events, handled true\n\ttype shipped: 1 events, handled true")
}
