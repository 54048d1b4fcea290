package links

import (
	"strconv"
	"strings"

	"github.com/ontologia/onto"
)

const maxSteps = 32

// Path leads to values of a JSON document, in a small part of RFC 9535: $ is the document,
// then .name or ['name'] is a member, [0] an element, and [*] or .* every member or
// element.
type Path struct {
	text  string
	steps []step
}

type step struct {
	name    string
	index   int
	indexed bool // an element, by its index
	every   bool
}

// String returns the path as it was given.
func (p Path) String() string { return p.text }

// ParsePath reads a path such as $.paging.next or $.items[*]['page url'].
func ParsePath(path string) (Path, error) {
	p := Path{text: path}
	bad := func(rest, reason string) (Path, error) {
		return Path{}, onto.Errorf(onto.Invalid, "path %s, column %d: %s", strconv.QuoteToASCII(path), len(path)-len(rest)+1, reason).
			WithHint("a path is $, then .name, ['name'], [0] or [*], as in $.paging.next")
	}
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return bad(path, "a path begins with $")
	}
	for rest != "" {
		s, after, reason := readStep(rest)
		if reason != "" {
			return bad(rest, reason)
		}
		if p.steps = append(p.steps, s); len(p.steps) > maxSteps {
			return bad(rest, "a path has at most "+strconv.Itoa(maxSteps)+" steps")
		}
		rest = after
	}
	return p, nil
}

// readStep reads one step, and returns what follows or what is wrong.
func readStep(text string) (s step, rest, reason string) {
	switch {
	case strings.HasPrefix(text, ".."):
		return s, "", ".. is not supported"
	case strings.HasPrefix(text, ".*"):
		return step{every: true}, text[2:], ""
	case strings.HasPrefix(text, "[*]"):
		return step{every: true}, text[3:], ""
	case strings.HasPrefix(text, "['"), strings.HasPrefix(text, `["`):
		name, rest, ok := strings.Cut(text[2:], text[1:2]+"]")
		if !ok || strings.ContainsAny(name, `\'"`) {
			return s, "", "a name in brackets ends with " + text[1:2] + "], and has no quotes or backslashes"
		}
		return step{name: name}, rest, ""
	case strings.HasPrefix(text, "["):
		digits, rest, ok := strings.Cut(text[1:], "]")
		n, err := strconv.ParseUint(digits, 10, 31)
		if !ok || err != nil {
			return s, "", "brackets hold a number from 0, * or a name in quotes"
		}
		return step{index: int(n), indexed: true}, rest, ""
	case strings.HasPrefix(text, "."):
		end := strings.IndexAny(text[1:], ".[") + 1
		if end == 0 {
			end = len(text)
		}
		if name := text[1:end]; name != "" && !strings.ContainsAny(name, " '\"]*?@$\\") {
			return step{name: name}, text[end:], ""
		}
		return s, "", "after the dot there is no plain name; write it as ['name']"
	}
	return s, "", "a step begins with . or ["
}

func usualPaths() []Path {
	member := func(name string) Path { return Path{"$['" + name + "']", []step{{name: name}}} }
	return []Path{member("next"), member("links"), member("@odata.nextLink")}
}
