package cache

import (
	"errors"
	"os"
	"time"
)

// SetNow makes the cache tell the time by a test's clock.
func (c *Cache) SetNow(now func() time.Time) { c.now = now }

// ForbidLinks makes hard links fail, as on a file system that has none.
func (c *Cache) ForbidLinks() {
	c.link = func(string, string) error { return errors.ErrUnsupported }
}

// FailWrites makes the next n writes fail after half of the data.
func (c *Cache) FailWrites(n int, err error) {
	c.write = func(f *os.File, data []byte, at int64) error {
		if n--; n >= 0 {
			f.WriteAt(data[:len(data)/2], at)
			return err
		}
		return writeAt(f, data, at)
	}
}
