package codec

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 64

// ValueKind is the JSON type of a value.
type ValueKind uint8

// The kinds of JSON values.
const (
	Null ValueKind = iota
	Bool
	Int   // an integer within int64
	Float // any other number
	String
	List
	Object
)

// String names the kind for messages.
func (k ValueKind) String() string {
	return [...]string{"null", "bool", "int", "float", "string", "list", "object"}[k]
}

// KindOf tells the kind of a canonical JSON value.
func KindOf(canonical []byte) ValueKind {
	switch canonical[0] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return List
	case '{':
		return Object
	}
	if bytes.ContainsAny(canonical, ".e") {
		return Float
	}
	return Int
}

// SyntaxError says what is wrong with a JSON text and where.
type SyntaxError struct {
	Offset int    // in bytes from the start
	Path   string // of the value, as $.a.b[2]
	Msg    string
}

// Error describes the problem.
func (e *SyntaxError) Error() string {
	if e.Path == "$" {
		return fmt.Sprintf("JSON: %s (byte %d)", e.Msg, e.Offset+1)
	}
	return fmt.Sprintf("JSON at %s: %s (byte %d)", e.Path, e.Msg, e.Offset+1)
}

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value []byte // canonical
}

// AppendCanonical appends the canonical form of the JSON text src to dst.
func AppendCanonical(dst, src []byte) ([]byte, error) {
	p := parser{src: src, out: dst}
	if err := p.document(); err != nil {
		return dst, err
	}
	return p.out, nil
}

// ParseObject reads a JSON object and returns its members sorted by name.
func ParseObject(src []byte) ([]Member, error) {
	canonical, err := AppendCanonical(make([]byte, 0, len(src)), src)
	if err != nil {
		return nil, err
	}
	if canonical[0] != '{' {
		return nil, &SyntaxError{Path: "$", Msg: "expected an object, found " + KindOf(canonical).String()}
	}
	return Members(canonical), nil
}

// Members splits a canonical JSON object. The values alias it.
func Members(canonical []byte) []Member {
	var list []Member
	for i := 1; canonical[i] != '}'; {
		if canonical[i] == ',' {
			i++
		}
		end := i + skipValue(canonical[i:])
		name := unquote(canonical[i:end])
		i = end + 1
		end = i + skipValue(canonical[i:])
		list = append(list, Member{name, canonical[i:end:end]})
		i = end
	}
	return list
}

// AppendObject appends an object of members that are sorted by name.
func AppendObject(dst []byte, members []Member) []byte {
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, m.Name)
		dst = append(dst, ':')
		dst = append(dst, m.Value...)
	}
	return append(dst, '}')
}

// Unquote returns the text of a canonical JSON string.
func Unquote(canonical []byte) string { return unquote(canonical) }

// AppendString appends s as a canonical JSON string.
func AppendString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return dst, &SyntaxError{Path: "$", Msg: "text is not valid UTF-8"}
	}
	if strings.IndexByte(s, 0) >= 0 {
		return dst, &SyntaxError{Path: "$", Msg: "text contains U+0000"}
	}
	return appendQuoted(dst, s), nil
}

// AppendFloat appends f as a canonical JSON number. NaN and infinities are refused.
func AppendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, &SyntaxError{Path: "$", Msg: "number is not finite"}
	}
	if f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 {
		return strconv.AppendInt(dst, int64(f), 10), nil
	}
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1<<63 {
		return appendExponent(dst, f), nil
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
}

// appendExponent writes 1e+20 as 1e20 and 1e-07 as 1e-7.
func appendExponent(dst []byte, f float64) []byte {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	dst = append(append(dst, mantissa...), 'e')
	if exponent[0] == '-' {
		dst = append(dst, '-')
	}
	return append(dst, strings.TrimLeft(exponent[1:], "0")...)
}

// parser turns JSON text into canonical JSON in one pass.
type parser struct {
	src   []byte
	i     int
	out   []byte
	path  []any // of what is being read: names and positions
	names []span
}

