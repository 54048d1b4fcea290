package codec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
)

// writer draws JSON texts in all the ways JSON allows a value to be written.
type writer struct {
	t *rapid.T
	b strings.Builder
}

func drawJSON(t *rapid.T) string {
	w := &writer{t: t}
	w.value(4)
	return w.b.String()
}

func (w *writer) space() {
	w.b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t\r\n "}).Draw(w.t, "space"))
}

func (w *writer) value(depth int) {
	w.space()
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(w.t, "kind") {
	case 0:
		w.b.WriteString(rapid.SampledFrom([]string{"null", "true", "false"}).Draw(w.t, "word"))
	case 1:
		fmt.Fprint(&w.b, rapid.Int64().Draw(w.t, "int"))
	case 2:
		w.b.WriteString(drawFloat(w.t))
	case 3:
		w.text(rapid.String().Draw(w.t, "text"))
	case 4:
		w.list(depth)
	case 5:
		w.object(depth)
	}
	w.space()
}

func drawFloat(t *rapid.T) string {
	f := rapid.Float64().Draw(t, "float")
	if math.IsInf(f, 0) || math.IsNaN(f) {
		f = 0
	}
	format := rapid.SampledFrom([]byte("eEfg")).Draw(t, "format")
	s := strconv.FormatFloat(f, format, -1, 64)
	if !strings.ContainsAny(s, ".eE") {
		s += ".0"
	}
	return s
}

func (w *writer) list(depth int) {
	w.b.WriteByte('[')
	n := rapid.IntRange(0, 4).Draw(w.t, "length")
	for i := range n {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.value(depth - 1)
	}
	if n == 0 {
		w.space()
	}
	w.b.WriteByte(']')
}

func (w *writer) object(depth int) {
	names := rapid.SliceOfNDistinct(rapid.StringN(0, 4, -1), 0, 5, readable).Draw(w.t, "names")
	w.b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.space()
		w.text(name)
		w.space()
		w.b.WriteByte(':')
		w.value(depth - 1)
	}
	w.b.WriteByte('}')
}

// readable is what is left of a text that JSON may hold.
func readable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "0")
}

func (w *writer) text(s string) {
	w.b.WriteByte('"')
	for _, r := range readable(s) {
		must := r < ' ' || r == '"' || r == '\\'
		if !must && rapid.IntRange(0, 3).Draw(w.t, "escape") > 0 {
			w.b.WriteRune(r)
			continue
		}
		if r > math.MaxUint16 {
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04X\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&w.b, `\u%04x`, r)
	}
	w.b.WriteByte('"')
}

// meaning decodes JSON with encoding/json. Whole numbers become int64.
func meaning(t *rapid.T, text []byte) any {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("encoding/json refuses %s: %v", text, err)
	}
	return plain(v)
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		if n := int64(f); float64(n) == f && n != math.MaxInt64 {
			return n
		}
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

func TestCanonicalMeansTheSameAndIsAFixedPoint(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		src := drawJSON(t)
		once, err := codec.AppendCanonical(nil, []byte(src))
		if err != nil {
			t.Fatalf("AppendCanonical(%s): %v", src, err)
		}
		if got, want := meaning(t, once), meaning(t, []byte(src)); !reflect.DeepEqual(got, want) {
			t.Fatalf("meaning of %s: got %v, want %v", src, got, want)
		}
		twice, err := codec.AppendCanonical(nil, once)
		if err != nil || !bytes.Equal(twice, once) {
			t.Fatalf("canonical twice: got %s, %v, want %s", twice, err, once)
		}
	})
}

func TestMembersRoundTrip(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		w := &writer{t: t}
		w.object(3)
		src, err := codec.AppendCanonical(nil, []byte(w.b.String()))
		if err != nil {
			t.Fatal(err)
		}
		list := codec.Members(src)
		if !slices.IsSortedFunc(list, func(a, b codec.Member) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("members of %s are not sorted: %v", src, list)
		}
		if got := codec.AppendObject(nil, list); !bytes.Equal(got, src) {
			t.Fatalf("round trip: got %s, want %s", got, src)
		}
		var decoded map[string]json.RawMessage
		if err := json.Unmarshal(src, &decoded); err != nil || len(decoded) != len(list) {
			t.Fatalf("%s: got %d members, want %d, %v", src, len(list), len(decoded), err)
		}
		for _, m := range list {
			if got, want := string(m.Value), string(decoded[m.Name]); got != want {
				t.Fatalf("member %q: got %s, want %s", m.Name, got, want)
			}
		}
	})
}

func TestFloatsComeBackExactly(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		f := rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }).Draw(t, "f")
		text, err := codec.AppendFloat(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := strconv.ParseFloat(string(text), 64); err != nil || back != f {
			t.Fatalf("AppendFloat(%v) = %s, which reads as %v, %v", f, text, back, err)
		}
		if again, err := codec.AppendCanonical(nil, text); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%s is not canonical: got %s, %v", text, again, err)
		}
	})
}

func TestStringsComeBackExactly(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		text, err := codec.AppendString(nil, s)
		if ok := utf8.ValidString(s) && !strings.Contains(s, "\x00"); ok != (err == nil) {
			t.Fatalf("AppendString(%q): got error %v, want accepted %v", s, err, ok)
		}
		if err == nil && codec.Unquote(text) != s {
			t.Fatalf("got %q, want %q", codec.Unquote(text), s)
		}
	})
}
