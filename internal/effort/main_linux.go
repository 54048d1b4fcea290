package effort

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// Main is m.Run for TestMain. In a plain run, or a shorter one, it puts the temporary directories of this
// process, and of those that it starts, in memory, if there is much room. Files are made,
// linked, locked and mapped there as on a disk, but nothing waits for one. What a store keeps
// when its process is killed is the same; what it keeps when the power fails is tested
// otherwise. Longer runs use the disk.
func Main(m *testing.M) int {
	const memory, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if present().thorough() || os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &fs) != nil || int64(fs.Bavail)*fs.Bsize < room {
		return m.Run()
	}
	dir, err := os.MkdirTemp(memory, "onto-test")
	if err == nil {
		defer os.RemoveAll(dir)                                                         // processes that were killed leave something
		err = errors.Join(os.Chmod(dir, 0o777|os.ModeSticky), os.Setenv("TMPDIR", dir)) // other users write there, as in any such directory
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
