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
	"sync"
	"unicode/utf8"

	"github.com/ontologia/onto"
)

// rejects is a file of rows that cannot be stored, one JSON object in each line, by commit. A
// log that is read again finds its lines there, and adds only those that are not.
type rejects struct {
	path string

	mu    sync.Mutex // guards what follows; held while a commit is looked through
	file  *os.File   // nil until a log is read
	done  int64      // the lines of commits up to this one are in the file
	end   int64      // where these lines end
	dirty bool       // something is to be synced
	skips bool       // the commit that is looked through has its lines
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

// begin opens the file, unless it is open, for a log of the commits after one. The lines of
// commits before are taken as they are.
func (r *rejects) begin(since int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return r.failed(err)
		}
		r.file = f
	}
	if since <= r.done {
		return nil
	}
	in := bufio.NewReader(io.NewSectionReader(r.file, r.end, 1<<62))
	for {
		_, commit, length, err := r.next(in)
		if err != nil {
			return err
		}
		if length == 0 || commit > since {
			r.done = since
			return nil
		}
		r.end += length
	}
}

// next reads a line, its commit and its length; 0 if there is none. A line that was not
// written to its end is none.
func (r *rejects) next(in *bufio.Reader) (line []byte, commit, length int64, err error) {
	line, err = in.ReadBytes('\n')
	if errors.Is(err, io.EOF) && (len(line) == 0 || bytes.HasPrefix(line, []byte(lineStart))) {
		return nil, 0, 0, nil
	}
	var of reject
	if err == nil || errors.Is(err, io.EOF) {
		if json.Unmarshal(line, &of) == nil && of.Commit > 0 && of.Reason != "" {
			return line, of.Commit, int64(len(line)), nil
		}
		return nil, 0, 0, onto.Errorf(onto.Refused, "%s: this is no file of rejected rows, and is not overwritten", r.path).WithHint("name another file, or move that one away")
	}
	return nil, 0, 0, r.failed(err)
}

// lineStart is how each line begins.
const lineStart = `{"kind":"`

// open begins to look through a commit. It keeps others from doing so until shut is called.
func (r *rejects) open(commit int64) {
	r.mu.Lock()
	r.skips = commit <= r.done
}

// shut ends it. If there was no error, the lines of the commit are there and durable.
func (r *rejects) shut(commit int64, err error) error {
	defer r.mu.Unlock()
	if err != nil || r.skips {
		return err
	}
	// What follows may be of this commit as it was once.
	_, was, length, err := r.next(bufio.NewReader(io.NewSectionReader(r.file, r.end, 1<<62)))
	if err == nil && length > 0 && was <= commit {
		err = r.cut()
	}
	if err == nil && r.dirty {
		r.dirty = false
		err = r.failed(r.file.Sync())
	}
	if err == nil {
		r.done = commit
	}
	return err
}

// finish ends a log that was read up to its head: no lines of later commits stay.
func (r *rejects) finish(head int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if head < r.done {
		return nil
	}
	return r.cut()
}

// cut removes what follows.
func (r *rejects) cut() error { return r.failed(r.file.Truncate(r.end)) }

// add adds a row.
func (r *rejects) add(v *row, commit int64, reason error) error {
	if r.skips {
		return nil
	}
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
	data = append(data, '\n')
	there := make([]byte, len(data))
	if _, err := r.file.ReadAt(there, r.end); err != nil || !bytes.Equal(there, data) {
		if err := r.cut(); err != nil {
			return err
		}
		if _, err := r.file.WriteAt(data, r.end); err != nil {
			return r.failed(err)
		}
		r.dirty = true
	}
	r.end += int64(len(data))
	return nil
}

func (r *rejects) close() error {
	if r == nil || r.file == nil {
		return nil
	}
	defer func() { r.file = nil }()
	return r.file.Close()
}

func (r *rejects) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return onto.Errorf(onto.Unavailable, "rejects: %w", err).WithHint("make the directory first")
	}
	return onto.Errorf(onto.Unavailable, "rejects: %w", err).WithHint("name a file that can be written")
}
