package schemafile_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store/schemafile"
)

// names also draws words that mean something else in YAML.
func names() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,8}`),
		rapid.SampledFrom([]string{"null", "True", "no", "on", "y", "_1", "e5", "key", "fields", "entities", "default"}),
	)
}

// texts also draws what YAML reads in its own way.
func texts() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]string{
		"", " ", "<<", "*a", "&a", "!!str", "null", "~", "true", "1", "1.5", "0x1", "- a", "a: b", "a #b", "'", `"`, `\`,
		"\n", "\r\n", "\t", "\u0085", "\u2028", "\u2029", "\uFEFF", "\uFFFE", "\x7f", "\x01", "\u0080", "😀", "%", "@", "`", "{}", "---",
	})
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(odd, rapid.String()), 0, 3), func(parts []string) string {
		s := strings.ToValidUTF8(strings.Join(parts, ""), "?")
		return strings.ReplaceAll(s, "\x00", "0")
	})
}

// values draws what encoding/json decodes to.
func values(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just(any(nil)), rapid.Bool().AsAny(), rapid.Int64().AsAny(), finite().AsAny(), texts().AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds, lists(depth).AsAny(), objects(depth).AsAny())
	}
	return rapid.OneOf(kinds...)
}

func finite() *rapid.Generator[float64] {
	return rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) })
}

func lists(depth int) *rapid.Generator[[]any] { return rapid.SliceOfN(values(depth-1), 0, 3) }

func objects(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(texts(), values(depth-1), 0, 3)
}

// drawDefault draws a default that fits, in canonical JSON.
func drawDefault(t *rapid.T, ft onto.FieldType) json.RawMessage {
	of := map[onto.FieldType]*rapid.Generator[any]{
		onto.String: texts().AsAny(), onto.Int: rapid.Int64().AsAny(), onto.Float: finite().AsAny(),
		onto.Bool: rapid.Bool().AsAny(), onto.Object: objects(3).AsAny(), onto.List: lists(3).AsAny(),
		onto.Any: values(3).Filter(func(v any) bool { return v != nil }),
		onto.Time: rapid.Map(rapid.Int64Range(-1<<50, 1<<50), func(micros int64) any {
			return codec.FormatTime(time.UnixMicro(micros))
		}),
		onto.DateOnly: rapid.Map(rapid.IntRange(0, 100_000), func(days int) any { return onto.Date{Year: 1900, Month: 1, Day: 1}.AddDays(days).String() }),
	}
	text, err := json.Marshal(of[ft].Draw(t, "default"))
	if err != nil {
		t.Fatalf("Marshal: %v", err)
	}
	text = integral(text)
	canonical, err := codec.AppendCanonical(nil, text)
	if err != nil {
		t.Fatalf("AppendCanonical(%s): %v", text, err)
	}
	return canonical
}

// integral gives long whole numbers, which encoding/json writes without an
// exponent, a fraction, so that they count as floats.
func integral(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return text
	}
	out, err := json.Marshal(longNumbers(v))
	if err != nil {
		return text
	}
	return out
}

func longNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if _, err := v.Int64(); err != nil && !strings.ContainsAny(v.String(), ".e") {
			return json.Number(v.String() + ".0")
		}
	case []any:
		for i := range v {
			v[i] = longNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = longNumbers(v[k])
		}
	}
	return v
}

func drawField(t *rapid.T, name string) onto.Field {
	f := drawInside(t, 2)
	f.Name, f.Index = name, rapid.Bool().Draw(t, "index")
	f.Search = f.Type == onto.String && rapid.Bool().Draw(t, "search")
	switch rapid.IntRange(0, 2).Draw(t, "absence") {
	case 0:
		f.Optional = true
	case 1:
		if f.Enum == nil && f.Items == nil && f.Fields == nil && f.Values == nil {
			f.Default = drawDefault(t, f.Type)
		}
	}
	return f
}

// drawInside draws what a field is, with what is inside.
func drawInside(t *rapid.T, depth int) onto.Field {
	f := onto.Field{Type: rapid.SampledFrom(onto.FieldTypes()).Draw(t, "type")}
	element := func() *onto.Field {
		e := drawInside(t, depth-1)
		e.Optional = rapid.Bool().Draw(t, "null")
		if e.Type == onto.Any {
			return nil
		}
		return &e
	}
	switch {
	case depth == 0 || rapid.Bool().Draw(t, "plain"):
	case f.Type == onto.String:
		f.Enum = []json.RawMessage{[]byte(`"Gold"`), []byte(`"no"`)}
	case f.Type == onto.Int:
		f.Enum = []json.RawMessage{[]byte("-3"), []byte("2"), []byte("10")}
	case f.Type == onto.List:
		f.Items = element()
	case f.Type == onto.Object && rapid.Bool().Draw(t, "map"):
		f.Values = element()
	case f.Type == onto.Object:
		f.Fields = []onto.Field{}
		for _, name := range rapid.SliceOfNDistinct(rapid.OneOf(names(), texts()), 0, 3, strings.ToLower).Draw(t, "inner") {
			inner := drawInside(t, depth-1)
			inner.Name, inner.Optional = name, rapid.Bool().Draw(t, "optional")
			f.Fields = append(f.Fields, inner)
		}
		slices.SortFunc(f.Fields, func(a, b onto.Field) int { return strings.Compare(a.Name, b.Name) })
	}
	return f
}

