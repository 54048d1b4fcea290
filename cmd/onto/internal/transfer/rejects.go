package transfer

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store/records"
)

// rejects is what happens to the records that an import leaves out. Without --max-errors
// and --rejects, none is left out.
type rejects struct {
	path string // of the file that gets them; "" for none
	most int    // how many there may be; -1 for any number

	dryRun        bool
	file, reasons *records.File // nil until there is one
	n             int
	listed        []document.Rejected
}

// The limits of what is told about rejected records.
const (
	maxErrors  = 100_000 // that --max-errors takes: each of them is named
	maxNamed   = 20      // that are named without --max-errors
	reasonsEnd = ".reasons.jsonl"
)

// newRejects reads --max-errors and --rejects; nil if neither is given.
func newRejects(cmd *cobra.Command, path string, most int, dryRun bool) (*rejects, error) {
	limited := cmd.Flags().Changed("max-errors")
	switch {
	case !limited && path == "":
		return nil, nil
	case limited && (most < 0 || most > maxErrors):
		return nil, onto.Errorf(onto.Invalid, "--max-errors %d is not from 0 to %d", most, maxErrors).
			WithHint("leave it out to put any number into the file that --rejects names")
	case limited && most == 0 && path == "":
		return nil, nil
	case path == "-" || strings.HasSuffix(strings.ToLower(path), ".gz"):
		return nil, onto.Errorf(onto.Invalid, "--rejects %s: the bad records go into a file that is not packed", path).WithHint("name one, such as bad.csv or bad.jsonl")
	case !limited:
		most = -1
	}
	for _, name := range []string{path, path + reasonsEnd} {
		if path == "" {
			break
		}
		if _, err := os.Lstat(name); err == nil {
			return nil, onto.Errorf(onto.Invalid, "--rejects: %s exists already", name).WithHint("name another file, or remove it")
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, onto.Errorf(onto.Invalid, "--rejects: %w", err)
		}
	}
	return &rejects{path: path, most: most, dryRun: dryRun}, nil
}

// add takes a record that is left out. An error ends the import.
func (r *rejects) add(bad records.Reject) error {
	if r.n++; r.most >= 0 && r.n > r.most {
		return onto.Errorf(onto.Invalid, "more than %s: %w", terminal.Count(r.most, "record is bad", "records are bad"), bad.Err).
			WithHint("nothing was stored; mend the file, or raise --max-errors")
	}
	if r.most >= 0 || len(r.listed) < maxNamed {
		r.listed = append(r.listed, document.NewRejected(bad))
	}
	if r.path == "" || r.dryRun {
		return nil
	}
	return r.write(bad)
}

// write puts a record into the file, and the reason into the one beside it.
func (r *rejects) write(bad records.Reject) error {
	if r.file == nil {
		var err error
		if r.file, err = records.Create(r.path, false); err != nil {
			return err
		}
		if r.reasons, err = records.Create(r.path+reasonsEnd, false); err != nil {
			return err
		}
		if err := writeLine(r.file, bad.Header); err != nil {
			return err
		}
	}
	reason, err := document.Encode(document.NewRejected(bad))
	if err != nil {
		return err
	}
	if err := writeLine(r.reasons, reason); err != nil {
		return err
	}
	return writeLine(r.file, bad.Text)
}

// writeLine writes a text, with an end of the line if it has none.
func writeLine(f *records.File, text []byte) error {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(bytes.Clone(text), '\n')
	}
	_, err := f.Write(text)
	return err
}

// keep gives the files their names, after the rest was committed.
func (r *rejects) keep() error {
	if r == nil || r.file == nil {
		return nil
	}
	return errors.Join(r.file.Keep(), r.reasons.Keep())
}

// discard removes the files unless they were kept.
func (r *rejects) discard() {
	if r == nil {
		return
	}
	for _, f := range []*records.File{r.file, r.reasons} {
		if f != nil {
			f.Discard()
		}
	}
}

// name says which records were left out, and why. A document that succeeds has them.
func (r *rejects) name(c *session.Session, failed bool) {
	if r == nil || c.JSON && !failed {
		return
	}
	for _, bad := range r.listed {
		if !c.JSON {
			c.Say("%s", bad)
			continue
		}
		doc, _ := document.Encode(map[string]document.Rejected{"rejected": bad}) // texts and a number
		c.Say("%s", doc)
	}
}

// explain says what became of the records that were left out.
func (r *rejects) explain(c *session.Session) {
	if r == nil || r.n == 0 {
		return
	}
	if more := r.n - len(r.listed); more > 0 {
		c.Say("and %d more", more)
	}
	were := terminal.Count(r.n, "bad record is", "bad records are")
	switch {
	case r.dryRun:
		c.Say("%s left out by an apply", were)
	case r.path == "":
		c.Say("%s left out", were)
	default:
		c.Say("%s left out, and in %s; the reasons are in %s", were, r.path, r.path+reasonsEnd)
	}
}
