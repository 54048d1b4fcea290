package backendtest

import (
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func logSize(s *archiveStory) {
	large := strings.Repeat("x", 100_000)
	s.commit(put(person("ada"), 1), put(person("bob"), 1))
	s.commit(set(person("ada"), `{"t":"`+large+`"}`), remove(person("bob")), put(visit("a", "b", "1"), 1))
	s.commit(put(person("cy"), 1))
	for since, want := range []string{"head 3, 3 commits, 6 versions", "head 3, 2 commits, 4 versions", "head 3, 1 commits, 1 versions", "head 3, 0 commits, 0 versions"} {
		size, err := s.archive.LogSize(s.ctx, int64(since), backend.Head)
		s.must(err)
		s.want(fmt.Sprint("since ", since), fmt.Sprintf("head %d, %d commits, %d versions", size.Head, size.Commits, size.Versions), want)
		if size.Bytes < 0 || size.Scratch < 0 || since <= 1 && size.Bytes == 0 {
			s.Errorf("since %d: got %d bytes and %d of scratch, want about %d", since, size.Bytes, size.Scratch, len(large))
		}
	}
}

func logSizeOfParts(s *archiveStory) {
	s.commit(put(person("ada"), 1), put(person("bob"), 1))
	s.commit(put(person("ada"), 2), remove(person("bob")), put(visit("a", "b", "1"), 1))
	s.commit(put(person("cy"), 1))
	for _, part := range []struct {
		since, until int64
		want         string
	}{
		{0, 0, "0 commits, 0 versions"}, {0, 1, "1 commits, 2 versions"}, {0, 2, "2 commits, 5 versions"}, {1, 2, "1 commits, 3 versions"},
		{2, 2, "0 commits, 0 versions"}, {2, 3, "1 commits, 1 versions"}, {0, 3, "3 commits, 6 versions"}, {1, 3, "2 commits, 4 versions"},
	} {
		size, err := s.archive.LogSize(s.ctx, part.since, part.until)
		s.must(err)
		s.want(fmt.Sprintf("from %d to %d", part.since, part.until), fmt.Sprintf("%d commits, %d versions", size.Commits, size.Versions), part.want)
	}
	for _, part := range [][2]int64{{0, 4}, {2, 1}, {0, -2}, {4, 4}, {-1, 2}} {
		_, err := s.archive.LogSize(s.ctx, part[0], part[1])
		s.wantCode(fmt.Sprintf("from %d to %d", part[0], part[1]), err, onto.NotFound)
	}
}

// notes formats what a log tells about a copy of it.
func (s *archiveStory) notes() []string {
	s.Helper()
	size, err := s.archive.LogSize(s.ctx, 0, backend.Head)
	s.must(err)
	var lines []string
	for _, n := range size.Notes {
		lines = append(lines, fmt.Sprintf("%s %q: %d", n.Code, n.Of, n.Count))
	}
	return lines
}

func logNotes(s *archiveStory) {
	s.lively()
	s.wantLines("notes about a plain log", s.notes(), nil)
	b, ok := backend.As[backend.Bus](s.Backend)
	if !ok {
		return
	}
	bus := &busStory{s.story, b}
	bus.emit(event(1, "paid"), event(2, "paid"), event(3, "lost"))
	bus.ack(bus.claim(request("billing", 9, "paid"), "e1 e2")[0])
	bus.settle(settling(backend.Bury, bus.one("post", "lost")))
	s.wantLines("notes about a log with events", s.notes(), []string{
		`events_stay "shop": 3`, `claims_stay "billing acked": 1`, `claims_stay "billing claimed": 1`, `claims_stay "post dead_lettered": 1`,
	})
}
