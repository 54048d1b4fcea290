package computed_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/internal/effort"
)

func schemaOf(t *testing.T, typ onto.Type) *onto.Schema {
	t.Helper()
	s, err := typ.Schema()
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

type small struct {
	ID     string `json:"id"`
	Chat   string `json:"chat"`
	Zone   *int   `json:"zone"`
	Upper  string `json:"Upper"`
	Inside struct {
		ID string `json:"id"`
	} `json:"inside"`
}

func smallType() onto.Type {
	return onto.TypeOf[small]().As("Small").Keyed("id", "inside.id").TextSearch()
}

func TestFill(t *testing.T) {
	r := computed.Of(schemaOf(t, smallType()))
	const plain = `{"Upper":"U","chat":"c","id":"a/%","inside":{"id":"é\n"},"zone":7}`
	const want = `{"Upper":"U","chat":"c","id":"a/%","inside":{"id":"é\n"},"onto_id":"a/%","onto_key":"é\n/a%2F%25","onto_text":"U\nc\na/%\né\n","zone":7}`
	for _, given := range []string{plain, want, strings.Replace(want, "é\\n/a", "other", 1)} {
		got, err := r.Fill([]byte(given), nil)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v\nwant %s", got, err, want)
		}
		if got := computed.Strip([]byte(given)); string(got) != plain {
			t.Errorf("stripped: got %s, want %s", got, plain)
		}
	}
	some, err := r.Fill([]byte(plain), func(name string) bool { return name == "onto_id" })
	if err != nil || string(some) != `{"Upper":"U","chat":"c","id":"a/%","inside":{"id":"é\n"},"onto_id":"a/%","zone":7}` {
		t.Errorf("got %s, %v; want only the id", some, err)
	}
	id := onto.EntityID("Small", "é\n/a%2F%25")
	if err := r.Check(id, []byte(want)); err != nil {
		t.Error(err)
	}
	for fields, says := range map[string]string{
		plain: "field onto_id: ",
		strings.Replace(want, `"onto_text":"U`, `"onto_text":"V`, 1): "field onto_text: ",
	} {
		if err := r.Check(id, []byte(fields)); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
	if err := r.Check(onto.EntityID("Small", "x"), []byte(want)); err == nil || !strings.Contains(err.Error(), "which is not the key") {
		t.Errorf("another key: got %v", err)
	}
	if made, err := computed.Of(&onto.Schema{}).Fill([]byte(plain), nil); err != nil || string(made) != plain {
		t.Errorf("without rules: got %s, %v", made, err)
	}
}

// wide has texts, and what is none, wherever these can be.
func wide() onto.Schema {
	deep := []onto.Field{
		{Name: "\"q\"", Type: onto.String, Optional: true},
		{Name: "at", Type: onto.Time, Optional: true},
		{Name: "free", Type: onto.Any, Optional: true},
		{Name: "n", Type: onto.Int, Optional: true},
		{Name: "onto_text", Type: onto.String, Optional: true}, // below the top a name like others
	}
	return onto.Schema{Kind: onto.KindEntity, Name: "Wide", Key: "id", Fields: []onto.Field{
		{Name: "days", Type: onto.List, Items: &onto.Field{Type: onto.DateOnly}, Optional: true},
		{Name: "deep", Type: onto.Object, Fields: deep, Optional: true},
		{Name: "each", Type: onto.List, Items: &onto.Field{Type: onto.Object, Fields: deep}, Optional: true},
		{Name: "free", Type: onto.Any, Optional: true},
		{Name: "id", Type: onto.String},
		{Name: "map", Type: onto.Object, Values: &onto.Field{Type: onto.Object, Fields: deep}, Optional: true},
		{Name: "open", Type: onto.Object, Optional: true},
		{Name: "tags", Type: onto.List, Optional: true},
		{Name: "when", Type: onto.Time, Optional: true},
		{Name: "zone", Type: onto.String, Optional: true},
	}}
}

// texts is what the rule computes, in words of its own: of the decoded value, with the names
// sorted, where what is declared as a time or a date is left out.
func texts(f *onto.Field, value any) []string {
	var list []string
	switch value := value.(type) {
	case string:
		if value != "" && (f == nil || f.Type != onto.Time && f.Type != onto.DateOnly) {
			list = append(list, value)
		}
	case []any:
		for _, v := range value {
			var items *onto.Field
			if f != nil {
				items = f.Items
			}
			list = append(list, texts(items, v)...)
		}
	case map[string]any:
		var names []string
		for name := range value {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			var inner *onto.Field
			switch {
			case f == nil:
			case f.Values != nil:
				inner = f.Values
			default:
				if i := slices.IndexFunc(f.Fields, func(f onto.Field) bool { return f.Name == name }); i >= 0 {
					inner = &f.Fields[i]
				}
			}
			list = append(list, texts(inner, value[name])...)
		}
	}
	return list
}

func TestTextsAreThoseOfTheModel(t *testing.T) {
	plain := schemaOf(t, onto.Untyped(wide()))
	r := computed.Of(schemaOf(t, onto.Untyped(wide()).TextSearch()))
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "\n", "\\", `"`, "é😀", "/%"}), rapid.StringN(0, 4, -1))
	text = text.Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
	var anything func(depth int) *rapid.Generator[any]
	anything = func(depth int) *rapid.Generator[any] {
		kinds := []*rapid.Generator[any]{text.AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.Just(any(nil)), rapid.Just[any]("2026-01-02")}
		if depth > 0 {
			kinds = append(kinds, rapid.SliceOfN(anything(depth-1), 0, 3).AsAny(), rapid.MapOfN(text, anything(depth-1), 0, 3).AsAny())
		}
		return rapid.OneOf(kinds...)
	}
	var of func(f *onto.Field) *rapid.Generator[any]
	object := func(fields []onto.Field) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			made := map[string]any{}
			for i := range fields {
				if !fields[i].Optional || rapid.Bool().Draw(t, "has") {
					made[fields[i].Name] = of(&fields[i]).Draw(t, fields[i].Name)
				}
			}
			return made
		})
	}
	of = func(f *onto.Field) *rapid.Generator[any] {
		switch {
		case f.Fields != nil:
			return object(f.Fields)
		case f.Items != nil:
			return rapid.SliceOfN(of(f.Items), 0, 3).AsAny()
		case f.Values != nil:
			return rapid.MapOfN(text, of(f.Values), 0, 3).AsAny()
		}
		switch f.Type {
		case onto.String:
			return text.AsAny()
		case onto.Int:
			return rapid.Int64().AsAny()
		case onto.Time:
			return rapid.Just[any]("2026-01-02T03:04:05Z")
		case onto.DateOnly:
			return rapid.Just[any]("2026-01-02")
		case onto.List:
			return rapid.SliceOfN(anything(2), 0, 3).AsAny()
		case onto.Object:
			return rapid.MapOfN(text, anything(2), 0, 3).AsAny()
		}
		return anything(2).Filter(func(v any) bool { return v != nil })
	}
	whole := object(plain.Fields)
	effort.Check(t, 1000, func(t *rapid.T) {
		value := whole.Draw(t, "value").(map[string]any)
		fields, err := codec.AppendValue(nil, reflect.ValueOf(value))
		if err != nil {
			t.Fatal(err)
		}
		filled, err := r.Fill(fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := codec.AppendCanonical(nil, filled)
		if err != nil || string(canonical) != string(filled) {
			t.Fatalf("not canonical, %v: %s", err, filled)
		}
		var got struct {
			Text *string `json:"onto_text"`
		}
		if err := json.Unmarshal(filled, &got); err != nil || got.Text == nil {
			t.Fatalf("%v: %s", err, filled)
		}
		if want := strings.Join(texts(&onto.Field{Fields: plain.Fields}, value), "\n"); *got.Text != want {
			t.Fatalf("%s: got %q, want %q", fields, *got.Text, want)
		}
		if string(computed.Strip(filled)) != string(fields) {
			t.Fatalf("stripped of %s it is %s", filled, computed.Strip(filled))
		}
	})
}

