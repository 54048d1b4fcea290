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
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/flock"
)

// rejects is a file of rows that cannot be stored: JSON lines, in the order of their commits.
// What does not look like that is never changed.
type rejects struct {
	path   string
	origin string // of the log
	start  []byte // of each line

	mu     sync.Mutex // guards what follows; held while a commit is looked through
	file   *os.File   // nil unless rows are kept
	turn   int64      // of the plan of the logs that add lines
	after  int64      // lines are added for the commits after this one
	base   int64      // where they begin
	done   int64      // the lines of commits up to this one are in the file
	end    int64      // where these lines end
	size   int64      // of the file; what is beyond end goes when a commit follows
	dirty  bool       // something may not be durable
	broken error      // of a sync: what it should have made durable may be lost
	writes bool       // the commit that is looked through adds lines
}

// reject is a line of the file. Its first members are those that are read again.
type reject struct {
	Origin    string    `json:"origin"`
	Commit    int64     `json:"commit"`        // in the copy
	Source    int64     `json:"source_commit"` // in the file
	Kind      onto.Kind `json:"kind"`
	Type      string    `json:"type"`
	Key       *string   `json:"key,omitempty"`
	Left      *string   `json:"left,omitempty"`
	Right     *string   `json:"right,omitempty"`
	Instance  *string   `json:"instance,omitempty"`
	Subject   *string   `json:"subject,omitempty"`
	Attribute *string   `json:"attribute,omitempty"`
	ID        *string   `json:"id,omitempty"`
	Op        onto.Op   `json:"op"`
	Reason    string    `json:"reason"`
	Text      *string   `json:"text,omitempty"` // the fields as they are in the file
	Hex       string    `json:"hex,omitempty"`  // the same, if they are not text
}

const (
	anyStart   = `{"origin":"` // how the lines of every log begin
	lineCommit = `,"commit":`  // what follows the origin
	maxNumber  = 32            // bytes that the number after that has, at most
)

// newRejects checks what is at a path, which may be nothing.
func newRejects(path, origin string) (*rejects, error) {
	text, err := json.Marshal(origin)
	if err != nil {
		return nil, err
	}
	r := &rejects{path: path, origin: origin, start: []byte(`{"origin":` + string(text) + lineCommit)}
	f, err := r.open(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, r.failed(err)
	}
	defer f.Close()
	_, _, err = r.scan(f, 0)
	return r, err
}

// open opens the file, unless it is something that is not opened like a file.
func (r *rejects) open(flags int) (*os.File, error) {
	if info, err := os.Stat(r.path); err == nil && !info.Mode().IsRegular() {
		return nil, onto.Errorf(onto.Refused, "%s: this is not a regular file but %s", r.path, info.Mode().Type()).WithHint("name a file")
	}
	return os.OpenFile(r.path, flags, 0o600)
}

// keep begins to add the rows of commits after one. A new copy begins with an empty file.
func (r *rejects) keep(after int64, fresh bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		return onto.Errorf(onto.Invalid, "rejects: %s is written already", r.path)
	}
	f, err := r.open(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return r.failed(err)
	}
	if err := r.prepare(f, after, fresh); err != nil {
		f.Close()
		return err
	}
	r.file, r.turn, r.after, r.done, r.dirty, r.broken = f, 0, after, after, true, nil
	return nil
}

// prepare finds the end of the lines of commits up to one. What follows goes only when rows
// of a later commit come: perhaps the copy cannot begin.
func (r *rejects) prepare(f *os.File, after int64, fresh bool) error {
	if free, err := flock.Try(f); err == nil && !free {
		return onto.Errorf(onto.Refused, "%s: another copy writes to this file", r.path).WithHint("name another file, or wait for that copy")
	}
	end, lines, err := r.scan(f, after)
	if err != nil {
		return err
	}
	if fresh && lines > 0 {
		return onto.Errorf(onto.Refused, "%s: it has rows of another copy; it is left as it is", r.path).WithHint("name another file, or remove that one if its copy is not needed")
	}
	info, err := f.Stat()
	if err != nil {
		return r.failed(err)
	}
	r.base, r.end, r.size = end, end, info.Size()
	return r.failed(syncFolder(filepath.Dir(r.path)))
}

