// Package volume tells how much room there is where a store is kept, and when that is
// too little.
package volume

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/audit"
)

// enough is how many bytes should be free at least.
const enough = 64 << 20

// Low finds a volume that is almost full: what is free should hold a twentieth of
// the store, and 64 MB at least. It reports false if there is enough room.
func Low(free, size int64) (onto.Finding, bool) {
	need := max(enough, size/20)
	if free >= need {
		return onto.Finding{}, false
	}
	return audit.DiskLow.Finding("the volume has %.1f MB free, less than the %.1f MB that the store may need soon", megabytes(free), megabytes(need)), true
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }
