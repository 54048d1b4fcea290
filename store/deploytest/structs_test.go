package deploytest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// shade has a text form.
type shade struct{ r, g uint8 }

func (s shade) MarshalText() ([]byte, error) {
	return strconv.AppendUint(nil, uint64(s.r)<<8|uint64(s.g), 16), nil
}

func (s *shade) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 16)
	s.r, s.g = uint8(n>>8), uint8(n)
	return err
}

// Common is embedded, and so is a pointer to Extra.
type Common struct {
	Made  time.Time `json:"made"`
	Name  string    `json:"name"` // the outer one is meant
	Count uint32    `json:"count"`
}

type Extra struct {
	Note  string   `json:"note"`
	Marks []string `json:"marks"`
}

type part struct {
	Common
	*Extra
	Name   string            `json:"name"`
	Qty    int               `json:"qty,omitempty"`
	Day    onto.Date         `json:"day"`
	Until  *onto.Date        `json:"until"`
	At     *time.Time        `json:"at,omitempty"`
	Zero   time.Time         `json:"zero,omitzero"`
	Tier   string            `json:"tier" onto:"enum=Silver|Gold,default=\"Silver\""`
	Level  int8              `json:"level" onto:"enum=1|2|-3"`
	Text   int64             `json:"text,string"`
	Yes    bool              `json:"yes,string"`
	Shade  shade             `json:"shade"`
	Shades map[shade]float32 `json:"shades"`
	Any    any               `json:"any"`
	Raw    json.RawMessage   `json:"raw"`
	Bytes  []byte            `json:"bytes"`
	Ratio  float64           `json:"x y\u2028"`
}

type wholes struct {
	ID    string                         `json:"id" onto:"key"`
	One   part                           `json:"one"`
	None  *part                          `json:"none"`
	Many  []part                         `json:"many"`
	Some  []*part                        `json:"some"`
	ByNum map[int]part                   `json:"by_num"`
	Named map[string]*part               `json:"named"`
	Deep  map[string][]map[uint8]*[]bool `json:"deep"`
	Pair  [2]part                        `json:"pair"`
	Left  []part                         `json:"left,omitempty"`
}

type looping struct {
	ID   string             `json:"id" onto:"key"`
	Next *looping           `json:"next,omitempty"`
	Kids []loop             `json:"kids"`
	By   map[string]looping `json:"by"`
}

type loop struct {
	Day  onto.Date       `json:"day"`
	Kids []loop          `json:"kids,omitempty"`
	By   map[string]loop `json:"by,omitempty"`
}

type outer struct {
	looping
	*Common
	Also Extra `json:"also"`
}

// Ring and Chain contain and embed each other, and themselves.
type Ring struct {
	*Chain
	By map[string]*Chain `json:"by,omitempty"`
}

type Chain struct {
	*Chain
	Rings []Ring `json:"rings"`
	Last  *Ring  `json:"last,omitempty"`
	N     int    `json:"n"`
}

type ringed struct {
	ID   string `json:"id" onto:"key"`
	Ring Ring   `json:"ring"`
	Also *Chain `json:"also"`
}

// What a struct stores, what a map of the same values stores, and what encoding/json makes of
// the struct, stored by name, are the same; and the struct comes back.
func TestStructsAreStoredLikeTheirJSON(t *testing.T) {
	t.Run("wholes", func(t *testing.T) { storedAlike[wholes](t) })
	t.Run("looping", func(t *testing.T) { storedAlike[looping](t) })
	t.Run("ringed", func(t *testing.T) { storedAlike[ringed](t) })
	t.Run("outer", func(t *testing.T) { storedAlike[outer](t) })
}

func storedAlike[T any](t *testing.T) {
	everywhereDrawn(t, 100, func(w world, t *rapid.T) {
		s, err := store.Open(w.Context(), w.handle(), onto.TypeOf[T]().As("Person"))
		if err != nil {
			t.Fatal(err)
		}
		var thing T
		fill(t, reflect.ValueOf(&thing).Elem(), "", 4)
		text, err := json.Marshal(thing)
		if err != nil {
			t.Fatal(err)
		}
		values, err := modelParse(text)
		if err != nil {
			t.Fatal(err)
		}
		var stored []string
		for _, way := range []any{thing, onto.Entity{Type: "Person", Fields: json.RawMessage(text)}, onto.Entity{Type: "Person", Fields: values}} {
			if _, err := s.Commit(w.Context(), onto.Draft{}.Delete(onto.EntityID("Person", "ada"))); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Commit(w.Context(), onto.Draft{}.Ensure(way)); err != nil {
				t.Fatalf("%T: %v\n%s", way, err, text)
			}
			v, err := s.Now().Get(w.Context(), onto.EntityID("Person", "ada"))
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, string(v.Fields))
		}
		if stored[0] != stored[1] || stored[0] != stored[2] {
			t.Fatalf("stored\n%s", strings.Join(stored, "\n"))
		}
		got, err := store.Get[T](w.Context(), s.Now(), "ada")
		if err != nil {
			t.Fatalf("%v\n%s", err, stored[0])
		}
		if again, err := json.Marshal(got); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("got  %s, %v\nwant %s\nfrom %s", again, err, text, stored[0])
		}
	})
}

// fill draws a value of a Go type whose JSON comes back as it was.
func fill(t *rapid.T, v reflect.Value, tag reflect.StructTag, depth int) {
	var pointer any
	if v.CanInterface() { // it is no embedded struct whose type is not exported
		pointer = v.Addr().Interface()
	}
	switch pointer.(type) {
	case *time.Time:
		v.Set(reflect.ValueOf(time.UnixMicro(rapid.Int64Range(1, 1<<50).Draw(t, "time")).UTC()))
		return
	case *onto.Date:
		v.Set(reflect.ValueOf(onto.Date{Year: 2000, Month: 1, Day: 1}.AddDays(rapid.IntRange(0, 9999).Draw(t, "day"))))
		return
	case *shade:
		v.Set(reflect.ValueOf(shade{uint8(rapid.IntRange(0, 9).Draw(t, "shade")), 7}))
		return
	case *json.RawMessage:
		v.SetBytes(modelJSON(drawAny(t)))
		return
	case *any:
		v.Set(reflect.ValueOf(drawAny(t)))
		return
	}
	if words := tag.Get("onto"); strings.HasPrefix(words, "enum=") {
		choices, _, _ := strings.Cut(strings.TrimPrefix(words, "enum="), ",") // a default may follow
		choice := rapid.SampledFrom(strings.Split(choices, "|")).Draw(t, "choice")
		if v.Kind() == reflect.String {
			v.SetString(choice)
		} else {
			n, _ := strconv.ParseInt(choice, 10, 64)
			v.SetInt(n)
		}
		return
	} else if words == "key" {
		v.SetString("ada")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct {
				fill(t, v.Field(i), f.Tag, depth-1)
			}
		}
	case reflect.Pointer:
		if depth > 0 && rapid.Bool().Draw(t, "pointer") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), "", depth)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, min(2, max(0, depth))).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), "", depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, min(2, max(0, depth))).Draw(t, "entries") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, "", depth-1)
			fill(t, value, "", depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "Oslo", "a.b", "<\u2028\"\\>", "[]"}).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 0.5, 3, -1e21, 1e-7}).Draw(t, "float"))
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(rapid.IntRange(0, 255).Draw(t, "uint")))
	default:
		v.SetInt(int64(rapid.IntRange(-100, 100).Draw(t, "int")))
	}
}
