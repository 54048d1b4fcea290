package cron

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func values(set uint64) []int {
	var list []int
	for v := range 60 {
		if set>>v&1 == 1 {
			list = append(list, v)
		}
	}
	return list
}

func TestFields(t *testing.T) {
	for _, c := range []struct {
		field int
		text  string
		want  []int
	}{
		{0, "0", []int{0}},
		{0, "059", []int{59}},
		{0, "*/15", []int{0, 15, 30, 45}},
		{0, "*/59", []int{0, 59}},
		{0, "5/10", []int{5, 15, 25, 35, 45, 55}},
		{0, "1-30/7", []int{1, 8, 15, 22, 29}},
		{0, "7-7", []int{7}},
		{0, "3,1-2,2,*/40", []int{0, 1, 2, 3, 40}},
		{1, "22/1", []int{22, 23}},
		{2, "*/10", []int{1, 11, 21, 31}},
		{2, "1,15,31", []int{1, 15, 31}},
		{3, "*/5", []int{1, 6, 11}},
		{3, "jan,Mar-MAY,12", []int{1, 3, 4, 5, 12}},
		{3, "oct/2", []int{10, 12}},
		{3, "nov-12", []int{11, 12}},
		{4, "0", []int{0}},
		{4, "7", []int{0}},
		{4, "sun", []int{0}},
		{4, "0-7", []int{0, 1, 2, 3, 4, 5, 6}},
		{4, "5-7", []int{0, 5, 6}},
		{4, "FRI-Sun", []int{0, 5, 6}},
		{4, "fri-sun/2", []int{0, 5}},
		{4, "sun-tue", []int{0, 1, 2}},
		{4, "sun-sun", []int{0}},
		{4, "mon-5", []int{1, 2, 3, 4, 5}},
		{4, "1/2", []int{1, 3, 5}},
		{4, "*/2", []int{0, 2, 4, 6}},
		{4, "*,1", []int{0, 1, 2, 3, 4, 5, 6}},
	} {
		parts := []string{"*", "*", "*", "*", "*"}
		parts[c.field] = c.text
		s, err := Parse(strings.Join(parts, " "), "")
		if err != nil {
			t.Errorf("%s %q: %v", fields[c.field].name, c.text, err)
			continue
		}
		got := values([]uint64{s.minutes, s.hours, s.days, s.months, s.weekdays & 0x7f}[c.field])
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %q matches %v, want %v", fields[c.field].name, c.text, got, c.want)
		}
	}
}

func TestString(t *testing.T) {
	for _, c := range []struct{ expression, zone, want string }{
		{"*/5 * * * *", "", "*/5 * * * * UTC"},
		{"\t0   2 *\n* MON-fri \r\n", "Europe/Berlin", "0 2 * * MON-fri Europe/Berlin"},
		{" @Daily ", "Asia/Tokyo", "@Daily Asia/Tokyo"},
		{"0 0 29 2 *", "Etc/GMT+5", "0 0 29 2 * Etc/GMT+5"},
	} {
		s, err := Parse(c.expression, c.zone)
		if err != nil {
			t.Errorf("%q: %v", c.expression, err)
		} else if got := s.String(); got != c.want {
			t.Errorf("%q is %q, want %q", c.expression, got, c.want)
		}
	}
}

