package filter

import (
	"bytes"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// predicate is a test with its values. Canonical JSON has one text for each
// value, so that equal values have equal texts.
type predicate struct {
	test   onto.Test
	value  []byte              // canonical
	values map[string]struct{} // of In, canonical
	number number              // the value, if it is a number
	text   []byte              // the value, if it is a text
}

// newPredicate prepares the test of a condition. It is not ok if Check would
// have refused it.
func newPredicate(c onto.Condition) (p *predicate, ok bool) {
	p = &predicate{test: c.Test, values: make(map[string]struct{}, len(c.Values))}
	for _, v := range c.Values {
		canonical, err := canonicalOf(v)
		if err != nil {
			return nil, false
		}
		p.value = canonical
		p.values[string(canonical)] = struct{}{}
	}
	if form := formOf(c.Test); (form == operatorForm || form == textForm) && len(c.Values) != 1 {
		return nil, false
	}
	switch {
	case p.value == nil:
	case p.value[0] == '"':
		p.text = []byte(codec.Unquote(p.value))
	default:
		p.number = numberOf(p.value)
	}
	return p, true
}

// holds applies the test to a canonical value, nil for null.
func (p *predicate) holds(v []byte) bool {
	if v == nil {
		return p.test == onto.IsNull
	}
	switch p.test {
	case onto.IsNotNull:
		return true
	case onto.IsTrue:
		return v[0] == 't'
	case onto.IsFalse:
		return v[0] == 'f'
	case onto.Equal:
		return bytes.Equal(v, p.value)
	case onto.NotEqual:
		return !bytes.Equal(v, p.value)
	case onto.In:
		_, ok := p.values[string(v)]
		return ok
	case onto.StartsWith, onto.EndsWith, onto.Contains:
		return v[0] == '"' && p.holdsText(v)
	case onto.Less, onto.AtMost, onto.Greater, onto.AtLeast:
		return rankOf(v) == rankOf(p.value) && p.holdsOrder(v)
	}
	return false
}

// holdsText is for values that are texts.
func (p *predicate) holdsText(v []byte) bool {
	inside := v[1 : len(v)-1]
	if bytes.IndexByte(inside, '\\') >= 0 {
		inside = []byte(codec.Unquote(v))
	}
	switch p.test {
	case onto.StartsWith:
		return bytes.HasPrefix(inside, p.text)
	case onto.EndsWith:
		return bytes.HasSuffix(inside, p.text)
	}
	return bytes.Contains(inside, p.text)
}

// holdsOrder is for values of the same kind.
func (p *predicate) holdsOrder(v []byte) bool {
	var c int
	switch rankOf(v) {
	case numberRank:
		c = compareNumbers(numberOf(v), p.number)
	case textRank:
		c = compareTexts(v, p.value)
	default:
		return false
	}
	switch p.test {
	case onto.Less:
		return c < 0
	case onto.AtMost:
		return c <= 0
	case onto.Greater:
		return c > 0
	}
	return c >= 0
}
