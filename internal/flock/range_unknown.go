//go:build !(linux || darwin || freebsd || dragonfly || netbsd || openbsd)

package flock

import (
	"errors"
	"fmt"
	"os"
)

// ShareRange fails.
func ShareRange(*os.File, int64, int64) (bool, error) {
	return false, fmt.Errorf("lock a part of a file on this system: %w", errors.ErrUnsupported)
}

// ReleaseRange does nothing.
func ReleaseRange(*os.File, int64, int64) error { return nil }

// IsLocked fails.
func IsLocked(*os.File, int64, int64) (bool, error) {
	return false, fmt.Errorf("find locks on this system: %w", errors.ErrUnsupported)
}
