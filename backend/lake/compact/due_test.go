package compact

import (
	"math/rand/v2"
	"testing"

	"github.com/ontologia/onto/backend/lake/protocol"
)

// Ten thousand rounds leave few files, and rows are seldom written again.
func TestDueKeepsFilesFew(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		r := rand.New(rand.NewPCG(seed, seed))
		var files []protocol.FileEntry
		most, written, rows := 0, int64(0), int64(0)
		for commit := int64(1); commit <= 10_000; commit++ {
			size := 1 + r.Int64N(20)
			rows += size
			files = append(files, protocol.FileEntry{First: commit, Last: commit, Rows: size, Bytes: 400 + 20*size})
			if group := due(files, 256<<20); len(group) > 0 {
				merged := protocol.FileEntry{First: group[0].First, Last: group[len(group)-1].Last, Level: levelOf(group)}
				for _, f := range group {
					merged.Rows += f.Rows
					merged.Bytes += 20 * f.Rows
				}
				written += merged.Rows
				files = append(files[:len(files)-len(group):len(files)-len(group)], merged)
			}
			most = max(most, len(files))
		}
		t.Logf("seed %d: at most %d files, %d at the end; each row was written again %.2f times", seed, most, len(files), float64(written)/float64(rows))
		if most > 44 || float64(written)/float64(rows) >= 4 {
			t.Errorf("at most %d files, written again %.2f times", most, float64(written)/float64(rows))
		}
		for i := 1; i < len(files); i++ {
			if files[i].First != files[i-1].Last+1 || files[i].Level > files[i-1].Level {
				t.Fatalf("files %+v and %+v", files[i-1], files[i])
			}
		}
	}
}
