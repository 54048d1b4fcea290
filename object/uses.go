package object

import (
	"log/slog"
	"strings"
	"sync"

	"github.com/ontologia/onto"
)

// oftenUsed is how many reads filter by a field without an index before that is logged.
const oftenUsed = 1000

// uses counts reads that filter by fields without an index.
type uses struct {
	mu    sync.Mutex
	count map[string]int64 // by path
}

func newUses() *uses { return &uses{count: map[string]int64{}} }

// note counts the fields that a filter tests. One that is used often is logged once.
func (u *uses) note(k *kind, f onto.Filter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for path := range unindexed(&k.schema, f) {
		if u.count[path]++; u.count[path] == oftenUsed {
			slog.Warn("reads often filter by a field without an index: consider WithIndexes",
				"vault", k.vault, "set", k.name(), "field", path, "reads", oftenUsed)
		}
	}
}

// unindexed returns the fields without an index that a filter tests.
func unindexed(s *onto.Schema, f onto.Filter) map[string]bool {
	paths := map[string]bool{}
	var walk func(f onto.Filter)
	walk = func(f onto.Filter) {
		switch f := f.(type) {
		case onto.And:
			for _, f := range f {
				walk(f)
			}
		case onto.Or:
			for _, f := range f {
				walk(f)
			}
		case onto.Not:
			walk(f.Of)
		case onto.Condition:
			if field, _, ok := s.Lookup(f.Operand.Path); ok && !field.Index && f.Operand.Path[0] != s.Key {
				paths[strings.Join(f.Operand.Path, ".")] = true
			}
		}
	}
	walk(f)
	return paths
}

// Unindexed returns how many reads of this process have filtered by each field of the set that
// has no index.
func (s *Set[T, I, S]) Unindexed() map[string]int64 {
	s.used.mu.Lock()
	defer s.used.mu.Unlock()
	counts := make(map[string]int64, len(s.used.count))
	for path, n := range s.used.count {
		counts[path] = n
	}
	return counts
}
