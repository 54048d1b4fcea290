package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/ontologia/onto/internal/document"
)

// output is stdout or stderr.
type output struct {
	*bufio.Writer
	terminal bool
	colour   bool
}

func newOutput(w io.Writer) *output {
	o := &output{Writer: bufio.NewWriter(w)}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.terminal, o.colour = true, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return o
}

// style is how text is emphasised where colour is wanted.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

func (o *output) paint(s style, text string) string {
	if !o.colour || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// line prints a line of text that is safe already.
func (o *output) line(format string, args ...any) error {
	_, err := fmt.Fprintf(o, format+"\n", args...)
	return err
}

// data prints what programs read. A terminal gets it with control characters
// escaped, which inside JSON does not change its meaning.
func (o *output) data(text []byte) error {
	if o.terminal {
		text = []byte(escapeBut(string(text), "\n"))
	}
	_, err := o.Write(text)
	return err
}

// say prints a message to stderr. If that fails, there is nowhere to say so.
func (c *command) say(format string, args ...any) {
	_ = c.out.Flush() // what it is about comes first; a failure shows again later
	_ = c.err.line("%s", escape(fmt.Sprintf(format, args...)))
	_ = c.err.Flush()
}

// count is a number with its noun.
func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// document prints one value as indented JSON.
func (c *command) document(v any) error {
	text, err := document.Encode(v)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	return c.out.data(indented.Bytes())
}

// escape makes text safe for a terminal: what is not printable is shown as
// Go would write it.
func escape(s string) string { return escapeBut(s, "") }

// escapeBut leaves the given characters alone.
func escapeBut(s, plain string) string {
	safe := func(r rune) bool { return unicode.IsPrint(r) || strings.ContainsRune(plain, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case safe(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := surrogates(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case strings.ContainsRune("\n\r\t", r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// surrogates splits a rune as JSON writes it.
func surrogates(r rune) (high, low rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}
