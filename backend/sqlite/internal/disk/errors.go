package disk

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/ontologia/onto"
)

// fileError gives an error of the file system its code.
func fileError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return onto.Errorf(onto.Full, "%s: no room left to write: %w", path, err).WithHint("free disk space; nothing was kept")
	case errors.Is(err, fs.ErrNotExist):
		return onto.Errorf(onto.Uninitialized, "%s: the directory does not exist: %w", path, err).WithHint("make the directory first")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return onto.Errorf(onto.ReadOnly, "%s: %w", path, err).WithHint("check the permissions of the directory")
	}
	return onto.Errorf(onto.Unavailable, "%s: %w", path, err)
}
