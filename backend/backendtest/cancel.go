package backendtest

import (
	"context"
	"errors"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func cancelStories() []tale {
	return []tale{
		{"before a call", cancelBefore},
		{"after a deadline", deadlineBefore},
		{"during a sequence", cancelDuring},
		{"before a sequence is read", cancelBeforeReading},
		{"while a stream is read", cancelStream},
		{"while another write is under way", cancelWaiting},
	}
}

func cancelBefore(s *story) {
	s.commit(put(person("ada"), 1))
	before := append(s.everything(), s.schemas()...)
	given := s.ctx
	ctx, cancel := context.WithCancel(given)
	cancel()
	s.ctx = ctx
	errs := s.attempts()
	s.ctx = given
	for name, err := range errs {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s: got error %v, want %v", name, err, context.Canceled)
		}
	}
	s.wantLines("the store", append(s.everything(), s.schemas()...), before)
	s.commit(put(person("ada"), 2))
}

func deadlineBefore(s *story) {
	ctx, cancel := context.WithDeadline(s.ctx, time.Unix(0, 0))
	defer cancel()
	_, err := s.Append(ctx, draft(put(person("ada"), 1)))
	if !errors.Is(err, context.DeadlineExceeded) {
		s.Errorf("append: got error %v, want %v", err, context.DeadlineExceeded)
	}
	s.wantHead(0)
}

// cancelDuring cancels at the first item of many: the sequence ends early,
// with the error, and says nothing after it.
func cancelDuring(s *story) {
	const n = 2000
	for _, w := range rows(20, 0) {
		s.commit(w)
	}
	s.stream(draft(), rows(n, 1)...)
	before := s.everything()
	for _, q := range questions() {
		ctx, cancel := context.WithCancel(s.ctx)
		items, failed := 0, error(nil)
		for _, err := range q.ask(ctx, s) {
			if failed != nil {
				s.Fatalf("%s: goes on after its error", q.name)
			}
			if err != nil {
				failed = err
				continue
			}
			items++
			cancel()
		}
		cancel()
		if !errors.Is(failed, context.Canceled) {
			s.Errorf("%s: got %d items and error %v, want %v", q.name, items, failed, context.Canceled)
		}
	}
	s.wantLines("the store", s.everything(), before)
	s.commit(put(person("ada"), 1))
}

func cancelBeforeReading(s *story) {
	s.manyCommits(3)
	for _, q := range questions() {
		ctx, cancel := context.WithCancel(s.ctx)
		seq := q.ask(ctx, s)
		cancel()
		lines, err := collect(seq, func(line string) string { return line })
		if !errors.Is(err, context.Canceled) || len(lines) > 0 {
			s.Errorf("%s: got %d lines and error %v, want %v at once", q.name, len(lines), err, context.Canceled)
		}
	}
}

func cancelStream(s *story) {
	s.commit(put(person("ada"), 1))
	before := s.everything()
	const n = 20000
	for _, after := range []int{0, 1, 1500} {
		ctx, cancel := context.WithCancel(s.ctx)
		asked := 0
		_, err := s.port().AppendStream(ctx, keyed("k"), numbered(n, func(i int) {
			asked = i
			if i == after {
				cancel()
			}
		}))
		if !errors.Is(err, context.Canceled) {
			s.Fatalf("cancelled after %d rows: got error %v, want %v", after, err, context.Canceled)
		}
		if asked == n-1 {
			s.Errorf("cancelled after %d rows: the stream was read to its end", after)
		}
		s.wantLines("the store", s.everything(), before)
	}
	if r := s.stream(keyed("k"), put(person("ada"), 2)); r.ID != 2 || r.Repeated {
		s.Errorf("afterwards: got commit %d, repeated %v; want commit 2", r.ID, r.Repeated)
	}
}

// cancelWaiting cancels an append while a stream is under way. Whether it waits for the
// stream is up to the backend, but it must return, and its result must be true.
func cancelWaiting(s *story) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	reading, goOn, streamed := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := s.port().AppendStream(s.ctx, draft(), numbered(10, func(i int) {
			if i == 5 {
				close(reading)
				<-goOn
			}
		}))
		streamed <- err
	}()
	select {
	case <-reading:
	case err := <-streamed:
		s.Fatalf("the stream ended early: %v", err)
	}
	appended := make(chan error)
	go func() {
		_, err := s.Append(ctx, draft(put(city("rome"), 1)))
		appended <- err
	}()
	cancel()
	err := <-appended
	close(goOn)
	if err := <-streamed; err != nil {
		s.Errorf("the stream: %v", err)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Errorf("the append: got error %v, want %v", err, context.Canceled)
	}
	got := len(s.scan(stateOf(onto.KindEntity, tCity, backend.Head)))
	if want := map[bool]int{true: 1, false: 0}[err == nil]; got != want {
		s.Errorf("after error %v: got %d cities, want %d", err, got, want)
	}
}
