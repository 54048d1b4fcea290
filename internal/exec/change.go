package exec

import (
	"bytes"

	"github.com/ontologia/onto"
)

// Difference compares an identity's versions at two moments. Before is nil if
// it had none. It reports false if both show the same state.
func Difference(before, after *onto.Version) (onto.Change, bool) {
	if before != nil && !before.Live() {
		before = nil
	}
	c := onto.Change{Identity: after.Identity, Before: before, After: after}
	if before == nil {
		return c, after.Live()
	}
	return c, !after.Live() || !bytes.Equal(before.Fields, after.Fields)
}
