package cron

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto/internal/effort"
)

const (
	secondsOfDay = 24 * 60 * 60
	margin       = 4 * secondsOfDay // beyond this no shift reaches into a stretch
)

// zones are of all kinds: shifts of half an hour, an hour and two; at midnight, on other
// days than Sunday, several a year; the date line crossed; no shifts at all; a rule that
// holds from the middle of a year on.
var zones = strings.Fields(`
	UTC America/New_York America/St_Johns America/Santiago America/Asuncion America/Sao_Paulo America/Havana
	America/Godthab America/Scoresbysund America/Caracas America/Argentina/San_Luis America/Anchorage America/Tijuana
	America/Metlakatla America/Ciudad_Juarez America/Indiana/Winamac America/Goose_Bay
	Antarctica/Troll Antarctica/Casey Antarctica/Macquarie Africa/Casablanca Africa/Cairo Africa/Monrovia Africa/Juba
	Asia/Amman Asia/Beirut Asia/Damascus Asia/Dhaka Asia/Gaza Asia/Jerusalem Asia/Kathmandu Asia/Kolkata Asia/Manila
	Asia/Pyongyang Asia/Tehran Asia/Tokyo Atlantic/Azores Australia/Adelaide Australia/Lord_Howe Australia/Sydney
	Europe/Amsterdam Europe/Berlin Europe/Dublin Europe/Istanbul Europe/Lisbon Europe/London Europe/Moscow Europe/Samara
	Pacific/Apia Pacific/Auckland Pacific/Chatham Pacific/Easter Pacific/Enderbury Pacific/Fakaofo Pacific/Fiji
	Pacific/Guam Pacific/Kiritimati Pacific/Kwajalein Pacific/Norfolk Pacific/Tongatapu`)

// stretch is a time in a zone, looked at step by step. Its first and last days are margin:
// they are looked at, but nothing is asked about them.
type stretch struct {
	zone           *time.Location
	from, to, step int64
	clock          []int64                           // what the clock shows at each step
	first          int64                             // local day that the clock shows
	shown          [][24 * 60]int64                  // by local day from the first on, and minute: the first instant that shows it; 0 for none
	gaps           []struct{ first, next, at int64 } // local times from first up to next are skipped at an instant
	changes        []int64                           // instants of all shifts
}

func walk(zone *time.Location, from, to, step int64) *stretch {
	s := &stretch{zone: zone, from: from, to: to, step: step}
	s.clock = make([]int64, 0, (to-from+2*margin)/step)
	for at := from - margin; at < to+margin; at += step {
		_, offset := time.Unix(at, 0).In(zone).Zone()
		local := at + int64(offset)
		if n := len(s.clock); n > 0 && local != s.clock[n-1]+step {
			s.changes = append(s.changes, at)
			if expected := s.clock[n-1] + step; local > expected {
				s.gaps = append(s.gaps, struct{ first, next, at int64 }{expected, local, at})
			}
		}
		s.clock = append(s.clock, local)
		day, second := divide(local, secondsOfDay)
		if len(s.clock) == 1 {
			s.first = day - 2 // the clock may go back over the date line
		}
		for int64(len(s.shown)) <= day-s.first {
			s.shown = append(s.shown, [24 * 60]int64{})
		}
		if first := &s.shown[day-s.first][second/60]; second%60 == 0 && *first == 0 {
			*first = at
		}
	}
	return s
}

func divide(a, b int64) (quotient, rest int64) {
	if rest = a % b; rest < 0 {
		rest += b
	}
	return (a - rest) / b, rest
}

// ticks returns when an expression fires.
func (s *stretch) ticks(e *expression) []int64 {
	var list []int64
	if e.text[1][0] == '*' {
		list = s.passing(e)
	} else {
		list = s.once(e)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(at int64) bool { return at < s.from || at >= s.to })
}

// passing looks at the clock at each step.
func (s *stretch) passing(e *expression) []int64 {
	var list []int64
	matching := make([]bool, len(s.shown))
	for i := range matching {
		matching[i] = e.matchesDay(s.first + int64(i))
	}
	for i, local := range s.clock {
		if local%60 != 0 {
			continue
		}
		day, second := divide(local, secondsOfDay)
		if e.values[0][second/60%60] && e.values[1][second/3600] && matching[day-s.first] {
			list = append(list, s.from-margin+int64(i)*s.step)
		}
	}
	return list
}

