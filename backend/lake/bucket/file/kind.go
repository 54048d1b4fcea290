package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/ontologia/onto"
)

// openRegular opens a regular file. Anything else that may lie there, such as a
// named pipe, is refused by its kind; opening it does not wait for a peer.
func openRegular(root *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK|syscall.O_NOCTTY, fileMode)
	if err != nil {
		if info, stat := root.Stat(name); stat == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return nil, nil, irregular(info) // a socket cannot be opened, nor a device without a driver
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// blocked fails if an element on the way to a name is neither a directory nor a file,
// which could be an object.
func blocked(root *os.Root, name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Stat(dir); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %w", dir, irregular(info))
		}
	}
	return nil
}

// openDir opens a directory, and refuses anything else in the same way.
func openDir(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	case !info.IsDir():
		err = irregular(info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// errFolder is the error for a key that is the folder of others.
var errFolder = errors.New("it is a directory")

// irregular is the error for what lies where a file should be.
func irregular(info fs.FileInfo) error {
	if info.IsDir() {
		return errFolder
	}
	kind := "no regular file"
	switch mode := info.Mode(); {
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe, no regular file"
	case mode&fs.ModeSocket != 0:
		kind = "a socket, no regular file"
	case mode&fs.ModeDevice != 0:
		kind = "a device, no regular file"
	}
	return onto.Errorf(onto.Corrupt, "%w", refused{errors.New("it is " + kind)}).
		WithHint("remove it; if it stands for an object of the lake, restore that from a backup")
}
