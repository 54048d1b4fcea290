package backendtest

import (
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func orderingStories() []busTale {
	return []busTale{
		{"of a key, one event is in play", keyOne},
		{"within a key arrival counts, among others priority", keyPriority},
		{"keys are apart by handler and namespace", keyApart},
		{"a failure blocks its key, a dead letter frees it", keyBlocked},
		{"a lost claim blocks its key", keyLost},
		{"a type that is asked for later waits for the event in play", keyLaterType},
		{"two versions of a handler get their own types", keyTwoVersions},
		{"events of a key that arrive later wait", keyLaterEvents},
		{"a handler keeps the order of every key", keyMany},
	}
}

func keyOne(s *busStory) {
	s.emit(keyedEvent(1, "paid", "a"), keyedEvent(2, "paid", "a"), keyedEvent(3, "paid", "b"), event(4, "paid"), keyedEvent(5, "paid", "A"))
	c := s.claim(request("billing", 9, "paid"), "e1 e3 e4 e5")
	s.claim(request("billing", 9, "paid"), "")
	s.ack(c[1])
	s.claim(request("billing", 9, "paid"), "")
	s.ack(c[0])
	c = s.also().claim(request("billing", 9, "paid"), "e2")
	s.ack(c[0])
	s.claim(request("billing", 9, "paid"), "")
	s.emit(keyedEvent(6, "paid", "a"))
	s.claim(request("billing", 9, "paid"), "e6")
}

func keyPriority(s *busStory) {
	keyed := func(n, priority int) backend.NewEvent {
		e := urgent(n, "paid", priority)
		e.OrderingKey = "k"
		return e
	}
	s.emit(keyed(1, 10), keyed(2, 999), urgent(3, "paid", 50), urgent(4, "paid", 5), keyed(5, 500), urgent(6, "paid", 600))
	s.claim(request("billing", 1, "paid"), "e6")
	c := s.claim(request("billing", 9, "paid"), "e3 e1 e4")
	s.ack(c[1])
	s.emit(urgent(7, "paid", 1000), urgent(8, "paid", 998))
	c = s.claim(request("billing", 9, "paid"), "e7 e2 e8")
	s.settle(settling(backend.Bury, c[1]))
	s.claim(request("billing", 9, "paid"), "e5")
}

func keyApart(s *busStory) {
	one, two := keyedEvent(3, "paid", "k"), keyedEvent(4, "paid", "k")
	one.Namespace, two.Namespace = "other", "other"
	s.emit(keyedEvent(1, "paid", "k"), keyedEvent(2, "paid", "k"), one, two)
	c := s.one("billing", "paid")
	s.claim(request("mail", 9, "paid"), "e1")
	r := request("billing", 9, "paid")
	r.Namespace = "other"
	far := s.claim(r, "e3")[0]
	s.ack(c)
	s.claim(request("billing", 9, "paid"), "e2")
	s.claim(request("mail", 9, "paid"), "")
	s.claim(r, "")
	s.ack(far)
	s.claim(r, "e4")
}

func keyBlocked(s *busStory) {
	s.emit(keyedEvent(1, "paid", "k"), keyedEvent(2, "paid", "k"), keyedEvent(3, "paid", "k"))
	t := settling(backend.Release, s.one("billing", "paid"))
	t.Delay = time.Hour
	s.settle(t)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Hour)
	c := s.claim(request("billing", 9, "paid"), "e1")[0]
	t = settling(backend.Return, c)
	t.Delay = time.Hour
	s.settle(t)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Hour)
	c = s.claim(request("billing", 9, "paid"), "e1")[0]
	s.settle(settling(backend.Bury, c))
	replay := keyedEvent(4, "paid", "k")
	replay.ReplayOf = eventID(1)
	s.emit(replay)
	for _, name := range []string{"e2", "e3", "e4"} {
		s.ack(s.claim(request("billing", 9, "paid"), name)[0])
	}
}