// span is a member that stands in out: its name, and where name and value are.
type span struct {
	name       string
	start, end int
}

func (p *parser) fail(format string, args ...any) error {
	var path strings.Builder
	path.WriteByte('$')
	for _, step := range p.path {
		if name, ok := step.(string); ok {
			path.WriteString("." + name)
		} else {
			fmt.Fprintf(&path, "[%d]", step)
		}
	}
	return &SyntaxError{p.i, path.String(), fmt.Sprintf(format, args...)}
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

func (p *parser) value(depth int) error {
	p.space()
	if p.i >= len(p.src) {
		return p.fail("unexpected end of input")
	}
	switch c := p.src[p.i]; {
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.list(depth + 1)
	case c == '"':
		return p.text()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(p.src[p.i:], []byte(word)) {
			p.out = append(p.out, word...)
			p.i += len(word)
			return nil
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
	p.path = append(p.path, nil)
	for n := 0; ; n++ {
		p.space()
		if n == 0 && p.i < len(p.src) && p.src[p.i] == ']' {
			break
		}
		p.path[len(p.path)-1] = n
		if err := p.value(depth); err != nil {
			return err
		}
		p.space()
		if p.i < len(p.src) && p.src[p.i] == ',' {
			p.i++
			p.out = append(p.out, ',')
			continue
		}
		if p.i < len(p.src) && p.src[p.i] == ']' {
			break
		}
		return p.fail("expected , or ] in list, found %s", p.here())
	}
	p.path = p.path[:len(p.path)-1]
	p.i++
	p.out = append(p.out, ']')
	return nil
}

func (p *parser) object(depth int) error {
	if depth > MaxDepth {
		return p.fail("nested deeper than %d", MaxDepth)
	}
	p.i++
	p.out = append(p.out, '{')
	first := len(p.names)
	p.path = append(p.path, nil)
	for {
		p.space()
		if len(p.names) == first && p.i < len(p.src) && p.src[p.i] == '}' {
			break
		}
		if err := p.member(depth); err != nil {
			return err
		}
		p.space()
		if p.i < len(p.src) && p.src[p.i] == ',' {
			p.i++
			p.out = append(p.out, ',')
			continue
		}
		if p.i < len(p.src) && p.src[p.i] == '}' {
			break
		}
		return p.fail("expected , or } in object, found %s", p.here())
	}
	if err := p.sortMembers(p.names[first:]); err != nil {
		return err
	}
	p.names = p.names[:first]
	p.path = p.path[:len(p.path)-1]
	p.i++
	p.out = append(p.out, '}')
	return nil
}

func (p *parser) member(depth int) error {
	if p.i >= len(p.src) || p.src[p.i] != '"' {
		return p.fail("expected a quoted name, found %s", p.here())
	}
	start := len(p.out)
	if err := p.text(); err != nil {
		return err
	}
	name := unquote(p.out[start:])
	p.path[len(p.path)-1] = name
	p.space()
	if p.i >= len(p.src) || p.src[p.i] != ':' {
		return p.fail("expected : after the name, found %s", p.here())
	}
	p.i++
	p.out = append(p.out, ':')
	if err := p.value(depth); err != nil {
		return err
	}
	p.names = append(p.names, span{name, start, len(p.out)})
	return nil
}

// sortMembers reorders the members of one object, which stand at the end of
// out with commas between, and refuses duplicate names.
func (p *parser) sortMembers(members []span) error {
	sorted := true
	for i := 1; i < len(members); i++ {
		if members[i-1].name >= members[i].name {
			sorted = false
			break
		}
	}
	if sorted {
		return nil
	}
	start := members[0].start
	old := slices.Clone(p.out[start:])
	slices.SortStableFunc(members, func(a, b span) int { return strings.Compare(a.name, b.name) })
	p.out = p.out[:start]
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				p.path = p.path[:len(p.path)-1]
				return p.fail("duplicate name %q in object", m.name)
			}
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, old[m.start-start:m.end-start]...)
	}
	return nil
}

