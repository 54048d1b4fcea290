package onto

import (
	"cmp"
	"fmt"
	"time"
)

// Date is a day of the calendar, without a time of day and without a zone. The zero Date is
// none. In JSON and in a store it is a text such as 2026-02-10.
type Date struct {
	Year  int // 1 to 9999
	Month time.Month
	Day   int
}

// DateOf returns the day of a time, in the time's own zone.
func DateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{year, month, day}
}

// ParseDate reads a date as String writes it.
func ParseDate(text string) (Date, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil && t.Year() > 0 {
		return DateOf(t), nil
	}
	return Date{}, Errorf(Invalid, "%.80q is not a date, write it like 2026-02-10", text)
}

// String returns the date as year, month and day, such as 2026-02-10.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// Check reports whether there is such a day.
func (d Date) Check() error {
	if d.Year < 1 || d.Year > 9999 || DateOf(d.Time()) != d {
		return Errorf(Invalid, "%s is not a date", d)
	}
	return nil
}

// IsZero reports whether this is the zero Date.
func (d Date) IsZero() bool { return d == Date{} }

// Time returns the first moment of the day in UTC.
func (d Date) Time() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// AddDays returns the date that many days later.
func (d Date) AddDays(days int) Date { return DateOf(d.Time().AddDate(0, 0, days)) }

// Compare returns a negative number if d is before other, a positive one if it is after it,
// and 0 if both are the same day.
func (d Date) Compare(other Date) int {
	return cmp.Or(cmp.Compare(d.Year, other.Year), cmp.Compare(d.Month, other.Month), cmp.Compare(d.Day, other.Day))
}

// MarshalText implements [encoding.TextMarshaler].
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), d.Check() }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Date) UnmarshalText(text []byte) error {
	read, err := ParseDate(string(text))
	if err == nil {
		*d = read
	}
	return err
}
