package codec_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto/internal/codec"
)

func TestAppendValue(t *testing.T) {
	type inner struct {
		B int `json:"b"`
		A any `json:"a"`
	}
	type word string
	seven := 7
	var none *int
	at := time.Date(2026, 2, 10, 13, 34, 56, 789012345, time.FixedZone("", 3600))
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{none, "null"},
		{&seven, "7"},
		{true, "true"},
		{int8(-8), "-8"},
		{uint64(math.MaxInt64), "9223372036854775807"},
		{1.0, "1"},
		{float32(0.1), "0.1"},
		{float32(16777216), "16777216"},
		{1e20, "1e20"},
		{"<é\n>", `"<é\n>"`},
		{word("w"), `"w"`},
		{[]byte{0, 255}, `"AP8="`},
		{at, `"2026-02-10T12:34:56.789012+00:00"`},
		{&at, `"2026-02-10T12:34:56.789012+00:00"`},
		{netip.MustParseAddr("::1"), `"::1"`},
		{json.Number("1.50"), "1.5"},
		{json.RawMessage(`{"b": 1, "a": 2.0}`), `{"a":2,"b":1}`},
		{[]any{1, "x", nil, []int{2}}, `[1,"x",null,[2]]`},
		{[2]bool{true}, "[true,false]"},
		{[]string(nil), "null"},
		{map[string]int(nil), "null"},
		{map[word]any{"b": at, "a": map[string]any{}}, `{"a":{},"b":"2026-02-10T12:34:56.789012+00:00"}`},
		{map[int]string{2: "b", 1: "a"}, `{"1":"a","2":"b"}`},
		{inner{1, map[string]any{"d": 1.0, "c": "x"}}, `{"a":{"c":"x","d":1},"b":1}`},
	} {
		got, err := codec.AppendValue([]byte("="), reflect.ValueOf(c.value))
		if err != nil || string(got) != "="+c.want {
			t.Errorf("%T %v: got %s, %v, want =%s", c.value, c.value, got, err, c.want)
		}
	}
}

func TestAppendValueRefuses(t *testing.T) {
	cycle := map[string]any{}
	cycle["again"] = []any{cycle}
	circle := new(any)
	*circle = circle
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"NaN":             {math.NaN(), "not finite"},
		"infinity":        {[]float32{float32(math.Inf(1))}, "not finite"},
		"large uint":      {uint64(math.MaxInt64 + 1), "integer 9223372036854775808 is outside int64"},
		"invalid UTF-8":   {[]string{"\xff"}, "not valid UTF-8"},
		"name with U+0":   {map[string]int{"a\x00": 1}, "U+0000"},
		"cycle":           {cycle, "nested deeper than 64"},
		"circle":          {circle, "round in a circle"},
		"early time":      {time.Time{}.Add(-1), "year 0 is outside 1 to 9999"},
		"channel":         {make(chan int), "unsupported type"},
		"raw, duplicates": {json.RawMessage(`{"x":{"a":1,"a":2}}`), `JSON at $.x: duplicate name "a"`},
		"raw, broken":     {json.RawMessage(`{`), "unexpected end"},
	} {
		if got, err := codec.AppendValue(nil, reflect.ValueOf(c.value)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %s, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestAppendValueCountsDepth(t *testing.T) {
	deep := func(levels int) any {
		raw := json.RawMessage(strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1))
		return []any{raw}
	}
	if _, err := codec.AppendValue(nil, reflect.ValueOf(deep(codec.MaxDepth))); err != nil {
		t.Errorf("at the limit: got %v, want no error", err)
	}
	var syntax *codec.SyntaxError
	if _, err := codec.AppendValue(nil, reflect.ValueOf(deep(codec.MaxDepth+1))); !errors.As(err, &syntax) {
		t.Errorf("above the limit: got %v, want a SyntaxError", err)
	}
}