func (p *parser) number() error {
	start, isInt := p.i, true
	if p.src[p.i] == '-' {
		p.i++
	}
	digits := p.digits()
	if digits == 0 || digits > 1 && p.src[p.i-digits] == '0' {
		return p.fail("malformed number")
	}
	if p.i < len(p.src) && p.src[p.i] == '.' {
		isInt = false
		p.i++
		if p.digits() == 0 {
			return p.fail("malformed number")
		}
	}
	if p.i < len(p.src) && (p.src[p.i] == 'e' || p.src[p.i] == 'E') {
		isInt = false
		p.i++
		if p.i < len(p.src) && (p.src[p.i] == '+' || p.src[p.i] == '-') {
			p.i++
		}
		if p.digits() == 0 {
			return p.fail("malformed number")
		}
	}
	literal := p.src[start:p.i]
	if isInt {
		n, err := strconv.ParseInt(string(literal), 10, 64)
		if err != nil {
			return p.fail("integer %s is outside int64", literal)
		}
		p.out = strconv.AppendInt(p.out, n, 10)
		return nil
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		return p.fail("number %s is outside float64", literal)
	}
	p.out, err = AppendFloat(p.out, f)
	return err
}

// digits skips digits and returns how many there were.
func (p *parser) digits() int {
	start := p.i
	for p.i < len(p.src) && '0' <= p.src[p.i] && p.src[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}

// text reads a quoted string.
func (p *parser) text() error {
	start := p.i + 1
	for i := start; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '"':
			s := p.src[start:i]
			if !utf8.Valid(s) {
				return p.fail("text is not valid UTF-8")
			}
			p.i = i + 1
			p.out = append(append(append(p.out, '"'), s...), '"')
			return nil
		case c == '\\':
			return p.escapedText(i)
		case c < ' ':
			p.i = i
			return p.fail("control character %s in text", p.here())
		}
	}
	p.i = len(p.src)
	return p.fail("text has no end")
}

// escapedText reads a quoted string whose first escape is at i.
func (p *parser) escapedText(i int) error {
	text := slices.Clone(p.src[p.i+1 : i])
	for p.i = i; p.i < len(p.src); {
		switch c := p.src[p.i]; {
		case c == '"':
			if !utf8.Valid(text) {
				return p.fail("text is not valid UTF-8")
			}
			p.i++
			p.out = appendQuoted(p.out, string(text))
			return nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return err
			}
			text = utf8.AppendRune(text, r)
		case c < ' ':
			return p.fail("control character %s in text", p.here())
		default:
			text = append(text, c)
			p.i++
		}
	}
	return p.fail("text has no end")
}

// escape reads one escape sequence, or two that make a surrogate pair.
func (p *parser) escape() (rune, error) {
	if p.i+1 >= len(p.src) {
		return 0, p.fail("text has no end")
	}
	c := p.src[p.i+1]
	if c != 'u' {
		i := strings.IndexByte(`"\/bfnrt`, c)
		if i < 0 {
			return 0, p.fail("unknown escape \\%c", c)
		}
		p.i += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	r, err := p.hex()
	if err != nil {
		return 0, err
	}
	if r == 0 {
		return 0, p.fail("text contains U+0000")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if p.i+1 < len(p.src) && p.src[p.i] == '\\' && p.src[p.i+1] == 'u' {
		low, err := p.hex()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, nil
		}
	}
	return 0, p.fail("lone surrogate in text")
}

// hex reads \uXXXX.
func (p *parser) hex() (rune, error) {
	if p.i+6 > len(p.src) {
		return 0, p.fail("malformed \\u escape")
	}
	var r rune
	for _, c := range p.src[p.i+2 : p.i+6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, p.fail("malformed \\u escape")
		}
	}
	p.i += 6
	return r, nil
}
