//go:build linux && amd64

package iofault

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// form says where a system call has the file it works on.
type form struct {
	name   string
	effect Effect
	fd     int // the argument that is a descriptor, or the directory of the path; -1 for none
	path   int // the argument that is a path; -1 for none
}

// What package syscall does not have.
const (
	sysRenameat2         = 316
	sysCopyFileRange     = 326
	atCwd                = -100
	maxPath              = 4096
	ptraceGetSyscallInfo = 0x420e
	ptraceExitKill       = 0x100000
)

// forms are the calls that work on files. Those that only use names or locks are not
// among them: a disk does not fail them.
var forms = map[uint64]form{
	syscall.SYS_READ:            {"read", Reads, 0, -1},
	syscall.SYS_PREAD64:         {"pread", Reads, 0, -1},
	syscall.SYS_READV:           {"readv", Reads, 0, -1},
	syscall.SYS_GETDENTS64:      {"getdents", Reads, 0, -1},
	syscall.SYS_WRITE:           {"write", Writes, 0, -1},
	syscall.SYS_PWRITE64:        {"pwrite", Writes, 0, -1},
	syscall.SYS_WRITEV:          {"writev", Grows, 0, -1},
	syscall.SYS_PWRITEV:         {"pwritev", Grows, 0, -1},
	syscall.SYS_SENDFILE:        {"sendfile", Grows, 0, -1},
	sysCopyFileRange:            {"copy_file_range", Grows, 2, -1},
	syscall.SYS_FALLOCATE:       {"fallocate", Grows, 0, -1},
	syscall.SYS_FTRUNCATE:       {"ftruncate", Grows, 0, -1},
	syscall.SYS_FSYNC:           {"fsync", Syncs, 0, -1},
	syscall.SYS_FDATASYNC:       {"fdatasync", Syncs, 0, -1},
	syscall.SYS_SYNC_FILE_RANGE: {"sync_file_range", Syncs, 0, -1},
	syscall.SYS_OPEN:            {"open", Reads, -1, 0},
	syscall.SYS_OPENAT:          {"openat", Reads, 0, 1},
	syscall.SYS_MKDIR:           {"mkdir", Grows, -1, 0},
	syscall.SYS_MKDIRAT:         {"mkdirat", Grows, 0, 1},
	syscall.SYS_LINK:            {"link", Grows, -1, 1},
	syscall.SYS_LINKAT:          {"linkat", Grows, 2, 3},
	syscall.SYS_RENAME:          {"rename", Grows, -1, 1},
	syscall.SYS_RENAMEAT:        {"renameat", Grows, 2, 3},
	sysRenameat2:                {"renameat2", Grows, 2, 3},
	syscall.SYS_UNLINK:          {"unlink", Removes, -1, 0},
	syscall.SYS_UNLINKAT:        {"unlinkat", Removes, 0, 1},
	syscall.SYS_RMDIR:           {"rmdir", Removes, -1, 0},
}

// read tells which call a thread is about to make. It reports false if the call
// works on no file.
func read(tid int, nr uint64, args [6]uint64) (Call, bool) {
	f, ok := forms[nr]
	if !ok {
		return Call{}, false
	}
	call := Call{Name: f.name, Effect: f.effect}
	if f.path < 0 {
		call.Path = target(tid, "fd/"+strconv.Itoa(int(int32(args[f.fd]))))
	} else {
		call.Path = named(tid, f, args)
	}
	switch nr {
	case syscall.SYS_OPEN:
		call.Effect = opening(args[1])
	case syscall.SYS_OPENAT:
		call.Effect = opening(args[2])
	}
	return call, true
}

// opening is the effect of an open with the flags.
func opening(flags uint64) Effect {
	if flags&syscall.O_CREAT != 0 {
		return Grows
	}
	return Reads
}

// named returns the whole path that a call names.
func named(tid int, f form, args [6]uint64) string {
	path := text(tid, uintptr(args[f.path]))
	if path == "" || filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	dir := "cwd"
	if f.fd >= 0 && int32(args[f.fd]) != atCwd {
		dir = "fd/" + strconv.Itoa(int(int32(args[f.fd])))
	}
	return filepath.Join(target(tid, dir), path)
}

// target returns where a link of /proc leads, "" if nowhere.
func target(tid int, link string) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(tid) + "/" + link)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

// text reads the text at an address of a thread, up to its NUL.
func text(tid int, at uintptr) string {
	var found []byte
	for len(found) < maxPath {
		word := make([]byte, 8)
		if n, err := syscall.PtracePeekData(tid, at+uintptr(len(found)), word); err != nil || n < len(word) {
			return ""
		}
		if end := bytes.IndexByte(word, 0); end >= 0 {
			return string(append(found, word[:end]...))
		}
		found = append(found, word...)
	}
	return ""
}
