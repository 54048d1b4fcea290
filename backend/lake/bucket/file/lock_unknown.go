//go:build !(linux || darwin || freebsd || dragonfly || netbsd || openbsd)

package file

import (
	"errors"
	"fmt"
	"os"
)

// acquire fails: without a lock between processes nothing may be swapped.
func acquire(*os.File) (bool, error) {
	return false, fmt.Errorf("lock a file on this system: %w", errors.ErrUnsupported)
}

func release(*os.File) {}
