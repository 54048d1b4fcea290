package derived

import "github.com/ontologia/onto"

// Internals for tests.
type Index = index

func IndexKey(t onto.TypeName) string { return indexKey(t) }
