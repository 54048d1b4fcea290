package derived

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// Internals for tests.
type (
	Index      = index
	IndexEntry = indexEntry
)

func IndexKey(t onto.TypeName) string { return indexKey(t) }

func LastTouched(s *protocol.Shelf, t onto.TypeName) int64 { return lastTouched(s, t) }
