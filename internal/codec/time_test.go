package codec_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
)

func TestParseTime(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"2026-02-10T12:34:56.789012+00:00", "2026-02-10T12:34:56.789012+00:00"},
		{"2026-02-10T12:34:56Z", "2026-02-10T12:34:56.000000+00:00"},
		{"2026-02-10t12:34:56z", "2026-02-10T12:34:56.000000+00:00"},
		{"2026-02-10T12:34:56.5Z", "2026-02-10T12:34:56.500000+00:00"},
		{"2026-02-10T12:34:56.7890129Z", "2026-02-10T12:34:56.789012+00:00"},
		{"2026-02-10T12:34:56.999999999Z", "2026-02-10T12:34:56.999999+00:00"},
		{"1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999+00:00"},
		{"2026-02-10T12:34:56+05:30", "2026-02-10T07:04:56.000000+00:00"},
		{"2026-02-10T00:30:00-08:00", "2026-02-10T08:30:00.000000+00:00"},
		{"2026-01-01T00:00:00+01:00", "2025-12-31T23:00:00.000000+00:00"},
		{"2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000+00:00"},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000+00:00"},
		{"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"},
	} {
		got, err := codec.ParseTime(c.src)
		if err != nil || codec.FormatTime(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.src, codec.FormatTime(got), err, c.want)
		}
		if got.Location() != time.UTC {
			t.Errorf("%s: got location %v, want UTC", c.src, got.Location())
		}
	}
}

func TestParseTimeRefuses(t *testing.T) {
	for src, want := range map[string]string{
		"":                          "is not a time",
		"yesterday":                 "is not a time",
		"2026-02-10":                "is not a time",
		"2026-02-10T12:34:56":       "is not a time",
		"2026-02-10 12:34:56Z":      "is not a time",
		"2026-02-30T12:34:56Z":      "is not a time",
		"2026-02-10T25:00:00Z":      "is not a time",
		"0000-06-01T00:00:00Z":      "year 0 is outside 1 to 9999",
		"0001-01-01T00:00:00+01:00": "year 0 is outside 1 to 9999",
		"9999-12-31T23:30:00-01:00": "year 10000 is outside 1 to 9999",
	} {
		if got, err := codec.ParseTime(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want an error with %q", src, got, err, want)
		}
	}
}

func TestCheckTime(t *testing.T) {
	for _, c := range []struct {
		at time.Time
		ok bool
	}{
		{time.Time{}, true},
		{time.Time{}.Add(-1), false},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), true},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), false},
	} {
		if err := codec.CheckTime(c.at); (err == nil) != c.ok {
			t.Errorf("%v: got %v, want accepted %v", c.at, err, c.ok)
		}
	}
}

func TestTextOrderIsTimeOrder(t *testing.T) {
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).UnixMicro()
	instant := rapid.Int64Range(first, last)
	zone := rapid.IntRange(-12*3600, 14*3600)
	effort.Check(t, 1000, func(t *rapid.T) {
		a, b := instant.Draw(t, "a"), instant.Draw(t, "b")
		if rapid.Bool().Draw(t, "near") {
			b = min(a+rapid.Int64Range(0, 2_000_000).Draw(t, "gap"), last)
		}
		in := func(micros int64) string {
			return codec.FormatTime(time.UnixMicro(micros).In(time.FixedZone("", zone.Draw(t, "zone"))))
		}
		textA, textB := in(a), in(b)
		if len(textA) != len(codec.TimeLayout) || len(textB) != len(textA) {
			t.Fatalf("got %s and %s, want %d bytes each", textA, textB, len(codec.TimeLayout))
		}
		if got, want := strings.Compare(textA, textB), cmp.Compare(a, b); got != want {
			t.Fatalf("%s against %s: got %d, want %d", textA, textB, got, want)
		}
		if back, err := codec.ParseTime(textA); err != nil || back.UnixMicro() != a {
			t.Fatalf("%s: got %v, %v, want %d microseconds", textA, back, err, a)
		}
	})
}

func TestAppendTimeAppends(t *testing.T) {
	at := time.Date(2026, 2, 10, 12, 34, 56, 789012999, time.UTC)
	if got, want := string(codec.AppendTime([]byte("at "), at)), "at 2026-02-10T12:34:56.789012+00:00"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The short way of reading the stored form knows the same times as the long one.
func TestParseStoredTimes(t *testing.T) {
	for _, s := range []string{
		"2026-02-10T12:34:56.789012+00:00", "0001-01-01T00:00:00.000000+00:00", "9999-12-31T23:59:59.999999+00:00",
		"2024-02-29T00:00:00.000001+00:00", "2023-02-29T00:00:00.000000+00:00", "2026-13-01T00:00:00.000000+00:00",
		"2026-00-01T00:00:00.000000+00:00", "2026-01-00T00:00:00.000000+00:00", "2026-01-01T24:00:00.000000+00:00",
		"2026-01-01T00:60:00.000000+00:00", "2026-01-01T00:00:60.000000+00:00", "0000-01-01T00:00:00.000000+00:00",
		"2026-01-01T00:00:00.000000+01:00", "2026-01-01t00:00:00.000000+00:00", "2026-01-01T00:00:00.000000Z",
		"2026-01-01 00:00:00.000000+00:00", "2026-01-01T00:00:00,000000+00:00", "d026-01-01T00:00:00.000000+00:00",
	} {
		long, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
		long = long.UTC()
		refused := err != nil || codec.CheckTime(long) != nil
		got, err := codec.ParseTime(s)
		if refused != (err != nil) || err == nil && (!got.Equal(long) || got.Location() != time.UTC) {
			t.Errorf("%s: got %s, %v; want %s, refused %t", s, got, err, long, refused)
		}
	}
}
