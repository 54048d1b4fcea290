package records

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ontologia/onto"
)

// Folder reads the files of JSON Lines in a directory one after the other, by name: the
// original program exports one for each type. As the input of an import they are one text
// of records, whose errors name file and line.
type Folder struct {
	path  string
	names []string // of the files that come next
	size  int64    // of all files
	read  tally    // the files as they are, packed or not
	file  *os.File
	text  io.Reader // of the file
}

// OpenFolder finds the files of a directory. Others than JSON Lines are left out.
func OpenFolder(path string) (*Folder, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "input: %w", err)
	}
	f := &Folder{path: path}
	for _, e := range entries {
		if format, err := FormatOf(e.Name()); err != nil || format != JSONL {
			continue
		}
		info, err := os.Stat(filepath.Join(path, e.Name()))
		if err != nil {
			return nil, onto.Errorf(onto.Invalid, "input: %w", err)
		}
		if info.Mode().IsRegular() {
			f.names, f.size = append(f.names, e.Name()), f.size+info.Size()
		}
	}
	if len(f.names) == 0 {
		return nil, onto.Errorf(onto.Invalid, "input: directory %s has no file of JSON Lines", path).
			WithHint("name a directory with files that end in .jsonl, or a file")
	}
	return f, nil
}

// Next begins the next file and returns its name, or io.EOF.
func (f *Folder) Next() (string, error) {
	f.Close()
	if len(f.names) == 0 {
		return "", io.EOF
	}
	name := f.names[0]
	f.names = f.names[1:]
	file, err := os.Open(filepath.Join(f.path, name))
	if err != nil {
		return name, onto.Errorf(onto.Invalid, "input: %w", err)
	}
	f.file, f.read.r = file, file
	f.text, err = Unpack(name, &f.read)
	return name, err
}

// Read reads the file that Next began, up to its end.
func (f *Folder) Read(p []byte) (int, error) {
	if f.text == nil {
		return 0, io.EOF
	}
	return f.text.Read(p)
}

// Share is how much of all files was read.
func (f *Folder) Share() (part, whole int64) { return f.read.n, f.size }

// Close closes the file that is open.
func (f *Folder) Close() {
	if f.file != nil {
		f.file.Close()
	}
	f.file, f.text = nil, nil
}

// folderSource reads the records of a folder. A record's line has the number of its file
// in the upper bits.
type folderSource struct {
	folder *Folder
	open   func() (source, error) // a source for the file that was begun
	file   source                 // nil before the first
	names  []string               // of the files so far
}

const lineBits = 40

// next returns the next record, of whichever file.
func (s *folderSource) next() (record, error) {
	for {
		if s.file == nil {
			if err := s.begin(); err != nil {
				return record{}, err
			}
		}
		rec, err := s.file.next()
		switch {
		case err == nil:
			rec.line += int64(len(s.names)) << lineBits
			return rec, nil
		case !errors.Is(err, io.EOF):
			return rec, s.inFile(err)
		}
		s.file = nil
	}
}

func (s *folderSource) begin() error {
	name, err := s.folder.Next()
	if errors.Is(err, io.EOF) {
		return err
	}
	s.names = append(s.names, name)
	if err == nil {
		s.file, err = s.open()
	}
	if err != nil {
		return s.inFile(err)
	}
	return nil
}

// inFile puts the name of the file in front of an error.
func (s *folderSource) inFile(err error) error {
	name := s.names[len(s.names)-1]
	if code := onto.CodeOf(err); code != "" {
		return onto.Errorf(code, "%s: %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// place splits the line of a record into the file, "" if there is only one text, and the
// line in it.
func (s *folderSource) place(line int64) (string, int64) {
	if i := line >> lineBits; s != nil && i > 0 {
		return s.names[i-1], line & (1<<lineBits - 1)
	}
	return "", line
}