// once goes through all minutes of the calendar, shown or not, and looks for the instant
// of each.
func (s *stretch) once(e *expression) []int64 {
	var list []int64
	first, _ := divide(s.clock[0], secondsOfDay)
	last, _ := divide(s.clock[len(s.clock)-1], secondsOfDay)
	for day := first; day <= last; day++ {
		if !e.matchesDay(day) {
			continue
		}
		for minute := range int64(24 * 60) {
			if !e.values[0][minute%60] || !e.values[1][minute/60] {
				continue
			}
			at := s.shown[day-s.first][minute]
			for _, gap := range s.gaps {
				local := day*secondsOfDay + minute*60
				if gap.first <= local && local < gap.next && (at == 0 || gap.at < at) {
					at = gap.at
				}
			}
			if at != 0 {
				list = append(list, at)
			}
		}
	}
	return list
}

// expression is a text, and what its fields match.
type expression struct {
	text   [5]string
	values [5][60]bool
}

func (e *expression) String() string { return strings.Join(e.text[:], " ") }

func (e *expression) matchesDay(day int64) bool {
	date := time.Unix(day*secondsOfDay, 0).UTC()
	byDate, byWeekday := e.values[2][date.Day()], e.values[4][date.Weekday()]
	if !e.values[3][date.Month()] {
		return false
	}
	if e.text[2][0] == '*' || e.text[4][0] == '*' {
		return byDate && byWeekday
	}
	return byDate || byWeekday
}

// randomExpression fires often in the hours in which clocks are set.
func randomExpression(r *rand.Rand) expression {
	var e expression
	every := [5]int{10, 25, 60, 80, 60} // percent of fields that are *
	for i, f := range fields {
		if r.IntN(100) < every[i] {
			e.text[i] = "*"
			e.add(i, f.min, f.max, 1)
			continue
		}
		for n := range 1 + r.IntN(3) {
			if n > 0 {
				e.text[i] += ","
			}
			e.text[i] += e.addMember(r, i)
		}
	}
	if !e.values[2][1] && !e.values[2][28] { // each month shall have one of the days
		e.text[2] += ",28"
		e.add(2, 28, 28, 1)
	}
	return e
}

// add notes what a field matches.
func (e *expression) add(field, low, high, step int) {
	for v := low; v <= high; v += step {
		e.values[field][v] = true
	}
}

// addMember notes what a random member of a list matches, and returns its text.
func (e *expression) addMember(r *rand.Rand, field int) string {
	f := fields[field]
	low := f.min + r.IntN(f.max-f.min)
	if f.name == "hour" && r.IntN(2) == 0 {
		low = r.IntN(4)
	}
	high := low + 1 + r.IntN(f.max-low)
	switch r.IntN(6) {
	case 0:
		step := 1 + r.IntN(f.max-f.min)
		e.add(field, f.min, f.max, step)
		return "*/" + strconv.Itoa(step)
	case 1:
		step := 1 + r.IntN(f.max-low)
		e.add(field, low, f.max, step)
		return randomName(r, f, low) + "/" + strconv.Itoa(step)
	case 2:
		e.add(field, low, high, 1)
		return randomName(r, f, low) + "-" + randomName(r, f, high)
	case 3:
		step := 1 + r.IntN(high-low)
		e.add(field, low, high, step)
		return randomName(r, f, low) + "-" + randomName(r, f, high) + "/" + strconv.Itoa(step)
	default:
		e.add(field, low, low, 1)
		return randomName(r, f, low)
	}
}

func randomName(r *rand.Rand, f field, value int) string {
	if len(f.names) == 0 || r.IntN(2) == 0 {
		return strconv.Itoa(value)
	}
	name := f.names[value-f.min]
	if r.IntN(2) == 0 {
		name = strings.ToUpper(name)
	}
	return name
}

