package events

import (
	"errors"
	"strings"
	"testing"
)

// Whole lines of commands go on, so that those of several do not mix.
func TestLinesStayWhole(t *testing.T) {
	var got []string
	l := &lines{to: func(p []byte) error { got = append(got, string(p)); return nil }}
	for _, part := range []string{"a", "b\nc", "\n\nd", strings.Repeat("e", maxLine), "f"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	l.close()
	l.close()
	want := []string{"ab\n", "c\n\n", "d" + strings.Repeat("e", maxLine), "f\n"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %.100q, want %.100q", got, want)
	}
}

// An output that cannot be written is not written again, and says so.
func TestLinesThatDoNotGoOn(t *testing.T) {
	full, calls := errors.New("no space"), 0
	l := &lines{to: func([]byte) error { calls++; return full }}
	for _, part := range []string{"a\n", "b\n"} {
		if _, err := l.Write([]byte(part)); err != full {
			t.Errorf("got %v, want %v", err, full)
		}
	}
	if l.close(); l.err != full || calls != 1 {
		t.Errorf("got %v after %d calls", l.err, calls)
	}
}

// The last lines of stderr explain a failure, and are bounded.
func TestTail(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"blanks", " \n\n", ""},
		{"two lines", "one\ntwo\n", ": one\ntwo"},
		{"many lines", strings.Repeat("x\n", 20) + "last\n", ": " + strings.Repeat("x\n", tailLines-1) + "last"},
		{"a long line", strings.Repeat("y", 3*tailBytes), ": " + strings.Repeat("y", tailBytes)},
		{"not text", "a\xffb\n", ": a\uFFFDb"},
	} {
		tail := &tail{}
		for line := range strings.Lines(c.text) {
			tail.add([]byte(line))
		}
		if got := tail.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