func TestKeysHaveAnInverse(t *testing.T) {
	part := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("%/2F5a é\"")), 1, 6, -1), rapid.StringN(1, 5, -1)).
		Filter(func(s string) bool { return !strings.Contains(s, "\x00") }) // which JSON of ours does not hold
	r := computed.Of(schemaOf(t, onto.TypeOf[small]().As("Small").Keyed("id", "chat")))
	effort.Check(t, 1000, func(t *rapid.T) {
		shard, id := part.Draw(t, "shard"), part.Draw(t, "id")
		fields, err := codec.AppendValue(nil, reflect.ValueOf(map[string]any{"chat": shard, "id": id}))
		if err != nil {
			t.Fatal(err)
		}
		key, err := r.Key(fields)
		if err != nil || key != onto.ShardedKey(shard, id) {
			t.Fatalf("got %q, %v; want %q", key, err, onto.ShardedKey(shard, id))
		}
		if s, i, err := onto.KeyParts(key); err != nil || s != shard || i != id {
			t.Fatalf("%q has the parts %q, %q, %v; want %q, %q", key, s, i, err, shard, id)
		}
		if s, i, err := onto.KeyParts(onto.ObjectKey(id)); err != nil || s != id || i != id {
			t.Fatalf("%q has the parts %q, %q, %v", onto.ObjectKey(id), s, i, err)
		}
	})
	for _, key := range []string{"", "/", "a/", "/a", "a/b/c", "%", "%2f", "%41", "a%2", "a/%252", "b/%25/"} {
		if shard, id, err := onto.KeyParts(key); (err == nil) != (key == "a/%252") {
			t.Errorf("%q: got %q, %q, %v", key, shard, id, err)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	type message struct {
		ID, Chat, Sender, Text string
	}
	for name, typ := range map[string]onto.Type{
		"key":         onto.TypeOf[message]().Keyed("ID", "ID"),
		"key and id":  onto.TypeOf[message]().Keyed("ID", "Chat"),
		"key to text": onto.TypeOf[message]().Keyed("ID", "Chat").TextSearch(),
	} {
		s, err := typ.Schema()
		if err != nil {
			b.Fatal(err)
		}
		r := computed.Of(&s)
		fields := fmt.Appendf(nil, `{"Chat":"c1","ID":"m1","Sender":"ana","Text":%q}`, strings.Repeat("word ", 8))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Key(fields); err != nil {
					b.Fatal(err)
				}
				if _, err := r.Fill(fields, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