// TestWords compares words with the fields that they stand for, the hour field included:
// @hourly fires as time passes.
func TestWords(t *testing.T) {
	for word, fields := range map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * sun",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@ANNUALLY": "0 0 1 jan *",
	} {
		a, err := Parse(word, "")
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		b, err := Parse(fields, "")
		if err != nil {
			t.Fatal(err)
		}
		a.text, b.text = "", ""
		if *a != *b {
			t.Errorf("%s is %+v, want %+v", word, *a, *b)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		expression string
		column     int
		want       string
	}{
		// the number of fields
		{"", 1, `expression "": 0 of 5 fields; write minute hour day-of-month month day-of-week`},
		{"  \n", 4, `expression "": 0 of 5 fields; write minute hour day-of-month month day-of-week`},
		{"0 0 * *", 8, `expression "0 0 * *": 4 of 5 fields; write minute hour day-of-month month day-of-week`},
		{"0 0 0 * * *", 11, `expression "0 0 0 * * *": 6 fields instead of 5; write minute hour day-of-month month day-of-week, without seconds or years`},
		{"CRON_TZ=Asia/Tokyo 0 0 * * *", 1, `expression "CRON_TZ=Asia/Tokyo": the zone is not part of the expression; give it on its own`},
		{"TZ=UTC 0 0 * *", 1, `expression "TZ=UTC": the zone is not part of the expression; give it on its own`},
		{strings.Repeat("0,", 600) + "0 * * * *", 1025, `expression "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,…": longer than 1024 bytes; shorten its lists by ranges and steps`},

		// numbers
		{"61 * * * *", 1, `minute "61": not between 0 and 59`},
		{"0,1,60 * * * *", 5, `minute "60": not between 0 and 59`},
		{"0 24 * * *", 3, `hour "24": not between 0 and 23`},
		{"0  1-99 * * *", 6, `hour "99": not between 0 and 23`},
		{"0 0 0 * *", 5, `day-of-month "0": not between 1 and 31`},
		{"0 0 32 * *", 5, `day-of-month "32": not between 1 and 31`},
		{"0 0 1 13 *", 7, `month "13": not between 1 and 12`},
		{"0 0 1 0 *", 7, `month "0": not between 1 and 12`},
		{"0 0 * * 8", 9, `day-of-week "8": not between 0 and 7`},
		{"99999999999999999999 * * * *", 1, `minute "99999999999999999999": not between 0 and 59`},
		{"+5 * * * *", 1, `minute "+5": not a value; write a number from 0 to 59`},
		{"1.5 * * * *", 1, `minute "1.5": not a value; write a number from 0 to 59`},
		{"٣ * * * *", 1, `minute "٣": not a value; write a number from 0 to 59`},
		{"0\u00a01 * * * *", 1, `minute "0\u00a01": not a value; write a number from 0 to 59`},
		{"\x00 * * * *", 1, `minute "\x00": not a value; write a number from 0 to 59`},
		{"\xff * * * *", 1, `minute "\xff": not a value; write a number from 0 to 59`},

		// names
		{"0 0 * january *", 7, `month "january": not a name; did you mean jan?`},
		{"0 0 * jsn *", 7, `month "jsn": not a name; did you mean jan?`},
		{"0 0 * * thurs", 9, `day-of-week "thurs": not a name; did you mean thu?`},
		{"0 0 * * mon-x", 13, `day-of-week "x": not a value; write a number from 0 to 7 or a name from sun to sat`},
		{"0 0 * mon *", 7, `month "mon": not a value; write a number from 1 to 12 or a name from jan to dec`},
		{"mon * * * *", 1, `minute "mon": not a value; write a number from 0 to 59`},
		{"0 0 * * 5L", 9, `day-of-week "5L": not a value; write a number from 0 to 7 or a name from sun to sat`},
		{"0 0 * * mon#2", 9, `day-of-week "mon#2": not a value; write a number from 0 to 7 or a name from sun to sat`},
		{"0 0 L * *", 5, `day-of-month "L": not a value; write a number from 1 to 31`},
		{"0 0 ? * 1", 5, `day-of-month "?": not supported; write *`},

		// lists
		{"1,,2 * * * *", 3, `minute "1,,2": a member of the list is empty; remove the comma`},
		{", * * * *", 1, `minute ",": a member of the list is empty; remove the comma`},
		{"0 1, * * *", 5, `hour "1,": a member of the list is empty; remove the comma`},

		// ranges
		{"30-10 * * * *", 1, `minute "30-10": ends before it begins; write 30-59,0-10`},
		{"0 1,22-5 * * *", 5, `hour "22-5": ends before it begins; write 22-23,0-5`},
		{"0 0 * nov-feb *", 7, `month "nov-feb": ends before it begins; write 11-12,1-2`},
		{"0 0 * * 5-2", 9, `day-of-week "5-2": ends before it begins; write 5-6,0-2`},
		{"0 0 * * 5-0", 9, `day-of-week "5-0": ends before it begins; write 5-6,0`},
		{"0 0 * * 7-2", 9, `day-of-week "7-2": ends before it begins; write 0-2`},
		{"-5 * * * *", 1, `minute "-5": a value is missing; write a number from 0 to 59`},
		{"5- * * * *", 1, `minute "5-": a value is missing; write a number from 0 to 59`},
		{"1-2-3 * * * *", 3, `minute "2-3": not a value; write a number from 0 to 59`},
		{"*-5 * * * *", 1, `minute "*": not a value; write a number from 0 to 59`},
		{"** * * * *", 1, `minute "**": not a value; write a number from 0 to 59`},

		// steps
		{"*/0 * * * *", 3, `minute "0": not a step; write a number from 1 on`},
		{"*/ * * * *", 1, `minute "*/": the step is missing; write a number after the /`},
		{"*/x * * * *", 3, `minute "x": not a step; write a number from 1 on`},
		{"*/-5 * * * *", 3, `minute "-5": not a step; write a number from 1 on`},
		{"1/2/3 * * * *", 3, `minute "2/3": not a step; write a number from 1 on`},
		{"/5 * * * *", 1, `minute "/5": a value is missing; write a number from 0 to 59`},
		{"*/90 * * * *", 1, `minute "*/90": the step passes the end, so only 0 would match; write 0 or a shorter step`},
		{"0 */24 * * *", 3, `hour "*/24": the step passes the end, so only 0 would match; write 0 or a shorter step`},
		{"1-5/5 * * * *", 1, `minute "1-5/5": the step passes the end, so only 1 would match; write 1 or a shorter step`},
		{"0 0 * * 7/2", 9, `day-of-week "7/2": the step passes the end, so only 7 would match; write 7 or a shorter step`},
		{"*/99999999999999999999 * * * *", 1, `minute "*/99999999999999999999": the step passes the end, so only 0 would match; write 0 or a shorter step`},

		// days that never come
		{"0 0 30 2 *", 5, `day-of-month "30": month "2" has no such day, so the schedule would never fire; change one of them`},
		{"0 0 31 4,jun,9,11 */2", 5, `day-of-month "31": month "4,jun,9,11" has no such day, so the schedule would never fire; change one of them`},

		// words
		{"@dayly", 1, `expression "@dayly": unknown; did you mean @daily?`},
		{"@every 5m", 1, `expression "@every": not supported; write five fields, such as */5 * * * * for every five minutes`},
		{"@daily 5", 8, `expression "5": nothing may follow @daily; remove it`},
		{"@x", 1, `expression "@x": unknown; write one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually`},
		{"@", 1, `expression "@": unknown; write one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually`},
	} {
		_, err := Parse(c.expression, "")
		var bad *Error
		if !errors.As(err, &bad) {
			t.Errorf("%q: got %v, want an *Error", c.expression, err)
		} else if err.Error() != c.want || bad.Column != c.column {
			t.Errorf("%q:\n got column %d: %s\nwant column %d: %s", c.expression, bad.Column, err, c.column, c.want)
		}
	}
}

