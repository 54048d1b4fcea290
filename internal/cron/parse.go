package cron

import (
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/suggest"
)

// maxLength bounds an expression, in bytes.
const maxLength = 1024

// Error says what is wrong with an expression or a zone.
type Error struct {
	Field   string // minute, hour, day-of-month, month, day-of-week, expression or zone
	Text    string // the part that is wrong
	Column  int    // where that begins in the expression, in bytes from 1; 0 for the zone
	Message string // what is wrong with it, and what to do
}

func (e *Error) Error() string { return fmt.Sprintf("%s %q: %s", e.Field, e.Text, e.Message) }

// Parse reads an expression that counts in a zone, "" for UTC. Its errors are *Error.
func Parse(expression, zone string) (*Schedule, error) {
	parts, err := split(expression)
	if err != nil {
		return nil, err
	}
	s := &Schedule{text: join(parts)}
	if strings.HasPrefix(parts[0].text, "@") {
		if parts, err = expand(parts); err != nil {
			return nil, err
		}
	}
	for i, set := range []*uint64{&s.minutes, &s.hours, &s.days, &s.months, &s.weekdays} {
		if *set, err = fields[i].parse(parts[i]); err != nil {
			return nil, err
		}
	}
	s.passing = parts[1].beginsWithStar()
	s.eitherDay = !parts[2].beginsWithStar() && !parts[4].beginsWithStar()
	for range 5 {
		s.weekdays |= s.weekdays << 7
	}
	if !s.eitherDay && !hasDay(s.days, s.months) {
		return nil, parts[2].bad(fields[2].name, fmt.Sprintf("month %q has no such day, so the schedule would never fire; change one of them", parts[3].text))
	}
	if s.zone, err = loadZone(zone); err != nil {
		return nil, err
	}
	return s, nil
}

// hasDay reports whether any of the months ever has any of the days. That is enough for a
// schedule to fire again and again: each date falls on all weekdays in turn, leap days
// included, and a yearly shift does not skip all hours of a field that begins with *, which
// has hour 0 and one from 12 on.
func hasDay(days, months uint64) bool {
	for month := time.January; month <= time.December; month++ {
		if months>>month&1 == 1 && bitFrom(days, 1) <= daysIn(2000, month) {
			return true
		}
	}
	return false
}

// part is a piece of an expression.
type part struct {
	text   string
	column int
}

// after returns what follows the first n bytes.
func (p part) after(n int) part { return part{p.text[n:], p.column + n} }

func (p part) beginsWithStar() bool { return strings.HasPrefix(p.text, "*") }

func (p part) bad(field, message string) *Error {
	return &Error{Field: field, Text: p.text, Column: p.column, Message: message}
}

// split returns the fields of an expression: five, or those that begin with a word such
// as @daily.
func split(expression string) ([]part, error) {
	if len(expression) > maxLength {
		return nil, part{clip(expression), maxLength + 1}.bad("expression", fmt.Sprintf("longer than %d bytes; shorten its lists by ranges and steps", maxLength))
	}
	var parts []part
	for i, text := 0, ""; ; i += len(text) {
		for i < len(expression) && isSpace(rune(expression[i])) {
			i++
		}
		if i == len(expression) {
			break
		}
		text = expression[i:]
		if n := strings.IndexFunc(text, isSpace); n >= 0 {
			text = text[:n]
		}
		parts = append(parts, part{text, i + 1})
	}
	const want = "minute hour day-of-month month day-of-week"
	whole := strings.TrimFunc(expression, isSpace)
	switch n := len(parts); {
	case strings.HasPrefix(whole, "TZ=") || strings.HasPrefix(whole, "CRON_TZ="):
		return nil, parts[0].bad("expression", "the zone is not part of the expression; give it on its own")
	case strings.HasPrefix(whole, "@") || n == len(fields):
		return parts, nil
	case n < len(fields):
		return nil, part{whole, len(expression) + 1}.bad("expression", fmt.Sprintf("%d of 5 fields; write %s", n, want))
	default:
		return nil, part{whole, parts[5].column}.bad("expression", fmt.Sprintf("%d fields instead of 5; write %s, without seconds or years", n, want))
	}
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

func join(parts []part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.text
	}
	return strings.Join(texts, " ")
}

// expand returns the fields that a word such as @daily stands for.
func expand(parts []part) ([]part, error) {
	words := []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}
	stands := []string{"0 * * * *", "0 0 * * *", "0 0 * * *", "0 0 * * 0", "0 0 1 * *", "0 0 1 1 *", "0 0 1 1 *"}
	word := parts[0]
	for i, w := range words {
		if !strings.EqualFold(word.text, w) {
			continue
		}
		if len(parts) > 1 {
			return nil, parts[1].bad("expression", "nothing may follow "+w+"; remove it")
		}
		return split(stands[i])
	}
	switch strings.ToLower(word.text) {
	case "@every", "@reboot":
		return nil, word.bad("expression", "not supported; write five fields, such as */5 * * * * for every five minutes")
	}
	if w := suggest.Name(word.text, words); w != "" {
		return nil, word.bad("expression", "unknown; did you mean "+w+"?")
	}
	return nil, word.bad("expression", "unknown; write one of "+strings.Join(words, ", "))
}

// clip shortens a text that is too long for a message.
func clip(text string) string {
	const length = 40
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(text[:length], "") + "…"
}
