package duck

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/ontologia/onto"
)

// spillAfter is how many bytes of an answer are held in memory before they go to disk.
const spillAfter = 256 << 10

// form is how the items of an answer are written.
type form[T any] struct {
	add  func(to []byte, item *T) []byte
	read func(from *spillReader) T
}

// spill is an answer that is complete before it is read. What does not fit in memory
// is in a file without a name.
type spill[T any] struct {
	directory string // "" to hold all in memory
	form      *form[T]
	items     int
	memory    []byte
	file      *os.File // nil until it is needed
	out       *bufio.Writer
}

// add adds an item.
func (s *spill[T]) add(item T) error {
	s.items++
	s.memory = s.form.add(s.memory, &item)
	if len(s.memory) < spillAfter || s.directory == "" {
		return nil
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return spillError(err)
		}
	}
	_, err := s.out.Write(s.memory)
	s.memory = s.memory[:0]
	return spillError(err)
}

func (s *spill[T]) open() error {
	err := os.MkdirAll(s.directory, 0o700)
	if err == nil {
		s.file, err = os.CreateTemp(s.directory, "answer-")
	}
	if err != nil {
		return err
	}
	_ = os.Remove(s.file.Name()) // where it cannot be, it goes with the folder
	s.out = bufio.NewWriterSize(s.file, 64<<10)
	return nil
}

// each calls f with every item, in their order.
func (s *spill[T]) each(f func(T) error) error {
	var in io.Reader = bytes.NewReader(s.memory)
	if s.file != nil {
		if err := s.out.Flush(); err != nil {
			return spillError(err)
		}
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return spillError(err)
		}
		in = io.MultiReader(s.file, in)
	}
	from := &spillReader{in: bufio.NewReaderSize(in, 64<<10)}
	for range s.items {
		item := s.form.read(from)
		if from.err != nil {
			return spillError(from.err)
		}
		if err := f(item); err != nil {
			return err
		}
	}
	return nil
}

func (s *spill[T]) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// spillError tells that an answer could not be kept on disk.
func spillError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG):
		return onto.Errorf(onto.Full, "keep an answer in the cache directory: %w", err).
			WithHint("free disk space, or let the setting cache_dir name a directory with more of it")
	}
	return onto.Errorf(onto.Unavailable, "keep an answer in the cache directory: %w", err).
		WithHint("let the setting cache_dir name a directory that this user can write")
}

// spillReader reads what forms have written. After an error all is empty.
type spillReader struct {
	in  *bufio.Reader
	err error
}

func (s *spillReader) number() int64 {
	n, err := binary.ReadVarint(s.in)
	if err != nil && s.err == nil {
		s.err = err
	}
	return n
}

// bytes reads a text, which may be nil.
func (s *spillReader) bytes() []byte {
	n := s.number() - 1
	if n < 0 || s.err != nil {
		return nil
	}
	text := make([]byte, n)
	_, s.err = io.ReadFull(s.in, text)
	return text
}

func addBytes(to, text []byte) []byte {
	if text == nil {
		return binary.AppendVarint(to, 0)
	}
	return append(binary.AppendVarint(to, int64(len(text))+1), text...)
}

func addText(to []byte, text string) []byte {
	return append(binary.AppendVarint(to, int64(len(text))+1), text...)
}

func addIdentity(to []byte, id *onto.Identity) []byte {
	for _, text := range []string{string(id.Kind), id.Type, id.Key, id.Left, id.Right, id.Instance} {
		to = addText(to, text)
	}
	return to
}

func (s *spillReader) identity() onto.Identity {
	var text [6]string
	for i := range text {
		text[i] = string(s.bytes())
	}
	return onto.Identity{Kind: onto.Kind(text[0]), Type: text[1], Key: text[2], Left: text[3], Right: text[4], Instance: text[5]}
}

func addVersion(to []byte, v *onto.Version) []byte {
	to = addText(addIdentity(to, &v.Identity), string(v.Op))
	to = binary.AppendVarint(binary.AppendVarint(to, v.Commit), int64(v.SchemaVersion))
	return addBytes(to, v.Fields)
}

func (s *spillReader) version() onto.Version {
	v := onto.Version{Identity: s.identity(), Op: onto.Op(s.bytes())}
	v.Commit, v.SchemaVersion = s.number(), int(s.number())
	v.Fields = s.bytes()
	return v
}

// versionForm and changeForm are how versions and changes are written.
func versionForm() *form[onto.Version] {
	return &form[onto.Version]{addVersion, (*spillReader).version}
}

func changeForm() *form[onto.Change] {
	return &form[onto.Change]{
		add: func(to []byte, c *onto.Change) []byte {
			to = addIdentity(to, &c.Identity)
			for _, v := range []*onto.Version{c.Before, c.After} {
				if v == nil {
					to = binary.AppendVarint(to, 0)
					continue
				}
				to = addVersion(binary.AppendVarint(to, 1), v)
			}
			return to
		},
		read: func(s *spillReader) onto.Change {
			c := onto.Change{Identity: s.identity()}
			for _, v := range []**onto.Version{&c.Before, &c.After} {
				if s.number() == 1 {
					version := s.version()
					*v = &version
				}
			}
			return c
		},
	}
}
