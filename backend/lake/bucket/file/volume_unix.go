//go:build unix

package file

import (
	"io/fs"
	"syscall"
)

// sameVolume reports whether two files are on one file system.
func sameVolume(a, b fs.FileInfo) bool {
	x, okX := a.Sys().(*syscall.Stat_t)
	y, okY := b.Sys().(*syscall.Stat_t)
	return okX && okY && x.Dev == y.Dev
}