// syncFolder makes a new name durable, where folders can be synced.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// scan reads the file, and returns where the lines of commits up to one end and how many
// lines there are. It fails if anything but lines of this log is in the file; only the last
// line may have been cut off. Lines can be long: no more than their first members are kept.
func (r *rejects) scan(f *os.File, upto int64) (end, lines int64, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), max(4096, len(r.start)+maxNumber))
	at, last := int64(0), int64(1)
	for {
		head, err := in.ReadSlice('\n')
		if len(head) == 0 && errors.Is(err, io.EOF) {
			return end, lines, nil
		}
		commit, ok := r.commitOf(head)
		others := bytes.HasPrefix(head, []byte(anyStart)) && !bytes.HasPrefix(head, r.start)
		begun := bytes.HasPrefix(head, r.start) || lines > 0 && bytes.HasPrefix(r.start, head)
		at += int64(len(head))
		for errors.Is(err, bufio.ErrBufferFull) {
			head, err = in.ReadSlice('\n')
			at += int64(len(head))
		}
		switch whole := err == nil; {
		case err != nil && !errors.Is(err, io.EOF):
			return 0, 0, r.failed(err)
		case whole && ok && commit >= last:
		case !whole && begun && !(ok && commit <= upto):
			return end, lines, nil
		case others:
			return 0, 0, onto.Errorf(onto.Refused, "%s: it has the rejected rows of another source; it is left as it is", r.path).WithHint("name another file")
		default:
			return 0, 0, onto.Errorf(onto.Refused, "%s: this is not a file of rejected rows; it is left as it is", r.path).WithHint("name another file, or move that one away")
		}
		if last, lines = commit, lines+1; commit <= upto {
			end = at
		}
	}
}

// commitOf is the commit of a line, of which the beginning is enough.
func (r *rejects) commitOf(line []byte) (commit int64, ok bool) {
	rest, ok := bytes.CutPrefix(line, r.start)
	if !ok {
		return 0, false
	}
	number, _, ok := bytes.Cut(rest, []byte(","))
	if !ok {
		return 0, false
	}
	commit, err := strconv.ParseInt(string(number), 10, 64)
	return commit, err == nil
}

// begin begins a log with a plan. If the rows of the file are planned anew, the lines of the
// plan before do not count.
func (r *rejects) begin(turn int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if turn > r.turn {
		r.turn, r.done, r.end = turn, r.after, r.base
	}
}

// enter begins to look through a commit. Unless it fails, it keeps others from doing so
// until leave is called.
func (r *rejects) enter(commit, turn int64) (err error) {
	r.mu.Lock()
	r.writes = r.file != nil && commit > r.done
	switch {
	case !r.writes && (r.file == nil || turn == r.turn):
		return nil
	case r.broken != nil:
		err = r.broken
	case turn != r.turn:
		err = onto.Errorf(onto.Stale, "commits that were read already have changed meanwhile").WithHint("start again")
	case commit > r.done+1:
		err = onto.Errorf(onto.Invalid, "rejects: the rows of commit %d are not kept yet, and those of commit %d would be", r.done+1, commit)
	case r.size > r.end:
		r.dirty = true
		if err = r.failed(r.file.Truncate(r.end)); err == nil {
			r.size = r.end
		}
	}
	if err != nil {
		r.mu.Unlock()
	}
	return err
}

// leave ends it. If there was no error, the lines of the commit are there and durable.
func (r *rejects) leave(commit int64, err error) error {
	defer r.mu.Unlock()
	if !r.writes {
		return err
	}
	if err == nil && r.dirty {
		err = r.failed(r.file.Sync())
		r.dirty, r.broken = err != nil, err
	}
	if err == nil {
		r.done, r.end = commit, r.size
	}
	return err
}

// add adds a row.
func (r *rejects) add(v *row, commit int64, reason error) error {
	if !r.writes {
		return nil
	}
	line := reject{Origin: r.origin, Kind: v.Kind, Type: v.Type, Commit: commit, Source: v.commit, Op: v.op, Reason: reason.Error()}
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
	n, err := r.file.WriteAt(append(data, '\n'), r.size)
	r.size += int64(n)
	r.dirty = true
	return r.failed(err)
}

// finish ends what keep has begun: no lines of commits after one stay.
func (r *rejects) finish(until int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	f := r.file
	defer func() { r.file = nil }()
	end, _, err := r.scan(f, until)
	if err == nil {
		err = r.failed(f.Truncate(end))
	}
	if err == nil {
		err = r.failed(f.Sync())
	}
	if e := r.failed(f.Close()); err == nil {
		err = e
	}
	return err
}

func (r *rejects) close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	defer func() { r.file = nil }()
	return r.file.Close()
}

func (r *rejects) failed(err error) error {
	switch {
	case err == nil || onto.CodeOf(err) != "":
		return err
	case errors.Is(err, fs.ErrNotExist):
		return onto.Errorf(onto.Unavailable, "rejects: %w", err).WithHint("make the directory first")
	}
	return onto.Errorf(onto.Unavailable, "rejects: %w", err).WithHint("name a file that can be written")
}
