package onto_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

func changeOf(before, after string) onto.Change {
	version := func(fields string) *onto.Version {
		if fields == "" {
			return nil
		}
		return &onto.Version{Op: onto.Put, Fields: json.RawMessage(fields)}
	}
	return onto.Change{Identity: onto.EntityID("Customer", "c1"), Before: version(before), After: version(after)}
}

func TestChangeNamesTheFieldsInside(t *testing.T) {
	deep := func(leaf string) string {
		return strings.Repeat(`{"a":`, 40) + leaf + strings.Repeat("}", 40)
	}
	for _, tt := range []struct {
		before, after string
		want          []string
	}{
		{`{"home":{"city":"Oslo","zip":1}}`, `{"home":{"city":"Bergen","zip":1}}`, []string{`home.city: "Oslo" → "Bergen"`}},
		{`{"a":1,"home":{"city":"Oslo"}}`, `{"b":2,"home":{"zip":1}}`, []string{`a: 1 → none`, `b: none → 2`, `home.city: "Oslo" → none`, `home.zip: none → 1`}},
		{`{"home":{}}`, `{"home":{"city":"Oslo"}}`, []string{`home.city: none → "Oslo"`}},
		{`{"home":{"city":"Oslo"}}`, `{}`, []string{`home: {"city":"Oslo"} → none`}},
		{`{"home":{"city":"Oslo"}}`, `{"home":[]}`, []string{`home: {"city":"Oslo"} → []`}},
		{`{"lines":[{"qty":1},{"qty":1,"sku":"x"}]}`, `{"lines":[{"qty":1},{"qty":2,"sku":"x"}]}`, []string{`lines[1].qty: 1 → 2`}},
		{`{"m":[[1,2],[3]]}`, `{"m":[[1,5],[3]]}`, []string{`m[0][1]: 2 → 5`}},
		{`{"lines":[1]}`, `{"lines":[1,2]}`, []string{`lines: [1] → [1,2]`}},
		{`{"a.b":{"x y":1}}`, `{"a.b":{"x y":null}}`, []string{`"a.b"."x y": 1 → null`}},
		{deep("1"), deep("2"), []string{strings.Repeat("a.", 39) + "a: 1 → 2"}},
		{`{"a":{"b":1}}`, `{"a":{"b":1}}`, nil},
		{"", `{"a":{"b":1}}`, []string{`a: none → {"b":1}`}},
		{`{"a":1}`, "", []string{"a: 1 → none"}},
	} {
		changes, err := changeOf(tt.before, tt.after).Fields()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range changes {
			got = append(got, fmt.Sprint(c))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s → %s: got %q, want %q", tt.before, tt.after, got, tt.want)
		}
	}
}

func TestChangeOfDamagedFields(t *testing.T) {
	for _, damaged := range []string{"{", "[]", `{"a":}`, "7"} {
		if got, err := changeOf(`{"a":1}`, damaged).Fields(); err == nil {
			t.Errorf("%s: got %v, want an error", damaged, got)
		}
	}
}
