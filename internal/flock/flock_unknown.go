//go:build !(linux || darwin || freebsd || dragonfly || netbsd || openbsd)

package flock

import (
	"errors"
	"fmt"
	"os"
)

// Try fails.
func Try(*os.File) (bool, error) {
	return false, fmt.Errorf("lock a file on this system: %w", errors.ErrUnsupported)
}

// Release does nothing.
func Release(*os.File) {}
