package session

import (
	"testing"
	"time"

	"github.com/ontologia/onto"
)

func TestParseLength(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "2w": 14 * day, "0d": 0, "106751d": 106751 * day,
	} {
		if got, err := ParseLength("before", text); err != nil || got != want {
			t.Errorf("%s: got %v, error %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "-1h", "-7d", "d", "1.5d", "106752d", "9999999999999999999d", "soon", "7 d"} {
		if got, err := ParseLength("before", text); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%q: got %v, error %v", text, got, err)
		}
	}
}

func TestParseBefore(t *testing.T) {
	now := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"7d": "2026-02-03T12:00:00Z", "2026-01-02": "2026-01-02T00:00:00Z", "2026-01-02T03:04:05+01:00": "2026-01-02T02:04:05Z",
	} {
		if got, err := ParseBefore(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: got %v, error %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "12", "head", "tomorrow", "2026-13-01"} {
		if got, err := ParseBefore(text, now); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%q: got %v, error %v", text, got, err)
		}
	}
}
