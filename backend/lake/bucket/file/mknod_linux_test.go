package file_test

import "syscall"

// mknod makes the device /dev/null at a path.
func mknod(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|3) }
