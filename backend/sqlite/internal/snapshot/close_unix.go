//go:build unix

package snapshot

import (
	"os"
	"syscall"
)

// mayClose reports whether closing a file ends no lock that matters: it has no name any more.
func mayClose(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
