package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ontologia/onto/filter"
)

// The controls' questions are only fair if they ask for what the filters ask.
func TestCriteria(t *testing.T) {
	const n = 10_000
	w := plain()
	tests := map[string]struct {
		criterion
		version  int
		from, to int // how many match
	}{
		"a tenth":         {ofTier("Gold"), 0, n / 10, n / 10},
		"a tenth, later":  {ofTier("Gold"), 7, n / 10, n / 10},
		"a hundredth":     {below(10), 0, n / 200, n / 50},
		"all":             {below(1000), 0, n, n},
		"one in thousand": {inCity(3), 0, n / districts, n / districts},
		"a narrow range":  {between(5, 6), 0, 1, n / 200},
	}
	for name, test := range tests {
		if got := test.count(w, n, test.version); got < test.from || got > test.to {
			t.Errorf("%s: %d of %d match, want %d to %d", name, got, n, test.from, test.to)
		}
		matcher := filter.Compile(test.filter)
		for i := range n / 10 {
			c := w.customer(i, test.version)
			if got, want := matcher.Match(&filter.Row{Own: json.RawMessage(jsonOf(&c))}), test.match(&c); got != want {
				t.Fatalf("%s: for %+v the filter says %v, the control %v", name, c, got, want)
			}
		}
	}
}

// A moment of a history shows one version of all keys, and the naive joins give
// the same answers as the store.
func TestMoments(t *testing.T) {
	const keys, versions = 40, 10
	e := newEnv(t.TempDir(), true)
	defer e.runCleanups()
	w, c := plain(), ofTier("Gold")
	path := e.history(w, keys, versions)
	s := e.openStore(path)
	head, err := s.Head(e.ctx)
	if err != nil {
		t.Fatal(err)
	}
	conn := e.openReader(path)
	latest, asOf := e.prepare(conn, naiveLatest(c.on("eh.fields_json"))), e.prepare(conn, naiveAsOf(c.on("eh.fields_json")))
	for share, version := range map[float64]int{0.5: 4, 0.9: 8, 1: 9} {
		m := momentAt(s, head.ID, keys, versions, share)
		want := series(keys, func(i int) Customer { return w.customer(i, version) })
		var got []Customer
		for one, err := range m.customers().All(e.ctx) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, one)
		}
		if !slices.Equal(got, want) {
			t.Errorf("at %v of the log are %d customers that are not those of version %d", share, len(got), version)
		}
		e.checkSame(m.customers().Where(c.filter).All(e.ctx), e.decoded(asOf, typeName, m.commit, typeName, "Gold"))
	}
	e.checkSame(momentAt(s, head.ID, keys, versions, 1).customers().Where(c.filter).All(e.ctx), e.decoded(latest, typeName, typeName, "Gold"))
}
