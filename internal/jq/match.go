package jq

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// Limits on regular expressions. The time of a match grows with the length of
// the text times that of the compiled expression; a search for all matches can
// take the length of the text times as long again.
const (
	maxExpression = 16 << 10 // bytes
	maxCompiled   = 1 << 17  // instructions, with repetitions written out
	maxGroups     = 1 << 22  // groups times instructions: what a match keeps in memory
	maxMatching   = 1 << 28  // bytes of the text times the cost of each
	maxKept       = 100      // expressions of a program that are kept compiled
)

// expressions are the regular expressions that a program uses.
type expressions struct {
	mu   sync.Mutex // guards kept
	kept map[string]*expression
}

type expression struct {
	*regexp.Regexp
	instructions int
}

// match is what test and match do: whether a text matches, or a list of objects.
func (x *expressions) match(w *watch, v, re, flags any, testing bool) any {
	text, isText := v.(string)
	pattern, isPattern := re.(string)
	letters, isFlags := flags.(string)
	if !isText || !isPattern || !isFlags && flags != nil {
		name := "match"
		if testing {
			name = "test"
		}
		return fmt.Errorf("%s(%s; %s) cannot be applied to: %s", name, gojq.Preview(re), gojq.Preview(flags), described(v))
	}
	e, err := x.compile(w, pattern, letters)
	if err != nil {
		return err
	}
	cost := e.instructions
	if !testing {
		cost *= 1 + e.NumSubexp()/8 // groups are copied with each step
	}
	if len(text) > maxMatching/cost {
		w.stop("a regular expression of %d instructions and %d groups is matched with %d bytes, which takes too long",
			e.instructions, e.NumSubexp(), len(text))
	}
	if testing {
		return e.MatchString(text)
	}
	n := 1
	if strings.ContainsRune(letters, 'g') {
		n = -1
		e.rehearse(w, text, cost)
	}
	return matches(e.SubexpNames(), text, e.FindAllStringSubmatchIndex(text, n))
}

// rehearse stops the run if a search for all matches takes too long or finds too many:
// replacing, unlike a search, calls back after each match.
func (e *expression) rehearse(w *watch, text string, cost int) {
	if len(text)*len(text) < maxMatching/cost {
		return
	}
	found := 0
	e.ReplaceAllStringFunc(text, func(string) string {
		w.tick(tickEvery)
		if found += e.NumSubexp() + 1; found > maxMatches {
			w.stop("a regular expression has more than %d matches, counting groups", maxMatches)
		}
		return ""
	})
}

// matches makes objects of the places of matches. Offsets count characters.
func matches(names []string, text string, places [][]int) any {
	at := offsets{text: text}
	list := make([]any, len(places))
	for i, p := range places {
		groups := make([]any, len(p)/2-1)
		for j := range groups {
			var name any
			if n := names[j+1]; n != "" {
				name = n
			}
			groups[j] = at.match(p[2*j+2], p[2*j+3])
			groups[j].(map[string]any)["name"] = name
		}
		m := at.match(p[0], p[1])
		m["captures"] = groups
		list[i] = m
	}
	return list
}

// offsets counts the characters before a place in a text. The next place is
// mostly near the last one.
type offsets struct {
	text         string
	bytes, runes int
}

func (o *offsets) at(i int) int {
	if i < o.bytes {
		o.runes -= utf8.RuneCountInString(o.text[i:o.bytes])
	} else {
		o.runes += utf8.RuneCountInString(o.text[o.bytes:i])
	}
	o.bytes = i
	return o.runes
}

func (o *offsets) match(start, end int) map[string]any {
	if start < 0 {
		return map[string]any{"offset": -1, "length": 0, "string": nil}
	}
	offset := o.at(start)
	return map[string]any{"offset": offset, "length": o.at(end) - offset, "string": o.text[start:end]}
}

func (x *expressions) compile(w *watch, pattern, flags string) (*expression, error) {
	if strings.Trim(flags, "gim") != "" {
		return nil, fmt.Errorf("unsupported regular expression flag: %q", flags)
	}
	if len(pattern) > maxExpression {
		w.stop("a regular expression has more than %d bytes", maxExpression)
	}
	if strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	if strings.Contains(flags, "m") {
		pattern = "(?s)" + pattern
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.kept[pattern]; e != nil {
		return e, nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %q: %s", pattern, err)
	}
	size := instructions(tree)
	if size > maxCompiled {
		w.stop("a regular expression has more than %d instructions, with repetitions written out", maxCompiled)
	}
	if groups := tree.MaxCap(); groups > maxGroups/size {
		w.stop("a regular expression has %d groups and %d instructions, the limit is %d for the product", groups, size, maxGroups)
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %q: %s", pattern, err)
	}
	if len(x.kept) == maxKept || x.kept == nil {
		x.kept = map[string]*expression{}
	}
	e := &expression{compiled, size}
	x.kept[pattern] = e
	return e, nil
}

// instructions is about how many instructions an expression is compiled to.
func instructions(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)
	if tree.Op == syntax.OpCharClass {
		size = 2
	}
	for _, sub := range tree.Sub {
		size += instructions(sub)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Min, tree.Max, 1)
	}
	return min(size, 2*maxCompiled)
}
