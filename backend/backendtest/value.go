package backendtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func valueStories() []tale {
	return []tale{
		{"odd keys of entities", oddEntityKeys},
		{"odd keys of relations", visits().of(oddTies)},
		{"odd subjects and ids of facts", claims().of(oddTies)},
		{"every kind of JSON value", jsonKinds},
		{"values are compared by their bytes", valuesAreCompared},
		{"large values", largeValues},
	}
}

// oddKeys returns keys that are easy to get wrong, in order.
func oddKeys() []string {
	keys := []string{
		"\n", "\r\n", " ", "  ", `"`, "%", "%25", "'", "''; DROP TABLE commits; --", "*", "+", "--", ".", "..", "../x",
		"/", "/x/", "0", "00", "1", "1.0", ":", "?", "A", "NULL", "[x]", `\`, `\"`, `\u0000`, "_", "a", "a b", "a\tb",
		"a:b", "a→b", "e\u0301", "null", strings.Repeat("w", onto.MaxKey), "{}", "\u007f", "\u0080",
		"\u00e9", "\u200b", "\u2028", "\ue000", "\uffff", "😀", "😀😀", "\U0010ffff",
	}
	slices.Sort(keys)
	return keys
}

func oddEntityKeys(s *story) {
	var ids []onto.Identity
	for _, key := range oddKeys() {
		ids = append(ids, person(key))
	}
	s.tellOdd(ids)
}

func oddTies(s *story, of variety) {
	var ids []onto.Identity
	for _, key := range oddKeys() {
		ids = append(ids, of.tie(key, "m", "m"))
	}
	s.tellOdd(ids)
	keys := oddKeys()
	ids = nil
	for i, key := range keys {
		if of.Kind == onto.KindFact && onto.CheckName("attribute", key) != nil {
			continue
		}
		ids = append(ids, of.tie("m", key, keys[len(keys)-1-i]))
	}
	s.another().tellOdd(ids)
	ids = nil
	middle := keys[6]
	if of.Kind == onto.KindFact {
		middle = "m" // attributes are names
	}
	for _, key := range keys {
		ids = append(ids, of.tie(keys[5], middle, key))
	}
	s.another().tellOdd(ids)
}

// tellOdd writes identities of one type, which are given in order, and asks
// for each in every way.
func (s *story) tellOdd(ids []onto.Identity) {
	s.Helper()
	var writes []backend.Write
	var want []string
	for i, id := range ids {
		writes = append(writes, put(id, i))
		want = append(want, showVersion(onto.Version{Identity: id, Op: onto.Put, Commit: 1, SchemaVersion: 1, Fields: writes[i].Fields}))
	}
	s.commit(writes...)
	s.nothing(draft(writes...))
	s.wantState(ids[0].Kind, ids[0].Type, want...)
	for i, id := range ids {
		s.want("get", s.get(id, backend.Head), want[i])
		s.want("get as of 1", s.get(id, 1), want[i])
		history := historyOf(id.Kind, id.Type, backend.Head)
		history.Identity = &id
		s.wantLines("history", s.scan(history), want[i:i+1])
		page := stateOf(id.Kind, id.Type, backend.Head)
		page.After, page.Limit = &backend.Place{Identity: id}, 1
		s.wantLines("the next one", s.scan(page), want[i+1:min(i+2, len(want))])
		s.do(expecting([]onto.Expectation{isAt(id, 1)}, remove(id)))
		s.want("get what is gone", s.get(id, backend.Head), fmt.Sprintf("%s @%d deleted", id, i+2))
	}
	s.wantState(ids[0].Kind, ids[0].Type)
	s.wantLines("as of 1", s.scan(stateOf(ids[0].Kind, ids[0].Type, 1)), want)
}

// jsonValues returns canonical values of every kind.
func jsonValues() []string {
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	return []string{
		`true`, `false`, `0`, `1`, `-1`, `9223372036854775807`, `-9223372036854775808`, `9007199254740993`,
		`0.1`, `-0.5`, `1.5e300`, `5e-324`, `1e-7`, `0.30000000000000004`, `123456789012.5`,
		`""`, `"text"`, `"\""`, `"\\"`, `"\n\t\b\f\r"`, `"\u0001\u001f"`, `"</script>&"`, `"é😀` + "\u2028" + `"`, `"1"`, `"null"`, `"2026-02-10T12:34:56.789012+00:00"`,
		`[]`, `[null]`, `[1,"a",null,[],{}]`, `{}`, `{"":1,"a":{"b":[{"c":null}]},"é":2}`, deep,
	}
}

func jsonKinds(s *story) {
	for i, value := range jsonValues() {
		for _, id := range []onto.Identity{person("ada"), visit("ada", "rome", "t"), claim("ada", "v", "t")} {
			w := putValue(id, value)
			s.commit(w)
			s.nothing(draft(w))
			v, err := s.Get(s.ctx, id, backend.Head)
			s.must(err)
			s.want("get", string(v.Fields), string(w.Fields))
			s.wantLines("state", s.scan(stateOf(id.Kind, id.Type, backend.Head)), []string{showVersion(v)})
		}
		if got := s.resolve(onto.Point{}).ID; got != int64(3*i+3) {
			s.Fatalf("after %s: got head %d, want %d", value, got, 3*i+3)
		}
	}
	before := s.everything()
	s.reopen()
	s.wantLines("after reopening", s.everything(), before)
}

// valuesAreCompared writes values that some engines consider equal.
func valuesAreCompared(s *story) {
	values := []string{`1`, `"1"`, `true`, `"true"`, `[null]`, `""`, `0`, `false`, `[]`, `{}`, `"a"`, `"A"`, `"é"`, `"e` + "\u0301" + `"`, `9007199254740992`, `9007199254740993`, `"a "`, `"a"`}
	for i, value := range values {
		if c := s.commit(putValue(person("ada"), value)); c.ID != int64(i+1) {
			s.Fatalf("%s: got commit %d, want %d", value, c.ID, i+1)
		}
	}
}

func largeValues(s *story) {
	text := func(c string) string { return `"` + strings.Repeat(c, 1<<20) + `"` }
	w := putValue(person("ada"), text("x"))
	s.commit(w, put(person("bob"), 1))
	s.nothing(draft(w))
	s.commit(putValue(person("ada"), text("y")))
	for at, c := range map[int64]string{1: "x", 2: "y", backend.Head: "y"} {
		v, err := s.Get(s.ctx, person("ada"), at)
		s.must(err)
		if want := putValue(person("ada"), text(c)).Fields; !bytes.Equal(v.Fields, want) {
			s.Errorf("as of %d: got %d bytes that differ from the %d given", at, len(v.Fields), len(want))
		}
	}
	if changes := s.diff(1, 2); len(changes) != 1 {
		s.Errorf("changes: got %d, want 1", len(changes))
	}
}
