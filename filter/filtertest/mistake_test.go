package filtertest_test

import (
	"encoding/json"
	"math"
	"math/big"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/filter/filtertest"
	"github.com/ontologia/onto/internal/effort"
)

// mistake is something an engine could get wrong.
type mistake string

const (
	sound            mistake = ""
	trueIsOne        mistake = "true equals 1"
	trueIsWord       mistake = `true equals "true"`
	threeValued      mistake = "not of what is missing is unknown"
	missingIsUnequal mistake = "what is missing is unequal"
	sameKindOnly     mistake = "a value of another kind is not unequal"
	emptyIsNull      mistake = "an empty string is null"
	halfDeMorgan     mistake = "not of and keeps the and"
	twoNots          mistake = "two nots are one"
	likePatterns     mistake = "% and _ stand for others"
	globPatterns     mistake = "* and ? and [] stand for others"
	foldedParts      mistake = "prefix, suffix and contains ignore case"
	foldedEqual      mistake = "equality ignores case"
	foldedOrder      mistake = "order ignores case"
	paddedEqual      mistake = "spaces at the end are ignored"
	composedEqual    mistake = "composed and decomposed letters are equal"
	utf16Order       mistake = "strings are in the order of UTF-16"
	emptyPart        mistake = "nothing begins with an empty string"
	textOfNumbers    mistake = "numbers have text to search"
	textOfNested     mistake = "lists and objects have text to search"
	throughFloat     mistake = "numbers are compared as float64"
	throughInt       mistake = "numbers are compared as int64"
	nearlyEqual      mistake = "floats that are close are equal"
	numericText      mistake = "strings with digits are numbers"
	kindsCompare     mistake = "kinds compare with each other"
	emptyInIsTrue    mistake = "in_ of nothing is true"
	textIsJSON       mistake = "paths lead into JSON in strings"
	namesIndex       mistake = "names that are numbers lead into lists"
	laxPaths         mistake = "paths lead through lists"
	dotsSplit        mistake = "dots in names split them"
	namesFold        mistake = "names ignore case"
	anyReadsText     mistake = "any reads JSON in strings"
	anyOnObjects     mistake = "any looks at the members of objects"
	anyOnScalars     mistake = "any looks at what is no list"
	everyElement     mistake = "any wants every element"
	noneEquals       mistake = "any() != wants that no element equals"
	elementsExist    mistake = "any leaves out what is missing in elements"
	swappedEnds      mistake = "left and right are swapped"
	ownFields        mistake = "endpoints are the relation itself"
	innerJoin        mistake = "a missing endpoint makes everything unknown"
	nullsFirst       mistake = "nulls come first"
	nullsLeast       mistake = "nulls come first when descending"
	kindsMix         mistake = "strings come before numbers"
	boolsAsNumbers   mistake = "bools are sorted as 1 and 0"
	nestedByText     mistake = "lists and objects are sorted by their text"
	tiesTurn         mistake = "descending turns ties around"
	firstOnly        mistake = "only the first order counts"
	oneDirection     mistake = "the first direction counts for all"
)

func mistakes() []mistake {
	return []mistake{
		trueIsOne, trueIsWord, threeValued, missingIsUnequal, sameKindOnly, emptyIsNull, halfDeMorgan, twoNots, likePatterns, globPatterns,
		foldedParts, foldedEqual, foldedOrder, paddedEqual, composedEqual, utf16Order, emptyPart, textOfNumbers, textOfNested,
		throughFloat, throughInt, nearlyEqual, numericText, kindsCompare, emptyInIsTrue, textIsJSON, namesIndex, laxPaths, dotsSplit, namesFold,
		anyReadsText, anyOnObjects, anyOnScalars, everyElement, noneEquals, elementsExist, swappedEnds, ownFields, innerJoin,
		nullsFirst, nullsLeast, kindsMix, boolsAsNumbers, nestedByText, tiesTurn, firstOnly, oneDirection,
	}
}

// TestMistakes plants each mistake in an engine, and requires that the corpus detects
// it.
func TestMistakes(t *testing.T) {
	t.Parallel()
	groups, planted := corpus(t), 0
	for i, m := range mistakes() {
		if !effort.Includes(t, i) {
			continue
		}
		planted++
		t.Run(string(m), func(t *testing.T) {
			wrong := 0
			for _, g := range groups {
				wrong += len(filtertest.Judge(&g, naive{m}.engine()))
			}
			t.Logf("%d cases notice", wrong)
			if wrong == 0 {
				t.Error("no case notices, want one at least")
			}
		})
	}
	t.Logf("%d mistakes of %d", planted, len(mistakes()))
}

// TestSecondOpinion asks the engine of the mistakes without one.
func TestSecondOpinion(t *testing.T) {
	for _, g := range corpus(t) {
		for _, wrong := range filtertest.Judge(&g, naive{sound}.engine()) {
			t.Error(wrong)
		}
	}
}

// TestDuel asks it about random filters.
func TestDuel(t *testing.T) { filtertest.Duel(t, 5*questions(t), naive{sound}.engine()) }

func (n naive) equal(v, with any) bool {
	with = value(with)
	if b, ok := with.(bool); ok && n.wrong == trueIsWord {
		if text, ok := v.(string); ok {
			return text == map[bool]string{true: "true", false: "false"}[b]
		}
	}
	a, isText := v.(string)
	b, withText := with.(string)
	if isText && withText {
		switch n.wrong {
		case foldedEqual:
			return strings.EqualFold(a, b)
		case paddedEqual:
			return strings.TrimRight(a, " ") == strings.TrimRight(b, " ")
		case composedEqual:
			return compose(a) == compose(b)
		}
		return a == b
	}
	if n.wrong == kindsCompare {
		return rank(v) == rank(with) && n.compare(v, with) == 0
	}
	c, comparable := n.order(v, with)
	return comparable && c == 0
}

