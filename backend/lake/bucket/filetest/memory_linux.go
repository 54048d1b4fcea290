package filetest

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/ontologia/onto/internal/effort"
)

// RunInMemory is m.Run for TestMain. In a plain run it puts the temporary directories of
// this process and of those that it starts in memory, if there is much room. Files are made,
// linked and locked there as on a disk, but nothing waits for one: what is left when the
// power fails is told by a [Disk] and by no other test. Longer runs use the disk.
func RunInMemory(m *testing.M) int {
	const memory, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if os.Getenv(effort.LevelVariable) != "" || os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &fs) != nil || int64(fs.Bavail)*fs.Bsize < room {
		return m.Run()
	}
	dir, err := os.MkdirTemp(memory, "onto-test")
	if err == nil {
		defer os.RemoveAll(dir) // processes that were killed leave something
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
