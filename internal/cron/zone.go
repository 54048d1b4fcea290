package cron

import (
	"path"
	"strings"
	"time"
	_ "time/tzdata" // slim containers have no zone database
)

// maxOffset is more than any offset from UTC: RFC 9636 asks for less than 26 hours.
const maxOffset = 26 * 60 * 60

// forever is the end of an offset that does not change any more.
const forever = 1 << 62

func loadZone(name string) (*time.Location, error) {
	bad := func(message string) (*time.Location, error) {
		return nil, &Error{Field: "zone", Text: clip(name), Message: message}
	}
	switch {
	case name == "Local" || name == "localtime":
		return bad("the zone of this machine is not that of others; name it, such as Europe/Berlin, or leave it empty for UTC")
	case name != "" && !isZoneName(name):
		return bad("not a name of the IANA database; write one such as Europe/Berlin, or leave it empty for UTC")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return bad("unknown; write a name of the IANA database such as Europe/Berlin, or leave it empty for UTC")
	}
	return zone, nil
}

// isZoneName keeps file names that mean something else, or something only on some systems,
// from the file system: copies that count leap seconds, and paths that are not clean.
func isZoneName(name string) bool {
	for _, r := range name {
		if !isDigit(r) && !isLetter(r) && !strings.ContainsRune("/_+-", r) {
			return false
		}
	}
	for _, not := range []string{"/", "right/", "posix/", "posixrules"} {
		if strings.HasPrefix(name, not) {
			return false
		}
	}
	return path.Clean(name) == name
}

func isDigit(r rune) bool  { return '0' <= r && r <= '9' }
func isLetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

// span returns the offset at an instant, and an end until which it stays the same.
func (s *Schedule) span(at int64) (offset, end int64) {
	t := time.Unix(at, 0).In(s.zone)
	_, seconds := t.Zone()
	_, bound := t.ZoneBounds()
	end = bound.Unix()
	switch {
	case bound.IsZero():
		end = forever
	case end <= at:
		// On December 31 of a leap year ZoneBounds may give the beginning of that day
		// (golang/go#81583). It goes by a rule for each year of UTC then.
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return int64(seconds), end
}

// spanBefore returns the offset at an instant, and a start since which it is the same.
func (s *Schedule) spanBefore(at int64) (offset, start int64) {
	bound, _ := time.Unix(at, 0).In(s.zone).ZoneBounds()
	if start = bound.Unix(); bound.IsZero() {
		start = -forever
	}
	// Where ZoneBounds goes by a yearly rule, it may give the beginning of a year even if
	// the rule holds only since later. Ends are never too late.
	start = min(start, at)
	offset, end := s.span(start)
	for end <= at {
		start = end
		offset, end = s.span(start)
	}
	return offset, start
}

// reached returns the latest local time that the clock has shown up to an instant.
func (s *Schedule) reached(at int64) int64 {
	from := at - 2*maxOffset // what it showed earlier is earlier than what it shows now
	for local := int64(-forever); ; {
		offset, end := s.span(from)
		local = max(local, min(at, end-1)+offset)
		if end > at {
			return local
		}
		from = end
	}
}

// reachedAt returns the first instant at which the clock shows a local time or a later one.
func (s *Schedule) reachedAt(local int64) int64 {
	for at := local - maxOffset; ; {
		offset, end := s.span(at)
		if instant := max(at, local-offset); instant < end {
			return instant
		}
		at = end
	}
}