func compose(s string) string { return strings.ReplaceAll(s, "e\u0301", "\u00e9") }

// order compares two values, if they are of the same kind and it has an order.
func (n naive) order(a, b any) (int, bool) {
	switch n.wrong {
	case trueIsOne:
		a, b = oneForTrue(a), oneForTrue(b)
	case numericText:
		a, b = numberInText(a), numberInText(b)
	case kindsCompare:
		return n.compare(a, b), true
	}
	r := rank(a)
	if r != rank(b) || r == rank([]any{}) {
		return 0, false
	}
	return n.compare(a, b), true
}

func oneForTrue(v any) any {
	if b, ok := v.(bool); ok {
		return new(big.Rat).SetInt64(map[bool]int64{true: 1}[b])
	}
	return v
}

func numberInText(v any) any {
	if text, ok := v.(string); ok {
		if r, ok := new(big.Rat).SetString(text); ok {
			return r
		}
	}
	return v
}

// rank is the place of a kind among the kinds.
func rank(v any) int {
	switch v.(type) {
	case bool:
		return 1
	case *big.Rat:
		return 2
	case string:
		return 3
	}
	return 4
}

// compare orders values that are not null.
func (n naive) compare(a, b any) int {
	if rank(a) != rank(b) {
		return rank(a) - rank(b)
	}
	switch a := a.(type) {
	case bool:
		return oneForTrue(a).(*big.Rat).Cmp(oneForTrue(b).(*big.Rat))
	case *big.Rat:
		return n.compareNumbers(a, b.(*big.Rat))
	case string:
		return n.compareTexts(a, b.(string))
	}
	return 0
}

func (n naive) compareNumbers(a, b *big.Rat) int {
	switch n.wrong {
	case throughFloat:
		a, b = new(big.Rat).SetFloat64(float(a)), new(big.Rat).SetFloat64(float(b))
	case throughInt:
		a, b = whole(a), whole(b)
	case nearlyEqual:
		if math.Abs(float(a)-float(b)) < 1e-9 {
			return 0
		}
	}
	return a.Cmp(b)
}

func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func whole(r *big.Rat) *big.Rat {
	i := new(big.Int).Quo(r.Num(), r.Denom())
	if !i.IsInt64() {
		i.SetInt64(math.MaxInt64 * int64(i.Sign()))
	}
	return new(big.Rat).SetInt(i)
}

func (n naive) compareTexts(a, b string) int {
	switch n.wrong {
	case utf16Order:
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	case foldedOrder:
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	}
	return slices.Compare([]rune(a), []rune(b))
}

// part tests for a part of a string.
func (n naive) part(v any, t onto.Test, part string) truth {
	text, ok := v.(string)
	if _, number := v.(*big.Rat); number && n.wrong == textOfNumbers || rank(v) == 4 && n.wrong == textOfNested {
		text, ok = jsonOf(v), true
	}
	if !ok || part == "" && n.wrong == emptyPart {
		return no
	}
	if n.wrong == foldedParts {
		text, part = strings.ToLower(text), strings.ToLower(part)
	}
	if n.wrong == likePatterns || n.wrong == globPatterns {
		return truthOf(n.pattern(text, t, part))
	}
	switch t {
	case onto.StartsWith:
		return truthOf(strings.HasPrefix(text, part))
	case onto.EndsWith:
		return truthOf(strings.HasSuffix(text, part))
	}
	return truthOf(strings.Contains(text, part))
}

func jsonOf(v any) string {
	if r, ok := v.(*big.Rat); ok {
		return r.RatString()
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// pattern takes the part for a pattern, as LIKE or GLOB would.
func (n naive) pattern(text string, t onto.Test, part string) bool {
	if n.wrong == likePatterns {
		part = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`, "%", "*", "_", "?").Replace(part)
	}
	before, after := map[bool]string{true: "*"}[t != onto.StartsWith], map[bool]string{true: "*"}[t != onto.EndsWith]
	slash := strings.NewReplacer("/", "|")
	ok, err := path.Match(slash.Replace(before+part+after), slash.Replace(text))
	return ok && err == nil
}

// before tells which row comes first.
func (n naive) before(by []onto.Order, a, b *filter.Row) bool {
	for i, o := range by {
		if n.wrong == firstOnly && i > 0 {
			break
		}
		if n.wrong == oneDirection {
			o.Desc = by[0].Desc
		}
		if c := n.compareBy(o, a, b); c != 0 {
			return c < 0
		}
	}
	if n.wrong == tiesTurn && by[0].Desc {
		return string(a.Own) > string(b.Own)
	}
	return false
}

func (n naive) compareBy(o onto.Order, a, b *filter.Row) int {
	left, _ := n.side(o.Operand.Side, a)
	right, _ := n.side(o.Operand.Side, b)
	x, y := n.find(left, o.Operand.Path), n.find(right, o.Operand.Path)
	if x == nil || y == nil {
		last := 1
		if n.wrong == nullsFirst || n.wrong == nullsLeast && o.Desc {
			last = -1
		}
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return last
		}
		return -last
	}
	c := n.sortCompare(x, y)
	if o.Desc {
		return -c
	}
	return c
}

func (n naive) sortCompare(x, y any) int {
	switch {
	case n.wrong == boolsAsNumbers:
		x, y = oneForTrue(x), oneForTrue(y)
	case n.wrong == kindsMix && rank(x) != rank(y) && rank(x) < 4 && rank(y) < 4:
		return rank(y) - rank(x)
	case n.wrong == nestedByText && rank(x) == 4 && rank(y) == 4:
		return strings.Compare(jsonOf(x), jsonOf(y))
	}
	return n.compare(x, y)
}
