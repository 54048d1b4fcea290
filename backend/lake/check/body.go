package check

import (
	"bytes"
	"errors"
	"io"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/cache"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// body is a data file that a check has read.
type body struct {
	there   bool
	fits    bool           // it is as it was written
	came    int64          // bytes
	data    io.ReaderAt    // of one that fits
	refused error          // why it was not read
	file    *cache.Scratch // that holds it; nil if memory does
}

func (b *body) close() {
	if b.file != nil {
		b.file.Close() // nothing else can be done
	}
}

// bodies reads files side by side: small ones into memory, large ones onto local disk.
// Those that are returned are to be closed, also after an error.
func (c *checker) bodies(files []protocol.FileEntry) ([]body, error) {
	list := make([]body, len(files))
	err := protocol.SideBySide(len(files), func(i int) error { return c.body(&files[i], &list[i]) })
	return list, err
}

func (c *checker) body(f *protocol.FileEntry, b *body) (err error) {
	if f.Bytes <= protocol.PieceBytes {
		var m protocol.InMemory
		b.there, b.fits, err = c.fetch(f, &m)
		b.data, b.came = bytes.NewReader(m.Bytes()), int64(m.Len())
		return err
	}
	if err := c.lake.Files.Fits(f); err != nil {
		b.refused = err
		return nil
	}
	if b.file, err = c.lake.Files.Scratch(); err != nil {
		return err
	}
	disk := &onDisk{Unkept: protocol.NewUnkept(), file: b.file}
	b.there, b.fits, err = c.fetch(f, disk)
	b.data, b.came = b.file, disk.at
	return err
}

// onDisk is a sink that writes a file.
type onDisk struct {
	protocol.Unkept
	file *cache.Scratch
	at   int64
}

func (d *onDisk) Write(p []byte) (int, error) {
	n, err := d.file.WriteAt(p, d.at)
	d.at += int64(n)
	d.Unkept.Write(p[:n])
	return n, err
}

func (d *onDisk) Restart() {
	d.Unkept.Restart()
	d.at = 0
}

// fetch reads a data file, and reads it again if it is missing or damaged.
func (c *checker) fetch(f *protocol.FileEntry, to protocol.Sink) (there, fits bool, err error) {
	done, err := c.lake.Files.Await(c.ctx, f)
	if err != nil {
		return false, false, err
	}
	defer done()
	var broken error // the sink
	there, err = c.settle(f.Path, func() (done bool, err error) {
		came, err := c.lake.Log.FetchOnce(c.ctx, f, to, &broken)
		if broken != nil {
			return false, bucket.ErrRefused // trying again is of no use
		}
		fits = err == nil
		switch {
		case came != "":
			return c.lake.Log.BelievesDamage(f.Path, came, err), nil
		case errors.Is(err, protocol.ErrPartly):
			return false, nil
		}
		return fits, err
	})
	if broken != nil {
		err = broken
	}
	return there, fits, err
}
