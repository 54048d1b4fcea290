package cache

import "os"

// Scratch is a file in the cache's directory for what is too large to be held in
// memory. No Get returns it, and it is gone when it is closed.
type Scratch struct {
	cache *Cache
	file  *os.File
}

// Scratch makes a file.
func (c *Cache) Scratch() (*Scratch, error) {
	temp, f, err := c.openTemp()
	if err != nil {
		return nil, c.diskError("make a file", err)
	}
	c.root.Remove(temp) // where it cannot be, it goes with the folder
	return &Scratch{c, f}, nil
}

// ReadAt implements [io.ReaderAt].
func (s *Scratch) ReadAt(p []byte, offset int64) (int, error) { return s.file.ReadAt(p, offset) }

// WriteAt implements [io.WriterAt]. On a full disk it fails with Full.
func (s *Scratch) WriteAt(p []byte, offset int64) (int, error) {
	n, err := s.file.WriteAt(p, offset)
	if err != nil {
		err = s.cache.diskError("write a file", err)
	}
	return n, err
}

// Close implements [io.Closer].
func (s *Scratch) Close() error { return s.file.Close() }
