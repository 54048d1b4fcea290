package backendtest

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func letterStories() []busTale {
	return []busTale{
		{"a dead letter keeps the event as it was", letterKept},
		{"a dead letter is told of", letterNotice},
		{"dead letters are found", lettersFound},
		{"a dead letter is resolved once", letterResolved},
		{"dead letters are resolved together with what repeats them", letterReplayed},
	}
}

// bury gives an event up for a handler.
func (s *busStory) bury(handler, message string, types ...string) {
	s.Helper()
	t := settling(backend.Bury, s.one(handler, types...))
	t.Error = message
	s.settle(t)
}

func letterKept(s *busStory) {
	e := keyedEvent(1, "paid", "order 1")
	e.Root, e.Depth, e.Parent, e.ReplayOf = eventID(7), 3, eventID(8), eventID(9)
	d := draft(put(person("ada"), 1))
	d.Events = []backend.NewEvent{e}
	s.do(d)
	s.move(time.Second)
	c := s.one("billing", "paid")
	t := settling(backend.Bury, c)
	t.Payload, t.Type, t.Root, t.Commit = []byte(`"another"`), "another", "", 0 // what names the claim counts
	t.Attempts, t.Deliveries = 5, 6
	s.settle(t)
	want := []string{
		`letter 1: e1 shop/paid {"n":1} at 12:00:00.000000Z, priority 100, root e7, depth 3, parent e8, key "order 1", replays e9, in commit 1, ` +
			`given up by billing at 12:00:01.000000Z after 5 attempts and 6 deliveries: "it failed"`,
	}
	s.wantLines("dead letters", s.letters(backend.DeadLetterQuery{}), want)
	s.clean(backend.Cleaning{Before: s.now(), Apply: true})
	s.want("events", s.events(backend.EventQuery{}), "")
	s.wantLines("dead letters without the event", s.letters(backend.DeadLetterQuery{}), want)
	s.reopen()
	s.wantLines("after reopening", s.with(s.story).letters(backend.DeadLetterQuery{}), want)
}

func letterNotice(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	c := s.claim(request("billing", 2, "paid"), "e1 e2")
	s.move(time.Second)
	notice := event(3, onto.DeadLetterType)
	notice.Root, notice.Depth, notice.Parent = eventID(1), 1, eventID(1)
	t := settling(backend.Bury, c[0])
	t.Notice = &notice
	s.settle(t)
	s.settle(settling(backend.Bury, c[1]))
	s.want("events", s.events(backend.EventQuery{}), "e1 dead_lettered, e2 dead_lettered, e3 pending")
	s.want("notice", showEvent(s.event(3).Event), `e3 shop/event.dead_letter {"n":1} at 12:00:01.000000Z, priority 100, root e1, depth 1, parent e1`)
	s.claim(request("alarm", 9, onto.DeadLetterType), "e3")
}

func lettersFound(s *busStory) {
	other := event(3, "paid")
	other.Namespace = "other"
	s.emit(event(1, "paid"), event(2, "shipped"), other)
	s.bury("billing", "no money", "paid")
	s.bury("mail", "no money left", "paid")
	s.bury("mail", "100%_of", "shipped")
	r := request("mail", 9, "paid")
	r.Namespace = "other"
	t := settling(backend.Bury, s.claim(r, "e3")[0])
	t.Error = "No"
	s.settle(t)
	_, err := s.Emit(s.ctx, &backend.Emission{Resolve: []backend.DeadLetterEnd{{ID: 2, Kind: onto.Dropped}}})
	s.must(err)
	for _, test := range []struct {
		q    backend.DeadLetterQuery
		want string
	}{
		{backend.DeadLetterQuery{}, "1 3 4 "},
		{backend.DeadLetterQuery{Resolved: true}, "1 2 3 4 "},
		{backend.DeadLetterQuery{Resolved: true, Limit: 2}, "1 2 "},
		{backend.DeadLetterQuery{Limit: 2}, "1 3 "},
		{backend.DeadLetterQuery{Namespace: "shop"}, "1 3 "},
		{backend.DeadLetterQuery{Namespace: "nowhere"}, ""},
		{backend.DeadLetterQuery{IDs: []int64{4, 2, 3, 9}}, "3 4 "},
		{backend.DeadLetterQuery{IDs: []int64{}}, ""},
		{backend.DeadLetterQuery{EventID: eventID(1), Resolved: true}, "1 2 "},
		{backend.DeadLetterQuery{Handler: "mail"}, "3 4 "},
		{backend.DeadLetterQuery{Type: "paid"}, "1 4 "},
		{backend.DeadLetterQuery{Error: "no money", Resolved: true}, "1 2 "},
		{backend.DeadLetterQuery{Error: "%_"}, "3 "},
		{backend.DeadLetterQuery{Error: "_o", Resolved: true}, "3 "},
		{backend.DeadLetterQuery{Error: "no money", Handler: "mail", Type: "paid", Namespace: "shop", Resolved: true}, "2 "},
	} {
		var got string
		for l, err := range s.DeadLetters(s.ctx, &test.q) {
			s.must(err)
			got += string(rune('0'+l.ID)) + " "
		}
		s.want("dead letters", got, test.want)
	}
}

