package flock

// setRange locks bytes for the open file, see line_linux.go.
const setRange = setLock
