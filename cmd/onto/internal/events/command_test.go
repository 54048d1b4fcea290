package events

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

func TestSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "2w": 14 * day, "0d": 0, "106751d": 106751 * day,
	} {
		if got, err := parseSpan("before", text); err != nil || got != want {
			t.Errorf("%s: got %v, error %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "-1h", "-7d", "d", "1.5d", "106752d", "9999999999999999999d", "soon", "7 d"} {
		if got, err := parseSpan("before", text); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%q: got %v, error %v", text, got, err)
		}
	}
}

func TestBefore(t *testing.T) {
	now := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"7d": "2026-02-03T12:00:00Z", "2026-01-02": "2026-01-02T00:00:00Z", "2026-01-02T03:04:05+01:00": "2026-01-02T02:04:05Z",
	} {
		if got, err := parseBefore(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: got %v, error %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "12", "head", "tomorrow", "2026-13-01"} {
		if got, err := parseBefore(text, now); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%q: got %v, error %v", text, got, err)
		}
	}
}

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
