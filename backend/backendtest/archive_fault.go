package backendtest

import (
	"errors"
	"fmt"

	"github.com/ontologia/onto/backend"
)

// survivesRestoring makes each part of a copy fail at a point: nothing of it is visible, and
// the same part is accepted afterwards.
func (s *archiveStory) survivesRestoring(point string) {
	s.eventful()
	s.stream(draft(), numberedCities(5000)...)
	other := s.empty()
	reader := other.also()
	since := int64(0)
	for _, last := range []int64{2, 7, 11, 13} {
		other.failsAt(point, reader, func() *backend.Restoration { return s.part(since, last) })
		other.restore(s.part(since, last))
		since = last
	}
	s.wantCopy(other)
	s.wantCopy(reader)
}

// survivesPurging makes a part fail that purges what an earlier one has brought.
func (s *archiveStory) survivesPurging(point string) {
	s.commit(put(city("rome"), 1), put(person("ada"), 1))
	s.commit(put(city("rome"), 2))
	other := s.empty()
	other.restore(s.part(0, 1))
	reader := other.also()
	s.evolve(purging(cities(), ""), put(person("ada"), 2))
	other.failsAt(point, reader, func() *backend.Restoration { return s.part(1, 3) })
	other.restore(s.part(1, 3))
	s.wantCopy(other)
	s.wantCopy(reader)
}

// failsAt makes a restoration fail at a point, twice.
func (s *archiveStory) failsAt(point string, reader *archiveStory, part func() *backend.Restoration) {
	s.Helper()
	before := s.imageWithState()
	for range 2 {
		planted := errors.New("planted at " + point)
		s.target.Fault(s.T, s.Backend, point, planted)
		if err := s.archive.Restore(s.ctx, part()); !errors.Is(err, planted) {
			s.Fatalf("restore: got error %v, want one that wraps the planted one", err)
		}
		s.wantLines("through the same handle", s.imageWithState(), before)
		reader.wantLines("through another handle", reader.imageWithState(), before)
		if err := check(s.Backend); err != nil {
			s.Errorf("check after a fault: %v", err)
		}
		s.reopen()
		s.wantLines(fmt.Sprintf("after a fault at %s and reopening", point), s.imageWithState(), before)
	}
}
