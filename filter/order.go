package filter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ontologia/onto/internal/codec"
)

// Compare is the order of onto.Order between two canonical values, nil for null, which
// comes last. Lists and objects are equal.
func Compare(a, b json.RawMessage) int {
	a, b = notNull(a), notNull(b)
	rank := rankOf(a)
	if c := cmp.Compare(rank, rankOf(b)); c != 0 {
		return c
	}
	switch rank {
	case boolRank:
		return cmp.Compare(a[0], b[0]) // f before t
	case numberRank:
		return compareNumbers(numberOf(a), numberOf(b))
	case textRank:
		return compareTexts(a, b)
	}
	return 0
}

// rank is the order of kinds.
type rank uint8

const (
	boolRank rank = iota
	numberRank
	textRank
	nestedRank
	nullRank
)

func rankOf(canonical []byte) rank {
	if canonical == nil {
		return nullRank
	}
	switch canonical[0] {
	case 't', 'f':
		return boolRank
	case '"':
		return textRank
	case '[', '{':
		return nestedRank
	}
	return numberRank
}

// notNull returns a canonical value, or nil if it is null or missing.
func notNull(canonical []byte) []byte {
	if len(canonical) == 0 || canonical[0] == 'n' {
		return nil
	}
	return canonical
}

// number is a JSON number: whole ones within int64 are exact.
type number struct {
	whole bool
	i     int64
	f     float64 // if it is not whole
}

func numberOf(canonical []byte) number {
	if codec.KindOf(canonical) == codec.Int {
		i, _ := strconv.ParseInt(string(canonical), 10, 64)
		return number{whole: true, i: i}
	}
	f, _ := strconv.ParseFloat(string(canonical), 64)
	return number{f: f}
}

func compareNumbers(a, b number) int {
	switch {
	case a.whole && b.whole:
		return cmp.Compare(a.i, b.i)
	case a.whole:
		return compareMixed(a.i, b.f)
	case b.whole:
		return -compareMixed(b.i, a.f)
	}
	return cmp.Compare(a.f, b.f)
}

// compareMixed compares without rounding i to a float.
func compareMixed(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -(1 << 63):
		return 1
	}
	whole := int64(f) // cut towards zero, exact
	if c := cmp.Compare(i, whole); c != 0 {
		return c
	}
	return cmp.Compare(0, f-float64(whole))
}

// compareTexts compares canonical strings by code point, which is the order of
// their bytes in UTF-8.
func compareTexts(a, b []byte) int {
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return bytes.Compare(a[1:len(a)-1], b[1:len(b)-1])
	}
	return strings.Compare(codec.Unquote(a), codec.Unquote(b))
}
