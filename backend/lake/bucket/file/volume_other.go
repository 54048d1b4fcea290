//go:build !unix

package file

import "io/fs"

// sameVolume is not known here: nothing above the bucket is synced.
func sameVolume(fs.FileInfo, fs.FileInfo) bool { return false }
