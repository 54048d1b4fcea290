package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
)

// Printer prints answers: data to stdout, messages to stderr, as JSON or for people.
type Printer struct {
	Out, Err *Output
	JSON     bool
}

// NewPrinter prints to two streams.
func NewPrinter(stdout, stderr io.Writer) *Printer {
	return &Printer{Out: NewOutput(stdout), Err: NewOutput(stderr)}
}

// Say prints a message to stderr. A failure to do so cannot be reported.
func (p *Printer) Say(format string, args ...any) {
	_ = p.Out.Flush() // data before messages; a failure shows again later
	_ = p.Err.Line("%s", Escape(fmt.Sprintf(format, args...)))
	_ = p.Err.Flush()
}

// Document prints one value as indented JSON.
func (p *Printer) Document(v any) error {
	text, err := document.Encode(v)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	return p.Out.Data(indented.Bytes())
}

// Pairs prints names and values in two columns, without those that are empty.
func (p *Printer) Pairs(list [][2]string) error {
	for _, pair := range list {
		if pair[1] == "" {
			continue
		}
		name := pair[0] + "            "[:12-len(pair[0])]
		if err := p.Out.Line("%s%s", p.Out.Paint(Dim, name), Escape(pair[1])); err != nil {
			return err
		}
	}
	return nil
}

// Format resolves --json and --format, which may be empty.
func (p *Printer) Format(wanted string) (Format, error) {
	f := Format(wanted)
	switch f {
	case "":
		if p.JSON {
			return FormatJSON, nil
		}
		return FormatTable, nil
	case FormatTable, FormatJSON, FormatJSONL, FormatCSV:
	default:
		return "", onto.Errorf(onto.Invalid, "format %q is unknown", wanted).WithHint("use table, json, jsonl or csv")
	}
	if p.JSON && f != FormatJSON {
		return "", onto.Errorf(onto.Invalid, "--json and --format %s contradict each other", wanted).WithHint("give one of them")
	}
	return f, nil
}

// Array starts an array of documents.
func (p *Printer) Array() *Array { return &Array{out: p.Out} }

// ArrayIn starts an array that is a member of a document, after the members of an object
// that has some.
func (p *Printer) ArrayIn(members any, name string) (*Array, error) {
	text, err := encodeRow(members)
	if err != nil {
		return nil, err
	}
	return &Array{out: p.Out, within: string(text[:len(text)-1]) + `,"` + name + `":`}, nil
}

// Meter starts a meter; nil where there is no terminal.
func (p *Printer) Meter(what string, share func() (part, whole int64)) *Meter {
	if !p.Err.Terminal {
		return nil
	}
	return &Meter{err: p.Err, what: what, share: share, now: time.Now}
}

// Progress shows the progress of a long task, on a terminal only, in a line that done
// removes.
func (p *Printer) Progress(what string) (report func(now, total int64), done func()) {
	if !p.Err.Terminal {
		return nil, func() {}
	}
	m := &Meter{err: p.Err}
	return func(now, total int64) { m.show(fmt.Sprintf("%s: %d of %d", what, now, total)) }, m.Done
}

// Steps shows the present step, on a terminal only, in a line that done removes.
func (p *Printer) Steps() (show func(string), done func()) {
	if !p.Err.Terminal {
		return nil, func() {}
	}
	m := &Meter{err: p.Err}
	return func(step string) { m.show("looking at " + step) }, m.Done
}

// Status shows a line of text that changes, on a terminal only; done removes it. Between
// the two, done makes room for a message.
func (p *Printer) Status() (show func(string), done func()) {
	if !p.Err.Terminal {
		return nil, func() {}
	}
	m := &Meter{err: p.Err}
	return m.show, m.Done
}
