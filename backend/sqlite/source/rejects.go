package source

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/ontologia/onto"
)

// rejects is a file of rows that cannot be stored, one JSON object in each line, by commit.
type rejects struct {
	path  string
	file  *os.File
	out   *bufio.Writer
	dirty bool
}

// reject is a line of the file.
type reject struct {
	Kind      onto.Kind `json:"kind"`
	Type      string    `json:"type"`
	Key       *string   `json:"key,omitempty"`
	Left      *string   `json:"left,omitempty"`
	Right     *string   `json:"right,omitempty"`
	Instance  *string   `json:"instance,omitempty"`
	Subject   *string   `json:"subject,omitempty"`
	Attribute *string   `json:"attribute,omitempty"`
	ID        *string   `json:"id,omitempty"`
	Commit    int64     `json:"commit"`        // in the copy
	Source    int64     `json:"source_commit"` // in the file
	Op        onto.Op   `json:"op"`
	Reason    string    `json:"reason"`
	Text      *string   `json:"text,omitempty"` // the fields as they are in the file
	Hex       string    `json:"hex,omitempty"`  // the same, if they are no text
}

// openRejects opens the file without the lines of commits after one.
func openRejects(path string, since int64) (*rejects, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	r := &rejects{path: path, file: f}
	if err != nil {
		return nil, r.failed(err)
	}
	end, err := r.endOf(since)
	if err == nil {
		err = r.failed(f.Truncate(end))
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
		err = r.failed(err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r.out = bufio.NewWriter(f)
	return r, nil
}

// endOf is where the lines of commits after one begin. A line that was not written to its end
// is of such a commit.
func (r *rejects) endOf(since int64) (int64, error) {
	in := bufio.NewReader(r.file)
	end := int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && (end > 0 || len(line) == 0 || bytes.HasPrefix(line, []byte(`{"kind":"`))) {
			return end, nil
		}
		var of reject
		if err == nil || errors.Is(err, io.EOF) {
			if json.Unmarshal(line, &of) != nil || of.Commit == 0 || of.Reason == "" {
				return 0, onto.Errorf(onto.Refused, "%s: this is no file of rejected rows, and is not overwritten", r.path).WithHint("name another file, or move that one away")
			}
		}
		if err != nil {
			return 0, r.failed(err)
		}
		if of.Commit > since {
			return end, nil
		}
		end += int64(len(line))
	}
}

// add adds a row.
func (r *rejects) add(v *row, commit int64, reason error) error {
	line := reject{Kind: v.Kind, Type: v.Type, Commit: commit, Source: v.commit, Op: v.op, Reason: reason.Error()}
	switch v.Kind {
	case onto.KindEntity:
		line.Key = &v.Key
	case onto.KindFact:
		line.Subject, line.Attribute, line.ID = &v.Left, &v.Right, &v.Instance
	default:
		line.Left, line.Right, line.Instance = &v.Left, &v.Right, &v.Instance
	}
	if text := string(v.text); utf8.ValidString(text) {
		line.Text = &text
	} else {
		line.Hex = hex.EncodeToString(v.text)
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	r.dirty = true
	_, err = r.out.Write(append(data, '\n'))
	return r.failed(err)
}

// sync makes the rows that were added durable: their commit is about to be copied.
func (r *rejects) sync() error {
	if !r.dirty {
		return nil
	}
	r.dirty = false
	return r.failed(errors.Join(r.out.Flush(), r.file.Sync()))
}

func (r *rejects) close() { _ = r.file.Close() } // what matters was synced

func (r *rejects) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return onto.Errorf(onto.Unavailable, "rejects: %w", err).WithHint("make the directory first")
	}
	return onto.Errorf(onto.Unavailable, "rejects: %w", err).WithHint("name a file that can be written")
}
