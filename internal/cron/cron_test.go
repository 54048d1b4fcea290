package cron

import (
	"archive/zip"
	"errors"
	"go/build"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/ontologia/onto/internal/effort"
)

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// loadSlim loads a zone from the database that comes with Go, which programs carry, and
// some distributions of Go leave out. The system's often lists more years; in the others
// ZoneBounds goes by rules.
func loadSlim(t testing.TB, name string) *time.Location {
	t.Helper()
	file, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip"))
	if errors.Is(err, fs.ErrNotExist) {
		return load(t, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := fs.ReadFile(file, name)
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func loadEither(t testing.TB, r *rand.Rand, name string) *time.Location {
	if r.IntN(2) == 0 {
		return load(t, name)
	}
	return loadSlim(t, name)
}

func parse(t testing.TB, expression, zone string) *Schedule {
	t.Helper()
	s, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestCalendar(t *testing.T) {
	for _, c := range []struct{ expression, at, last, next string }{
		// A tick is not after itself, and the smallest time after it is after it.
		{"*/5 * * * *", "2026-01-01T00:05:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z"},
		{"*/5 * * * *", "2026-01-01T00:04:59.999999999Z", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"},
		{"*/5 * * * *", "2026-01-01T00:05:00.000000001Z", "2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z"},
		{"*/5 * * * *", "2026-01-01T01:05:00+01:00", "2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z"},

		// each field carries into the next
		{"30 * * * *", "2026-12-31T23:45:00Z", "2026-12-31T23:30:00Z", "2027-01-01T00:30:00Z"},
		{"15 6,18 * * *", "2026-02-28T18:15:00Z", "2026-02-28T18:15:00Z", "2026-03-01T06:15:00Z"},
		{"0 0 31 * *", "2026-04-15T00:00:00Z", "2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"},
		{"59 23 31 12 *", "2026-06-01T00:00:00Z", "2025-12-31T23:59:00Z", "2026-12-31T23:59:00Z"},
		{"0 0 1 jan,jul *", "2026-07-01T00:00:00Z", "2026-07-01T00:00:00Z", "2027-01-01T00:00:00Z"},

		// the rule for days
		{"0 0 13 * fri", "2026-11-09T00:00:00Z", "2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z"},
		{"0 0 13 * fri", "2026-12-11T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z"},
		{"0 0 * * fri", "2026-12-11T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-18T00:00:00Z"},
		{"0 0 13 * *", "2026-12-11T00:00:00Z", "2026-11-13T00:00:00Z", "2026-12-13T00:00:00Z"},
		{"0 0 */12 * fri", "2026-12-01T00:00:00Z", "2026-11-13T00:00:00Z", "2026-12-25T00:00:00Z"}, // on 1, 13, 25 if it is a Friday
		{"0 0 13 * */5", "2026-03-01T00:00:00Z", "2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z"},
		{"0 0 30 2 mon", "2026-02-10T00:00:00Z", "2026-02-09T00:00:00Z", "2026-02-16T00:00:00Z"},
		{"0 0 * * 7", "2026-11-16T00:00:00Z", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"},

		// leap days, which 1900 and 2100 do not have
		{"0 0 29 2 *", "2026-01-01T00:00:00Z", "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 0 29 2 *", "2100-03-01T00:00:00Z", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"0 0 29 2 *", "1900-03-01T00:00:00Z", "1896-02-29T00:00:00Z", "1904-02-29T00:00:00Z"},
		{"0 0 29 2 */6", "2089-01-01T00:00:00Z", "2088-02-29T00:00:00Z", "2116-02-29T00:00:00Z"}, // on a Sunday or Saturday
	} {
		s := parse(t, c.expression, "")
		at := instant(t, c.at)
		if got, want := s.Next(at), instant(t, c.next); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: Next(%s) is %s, want %s", s, c.at, got, c.next)
		}
		if got, want := s.Last(at), instant(t, c.last); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: Last(%s) is %s, want %s", s, c.at, got, c.last)
		}
	}
}

// TestYearsOfRules crosses the ends of years that a zone's database has no entries for:
// ZoneBounds is wrong about the last day of those that are leap years.
func TestYearsOfRules(t *testing.T) {
	for _, name := range zones {
		zone := loadSlim(t, name)
		for _, year := range []int{2023, 2024, 2048, 2049} {
			for _, expression := range []string{"0 */6 * * *", "0 0,6,12,18 * * *"} {
				s := parse(t, expression, name)
				s.zone = zone
				at := time.Date(year, 12, 29, 0, 0, 0, 0, zone)
				for hour := 6; hour <= 6*24; hour += 6 {
					want := time.Date(year, 12, 29, hour, 0, 0, 0, zone)
					if got := s.Next(at); !got.Equal(want) {
						t.Fatalf("%s: Next(%s) is %s, want %s", s, at, got.In(zone), want)
					}
					if got := s.Last(want.Add(-1)); !got.Equal(at) {
						t.Fatalf("%s: Last before %s is %s, want %s", s, want, got.In(zone), at)
					}
					at = want
				}
			}
		}
	}
}

// TestEndsOfTime asks about instants beyond those that have ticks.
func TestEndsOfTime(t *testing.T) {
	distant := time.Unix(math.MaxInt64/4, 0)
	for _, zone := range []string{"", "America/New_York", "Pacific/Kiritimati", "Asia/Manila"} {
		for _, expression := range []string{"* * * * *", "@daily", "0 12 29 2 *", "0 */2 29 2 *"} {
			s := parse(t, expression, zone)
			for _, at := range []time.Time{distant, date(10000, 1, 1), date(9999, 12, 31).Add(24*time.Hour - 1)} {
				if got := s.Next(at); !got.IsZero() {
					t.Errorf("%s: Next(%s) is %s, want none", s, at, got)
				}
				if got := s.Last(at); got.Year() < 9996 || got.Year() > 9999 {
					t.Errorf("%s: Last(%s) is %s, want a tick near 9999", s, at, got)
				}
			}
			for _, at := range []time.Time{{}, time.Unix(-math.MaxInt64/4, 0), date(1800, 1, 1).Add(-1)} {
				if got := s.Next(at); got.Year() < 1800 || got.Year() > 1804 {
					t.Errorf("%s: Next(%s) is %s, want a tick near 1800", s, at, got)
				}
				if got := s.Last(at); !got.IsZero() {
					t.Errorf("%s: Last(%s) is %s, want none", s, at, got)
				}
			}
		}
	}
}

// TestOrder follows random schedules: each tick is after the one before, is its own last
// tick, and nothing lies between the two.
func TestOrder(t *testing.T) {
	schedules := effort.Count(t, 20_000)
	const ticks = 50
	r := effort.Rand(t)
	for range schedules {
		e := randomExpression(r)
		s := parse(t, e.String(), zones[r.IntN(len(zones))])
		at := date(1850, 1, 1).Add(time.Duration(r.Int64N(250*365*24)) * time.Hour)
		previous := s.Last(at)
		for range ticks {
			next := s.Next(at)
			if !next.After(at) {
				t.Fatalf("%s: Next(%s) is %s, which is not after it", s, at, next)
			}
			if got := s.Last(next); !got.Equal(next) {
				t.Fatalf("%s: the last tick at the tick %s is %s", s, next, got)
			}
			if got := s.Last(next.Add(-1)); !got.Equal(previous) {
				t.Fatalf("%s: the last tick before %s is %s, want %s", s, next, got, previous)
			}
			at, previous = next, next
		}
	}
	t.Logf("%d schedules, %d ticks", schedules, schedules*ticks)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"* * * * *", "*/5 0-6/2 1,15 jan-mar mon-fri", "0 0 29 2 */6", "@daily", "5/10 22 L * ?", "0 0 30 2 *", "0 */23 2-8 9 */6"} {
		f.Add(s, "America/Santiago", int64(1788661800))
		f.Add(s, "", int64(-1))
	}
	f.Fuzz(func(t *testing.T, expression, zone string, seconds int64) {
		s, err := Parse(expression, zone)
		if err != nil {
			bad, ok := err.(*Error)
			if !ok || bad.Field == "" || bad.Message == "" || bad.Column < 0 || bad.Column > len(expression)+1 || (bad.Column == 0) != (bad.Field == "zone") {
				t.Fatalf("%q: %#v", expression, err)
			}
			return
		}
		if again := parse(t, s.text, zone); again.String() != s.String() {
			t.Fatalf("%q is %q, which is %q", expression, s, again)
		}
		at := time.Unix(seconds, 0)
		if at.Year() > 9900 {
			at = date(9900, 1, 1)
		}
		for range 3 {
			next := s.Next(at)
			if next.IsZero() || !next.After(at) || !s.Last(next).Equal(next) || s.Last(next.Add(-1)).After(at) {
				t.Fatalf("%q: Next(%s) is %s, the last tick then is %s, before it %s", s, at, next, s.Last(next), s.Last(next.Add(-1)))
			}
			at = next
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct{ name, expression, zone string }{
		{"every five minutes", "*/5 * * * *", ""},
		{"every five minutes in a zone", "*/5 * * * *", "America/New_York"},
		{"nightly in a zone", "30 2 * * *", "America/New_York"},
		{"weekdays in a zone", "0 9-17 * * mon-fri", "Europe/Berlin"},
		{"yearly in a zone", "@yearly", "Europe/Berlin"},
		{"a leap day on some weekdays", "0 0 29 2 */6", "Europe/Berlin"},
		{"a leap day on some weekdays as time passes", "0 */23 29 2 */6", "Africa/Casablanca"},
	} {
		s := parse(b, c.expression, c.zone)
		at := instant(b, "2026-03-08T06:59:00Z")
		b.Run("next/"+c.name, func(b *testing.B) {
			for b.Loop() {
				s.Next(at)
			}
		})
		b.Run("last/"+c.name, func(b *testing.B) {
			for b.Loop() {
				s.Last(at)
			}
		})
	}
}
