package records_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// drawText draws text, often of a kind that formats find hard.
func drawText(t *rapid.T, what string) string {
	hard := rapid.SampledFrom([]string{
		"", " ", `"`, `""`, `"a"`, `"\n"`, ",", "a,b", "\n", "\r", "\r\n", "a\r\nb", "\ufeff", "\u2028", " x ", "\tx", `\`, `\.`, "null", "true", "0", "{}",
		"=1+1", "é", "e\u0301", "日本", "😀", "\x7f", "\x01", `'`, ";", "#", "put", "delete",
	})
	plain := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "0") })
	return rapid.OneOf(hard, plain).Draw(t, what)
}

func drawKey(t *rapid.T, what string) string {
	key := drawText(t, what)
	for len(key) > 200 {
		_, size := cutRune(key)
		key = key[:len(key)-size]
	}
	if strings.TrimSpace(key) == "" {
		return key + "k"
	}
	return key
}

func cutRune(s string) (rune, int) {
	r := []rune(s)
	last := r[len(r)-1]
	return last, len(string(last))
}

// drawValue draws any JSON value but null.
func drawValue(t *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.Bool().Draw(t, "bool")
	case 1:
		return rapid.Int64().Draw(t, "int")
	case 2:
		return drawFloat(t)
	case 3:
		return drawText(t, "text")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
	return drawObject(t, depth)
}

func drawObject(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		object[drawText(t, "name")] = drawValue(t, depth-1)
	}
	return object
}

func drawFloat(t *rapid.T) float64 {
	return rapid.OneOf(rapid.Float64Range(-1e300, 1e300), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 1, -1, 5e-324, 1e20, 1 << 53})).Draw(t, "float")
}

// drawFields draws the fields of a customer, each of the optional ones or not.
func drawFields(t *rapid.T) map[string]any {
	at := time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
	fields := map[string]any{
		"name": drawText(t, "name"), "tier": drawText(t, "tier"), "note": drawText(t, "note"),
		"age": rapid.Int64().Draw(t, "age"), "ratio": drawFloat(t), "active": rapid.Bool().Draw(t, "active"),
		"since": at, "profile": drawObject(t, 3), "tags": []any{drawValue(t, 2)}, "extra": drawValue(t, 3),
	}
	for _, name := range []string{"tier", "note", "age", "ratio", "active", "since", "profile", "tags", "extra"} {
		if rapid.Bool().Draw(t, "without "+name) {
			delete(fields, name)
		}
	}
	return fields
}

// drawDraft draws a commit with things of every type.
func drawDraft(t *rapid.T) onto.Draft {
	var d onto.Draft
	things := map[onto.Identity]any{}
	for range rapid.IntRange(0, 6).Draw(t, "things") {
		left, right := drawKey(t, "left"), drawKey(t, "right")
		counter := fmt.Sprint(rapid.Int64().Draw(t, "counter"))
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 0:
			things[onto.EntityID("Customer", left)] = onto.Entity{Type: "Customer", Key: left, Fields: drawFields(t)}
		case 1:
			n := rapid.Int64().Draw(t, "n")
			things[onto.EntityID("Counter", fmt.Sprint(n))] = onto.Entity{Type: "Counter", Fields: map[string]any{"n": n}}
		case 2:
			fields := map[string]any{}
			if rapid.Bool().Draw(t, "field") {
				fields["left_key"] = drawText(t, "left_key")
			}
			things[onto.RelationID("Likes", left, right)] = onto.Relation{Type: "Likes", Left: left, Right: right, Fields: fields}
		case 3:
			things[onto.RelationID("Stint", left, counter)] = onto.Relation{Type: "Stint", Left: left, Right: counter, Instance: drawKey(t, "instance"),
				Fields: map[string]any{"label": drawText(t, "label"), "seats": rapid.Int64().Draw(t, "seats")}}
		case 4:
			things[onto.RelationID("Seat", left, counter)] = onto.Relation{Type: "Seat", Left: left, Right: counter,
				Fields: map[string]any{"row": drawKey(t, "row")}}
		}
	}
	for _, thing := range things {
		d = d.Ensure(thing)
	}
	return d
}

// What is exported, imported and exported again is the same, byte for byte.
func TestRoundTrip(t *testing.T) {
	names := []string{"Customer", "Counter", "Likes", "Stint", "Seat"}
	effort.Check(t, 1000, func(rt *rapid.T) {
		open := inMemory
		if rapid.IntRange(0, 9).Draw(rt, "backend") == 9 {
			open = inSQLite
		}
		s := open(t)
		if _, err := s.Commit(t.Context(), drawDraft(rt)); err != nil {
			rt.Fatal(err)
		}
		all := mustExport(t, s, nil)
		checkCanonical(rt, all)
		target := open(t)
		mustImport(t, target, all, nil)
		if got := mustExport(t, target, nil); got != all {
			rt.Fatalf("JSON Lines: got\n%s\nwant\n%s", got, all)
		}
		target = open(t)
		for _, name := range names {
			roundTripCSV(rt, t, s, target, name)
		}
		if got := mustExport(t, target, nil); got != all {
			rt.Fatalf("by CSV: got\n%s\nwant\n%s", got, all)
		}
	})
}

// roundTripCSV moves one type to another store.
func roundTripCSV(rt *rapid.T, t *testing.T, s, target *store.Store, name string) {
	metadata := rapid.Bool().Draw(rt, "metadata")
	text := mustExport(t, s, &records.ExportOptions{Format: records.CSV, Types: []string{name}, Metadata: metadata})
	_, err := records.Import(t.Context(), target, strings.NewReader(text), &records.ImportOptions{Format: records.CSV, Type: name})
	if err != nil {
		rt.Fatalf("%s: %v\n%q", name, err, text)
	}
	plain := &records.ExportOptions{Format: records.CSV, Types: []string{name}}
	if got, want := mustExport(t, target, plain), mustExport(t, s, plain); got != want {
		rt.Fatalf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// checkCanonical fails unless each line is JSON and the lines of a type are in
// order.
func checkCanonical(t *rapid.T, text string) {
	var ids []onto.Identity
	for line := range strings.Lines(text) {
		var r struct {
			Kind     onto.Kind `json:"kind"`
			Type     string    `json:"type"`
			Key      string    `json:"key"`
			Left     string    `json:"left_key"`
			Right    string    `json:"right_key"`
			Instance string    `json:"instance_key"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		ids = append(ids, onto.Identity{Kind: r.Kind, Type: r.Type, Key: r.Key, Left: r.Left, Right: r.Right, Instance: r.Instance})
	}
	if !slices.IsSortedFunc(ids, onto.Identity.Compare) {
		t.Fatalf("not in order:\n%s", text)
	}
}
