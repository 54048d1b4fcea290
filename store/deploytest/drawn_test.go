package deploytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
)

// The fields and values that are drawn here have a model of their own: what fits, and how it
// is stored, is written down again, so that a mistake in package onto is not repeated.

// drawnNames are the names of fields below the top: some need quotes in a path.
var drawnNames = []string{"a", "b", "city", "Name", "x y", "q\"q", "dot.ted", "[]", "é", "", "a\\b", "\u2028", "0"}

// drawnTop are the names of fields at the top.
var drawnTop = []string{"f1", "f2", "f3", "home", "lines"}

func drawNames(t *rapid.T, from []string, most int) []string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, most, rapid.ID[string]).Draw(t, "names")
	slices.Sort(names)
	return names
}

// drawType draws a type of entities with nested fields.
func drawType(t *rapid.T) onto.Schema {
	s := onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	for _, name := range drawNames(t, drawnTop, 3) {
		s.Fields = append(s.Fields, drawNamed(t, name, 3))
	}
	s.SortFields()
	return s
}

// drawNamed draws a field of an object.
func drawNamed(t *rapid.T, name string, depth int) onto.Field {
	f := drawKind(t, depth)
	f.Name = name
	switch rapid.IntRange(0, 3).Draw(t, "absence") {
	case 0:
		f.Optional = true
	case 1:
		if f.Type.Scalar() {
			value, _, _ := modelFit(&f, drawFit(t, &f))
			f.Default = modelJSON(value)
		}
	}
	return f
}

// drawKind draws what values of a field are.
func drawKind(t *rapid.T, depth int) onto.Field {
	kinds := []onto.FieldType{onto.Object, onto.List, onto.Object, onto.String, onto.Int, onto.Float, onto.Bool, onto.Time, onto.DateOnly, onto.Any}
	if depth == 0 {
		kinds = kinds[3:]
	}
	f := onto.Field{Type: rapid.SampledFrom(kinds).Draw(t, "type")}
	some := rapid.IntRange(0, 3).Draw(t, "declared") > 0
	switch {
	case !some:
	case f.Type == onto.String && rapid.Bool().Draw(t, "enum"):
		f.Enum = []json.RawMessage{[]byte(`"Gold"`), []byte(`"Silver"`)}
	case f.Type == onto.Int && rapid.Bool().Draw(t, "enum"):
		f.Enum = []json.RawMessage{[]byte("-3"), []byte("2"), []byte("10")}
	case f.Type == onto.List:
		f.Items = drawElement(t, depth-1)
	case f.Type == onto.Object && rapid.IntRange(0, 2).Draw(t, "map") == 0:
		f.Values = drawElement(t, depth-1)
	case f.Type == onto.Object:
		f.Fields = []onto.Field{}
		for _, name := range drawNames(t, drawnNames, 3) {
			f.Fields = append(f.Fields, drawNamed(t, name, depth-1))
		}
	}
	return f
}

func drawElement(t *rapid.T, depth int) *onto.Field {
	f := drawKind(t, depth)
	if f.Type == onto.Any {
		return nil
	}
	f.Optional = rapid.Bool().Draw(t, "null")
	return &f
}

// drawAny draws what a field without a declaration can hold.
func drawAny(t *rapid.T) any {
	return rapid.SampledFrom([]any{true, int64(7), 0.5, "", "Gold", "2026-02-10", []any{}, []any{nil, int64(1)},
		map[string]any{}, map[string]any{"city": nil, "x": []any{"y"}}}).Draw(t, "any")
}

// drawFit draws a value that fits, in one of its forms.
func drawFit(t *rapid.T, f *onto.Field) any {
	if f.Enum != nil {
		v, _ := modelParse(rapid.SampledFrom(f.Enum).Draw(t, "choice"))
		return v
	}
	switch f.Type {
	case onto.String:
		return rapid.SampledFrom([]string{"", "Oslo", "\u2028<&>", "\"\\\n", "😀"}).Draw(t, "string")
	case onto.Int:
		return rapid.SampledFrom([]int64{0, 1, -1, 1<<63 - 1, -1 << 63}).Draw(t, "int")
	case onto.Float:
		return rapid.SampledFrom([]any{0.5, -1e300, int64(3), 1e-7}).Draw(t, "float")
	case onto.Bool:
		return rapid.Bool().Draw(t, "bool")
	case onto.Time:
		return rapid.SampledFrom([]string{"2026-02-10", "2026-02-10T12:00:00Z", "2026-02-10T12:00:00.123456789+02:00", "2026-02-10T12:00:00.000000+00:00"}).Draw(t, "time")
	case onto.DateOnly:
		return rapid.SampledFrom([]string{"2026-02-10", "2024-02-29", "0001-01-01"}).Draw(t, "date")
	case onto.List:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawInside(t, f.Items))
		}
		return list
	case onto.Object:
		object := map[string]any{}
		if f.Fields == nil {
			for _, name := range drawNames(t, drawnNames, 3) {
				object[name] = drawInside(t, f.Values)
			}
		}
		for i := range f.Fields {
			if inner := &f.Fields[i]; !mayMiss(inner) || rapid.Bool().Draw(t, "given") {
				object[inner.Name] = drawFit(t, inner)
			} else if rapid.Bool().Draw(t, "null") {
				object[inner.Name] = nil
			}
		}
		return object
	}
	return drawAny(t)
}

// drawInside draws an element of a list or a value of a map.
func drawInside(t *rapid.T, f *onto.Field) any {
	switch {
	case f == nil:
		return drawAny(t)
	case f.Optional && rapid.IntRange(0, 3).Draw(t, "null") == 0:
		return nil
	}
	return drawFit(t, f)
}

func mayMiss(f *onto.Field) bool { return f.Optional || f.Default != nil }

// drawFields draws the fields of an entity that fit its type.
func drawFields(t *rapid.T, s *onto.Schema, key string) map[string]any {
	fields := drawFit(t, &onto.Field{Type: onto.Object, Fields: s.Fields}).(map[string]any)
	fields["id"] = key
	return fields
}

// spoil puts another value somewhere into one that is drawn, which may or may not fit.
func spoil(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v)+1)
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		if len(names) > 0 && rapid.IntRange(0, 3).Draw(t, "deeper") > 0 {
			name := rapid.SampledFrom(names).Draw(t, "spoiled")
			if rapid.IntRange(0, 4).Draw(t, "drop") == 0 {
				delete(v, name)
			} else {
				v[name] = spoil(t, v[name])
			}
			return v
		}
		if rapid.Bool().Draw(t, "more") {
			v[rapid.SampledFrom(drawnNames).Draw(t, "added")] = drawAny(t)
			return v
		}
	case []any:
		if len(v) > 0 && rapid.IntRange(0, 3).Draw(t, "deeper") > 0 {
			i := rapid.IntRange(0, len(v)-1).Draw(t, "spoiled")
			v[i] = spoil(t, v[i])
			return v
		}
	}
	return rapid.SampledFrom([]any{nil, true, int64(5), int64(2), 2.5, "Bronze", "2026-02-30", []any{}, []any{nil}, map[string]any{}, map[string]any{"zip": int64(1)}}).Draw(t, "other")
}

// modelFit is the stored form of a value, or the paths of what does not fit.
func modelFit(f *onto.Field, v any) (stored any, present bool, unfit []string) {
	return fitAt(f, v, "")
}

// fitAt is modelFit for a value at a path. What is null or absent is not present.
func fitAt(f *onto.Field, v any, path string) (any, bool, []string) {
	if v == nil {
		switch {
		case f.Default != nil:
			v, _ = modelParse(f.Default)
			return v, true, nil
		case f.Optional:
			return nil, false, nil
		}
		return nil, false, []string{path}
	}
	stored, ok := fitScalar(f.Type, v)
	if ok && f.Enum != nil {
		ok = slices.ContainsFunc(f.Enum, func(e json.RawMessage) bool { return bytes.Equal(e, modelJSON(stored)) })
	}
	if !ok {
		return nil, false, []string{path}
	}
	var unfit []string
	inside := func(f *onto.Field, v any, path string) any {
		if v == nil && f.Optional {
			return nil
		}
		stored, _, bad := fitAt(f, v, path)
		unfit = append(unfit, bad...)
		return stored
	}
	switch {
	case f.Items != nil:
		list := []any{}
		for i, v := range v.([]any) {
			list = append(list, inside(f.Items, v, path+"["+strconv.Itoa(i)+"]"))
		}
		stored = list
	case f.Values != nil:
		object := map[string]any{}
		for name, v := range v.(map[string]any) {
			object[name] = inside(f.Values, v, modelPath(path, name))
		}
		stored = object
	case f.Fields != nil:
		stored, unfit = fitFields(f.Fields, v.(map[string]any), path)
	}
	return stored, true, unfit
}

func fitFields(fields []onto.Field, given map[string]any, path string) (stored map[string]any, unfit []string) {
	stored = map[string]any{}
	for name := range given {
		if !slices.ContainsFunc(fields, func(f onto.Field) bool { return f.Name == name }) {
			unfit = append(unfit, modelPath(path, name))
		}
	}
	for i := range fields {
		value, present, bad := fitAt(&fields[i], given[fields[i].Name], modelPath(path, fields[i].Name))
		unfit = append(unfit, bad...)
		if present {
			stored[fields[i].Name] = value
		}
	}
	return stored, unfit
}

// fitScalar is the stored form of a value whose inside is not looked at.
func fitScalar(t onto.FieldType, v any) (any, bool) {
	text, isText := v.(string)
	_, isInt := v.(int64)
	_, isFloat := v.(float64)
	ok := true
	switch t {
	case onto.String:
		ok = isText
	case onto.Int:
		ok = isInt
	case onto.Float:
		ok = isInt || isFloat
	case onto.Bool:
		_, ok = v.(bool)
	case onto.List:
		_, ok = v.([]any)
	case onto.Object:
		_, ok = v.(map[string]any)
	case onto.DateOnly:
		_, err := time.Parse(time.DateOnly, text)
		ok = isText && err == nil
	case onto.Time:
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			at, err = time.Parse(time.DateOnly, text)
		}
		return at.UTC().Truncate(time.Microsecond).Format("2006-01-02T15:04:05.000000+00:00"), isText && err == nil
	}
	return v, ok
}

// modelPath is the path of a field inside the value at another path.
func modelPath(path, name string) string {
	word := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" && (name[0] < '0' || name[0] > '9')
	if !word {
		name = string(modelJSON(name))
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// modelJSON is the JSON of a value with sorted names.
func modelJSON(v any) json.RawMessage {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	plain := strings.TrimSuffix(text.String(), "\n")
	return json.RawMessage(strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028").Replace(plain))
}

// modelParse reads JSON into the values that are drawn.
func modelParse(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return plainNumbers(v), err
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	}
	return v
}

// copied is a value with nothing in common with the one that is given.
func copied(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = copied(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name := range v {
			object[name] = copied(v[name])
		}
		return object
	}
	return v
}

// shuffled is the JSON of a value with names in any order and spaces.
func shuffled(t *rapid.T, v any) string {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = shuffled(t, v[i])
		}
		return "[ " + strings.Join(parts, " , ") + "]"
	case map[string]any:
		var names []string
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		if rapid.Bool().Draw(t, "backwards") {
			slices.Reverse(names)
		}
		for i, name := range names {
			quoted, _ := json.Marshal(name) // with more escapes than the stored form has
			names[i] = fmt.Sprintf("\n%s :%s", quoted, shuffled(t, v[name]))
		}
		return "{" + strings.Join(names, ",") + "}"
	}
	text, _ := json.Marshal(v)
	return string(text)
}
