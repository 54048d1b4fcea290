package cron

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ontologia/onto/internal/suggest"
)

// field is what one of the five may hold.
type field struct {
	name     string
	min, max int      // what * stands for
	top      int      // the highest number that may be written
	names    []string // of the values from min on
}

var fields = [5]field{
	{name: "minute", max: 59, top: 59},
	{name: "hour", max: 23, top: 23},
	{name: "day-of-month", min: 1, max: 31, top: 31},
	{name: "month", min: 1, max: 12, top: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day-of-week", max: 6, top: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// parse returns the values of a list as bits.
func (f *field) parse(list part) (uint64, error) {
	var set uint64
	for rest, more := list, true; more; {
		var text string
		text, _, more = strings.Cut(rest.text, ",")
		member := part{text, rest.column}
		if text == "" {
			return 0, part{list.text, member.column}.bad(f.name, "a member of the list is empty; remove the comma")
		}
		low, high, step, err := f.member(member)
		if err != nil {
			return 0, err
		}
		for v := low; v <= high; v += step {
			set |= 1 << f.fold(v)
		}
		if more {
			rest = rest.after(len(text) + 1)
		}
	}
	return set, nil
}

// fold makes 7 in day-of-week the Sunday that 0 is.
func (f *field) fold(value int) int {
	if value > f.max {
		return f.min
	}
	return value
}

// member reads one member of a list: a range, and the step from one of its values to
// the next.
func (f *field) member(p part) (low, high, step int, err error) {
	base, _, stepped := strings.Cut(p.text, "/")
	low, high, err = f.bounds(p, base)
	if err != nil || !stepped {
		return low, high, 1, err
	}
	number := p.after(len(base) + 1)
	step, ok := digits(number.text)
	switch {
	case number.text == "":
		return 0, 0, 0, p.bad(f.name, "the step is missing; write a number after the /")
	case !ok || step == 0:
		return 0, 0, 0, number.bad(f.name, "not a step; write a number from 1 on")
	case step > high-low:
		return 0, 0, 0, p.bad(f.name, fmt.Sprintf("the step passes the end, so only %d would match; write %[1]d or a shorter step", low))
	}
	return low, high, step, nil
}

// bounds reads the base of a member, which is what stands before the step: a range, *, or
// a value, which with a step reaches to the end of the field.
func (f *field) bounds(member part, base string) (low, high int, err error) {
	if base == "*" {
		return f.min, f.max, nil
	}
	p := part{base, member.column}
	first, _, ranged := strings.Cut(base, "-")
	if low, err = f.value(member, part{first, p.column}); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		last := p.after(len(first) + 1)
		if high, err = f.value(member, last); err != nil {
			return 0, 0, err
		}
		if low > 0 && strings.EqualFold(last.text, "sun") {
			high = 7
		}
		if high < low {
			return 0, 0, p.bad(f.name, f.unwrap(low, high))
		}
		return low, high, nil
	case base != member.text:
		return low, f.max, nil
	}
	return low, low, nil
}

// unwrap says how to write a range that ends before it begins.
func (f *field) unwrap(low, high int) string {
	ranges := strconv.Itoa(f.min)
	if high > f.min {
		ranges += "-" + strconv.Itoa(high)
	}
	if low <= f.max {
		ranges = fmt.Sprintf("%d-%d,%s", low, f.max, ranges)
	}
	return "ends before it begins; write " + ranges
}

// value reads a number or a name, which is part of a member.
func (f *field) value(member, p part) (int, error) {
	if p.text == "" {
		return 0, member.bad(f.name, "a value is missing; write "+f.allowed())
	}
	lower := strings.ToLower(p.text)
	for i, name := range f.names {
		if lower == name {
			return f.min + i, nil
		}
	}
	if number, ok := digits(p.text); ok {
		if number < f.min || number > f.top {
			return 0, p.bad(f.name, fmt.Sprintf("not between %d and %d", f.min, f.top))
		}
		return number, nil
	}
	if name := f.similar(lower); name != "" {
		return 0, p.bad(f.name, "not a name; did you mean "+name+"?")
	}
	if p.text == "?" {
		return 0, p.bad(f.name, "not supported; write *")
	}
	return 0, p.bad(f.name, "not a value; write "+f.allowed())
}

// similar returns the name that a misspelled one, or one in full, stands for.
func (f *field) similar(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !isLetter(r) }) {
		return ""
	}
	for _, name := range f.names {
		if strings.HasPrefix(text, name) {
			return name
		}
	}
	return suggest.Name(text, f.names)
}

func (f *field) allowed() string {
	numbers := fmt.Sprintf("a number from %d to %d", f.min, f.top)
	if len(f.names) == 0 {
		return numbers
	}
	return numbers + " or a name from " + f.names[0] + " to " + f.names[len(f.names)-1]
}

// digits reads a number; a huge one becomes the largest.
func digits(text string) (int, bool) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !isDigit(r) }) {
		return 0, false
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		number = math.MaxInt
	}
	return number, true
}
