package flock

// Locks on bytes belong to the open file, see line_linux.go.
const (
	setRange = setLock
	getRange = getLock
)
