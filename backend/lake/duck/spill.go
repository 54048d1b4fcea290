package duck

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/ontologia/onto"
)

// spillAfter is how many bytes of an answer are held in memory before they go to disk.
const spillAfter = 256 << 10

// spill is an answer that is complete before it is read. What does not fit in memory
// is in a file without a name.
type spill[T any] struct {
	directory string // "" to hold all in memory
	items     int
	memory    bytes.Buffer
	encoder   *gob.Encoder // to memory
	file      *os.File     // nil until it is needed
}

// add adds an item.
func (s *spill[T]) add(item T) error {
	if s.encoder == nil {
		s.encoder = gob.NewEncoder(&s.memory)
	}
	s.items++
	err := s.encoder.Encode(&item)
	if err != nil || s.memory.Len() < spillAfter || s.directory == "" {
		return spillError(err)
	}
	if s.file == nil {
		err = s.open()
	}
	if err == nil {
		_, err = s.memory.WriteTo(s.file)
	}
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
	_ = os.Remove(s.file.Name()) // where an open file cannot be removed, it goes with the folder
	return nil
}

// each calls f with every item, in their order.
func (s *spill[T]) each(f func(T) error) error {
	var in io.Reader = &s.memory
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return spillError(err)
		}
		in = io.MultiReader(s.file, in)
	}
	decoder := gob.NewDecoder(bufio.NewReaderSize(in, 64<<10))
	for range s.items {
		var item T
		if err := decoder.Decode(&item); err != nil {
			return spillError(err)
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
