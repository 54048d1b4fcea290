package codec

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// AppendFloat appends f as a canonical JSON number. NaN and infinities are refused.
func AppendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, &SyntaxError{Path: "$", Msg: "number is not finite"}
	}
	return appendFinite(dst, f), nil
}

func appendFinite(dst []byte, f float64) []byte {
	if f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 {
		return strconv.AppendInt(dst, int64(f), 10)
	}
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1<<63 {
		return appendExponent(dst, f)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
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

func (p *parser) number() error {
	start := p.i
	if p.src[p.i] == '-' {
		p.i++
	}
	digits := p.digits()
	if digits == 0 && bytes.HasPrefix(p.src[p.i:], []byte("Infinity")) {
		return p.failAt(start, "-Infinity is no JSON number")
	}
	if digits == 0 || digits > 1 && p.src[p.i-digits] == '0' {
		return p.fail("malformed number")
	}
	whole := p.i
	if p.next('.') && p.digits() == 0 {
		return p.fail("malformed number")
	}
	if p.next('e') || p.next('E') {
		if !p.next('+') {
			p.next('-')
		}
		if p.digits() == 0 {
			return p.fail("malformed number")
		}
	}
	if p.i == whole {
		return p.integer(start, digits)
	}
	f, err := strconv.ParseFloat(string(p.src[start:p.i]), 64)
	if err != nil {
		return p.failAt(start, "number %s is outside float64", shorten(string(p.src[start:p.i])))
	}
	p.out = appendFinite(p.out, f)
	return nil
}

// integer writes the integer that was read from start on.
func (p *parser) integer(start, digits int) error {
	literal := p.src[start:p.i]
	if digits < 19 && literal[0] != '-' { // canonical as it stands
		p.out = append(p.out, literal...)
		return nil
	}
	n, err := strconv.ParseInt(string(literal), 10, 64)
	if err != nil {
		return p.failAt(start, "integer %s is outside int64", shorten(string(literal)))
	}
	p.out = strconv.AppendInt(p.out, n, 10)
	return nil
}

// digits skips digits and returns how many there were.
func (p *parser) digits() int {
	start := p.i
	for p.i < len(p.src) && '0' <= p.src[p.i] && p.src[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}
