package backendtest

import (
	"runtime"

	"github.com/ontologia/onto/backend"
)

func panicStories() []tale {
	return []tale{
		{"a consumer that panics releases everything", consumerPanics},
		{"a stream that panics is undone", streamPanics},
	}
}

// exits returns the ways a caller's code can end without returning.
func exits() map[string]func() {
	return map[string]func(){
		"panic":  func() { panic("planted") },
		"goexit": func() { runtime.Goexit() },
	}
}

// survive runs f, which does not return normally, in a goroutine of its own.
func survive(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
	}()
	<-done
}

func consumerPanics(s *story) {
	s.manyCommits(5)
	for name, exit := range exits() {
		for _, q := range questions() {
			survive(func() {
				for range q.ask(s.ctx, s) {
					exit()
				}
			})
			before := s.everything()
			s.commit(put(person("zoe"), len(before)))
			lines, err := collect(q.ask(s.ctx, s), func(line string) string { return line })
			if after := s.everything(); err != nil || len(lines) < 5 || len(after) <= len(before) {
				s.Fatalf("%s after a %s: got %d lines, error %v; the next commit shows: %v", q.name, name, len(lines), err, len(after) > len(before))
			}
		}
	}
}

func streamPanics(s *story) {
	s.commit(put(person("ada"), 1))
	before := s.everything()
	for name, exit := range exits() {
		for _, n := range []int{0, 3000} {
			survive(func() {
				s.port().AppendStream(s.ctx, draft(), func(yield func(backend.Write, error) bool) {
					for _, w := range rows(n, 1) {
						if !yield(w, nil) {
							return
						}
					}
					exit()
				})
			})
			s.wantLines("after a "+name, s.everything(), before)
		}
	}
	s.commit(put(person("ada"), 2))
	other := s.through(s.open())
	other.commit(put(person("ada"), 3))
}
