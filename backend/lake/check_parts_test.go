package lake

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// makeParts makes a lake with three commits of the same people in several parts.
func makeParts(t *testing.T) (*sample, []protocol.FileEntry) {
	t.Helper()
	s := openSample(t, memory.New(nil), time.Second)
	_, err := s.lake.Register(t.Context(), &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	for i := range 3 {
		var writes []backend.Write
		for j := range 500 {
			writes = append(writes, entityPut("Person", fmt.Sprintf("%04d", j), 1, i))
		}
		s.commit("", writes...)
	}
	s.lake.opts.FileBytes = 4096
	s.compactAll()
	files := s.tip().Catalog.Tables[0].Files
	if len(files) < 3 {
		t.Fatalf("got %d parts, want some", len(files))
	}
	return s, files
}

func (s *sample) compactAll() {
	s.Helper()
	plan, err := s.lake.PlanCompaction(s.Context(), &backend.CompactionOptions{All: true})
	s.must(err)
	_, err = s.lake.Compact(s.Context(), plan, nil)
	s.must(err)
}

// The parts of a file that was compacted are checked, all of them.
func TestCheckOfParts(t *testing.T) {
	s, files := makeParts(t)
	if found := checked(t, s.lake); len(found) != 0 {
		t.Errorf("got %v, want nothing", found)
	}
	s.remove(files[1].Path)
	if found := checked(t, s.lake); codesOf(found) != "object_missing" {
		t.Errorf("without a part: got %v, want object_missing", found)
	}
	s.editCatalog(func(c *protocol.Catalog) { c.Tables[0].Files = append(files[:1:1], files[2:]...) })
	if found := checked(t, s.lake); codesOf(found) != "commit_incomplete commit_incomplete commit_incomplete" {
		t.Errorf("a catalog without a part: got %v, want commit_incomplete for each commit", found)
	}
}

// A compaction that replaces parts while some of them have been looked at is no
// finding.
func TestCheckOfPartsThatAreReplaced(t *testing.T) {
	s, files := makeParts(t)
	s.commit("", entityPut("Person", "0000", 1, 7), entityPut("Person", "later", 1, 1))
	var found []string
	for f, err := range s.lake.CheckSteps(t.Context(), func(step string) {
		if step == "versions" {
			s.compactAll()
			s.remove(files[1].Path)
		}
	}) {
		s.must(err)
		found = append(found, f.String())
	}
	if len(found) != 0 {
		t.Errorf("got %q, want nothing", found)
	}
}