func letterResolved(s *busStory) {
	s.emit(event(1, "paid"), event(2, "paid"))
	for _, c := range s.claim(request("billing", 2, "paid"), "e1 e2") {
		s.settle(settling(backend.Bury, c))
	}
	s.move(time.Second)
	resolve := func(ends ...backend.DeadLetterEnd) error {
		_, err := s.Emit(s.ctx, &backend.Emission{Events: []backend.NewEvent{event(9, "paid")}, Resolve: ends})
		return err
	}
	drop := func(id int64) backend.DeadLetterEnd {
		return backend.DeadLetterEnd{ID: id, Kind: onto.Dropped, By: onto.Operator("ana")}
	}
	before := s.state()
	s.wantCode("one that does not exist", resolve(drop(1), drop(3)), onto.NotFound)
	s.wantCode("one that cannot exist", resolve(drop(0)), onto.NotFound)
	s.wantCode("one twice", resolve(drop(2), drop(1), drop(2)), onto.Conflict)
	s.wantLines("the bus", s.state(), before)
	_, err := s.Emit(s.ctx, &backend.Emission{Resolve: []backend.DeadLetterEnd{drop(1)}})
	s.must(err)
	before = s.state()
	s.wantLines("dead letters", s.letters(backend.DeadLetterQuery{IDs: []int64{1}, Resolved: true}), []string{
		`letter 1: e1 shop/paid {"n":1} at 12:00:00.000000Z, priority 100, root e1, depth 0, parent -, ` +
			`given up by billing at 12:00:00.000000Z after 0 attempts and 0 deliveries: "it failed", dropped at 12:00:01.000000Z by operator:ana with -`,
	})
	other := s.also()
	s = other
	s.wantCode("one that was resolved", resolve(drop(2), drop(1)), onto.Conflict)
	s.wantLines("the bus", s.state(), before)
	s.must(resolve(drop(2)))
	s.wantLines("dead letters that are left", s.letters(backend.DeadLetterQuery{}), nil)
	s.want("namespace", s.spaces()[0], "namespace shop: 3 events, 0 dead letters\n\thandler billing of paid: 1 waiting, 0 claimed\n\ttype paid: 3 events, handled true")
}

func letterReplayed(s *busStory) {
	s.emit(keyedEvent(1, "paid", "k"), event(2, "paid"))
	for _, c := range s.claim(request("billing", 2, "paid"), "e1 e2") {
		s.settle(settling(backend.Bury, c))
	}
	replay := func(n, of int) backend.NewEvent {
		e := s.event(of).Event
		e.ID, e.Root, e.ReplayOf = eventID(n), "", eventID(of)
		return backend.NewEvent{Event: e}
	}
	by, err := onto.ParseActor("operator:ana")
	s.must(err)
	list, err := s.Emit(s.ctx, &backend.Emission{
		Events: []backend.NewEvent{replay(3, 1), replay(4, 2)},
		Resolve: []backend.DeadLetterEnd{
			{ID: 1, Kind: onto.Replayed, By: by, Replay: eventID(3)}, {ID: 2, Kind: onto.Replayed, By: by, Replay: eventID(4)},
		},
	})
	s.must(err)
	s.want("replay", showEvent(list[0]), `e3 shop/paid {"n":1} at 12:00:00.000002Z, priority 100, root e3, depth 0, parent -, key "k", replays e1`)
	s.claim(request("billing", 9, "paid"), "e3 e4")
	s.wantLines("dead letters", s.letters(backend.DeadLetterQuery{Resolved: true, Limit: 1}), []string{
		`letter 1: e1 shop/paid {"n":1} at 12:00:00.000000Z, priority 100, root e1, depth 0, parent -, key "k", ` +
			`given up by billing at 12:00:00.000000Z after 0 attempts and 0 deliveries: "it failed", replayed at 12:00:00.000000Z by operator:ana with e3`,
	})
}
