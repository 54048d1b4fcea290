//go:build !linux

package flock

import (
	"errors"
	"os"
)

// Other systems have no locks on parts of a file that belong to the open file alone:
// there is no line, and processes wait without an order.

const (
	hasPlaces = false
	plainFile = 0
)

func lockPlace(*os.File, int64) (bool, error) { return false, errors.ErrUnsupported }

func unlock(*os.File) {}

func lockWhole(*os.File) bool { return false }

func placeIn(*os.File, int64, int64) (taken, bool, error) {
	return taken{}, false, errors.ErrUnsupported
}