// compare asks a schedule about instants of a stretch: all ticks around its shifts, and
// others at random. It returns how many answers agreed.
func compare(t *testing.T, r *rand.Rand, s *stretch, e *expression) int {
	t.Helper()
	schedule := parse(t, e.String(), s.zone.String())
	schedule.zone = s.zone
	want := s.ticks(e)
	var asked []time.Time
	for _, change := range s.changes {
		for range 20 {
			asked = append(asked, time.Unix(change-secondsOfDay+r.Int64N(2*secondsOfDay), r.Int64N(1e9)))
			asked = append(asked, time.Unix(change-2*3600+r.Int64N(4*3600), 0))
		}
		near, _ := slices.BinarySearch(want, change-secondsOfDay)
		for ; near < len(want) && want[near] < change+secondsOfDay; near++ {
			asked = append(asked, time.Unix(want[near], 0), time.Unix(want[near], -1))
		}
	}
	for range 50 {
		asked = append(asked, time.Unix(s.from+r.Int64N(s.to-s.from), r.Int64N(1e9)))
		if len(want) > 0 {
			asked = append(asked, time.Unix(want[r.IntN(len(want))], -r.Int64N(2)))
		}
	}
	answers := 0
	for _, at := range asked {
		if at.Unix() < s.from || at.Unix() >= s.to {
			continue
		}
		i, _ := slices.BinarySearch(want, at.Unix()+1) // the first that is after
		next, last := schedule.Next(at), schedule.Last(at)
		if i < len(want) && next.Unix() != want[i] || i == len(want) && next.Unix() < s.to {
			t.Fatalf("%s: Next(%s) is %s, the model has %s", schedule, show(at), show(next), show(pick(want, i)))
		}
		if i > 0 && last.Unix() != want[i-1] || i == 0 && last.Unix() >= s.from {
			t.Fatalf("%s: Last(%s) is %s, the model has %s", schedule, show(at), show(last), show(pick(want, i-1)))
		}
		answers += 2
	}
	return answers
}

func pick(list []int64, i int) time.Time {
	if i < 0 || i >= len(list) {
		return time.Time{}
	}
	return time.Unix(list[i], 0)
}

func show(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// randoms are random numbers for each of so many stretches. Each takes long to walk: a plain
// run does a third of its share.
func randoms(t *testing.T, full int) iter.Seq[*rand.Rand] {
	return func(yield func(*rand.Rand) bool) {
		i := 0
		for seed := range effort.Seeds(t, full) {
			if i++; i%3 != 0 && !effort.Thorough(t) {
				continue
			}
			if !yield(rand.New(rand.NewPCG(seed, 12))) {
				return
			}
		}
	}
}

// TestModel goes through whole years of modern zones minute by minute.
func TestModel(t *testing.T) {
	years, answers, shifts := 0, 0, 0
	const expressions = 25
	for r := range randoms(t, 300) {
		years++
		year := 1973 + r.IntN(80)
		zone := loadEither(t, r, zones[r.IntN(len(zones))])
		s := walk(zone, date(year, 1, 1).Unix(), date(year+1, 1, 1).Unix(), 60)
		shifts += len(s.changes)
		for range expressions {
			e := randomExpression(r)
			answers += compare(t, r, s, &e)
		}
	}
	t.Logf("%d years with %d shifts, %d expressions: %d answers agree", years, shifts, years*expressions, answers)
}

// TestModelOfThePast goes second by second through days around shifts of all times, when
// offsets were not of whole minutes and zones changed sides of the date line.
func TestModelOfThePast(t *testing.T) {
	answers, shifts := 0, 0
	const expressions = 10
	for r := range randoms(t, 200) {
		zone := loadEither(t, r, zones[r.IntN(len(zones))])
		changes := changesOf(zone, date(1840, 1, 1), date(2060, 1, 1))
		if len(changes) == 0 {
			continue
		}
		at := changes[r.IntN(len(changes))]
		s := walk(zone, at-3*secondsOfDay, at+3*secondsOfDay, 1)
		shifts += len(s.changes)
		for range expressions {
			e := randomExpression(r)
			answers += compare(t, r, s, &e)
		}
	}
	t.Logf("%d shifts: %d answers agree", shifts, answers)
}

// changesOf returns about when a zone changes its offset.
func changesOf(zone *time.Location, from, to time.Time) []int64 {
	var list []int64
	_, before := from.In(zone).Zone()
	for at := from; at.Before(to); at = at.Add(12 * time.Hour) {
		_, offset := at.In(zone).Zone()
		if offset != before {
			list = append(list, at.Unix())
		}
		before = offset
	}
	return list
}
