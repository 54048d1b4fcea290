//go:build unix && !linux

package file_test

import "syscall"

// mknod is not tried here.
func mknod(string) error { return syscall.EPERM }
