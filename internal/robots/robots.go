// Package robots reads robots.txt and tells what a crawler may fetch, by RFC 9309.
//
//	f := robots.Parse(body)
//	f.Allowed("docs-crawler/1.0", "/private/page?x=1")
//
// # Groups
//
// A crawler is known by its product token: the letters, hyphens and underscores that its
// user agent begins with, in any case. It obeys all groups of that token, taken together; if
// there is none, all groups of *; if there is none either, everything is allowed.
//
// # Rules
//
// Of the rules that match a path with its query, the one with the most bytes decides; if
// both an allow and a disallow rule have as many, allow does. A rule matches
// from the start of the path. In it, * stands for any characters, and $ at its end for the
// end of the path; %2A and %24 are the characters themselves. A rule without a path matches
// nothing. /robots.txt itself is always allowed.
//
// Paths are compared in one form: what needs no encoding is decoded, and what is not ASCII
// is encoded. %2F is not a slash. In a query, where they mean the same, the
// characters : / ? @ match their encoded forms, for rules that name the question mark.
//
// # Limits
//
// Of a file the first 500 KiB count, whole lines only. Lines that are not understood are
// skipped: no file is an error. Time to match grows with the length of file and path, for any
// pattern.
//
// # Files that cannot be had
//
// [Cache] fetches the file of an origin, and keeps it for 24 hours. A file that does not
// exist (status 4xx, or redirects that do not end after five) allows everything. One that
// cannot be reached (5xx, 429, no answer) disallows everything until it is tried again, after ten
// minutes; if there is an older copy, that stays in force for up to 30 days.
package robots

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	maxFile  = 500 << 10      // bytes of a file that count
	maxDelay = 24 * time.Hour // between requests, whatever a file asks for
)

// File is what a robots.txt says. It does not change, and may be shared by goroutines. The
// zero value allows everything.
type File struct {
	groups []group
	byName map[string][]int // groups by product token in lower case, or *
}

// group is rules for some product tokens. Groups are not copied to their tokens: a file
// could name many of both.
type group struct {
	rules []Rule
	delay time.Duration
}

// Rule is a line of a file that allows or disallows paths.
type Rule struct {
	Allow bool
	Path  string // as it is in the file
	Line  int    // from 1; 0 for the rule that nothing matched

	pattern string // in the form that paths are compared in
	query   bool   // it names the question mark
}

// String is the rule as a line of a file.
func (r Rule) String() string {
	if r.Allow {
		return "Allow: " + r.Path
	}
	return "Disallow: " + r.Path
}

// Parse reads a file.
func Parse(text []byte) *File {
	if len(text) > maxFile {
		text = text[:maxFile]
		whole := strings.LastIndexAny(string(text), "\r\n")
		text = text[:max(whole, 0)]
	}
	f := &File{byName: map[string][]int{}}
	rest, number := strings.TrimPrefix(string(text), "\ufeff"), 0
	naming := false // the line before was a user agent's: another one joins its group
	for rest != "" {
		var line string
		line, rest = cutLine(rest)
		number++
		key, value := fields(line)
		switch key {
		case "user-agent":
			if !naming {
				f.groups = append(f.groups, group{})
			}
			naming = true
			f.name(value)
		case "allow", "disallow":
			naming = false
			f.rule(Rule{Allow: key == "allow", Path: value, Line: number})
		case "crawl-delay": // no part of the RFC: does not end a group's user agents
			f.delay(value)
		}
	}
	return f
}

// cutLine cuts at the first end of line: CR, LF or CRLF.
func cutLine(text string) (line, rest string) {
	end := strings.IndexAny(text, "\r\n")
	if end < 0 {
		return text, ""
	}
	if strings.HasPrefix(text[end:], "\r\n") {
		return text[:end], text[end+2:]
	}
	return text[:end], text[end+1:]
}

// fields returns the key of a line, in lower case, and its value.
func fields(line string) (key, value string) {
	line, _, _ = strings.Cut(line, "#")
	key, value, _ = strings.Cut(line, ":")
	return strings.ToLower(strings.Trim(key, " \t")), strings.Trim(value, " \t")
}

// name adds a product token to the last group.
func (f *File) name(agent string) {
	token, last := productToken(agent), len(f.groups)-1
	if agent == "*" || strings.HasPrefix(agent, "* ") || strings.HasPrefix(agent, "*\t") {
		token = "*"
	}
	if in := f.byName[token]; token != "" && (len(in) == 0 || in[len(in)-1] != last) {
		f.byName[token] = append(in, last)
	}
}

// rule adds a rule to the last group. One before any group has no effect.
func (f *File) rule(r Rule) {
	if len(f.groups) == 0 || r.Path == "" {
		return
	}
	r.pattern, r.query = normalPattern(r.Path)
	last := &f.groups[len(f.groups)-1]
	last.rules = append(last.rules, r)
}

func (f *File) delay(value string) {
	seconds, err := strconv.ParseFloat(value, 64)
	if len(f.groups) == 0 || err != nil || !(seconds > 0) {
		return
	}
	last := &f.groups[len(f.groups)-1]
	last.delay = max(last.delay, time.Duration(math.Min(seconds, maxDelay.Seconds())*float64(time.Second)))
}

// productToken is what a user agent begins with, in lower case.
func productToken(agent string) string {
	end := strings.IndexFunc(agent, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '-' || r == '_')
	})
	if end >= 0 {
		agent = agent[:end]
	}
	return strings.ToLower(agent)
}

// of returns the groups that an agent obeys.
func (f *File) of(agent string) []int {
	if token := productToken(agent); token != "" && len(f.byName[token]) > 0 {
		return f.byName[token]
	}
	return f.byName["*"]
}

// Allowed reports whether an agent may fetch a path, which may have a query.
func (f *File) Allowed(agent, path string) bool { return f.Decide(agent, path).Allow }

// Decide returns the rule that decides about a path. If none matches, the path is allowed.
func (f *File) Decide(agent, path string) Rule {
	best := Rule{Allow: true}
	plain, query := normalPath(path)
	if plain == "/robots.txt" {
		return best
	}
	for _, g := range f.of(agent) {
		for i := range f.groups[g].rules {
			r := &f.groups[g].rules[i]
			longer := len(r.pattern) - len(best.pattern)
			if longer < 0 || longer == 0 && (best.Allow || !r.Allow) {
				continue
			}
			at := plain
			if r.query {
				at = query
			}
			if match(r.pattern, at) {
				best = *r
			}
		}
	}
	return best
}

// CrawlDelay is the pause that an agent is asked to keep between requests, zero if it is
// not: the longest that its groups name, at most 24 hours. It is no part of the RFC, but common.
func (f *File) CrawlDelay(agent string) time.Duration {
	var longest time.Duration
	for _, g := range f.of(agent) {
		longest = max(longest, f.groups[g].delay)
	}
	return longest
}
