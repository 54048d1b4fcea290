package terminal

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain é 日本 😀", "plain é 日本 😀"},
		{"\x1b[31mred", `\u001b[31mred`},
		{"a\nb\tc\rd\x00\x7f", `a\nb\tc\rd\u0000\u007f`},
		{"\u009b1m", `\u009b1m`},
		{"\u202eabc\u2066", `\u202eabc\u2066`},
		{"bad \xff utf8", `bad \xff utf8`},
		{"\uFFFD", "\uFFFD"},
		{"\U000E0001", `\udb40\udc01`},
	} {
		if got := Escape(c.text); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

// screen is an output that reports to be a terminal.
func screen(buf *bytes.Buffer) *Output {
	o := NewOutput(buf)
	o.Terminal, o.Colour = true, true
	return o
}

func TestJSONOnATerminalIsSafeAndTheSame(t *testing.T) {
	text := []byte("{\"a\":\"x\u009b31m\u202e\U000E0001 é\"}\n")
	var buf bytes.Buffer
	o := screen(&buf)
	if err := o.Data(text); err != nil {
		t.Fatal(err)
	}
	o.Flush()
	if got, want := buf.String(), `{"a":"x\u009b31m\u202e\udb40\udc01 é"}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var before, after map[string]string
	if json.Unmarshal(text, &before) != nil || json.Unmarshal(buf.Bytes(), &after) != nil || before["a"] != after["a"] {
		t.Errorf("got %q, want %q", after["a"], before["a"])
	}
}

func printTable(t *testing.T, o *Output, cols []Column, rows ...[]string) {
	t.Helper()
	table := newTable(o, cols)
	for _, r := range rows {
		if err := table.add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.close(); err != nil {
		t.Fatal(err)
	}
	o.Flush()
}

func TestTableOnATerminal(t *testing.T) {
	var buf bytes.Buffer
	long := strings.Repeat("x", 100)
	cols := append(WholeColumns("key"), Columns("value")...)
	printTable(t, screen(&buf), cols, []string{long, long}, []string{"日本", "e\u0301"})
	want := "\x1b[1mkey" + strings.Repeat(" ", 99) + "value\x1b[0m\n" +
		long + "  " + long[:59] + "…\n" +
		"日本" + strings.Repeat(" ", 98) + "e\u0301\n"
	if got := buf.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableElsewhereIsWhole(t *testing.T) {
	var buf bytes.Buffer
	long := strings.Repeat("x", 100)
	printTable(t, NewOutput(&buf), Columns("a", "b"), []string{long, ""}, []string{"", "y"})
	want := "a" + strings.Repeat(" ", 101) + "b\n" + long + "\n" + strings.Repeat(" ", 102) + "y\n"
	if got := buf.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLongTableKeepsItsFirstWidths(t *testing.T) {
	var buf bytes.Buffer
	rows := make([][]string, 0, maxBuffered+2)
	for range maxBuffered {
		rows = append(rows, []string{"ab", "c"})
	}
	printTable(t, NewOutput(&buf), Columns("k", "v"), append(rows, []string{"a", "c"}, []string{"abcd", "c"})...)
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	if len(lines) != maxBuffered+3 {
		t.Fatalf("got %d lines, want %d", len(lines), maxBuffered+3)
	}
	for i, want := range map[int]string{0: "k   v", 1: "ab  c", maxBuffered + 1: "a   c", maxBuffered + 2: "abcd  c"} {
		if lines[i] != want {
			t.Errorf("line %d: got %q, want %q", i, lines[i], want)
		}
	}
}

func TestShowBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 81920: "80.0 KiB", 5 << 30: "5.0 GiB", 1 << 60: "1048576.0 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	var buf bytes.Buffer
	c := NewPrinter(io.Discard, &buf)
	if report, done := c.Progress("working"); report != nil {
		t.Errorf("progress is reported where there is no terminal")
	} else {
		done()
	}
	c.Err = screen(&buf)
	report, done := c.Progress("working")
	report(1, 2)
	done()
	if got, want := buf.String(), "\r\x1b[Kworking: 1 of 2\r\x1b[K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
