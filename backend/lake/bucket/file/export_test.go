package file

import "os"

// FailSync makes the nth sync from now fail, of files and directories.
func (b *Bucket) FailSync(n int, err error) {
	b.sync = func(f *os.File) error {
		if n--; n == 0 {
			return err
		}
		return f.Sync()
	}
}
