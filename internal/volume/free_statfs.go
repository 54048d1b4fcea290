//go:build linux || darwin || freebsd || dragonfly

package volume

import "syscall"

// Free is how many bytes the volume of a path has free for users. It
// reports false if the system does not tell.
func Free(path string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
