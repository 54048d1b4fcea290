package codec

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// parser turns JSON text into canonical JSON in one pass.
type parser struct {
	src []byte
	i   int    // the next byte of src
	out []byte // canonical, but for the order in objects that are still open

	members []entry // room for sorting
}

// span is where a quoted name stands in out.
type span struct{ start, end int }

// entry is where a member stands in the text of an object's members.
type entry struct {
	start, nameEnd, end int
	escaped             bool // the name has escapes
}

func (p *parser) fail(format string, args ...any) error {
	return p.failAt(p.i, format, args...)
}

func (p *parser) failAt(offset int, format string, args ...any) error {
	return &SyntaxError{Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// within puts a step in front of the path of a parser's error.
func within(err error, step string) error {
	e := err.(*SyntaxError)
	e.Path = step + e.Path
	return e
}

// Step is the path from an object to the member of that name, for messages: of a long name
// it has the beginning only.
func Step(name string) string { return string(AppendStep(nil, shorten(name))) }

// AppendStep appends the path from an object to the member of that name.
func AppendStep(dst []byte, name string) []byte {
	if dst = append(dst, '.'); isWord(name) {
		return append(dst, name...)
	}
	return appendQuoted(dst, name)
}

// shorten cuts a text from the input to a length for messages.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	end := most
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

func (p *parser) document() error {
	if err := p.value(0); err != nil {
		return err
	}
	p.space()
	if p.i < len(p.src) {
		return p.fail("unexpected %s after the value", p.here())
	}
	return nil
}

// here describes the next character for messages.
func (p *parser) here() string {
	if p.i >= len(p.src) {
		return "end of input"
	}
	r, _ := utf8.DecodeRune(p.src[p.i:])
	return strconv.QuoteRune(r)
}

func (p *parser) space() {
	for p.i < len(p.src) {
		switch p.src[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// next skips the byte c if it comes next.
func (p *parser) next(c byte) bool {
	if p.i < len(p.src) && p.src[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) value(depth int) error {
	p.space()
	if p.i >= len(p.src) {
		return p.fail("unexpected end of input")
	}
	switch c := p.src[p.i]; {
	case c == '"':
		return p.text()
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.list(depth + 1)
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(p.src[p.i:], []byte(word)) {
			p.out = append(p.out, word...)
			p.i += len(word)
			return nil
		}
	}
	for _, word := range [...]string{"NaN", "Infinity"} { // which some programs write
		if bytes.HasPrefix(p.src[p.i:], []byte(word)) {
			return p.fail("%s is no JSON number", word)
		}
	}
	return p.fail("unexpected %s", p.here())
}

func (p *parser) list(depth int) error {
	if depth > MaxDepth {
		return p.fail("nested deeper than %d", MaxDepth)
	}
	p.i++
	p.out = append(p.out, '[')
	p.space()
	for n := 0; n > 0 || !p.next(']'); n++ {
		if err := p.value(depth); err != nil {
			return within(err, fmt.Sprintf("[%d]", n))
		}
		p.space()
		if p.next(']') {
			break
		}
		if !p.next(',') {
			return p.fail("expected , or ] in list, found %s", p.here())
		}
		p.out = append(p.out, ',')
	}
	p.out = append(p.out, ']')
	return nil
}

func (p *parser) object(depth int) error {
	if depth > MaxDepth {
		return p.fail("nested deeper than %d", MaxDepth)
	}
	begin := p.i
	p.i++
	p.out = append(p.out, '{')
	start, sorted, previous := len(p.out), true, span{}
	p.space()
	for n := 0; n > 0 || !p.next('}'); n++ {
		name, err := p.member(depth)
		if err != nil {
			return err
		}
		sorted = sorted && (n == 0 || p.less(previous, name))
		previous = name
		p.space()
		if p.next('}') {
			break
		}
		if !p.next(',') {
			return p.fail("expected , or } in object, found %s", p.here())
		}
		p.out = append(p.out, ',')
		p.space()
	}
	if !sorted {
		if name, ok := p.sortMembers(start); !ok {
			return p.duplicate(begin, name)
		}
	}
	p.out = append(p.out, '}')
	return nil
}

// member reads a name and its value and returns where the name was written.
func (p *parser) member(depth int) (span, error) {
	if p.i >= len(p.src) || p.src[p.i] != '"' {
		return span{}, p.fail("expected a quoted name, found %s", p.here())
	}
	name := span{start: len(p.out)}
	if err := p.text(); err != nil {
		return span{}, err
	}
	name.end = len(p.out)
	p.space()
	if !p.next(':') {
		return span{}, p.fail("expected : after the name, found %s", p.here())
	}
	p.out = append(p.out, ':')
	if err := p.value(depth); err != nil {
		return span{}, within(err, Step(unquote(p.out[name.start:name.end])))
	}
	return name, nil
}

// less reports whether name a comes before name b by code point.
func (p *parser) less(a, b span) bool {
	return bytes.Compare(nameBytes(p.out[a.start:a.end]), nameBytes(p.out[b.start:b.end])) < 0
}

// nameBytes returns the text of a quoted name, without a copy where it can.
func nameBytes(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return []byte(unquote(quoted))
}

// sortMembers reorders the members of one object, which stand in out from
// start on. If a name comes twice, it returns that name and false.
func (p *parser) sortMembers(start int) (name []byte, ok bool) {
	end := len(p.out)
	p.out = append(p.out, p.out[start:]...)   // a copy to pick from
	old, sorted := p.out[end:], p.out[:start] // sorted grows up to end and no further
	p.out = p.out[:end]
	p.split(old)
	slices.SortFunc(p.members, func(a, b entry) int { return bytes.Compare(a.name(old), b.name(old)) })
	for i, m := range p.members {
		if i > 0 {
			if name := m.name(old); bytes.Equal(p.members[i-1].name(old), name) {
				return name, false
			}
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, old[m.start:m.end]...)
	}
	return nil, true
}

// split lists the members of an object, given the text between its braces.
func (p *parser) split(text []byte) {
	if p.members == nil {
		p.members = make([]entry, 0, 16)
	}
	p.members = p.members[:0]
	for i := 0; i < len(text); i++ {
		m := entry{start: i, nameEnd: i + skipValue(text[i:])}
		m.escaped = bytes.IndexByte(text[i:m.nameEnd], '\\') >= 0
		m.end = m.nameEnd + 1 + skipValue(text[m.nameEnd+1:])
		p.members = append(p.members, m)
		i = m.end
	}
}

// name is the member's name in that text.
func (m entry) name(text []byte) []byte {
	if m.escaped {
		return []byte(unquote(text[m.start:m.nameEnd]))
	}
	return text[m.start+1 : m.nameEnd-1]
}

// duplicate reads the object that begins there again, up to the second member
// of that name, to say where it is.
func (p *parser) duplicate(begin int, name []byte) error {
	again := parser{src: p.src, i: begin + 1}
	for seen := false; ; again.i++ {
		again.space()
		at := again.i
		m, _ := again.member(0)
		if bytes.Equal(nameBytes(again.out[m.start:m.end]), name) {
			if seen {
				return p.failAt(at, "duplicate name %q in object", shorten(string(name)))
			}
			seen = true
		}
		again.space()
	}
}
