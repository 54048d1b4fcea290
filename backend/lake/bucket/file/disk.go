package file

import "os"

// Disk is the calls by which a bucket changes its directory. Names are paths
// within a root.
type Disk interface {
	Create(root *os.Root, name string) (*os.File, error) // a new file, for writing
	Write(f *os.File, data []byte) error
	Sync(f *os.File) error // a file or a directory
	Mkdir(root *os.Root, name string) error
	Link(root *os.Root, name, as string) error
	Rename(root *os.Root, name, as string) error
	Remove(root *os.Root, name string) error // a file or an empty directory
}

const (
	dirMode  = 0o777 // less the umask
	fileMode = 0o666
)

// System is the disk of the operating system.
type System struct{}

// Create makes a file that must not exist.
func (System) Create(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

// Write writes all of the data.
func (System) Write(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return err
}

// Sync waits until a file or the entries of a directory are on disk.
func (System) Sync(f *os.File) error { return f.Sync() }

// Mkdir makes a directory.
func (System) Mkdir(root *os.Root, name string) error { return root.Mkdir(name, dirMode) }

// Link gives a file a second name, which must be free.
func (System) Link(root *os.Root, name, as string) error { return root.Link(name, as) }

// Rename gives a file another name and takes it from the file that had it.
func (System) Rename(root *os.Root, name, as string) error { return root.Rename(name, as) }

// Remove removes a name.
func (System) Remove(root *os.Root, name string) error { return root.Remove(name) }