func keyLost(s *busStory) {
	s.emit(keyedEvent(1, "paid", "k"), keyedEvent(2, "paid", "k"))
	c := s.one("billing", "paid")
	s.move(time.Hour)
	again := s.one("billing", "paid")
	s.want("claimed again", eventName(again.ID), "e1")
	s.stale(c)
	s.claim(request("billing", 9, "paid"), "")
	s.move(time.Hour)
	s.ack(again) // late, and before it is taken
	s.claim(request("billing", 9, "paid"), "e2")
}

func keyLaterType(s *busStory) {
	s.emit(keyedEvent(1, "new", "k"), keyedEvent(2, "paid", "k"), keyedEvent(3, "new", "k"), keyedEvent(4, "paid", "k"), keyedEvent(5, "new", "other"))
	c := s.claim(request("billing", 9, "paid"), "e2")[0]
	s.claim(request("billing", 9, "paid", "new"), "e5")
	s.claim(request("billing", 9, "new"), "")
	s.ack(c)
	for _, name := range []string{"e1", "e3", "e4"} {
		s.claim(request("mail", 0, "paid", "new"), "")
		s.ack(s.claim(request("billing", 9, "new", "paid"), name)[0])
	}
}

func keyTwoVersions(s *busStory) {
	s.emit(keyedEvent(1, "old", "k"), keyedEvent(2, "new", "k"), keyedEvent(3, "old", "k"), event(4, "new"), keyedEvent(5, "new", "k"))
	first, second := request("billing", 9, "old"), request("billing", 9, "old", "new")
	second.Session = "two"
	c := s.claim(first, "e1")[0]
	s.claim(second, "e4")
	s.ack(c)
	s.claim(first, "") // e2 is in play, which it does not ask for
	c = s.claim(second, "e2")[0]
	s.claim(first, "")
	s.ack(c)
	c = s.claim(first, "e3")[0]
	s.claim(second, "")
	s.ack(c)
	s.claim(first, "")
	s.claim(second, "e5")
}

func keyLaterEvents(s *busStory) {
	s.emit(keyedEvent(1, "a", "k"))
	s.claim(request("billing", 0, "a"), "")
	s.emit(keyedEvent(2, "b", "k"), keyedEvent(3, "a", "k"))
	s.claim(request("billing", 0, "b"), "")
	c := s.claim(request("billing", 9, "a", "b"), "e1")[0]
	s.ack(c) // e3 is known by now
	s.emit(keyedEvent(4, "a", "k"))
	for _, name := range []string{"e2", "e3", "e4"} {
		s.ack(s.claim(request("billing", 9, "a", "b"), name)[0])
	}
	// What is emitted between a claim and its ack is not known when the ack frees the key.
	s.emit(keyedEvent(5, "b", "k"))
	c = s.claim(request("billing", 9, "b"), "e5")[0]
	s.emit(keyedEvent(6, "a", "k"), keyedEvent(7, "b", "k"))
	s.ack(c)
	s.claim(request("billing", 9, "b"), "e7")
	s.claim(request("billing", 9, "a"), "")
}

// keyMany handles events of many keys in pieces, with failures on the way.
func keyMany(s *busStory) {
	const events, keys = 60, 7
	for n := range events {
		e := keyedEvent(n, "paid", fmt.Sprint("key ", n*n%keys))
		e.Priority = n % 3
		s.emit(e)
	}
	last, done, failures := map[string]string{}, 0, 0
	arrival := map[string]int{}
	for n := range events {
		arrival[eventID(n)] = n
	}
	for round := 0; done < events; round++ {
		claims := s.asked(request("billing", 1+round%4, "paid")).Claims
		if len(claims) == 0 {
			s.Fatalf("nothing to claim after %d events", done)
		}
		for i, c := range claims {
			if (round+i)%5 == 0 && failures < 20 {
				failures++
				s.settle(settling(backend.Release, c))
				continue
			}
			if before, ok := last[c.OrderingKey]; ok && arrival[before] >= arrival[c.ID] {
				s.Errorf("%s of %s comes after %s", eventName(c.ID), c.OrderingKey, eventName(before))
			}
			last[c.OrderingKey] = c.ID
			done++
			s.ack(c)
		}
	}
	s.want("left", s.events(backend.EventQuery{Status: onto.EventPending}), "")
}
