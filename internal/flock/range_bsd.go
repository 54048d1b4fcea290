//go:build darwin || freebsd || dragonfly || netbsd || openbsd

package flock

import "syscall"

const (
	setRange = syscall.F_SETLK
	getRange = syscall.F_GETLK
)
