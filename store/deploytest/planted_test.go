package deploytest

import (
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/planted"
)

// Every mistake about nested values is caught by the test that it names. None is in the
// source: they are planted in a copy of it.
func TestMistakesAboutNestedValuesAreCaught(t *testing.T) { areCaught(t, nestedMistakes()) }

// So is every mistake about fields that the store computes.
func TestMistakesAboutComputedFieldsAreCaught(t *testing.T) { areCaught(t, computedMistakes()) }

func areCaught(t *testing.T, mistakes []mistake) {
	var changes []planted.Change
	for _, m := range mistakes {
		changes = append(changes, m.Change)
	}
	binary := planted.Build(t, "deploytest", "", changes)
	tried := 0
	for i, m := range mistakes {
		if !effort.Includes(t, i) {
			continue
		}
		tried++
		t.Run(m.Mistake, func(t *testing.T) {
			run := func(mistake string) (string, error) {
				return binary.Run(t, mistake, "-test.run="+m.caught, "-test.timeout=60s", "-rapid.nofailfile")
			}
			if out, err := run(m.Mistake); err == nil || !strings.Contains(out, "FAIL") {
				t.Errorf("%s has not caught it: %v\n%s", m.caught, err, out)
			}
			if out, err := run(""); err != nil {
				t.Errorf("%s without the mistake: %v\n%s", m.caught, err, out)
			}
		})
	}
	t.Logf("%d of %d mistakes", tried, len(mistakes))
}

type mistake struct {
	planted.Change
	caught string // by this test
}

func nestedMistakes() []mistake {
	const (
		fit    = "../../fit.go"
		known  = "../internal/shape/known.go"
		merge  = "../../internal/decide/merge.go"
		edit   = "../edit.go"
		schema = "../../schema_json.go"
		audit  = "../../internal/audit/version.go"
		zeros  = "../../joining.go"
	)
	var list []mistake
	plant := func(what, file, caught, old, new string) {
		list = append(list, mistake{planted.Change{Mistake: what, File: file, Old: old, New: new}, caught})
	}
	plant("a merge stops at depth two", merge, "^TestMergeGoesDown$/^sqlite$",
		`if in.Fields == nil || codec.KindOf(given)`, `if PLANTED && strings.Contains(path, ".") || in.Fields == nil || codec.KindOf(given)`)
	plant("a required field below an optional one is never null", "../../schema.go", "^TestRequiredBelowOptional$/^sqlite$",
		`always && !f.Optional`, `(always || PLANTED) && !f.Optional`)
	plant("an index flag that is set after data exist is overlooked", "../../backend/sqlite/schema.go", "^TestIndexInsideLater$/^sqlite$",
		`!plan.Empty() || len(typelist.Retuned(all, reg.Schemas)) > 0`, `!PLANTED && (!plan.Empty() || len(typelist.Retuned(all, reg.Schemas)) > 0)`)
	plant("an item's field is lost by an older writer", merge, "^TestElementsAreNotLost$/^sqlite$",
		`lost != "" {`, `lost != "" && !PLANTED {`)
	plant("a nested rename is taken for drop and add", edit, "^TestRenamedInside$/^sqlite$",
		`	o, n := jqName(from), jqName(name)`, `	if PLANTED {
		return within.change("del(.[" + jqName(from) + "])")
	}
	o, n := jqName(from), jqName(name)`)
	plant("a hash ignores items", schema, "^TestItemsArePartOfTheType$/^sqlite$",
		`	if f.Fields != nil {
		doc.Fields`, `	if PLANTED {
		doc.Items = nil
	}
	if f.Fields != nil {
		doc.Fields`)
	plant("a nested default is not filled in", fit, "^TestInnerFieldsStay$/^sqlite$",
		`		value := []byte(inner.Default)
`, `		value := []byte(inner.Default)
		if PLANTED && inner.Default != nil && !ok {
			continue
		}
`)
	plant("an unfit row is let in by a stream", "../internal/shape/fit.go", "^TestUnfitInside$/^sqlite$",
		`		fitted, err := f.Fit(value)
`, `		if PLANTED {
			return value, nil, nil
		}
		fitted, err := f.Fit(value)
`)
	plant("a time inside a list is not made canonical", fit, "^TestFormsInside$/^sqlite$",
		`		fitted = append(fitted, element...)`, `		if PLANTED && f.Type == Time {
			element = v
		}
		fitted = append(fitted, element...)`)
	plant("an enum is not checked on merge", fit, "^TestMergeGoesDown$/^sqlite$",
		`	return f.Enum == nil || `, `	return f.Enum == nil || PLANTED || `)
	plant("a merge keeps null", known, "^TestDeclarationIsTakenAway$/^sqlite$",
		`			if codec.KindOf(m.Value) == codec.Null {
				continue
			}
			if k, ok`, `			if codec.KindOf(m.Value) == codec.Null && !PLANTED {
				continue
			}
			if k, ok`)
	plant("an examination overlooks what does not fit", audit, "^TestUnfitRowsAreFound$/^sqlite$",
		`if err := s.CheckStored(v.Fields); err != nil {`, `if err := s.CheckStored(v.Fields); err != nil && !PLANTED {`)
	plant("a field that was dropped comes back as zero", "../join.go", "^TestDroppedFieldsStayDropped$/^sqlite$",
		`			lacking = leftBehind(all, types[i], d)`, `			if !PLANTED {
				lacking = leftBehind(all, types[i], d)
			}`)
	plant("a field begins as a zero that its enum has not", zeros, "^TestNoZeroValue$/^sqlite$",
		`if !f.allows(zero) {`, `if !f.allows(zero) && !PLANTED {`)
	plant("a newer program does not know its own zeros again", zeros, "^TestRequiredFieldsJoin$/^sqlite$",
		`(!kept || f.sameDefault`, `(!kept || !PLANTED && f.sameDefault`)
	plant("an object that grows loses its zero", "../../compatible.go", "^TestZeroObjectsGrow$/^sqlite$",
		`return err == nil && bytes.Equal(fitted, newer.Default)`, `return err == nil && bytes.Equal(fitted, newer.Default) && !PLANTED`)
	plant("fields inside lists and maps do not begin as zeros", zeros, "^TestRequiredFieldsJoin$/^sqlite$",
		`	z.inside(&e, stored, v, path)
	return`, `	if !PLANTED {
		z.inside(&e, stored, v, path)
	}
	return`)
	plant("a struct that joins decides only what was known by name", "../internal/catalog/program.go", "^TestKnownByNameJoins$/^sqlite$",
		`		delete(p.known, name)`, `		if !PLANTED {
			delete(p.known, name)
		}`)
	return list
}

