package filetest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// Place is where a bucket is on the disk of [ForTest]: in a directory that does not
// exist yet.
const Place = "some/where"

// ForTest makes a disk, and returns where a bucket can be on it.
func ForTest(t testing.TB) (disk *Disk, dir string) {
	t.Helper()
	base := t.TempDir()
	disk, err := New(base)
	if err != nil {
		t.Fatal(err)
	}
	return disk, filepath.Join(base, Place)
}

// Survivors selects, for [Disk.PowerFailure], what is left of what was not synced when
// the power fails: nothing, everything, or some of it, as the seed has it.
func Survivors(seed uint64) map[string]func() bool {
	r := rand.New(rand.NewPCG(seed, 1))
	return map[string]func() bool{
		"nothing": func() bool { return false }, "everything": func() bool { return true },
		fmt.Sprintf("some of it (seed %d)", seed): func() bool { return r.IntN(2) == 0 },
	}
}
