package shape

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
)

type tag string

func (t *tag) UnmarshalText(text []byte) error { *t = tag("<" + string(text) + ">"); return nil }

type inner struct {
	Deep string `json:"deep"`
}

type everything struct {
	ID   string  `json:"id" onto:"key"`
	Text string  `json:"text"`
	Yes  bool    `json:"yes"`
	N    int     `json:"n"`
	N8   int8    `json:"n8"`
	U    uint16  `json:"u"`
	F    float64 `json:"f"`
	F32  float32 `json:"f32"`
	inner
	Own     tag               `json:"own"`
	PText   *string           `json:"ptext"`
	PN      *int64            `json:"pn"`
	PP      **int             `json:"pp"`
	At      time.Time         `json:"at"`
	PAt     *time.Time        `json:"pat"`
	List    []int             `json:"list"`
	Map     map[string]string `json:"map"`
	Bytes   []byte            `json:"bytes"`
	Array   [2]bool           `json:"array"`
	Nested  inner             `json:"nested"`
	PNested *inner            `json:"pnested"`
}

// deep has structs inside lists, maps, arrays and others.
type deep struct {
	ID     string                    `json:"id" onto:"key"`
	List   []inside                  `json:"list"`
	Some   []*inside                 `json:"some"`
	By     map[string]inside         `json:"by"`
	ByNum  map[int8][]map[uint8]*int `json:"bynum"`
	Pair   [2]inside                 `json:"pair"`
	One    *inside                   `json:"one"`
	Text   int                       `json:"text,string"`
	Any    any                       `json:"any"`
	Raw    json.RawMessage           `json:"raw"`
	Again  *deep                     `json:"again"`
	Day    onto.Date                 `json:"day"`
	Values map[string]any            `json:"values"`
}

type inside struct {
	*Hidden
	Odd  string      `json:"x y"`
	Days []onto.Date `json:"days"`
	Own  []tag       `json:"own"`
	In   *inside     `json:"in"`
	Q    *bool       `json:"q,string"`
}

type Hidden struct {
	H  int       `json:"h"`
	At time.Time `json:"at"`
}

// otherCase finds names that encoding/json may take for those of a field.
var otherCase = regexp.MustCompile(`"[^"]*[^"a-z ][^"]*":`)

