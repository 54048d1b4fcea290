package sqlgen

import (
	"github.com/ontologia/onto"
)

// What is no time or date in its stored form has no period, so the whole form is checked: the
// columns of a row may hold anything, and the engines take other texts for times, too.

// The stored forms of a time and of a date, apart from their ranges.
const (
	dateGlob     constant = "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'"
	storedGlob   constant = "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]+00:00'"
	storedRegexp constant = "'[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-2][0-9]:[0-5][0-9]:[0-5][0-9][.][0-9]{6}[+]00:00)?'"
)

// period is the first day of the period that the time in a text is in, given the
// conditions that it is a time, and the Monday of its week.
func period(p onto.Period, text, isTime, monday Part) Part {
	day := monday
	switch p {
	case onto.PerDay:
		day = SQL("substr(?, 1, 10)", text)
	case onto.PerMonth:
		day = SQL("substr(?, 1, 7) || '-01'", text)
	case onto.PerYear:
		day = SQL("substr(?, 1, 4) || '-01-01'", text)
	}
	inRange := SQL("substr(?, 12, 2) < '24' AND substr(?, 1, 4) > '0000'", text, text)
	return SQL("CASE WHEN ? AND ? THEN ? END", isTime, inRange, day)
}

// period is the period of a value. SQLite turns February 30 into a day of March.
func (d SQLite) period(v Value) Part {
	x := d.scalar(v)
	isTime := SQL("(? GLOB ? OR ? GLOB ?) AND date(substr(?, 1, 10)) = substr(?, 1, 10)", x, SQL(storedGlob), x, SQL(dateGlob), x, x)
	if !v.holds(text) {
		isTime = All(isTime, d.isKind(v, text))
	}
	return period(v.Per, x, isTime, SQL("date(substr(?, 1, 10), '-6 days', 'weekday 1')", x))
}

// period is the period of a value.
func (d DuckDB) period(v Value) Part {
	x := d.text(v)
	isTime := SQL("?", d.IsString(v))
	if v.typed() {
		x = v.Column
	}
	if v.typed() && !v.holds(text) {
		return SQL("CAST(NULL AS VARCHAR)")
	}
	day := SQL("TRY_CAST(substr(?, 1, 10) AS DATE)", x)
	isTime = All(isTime, SQL("regexp_full_match(?, ?)", x, SQL(storedRegexp)), SQL("? IS NOT NULL", day))
	return period(v.Per, x, isTime, SQL("CAST(CAST(date_trunc('week', ?) AS DATE) AS VARCHAR)", day))
}
