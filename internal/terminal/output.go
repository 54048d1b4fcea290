package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Output is stdout or stderr.
type Output struct {
	*bufio.Writer
	Terminal bool
	Colour   bool
}

// NewOutput writes to a stream, which may be a terminal.
func NewOutput(w io.Writer) *Output {
	o := &Output{Writer: bufio.NewWriter(w)}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Terminal, o.Colour = true, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return o
}

// Style is how text is emphasised where colour is wanted.
type Style string

// The styles.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Paint emphasises text where colour is wanted.
func (o *Output) Paint(s Style, text string) string {
	if !o.Colour || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Line prints a line of text that is safe already.
func (o *Output) Line(format string, args ...any) error {
	_, err := fmt.Fprintf(o, format+"\n", args...)
	return err
}

// Data prints machine-readable output. For a terminal control characters are escaped,
// which inside JSON does not change its meaning.
func (o *Output) Data(text []byte) error {
	if o.Terminal {
		text = []byte(escapeBut(string(text), "\n"))
	}
	_, err := o.Write(text)
	return err
}

// Count is a number with its noun.
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Escape makes text safe for a terminal: what is not printable is shown as
// Go would write it.
func Escape(s string) string { return escapeBut(s, "") }

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

// Bytes is a size for people.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	for size >= 1024 && unit+1 < len(units) {
		size, unit = size/1024, unit+1
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