// drawFacts draws a type of facts, whose attributes have names that are free.
func drawFacts(t *rapid.T, name string) onto.Schema {
	s := onto.Schema{Kind: onto.KindFact, Name: name, Open: rapid.Bool().Draw(t, "open")}
	if rapid.Bool().Draw(t, "about entities") {
		s.Left = names().Draw(t, "subject")
	}
	free := names().Filter(func(n string) bool { return !onto.ReservedAttribute(n) })
	for _, n := range rapid.SliceOfNDistinct(free, 1, 5, rapid.ID[string]).Draw(t, "attributes") {
		f := drawField(t, n)
		f.Optional, f.Default, f.Many = true, nil, rapid.Bool().Draw(t, "many")
		s.Fields = append(s.Fields, f)
	}
	whole, err := onto.Untyped(s).Schema()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return whole
}

func drawSchema(t *rapid.T, name string) onto.Schema {
	s := onto.Schema{Kind: rapid.SampledFrom(onto.Kinds()).Draw(t, "kind"), Name: name}
	if s.Kind == onto.KindFact {
		return drawFacts(t, name)
	}
	for _, f := range rapid.SliceOfNDistinct(names(), 0, 5, rapid.ID[string]).Draw(t, "fields") {
		s.Fields = append(s.Fields, drawField(t, f))
	}
	own := names().Filter(func(n string) bool { return !slices.Contains(s.FieldNames(), n) }).Draw(t, "own key")
	if s.Kind == onto.KindEntity {
		s.Key = own
		ft := rapid.SampledFrom([]onto.FieldType{onto.String, onto.Int}).Draw(t, "key type")
		s.Fields = append(s.Fields, onto.Field{Name: own, Type: ft})
	} else {
		s.Left, s.Right = names().Draw(t, "left"), names().Draw(t, "right")
		switch rapid.IntRange(0, 2).Draw(t, "instance") {
		case 0:
			s.InstanceKey = own
		case 1:
			s.InstanceKey = own
			s.Fields = append(s.Fields, onto.Field{Name: own, Type: onto.String})
		}
	}
	s.SortFields()
	return s
}

// drawSchemas draws schemas in the order that Parse promises.
func drawSchemas(t *rapid.T) []onto.Schema {
	var list []onto.Schema
	for _, name := range rapid.SliceOfNDistinct(names(), 0, 4, rapid.ID[string]).Draw(t, "types") {
		list = append(list, withComputed(t, drawSchema(t, name)))
	}
	slices.SortFunc(list, func(a, b onto.Schema) int {
		return strings.Compare(string(a.Kind)+" "+a.Name, string(b.Kind)+" "+b.Name)
	})
	return list
}

// withComputed adds fields that the store computes, of paths at any depth.
func withComputed(t *rapid.T, s onto.Schema) onto.Schema {
	if s.Kind == onto.KindFact {
		return s
	}
	add := func(rule onto.Compute) {
		s.Fields = append(slices.Clip(s.Fields), onto.Field{Name: rule.Rule.FieldName(), Type: onto.String, Index: rule.Rule == onto.ComputeID, Compute: &rule})
		s.SortFields()
	}
	if paths := requiredTexts(s.Fields, ""); len(paths) > 0 {
		path := rapid.SampledFrom(paths)
		if s.Kind == onto.KindEntity && rapid.Bool().Draw(t, "keyed") {
			s.Key = "onto_key"
			add(onto.Compute{Rule: onto.ComputeKey, ID: path.Draw(t, "id"), ShardKey: path.Draw(t, "shard key")})
		}
		if rapid.Bool().Draw(t, "with the id") {
			add(onto.Compute{Rule: onto.ComputeID, ID: path.Draw(t, "id alone")})
		}
	}
	if rapid.Bool().Draw(t, "with the texts") {
		add(onto.Compute{Rule: onto.ComputeText})
	}
	return s
}

// requiredTexts is the paths of the texts that every row has.
func requiredTexts(fields []onto.Field, path string) []string {
	var paths []string
	for _, f := range fields {
		at := onto.FieldPath(path, f.Name)
		switch {
		case f.Optional || f.Default != nil:
		case f.Type == onto.String && len(at) < 80: // longer names are cut in messages
			paths = append(paths, at)
		default:
			paths = append(paths, requiredTexts(f.Fields, at)...)
		}
	}
	return paths
}

func TestFormatAndParseAreInverse(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		want := drawSchemas(t)
		file, err := schemafile.Format(want)
		if err != nil {
			t.Fatalf("Format(%+v): %v", want, err)
		}
		types, err := schemafile.Parse(file)
		if err != nil {
			t.Fatalf("Parse: %v\n%s", err, file)
		}
		if got := schemas(t, types); !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v\nfile:\n%s", got, want, file)
		}
	})
}

// A default has one canonical form, no matter whether package onto or package
// codec makes it.
func TestDefaultsAgree(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		ft := rapid.SampledFrom(onto.FieldTypes()).Draw(t, "type")
		s := onto.Schema{Kind: onto.KindRelation, Name: "R", Left: "A", Right: "B"}
		s.Fields = []onto.Field{{Name: "x", Type: ft, Default: drawDefault(t, ft)}}
		if err := s.Check(); err != nil {
			t.Fatalf("codec made %s of it, but Check says %v", s.Fields[0].Default, err)
		}
		if back, err := onto.ParseSchema(s.JSON()); err != nil || !reflect.DeepEqual(back, s) {
			t.Fatalf("got %+v, %v, want %+v", back, err, s)
		}
	})
}
