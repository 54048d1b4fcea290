package source_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto/store"
)

// encode is answers as they are kept.
func encode(t testing.TB, a *answers) []byte {
	t.Helper()
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(a); err != nil {
		t.Fatal(err)
	}
	return []byte(text.String())
}

// recorded are the answers about a file that are kept, as JSON has them.
func recorded(t testing.TB, name string) any {
	t.Helper()
	return decode(t, read(t, filepath.Join("testdata", name+".json")))
}

func decode(t testing.TB, data []byte) (value any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// wantRecorded asks a store everything, and fails where it does not answer what is
// recorded of the file of that name. But says of a place in the answers, such as
// commits/3/time, whether it may differ.
func wantRecorded(t testing.TB, s *store.Store, name string, but func(place string) bool) {
	t.Helper()
	differ(t, "", decode(t, encode(t, ask(t, s, name))), recorded(t, name), but)
}

// differ compares answers, and fails for each place where they differ.
func differ(t testing.TB, place string, got, want any, but func(string) bool) {
	t.Helper()
	if reflect.DeepEqual(got, want) || place != "" && but != nil && but(place) {
		return
	}
	below := func(name string) string { return strings.TrimPrefix(place+"/"+name, "/") }
	switch g := got.(type) {
	case map[string]any:
		if w, ok := want.(map[string]any); ok {
			names := slices.Sorted(maps.Keys(w))
			for name := range g {
				if _, ok := w[name]; !ok {
					names = append(names, name)
				}
			}
			for _, name := range names {
				differ(t, below(name), g[name], w[name], but)
			}
			return
		}
	case []any:
		if w, ok := want.([]any); ok && named(g) != nil && named(w) != nil {
			differ(t, place, named(g), named(w), but)
			return
		}
		if w, ok := want.([]any); ok && len(w) == len(g) {
			for i := range g {
				differ(t, below(fmt.Sprint(i)), g[i], w[i], but)
			}
			return
		}
	}
	t.Errorf("%s: got\n%s\nwant\n%s", place, plain(got), plain(want))
}

// named is a list by what its elements are named for: an answer for its question, a commit
// or a moment for its number. It is nil if they have no such names.
func named(list []any) map[string]any {
	all := map[string]any{}
	for _, element := range list {
		m, ok := element.(map[string]any)
		if !ok {
			return nil
		}
		i := slices.IndexFunc([]string{"ask", "id", "commit"}, func(name string) bool { return m[name] != nil })
		if i < 0 {
			return nil
		}
		all[fmt.Sprint(m[[]string{"ask", "id", "commit"}[i]])] = m
	}
	if len(all) < len(list) {
		return nil
	}
	return all
}

func plain(value any) string {
	if list, ok := value.([]any); ok {
		var lines []string
		for _, v := range list {
			lines = append(lines, plain(v))
		}
		return strings.Join(lines, "\n")
	}
	return fmt.Sprint(value)
}