// TestRareDays has expressions that fire, if seldom.
func TestRareDays(t *testing.T) {
	for _, expression := range []string{"0 0 29 2 *", "0 0 30 2 1", "0 0 31 2,3 *", "0 0 29 2 */6", "0 0 */30 2 */6", "0 0 31 */11 *"} {
		if _, err := Parse(expression, ""); err != nil {
			t.Errorf("%q: %v", expression, err)
		}
	}
}

func TestZones(t *testing.T) {
	for _, zone := range append([]string{"", "UTC", "EST5EDT", "Etc/GMT-14", "America/Argentina/San_Luis", "America/Port-au-Prince"}, zones...) {
		if _, err := Parse("@daily", zone); err != nil {
			t.Errorf("%q: %v", zone, err)
		}
	}
	for zone, want := range map[string]string{
		"Local":                   `zone "Local": the zone of this machine is not that of others; name it, such as Europe/Berlin, or leave it empty for UTC`,
		"localtime":               `zone "localtime": the zone of this machine is not that of others; name it, such as Europe/Berlin, or leave it empty for UTC`,
		"Europe/Atlantis":         `zone "Europe/Atlantis": unknown; write a name of the IANA database such as Europe/Berlin, or leave it empty for UTC`,
		"Europe":                  `zone "Europe": unknown; write a name of the IANA database such as Europe/Berlin, or leave it empty for UTC`,
		"UTC+2":                   `zone "UTC+2": unknown; write a name of the IANA database such as Europe/Berlin, or leave it empty for UTC`,
		"../../etc/passwd":        `zone "../../etc/passwd": not a name of the IANA database; write one such as Europe/Berlin, or leave it empty for UTC`,
		"/etc/localtime":          `zone "/etc/localtime": not a name of the IANA database; write one such as Europe/Berlin, or leave it empty for UTC`,
		"./UTC":                   `zone "./UTC": not a name of the IANA database; write one such as Europe/Berlin, or leave it empty for UTC`,
		"Europe//Berlin":          `zone "Europe//Berlin": not a name of the IANA database; write one such as Europe/Berlin, or leave it empty for UTC`,
		"right/UTC":               `zone "right/UTC": not a name of the IANA database; write one such as Europe/Berlin, or leave it empty for UTC`,
		" UTC":                    `zone " UTC": not a name of the IANA database; write one such as Europe/Berlin, or leave it empty for UTC`,
		"UTC\x00":                 `zone "UTC\x00": not a name of the IANA database; write one such as Europe/Berlin, or leave it empty for UTC`,
		strings.Repeat("A", 5000): `zone "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA…": unknown; write a name of the IANA database such as Europe/Berlin, or leave it empty for UTC`,
	} {
		_, err := Parse("@daily", zone)
		var bad *Error
		if !errors.As(err, &bad) {
			t.Errorf("%q: got %v, want an *Error", zone, err)
		} else if err.Error() != want || bad.Column != 0 {
			t.Errorf("%q:\n got column %d: %s\nwant column 0: %s", zone, bad.Column, err, want)
		}
	}
}
