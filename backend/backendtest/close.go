package backendtest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func closeStories() []tale {
	return []tale{
		{"a closed handle answers nothing", closedHandle},
		{"closing a handle leaves the other one alone", closeOne},
		{"reopening gives everything back", reopening},
		{"closing while busy", closeWhileBusy},
	}
}

// attempts calls each method of a handle once and returns the errors by name.
func (s *story) attempts() map[string]error {
	errs := map[string]error{}
	_, errs["Append"] = s.Append(s.ctx, draft(put(person("new"), 1)))
	_, errs["AppendStream"] = s.AppendStream(s.ctx, draft(), sequence(rows(3, 1), nil))
	_, errs["Resolve"] = s.Resolve(s.ctx, onto.Point{})
	_, errs["Get"] = s.Get(s.ctx, person("ada"), backend.Head)
	_, errs["Firsts"] = firsts(s.ctx, s, backend.Head, person("ada"))
	_, errs["Schemas"] = s.Schemas(s.ctx)
	_, errs["Register"] = s.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("New")}})
	for _, q := range questions() {
		_, errs[q.name] = collect(q.ask(s.ctx, s), func(line string) string { return line })
	}
	return errs
}

func closedHandle(s *story) {
	s.commit(put(person("ada"), 1))
	before := append(s.everything(), s.schemas()...)
	s.must(s.Close())
	for name, err := range s.attempts() {
		if onto.CodeOf(err) != onto.Closed {
			s.Errorf("%s: got error %v, want code %q", name, err, onto.Closed)
		}
	}
	s.Backend = s.open()
	s.wantLines("the store", append(s.everything(), s.schemas()...), before)
}

func closeOne(s *story) {
	other := s.through(s.open())
	s.commit(put(person("ada"), 1))
	s.must(s.Close())
	other.commit(put(person("ada"), 2))
	other.wantState(onto.KindEntity, tPerson, `Person "ada" @2 {"id":"ada","n":2}`)
}

func reopening(s *story) {
	s.threeCommits()
	s.do(rich("k", put(visit("ada", "rome", "t"), 1), put(person("ada"), 7)))
	s.stream(draft(), put(city("rome"), 1), remove(visit("ada", "rome", "t")))
	s.register(tagged("Tag"))
	before := append(s.everything(), s.schemas()...)
	for n := range 3 {
		s.reopen()
		s.wantLines("after reopening", append(s.everything(), s.schemas()...), before)
		s.commit(put(person("again"), n))
		s.wantHead(int64(6 + n))
		before = append(s.everything(), s.schemas()...)
	}
}

// closeWhileBusy closes a handle in use: concurrent calls end well or fail with Closed.
func closeWhileBusy(s *story) {
	s.stream(draft(), rows(200, 1)...)
	busy := s.through(s.open())
	var acknowledged atomic.Int64
	var started, ended sync.WaitGroup
	keepOn := func(call func(n int) error) {
		started.Add(1)
		ready := sync.OnceFunc(started.Done)
		ended.Go(func() {
			defer ready()
			for n := 0; ; n++ {
				if err := call(n); err != nil {
					if onto.CodeOf(err) != onto.Closed {
						s.Errorf("got error %v, want code %q", err, onto.Closed)
					}
					return
				}
				ready()
			}
		})
	}
	for worker, q := range questions() {
		keepOn(func(n int) error {
			_, err := busy.Append(s.ctx, draft(put(city(fmt.Sprint(worker)), n)))
			if err == nil {
				acknowledged.Add(1)
			}
			return err
		})
		keepOn(func(int) error {
			_, err := collect(q.ask(s.ctx, busy), func(line string) string { return line })
			return err
		})
	}
	started.Wait()
	s.must(busy.Close())
	ended.Wait()
	s.wantHead(1 + acknowledged.Load())
}
