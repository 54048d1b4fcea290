//go:build !linux && !darwin && !freebsd && !dragonfly

package volume

// Free is not known here.
func Free(string) (int64, bool) { return 0, false }
