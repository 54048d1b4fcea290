//go:build !(linux || darwin || freebsd || dragonfly || netbsd || openbsd)

package cache

import (
	"errors"
	"os"
	"time"
)

// acquire fails: this system has no lock that ends with the process.
func acquire(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// abandoned tells by age whether the process of the lock file has ended.
func abandoned(f *os.File, now time.Time) bool { return oldFile(f, now) }