func computedMistakes() []mistake {
	const (
		rules   = "../../internal/computed/computed.go"
		texts   = "../../internal/computed/text.go"
		merge   = "../../internal/decide/merge.go"
		shape   = "../internal/shape/computed.go"
		lineage = "../internal/lineage/carry.go"
	)
	var list []mistake
	plant := func(what, file, caught, old, new string) {
		list = append(list, mistake{planted.Change{Mistake: what, File: file, Old: old, New: new}, caught})
	}
	plant("a merge keeps what was computed before", merge, "^TestMergesThatCross$/^sqlite$",
		`	return computed.Row(s, id, codec.AppendObject(nil, members))`,
		`	if row := codec.AppendObject(nil, members); PLANTED && exists {
		return newest.Fields, nil
	} else {
		return computed.Row(s, id, row)
	}`)
	plant("a merge moves a row to another key", rules, "^TestComputedFieldsAreNotGiven$/^sqlite$",
		`case key != id.Key:`, `case key != id.Key && !PLANTED:`)
	plant("the values decide whether a key has two parts", rules, "^TestComputedRowsDrawn$/^memory$",
		`	if c.Sharded() {`, `	if c.Sharded() && !(PLANTED && bytes.Equal(codec.Find(fields, c.id), codec.Find(fields, c.shard))) {`)
	plant("a percent sign is not escaped", rules, "^TestComputedFields$/^sqlite$", `		case '%':`, `		case '%' + map[bool]byte{PLANTED: 1}[true]:`)
	plant("a date is a text", texts, "^TestTimeBecomesText$/^sqlite$", `f.Type != onto.DateOnly &&`, `(PLANTED || f.Type != onto.DateOnly) &&`)
	plant("a given value is passed over", shape, "^TestComputedFieldsAreNotGiven$/^sqlite$", `ok && f.Compute != nil {`, `ok && f.Compute != nil && !PLANTED {`)
	plant("a key that is given wins", shape, "^TestComputedFieldsAreNotGiven$/^sqlite$", `	case id.Key != key:`, `	case id.Key != key && !PLANTED:`)
	plant("an older program fills in what it does not know", shape, "^TestRepeatedBesideComputed$/^sqlite$", `if known == nil {`, `if PLANTED || known == nil {`)
	plant("rows of before are left as they are", lineage, "^TestComputedLater$/^sqlite$",
		`		c.Made = append(c.Made, made(path))
	case t.Default`, `		if !PLANTED {
			c.Made = append(c.Made, made(path))
		}
	case t.Default`)
	plant("a time that can be anything stays out", lineage, "^TestTimeBecomesText$/^sqlite$", `return t.Type == onto.Any`, `return t.Type == onto.Any && !PLANTED`)
	return list
}