// FuzzDecodeNested reads damaged JSON into structs that are inside others. It is read as
// encoding/json does, or left to it, and nothing panics.
func FuzzDecodeNested(f *testing.F) {
	schema, err := onto.TypeOf[deep]().As("Deep").Schema()
	if err != nil {
		f.Fatal(err)
	}
	typ := &Type{Schema: schema}
	typ.Bind(onto.TypeOf[deep]().Binding(), schema)
	for _, seed := range []string{`{"list":[{"h":1,"x y":"a"}]}`, `{"list":[{]}`, `{"some":[null,{"q":"true"}]}`, `{"by":{"a":{"days":["2026-02-10"]}}}`, `{"bynum":{"1":[{"2":3}],"300":[]}}`,
		`{"pair":[{},{},{}]}`, `{"one":{"in":{"in":{}}}}`, `{"text":"7"}`, `{"text":"{"}`, `{"any":[{"a":`, `{"raw":{"b":1}}`, `{"again":{"again":{}}}`, `{"day":"2026-02-30"}`, `{"values":{"a":null}}`, `{"one":{"own":["x"]}}`, `{"list":[[[[`, `{"by":{"\u0000":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want deep
		if !typ.decodeCanonical(text, reflect.ValueOf(&got).Elem()) {
			return
		}
		if canonical, err := codec.AppendCanonical(nil, text); err != nil || string(canonical) != string(text) {
			return // taken for what it is not, and harmless
		}
		if otherCase.Match(text) {
			return // encoding/json takes a name for one that differs in case only
		}
		if err := codec.Decode(text, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v, error %v", text, got, want, err)
		}
	})
}

// TestDecodesLikeEncodingJSON draws objects with a value of some kind, fitting
// or not, for some of the fields, and decodes them in both ways.
func TestDecodesLikeEncodingJSON(t *testing.T) {
	schema, err := onto.TypeOf[everything]().As("Everything").Schema()
	if err != nil {
		t.Fatal(err)
	}
	typ := &Type{Schema: schema}
	typ.Bind(onto.TypeOf[everything]().Binding(), schema)
	values := []string{`"a"`, `"é\n\"\\\u0001"`, `""`, `true`, `false`, `null`, `0`, `-1`, `127`, `128`, `70000`, `9223372036854775807`, `1.5`, `1e+300`, `-0.25`,
		`[1,2]`, `[]`, `["x"]`, `[true,false]`, `{"deep":"d"}`, `{"a":"b"}`, `{}`, `"2026-02-10T12:34:56.789012+00:00"`, `"YWJj"`}
	decoded := 0
	effort.Check(t, 1000, func(t *rapid.T) {
		object := map[string]json.RawMessage{}
		names := rapid.SliceOfDistinct(rapid.SampledFrom(append(schema.FieldNames(), "ID", "other")), rapid.ID[string]).Draw(t, "names")
		for _, name := range names {
			object[name] = json.RawMessage(rapid.SampledFrom(values).Draw(t, name))
		}
		text, err := json.Marshal(object)
		if err == nil {
			text, err = codec.AppendCanonical(nil, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		var got, want everything
		wantErr := json.Unmarshal(typ.bare(text), &want)
		if !typ.decodeCanonical(text, reflect.ValueOf(&got).Elem()) {
			if !reflect.DeepEqual(got, everything{}) {
				t.Fatalf("%s: left %+v behind", text, got)
			}
			return
		}
		decoded++
		if wantErr != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %+v, want %+v, error %v", text, got, want, wantErr)
		}
	})
	if decoded == 0 {
		t.Error("nothing was decoded")
	}
}

// A field that the struct does not have is not taken for one whose name differs in case,
// as encoding/json would.
func TestDecodeTellsNamesApart(t *testing.T) {
	type free struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name,omitempty"`
		Any  any    `json:"any"`
	}
	given, err := onto.TypeOf[free]().As("Free").Schema()
	if err != nil {
		t.Fatal(err)
	}
	stored := given
	stored.Fields = append([]onto.Field{{Name: "Name", Type: onto.String, Optional: true}}, given.Fields...)
	for _, known := range []backend.Known{nil, backend.KnownOf(given.Fields)} {
		typ := &Type{Schema: stored, Known: known}
		typ.Bind(onto.TypeOf[free]().Binding(), given)
		var got free
		v := onto.Version{Fields: []byte(`{"Name":"other","any":1,"id":"a"}`)}
		if err := typ.Decode(&v, &got); err != nil || got != (free{ID: "a", Any: int64(1)}) {
			t.Errorf("got %+v, %v; want no name", got, err)
		}
	}
}

// Bytes that are no canonical JSON are left to encoding/json, whatever they are.
func FuzzDecode(f *testing.F) {
	schema, err := onto.TypeOf[everything]().As("Everything").Schema()
	if err != nil {
		f.Fatal(err)
	}
	typ := &Type{Schema: schema}
	typ.Bind(onto.TypeOf[everything]().Binding(), schema)
	for _, seed := range []string{`{}`, `{"id":"a`, `{"id`, `{"id":}`, `{"text":"\`, `{"text":"\u00"}`, `{"f":1,}`, `{"list":[1}`, `{"n":1 }`, `{ "n":1}`, `{"id":"\x"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want everything
		if !typ.decodeCanonical(text, reflect.ValueOf(&got).Elem()) {
			return
		}
		if canonical, err := codec.AppendCanonical(nil, text); err != nil || string(canonical) != string(text) {
			return // taken for what it is not, and harmless
		}
		if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v, error %v", text, got, want, err)
		}
	})
}
