package backendtest

import (
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func searchStories() []tale {
	return []tale{
		{"search finds words", func(s *story) { s.register(searchable()...); s.texts(); s.tellSearch() }},
		{"search in fields that are marked later", func(s *story) { s.texts(); s.register(searchable()...); s.tellSearch() }},
		{"search in fields that the store has not marked", func(s *story) { s.texts(); s.tellSearch() }},
		{"words may be in several fields", searchSeveral},
		{"search as of each commit", searchAsOf},
		{"search in relations", visits().of(searchTies)},
		{"search in facts", claims().of(searchTies)},
		{"search where nothing is marked", searchNothing},
		{"marks come and go", marksComeAndGo},
	}
}

// searchable returns the types with their texts marked for search.
func searchable() []onto.Schema {
	return flagged(func(_ string, f *onto.Field) { f.Search = f.Name == "t" })
}

// wordsOf returns what is searched for. A star asks for a prefix.
func wordsOf(text string) []backend.Word {
	var list []backend.Word
	for word := range strings.FieldsSeq(text) {
		plain := strings.TrimSuffix(word, "*")
		list = append(list, backend.Word{Text: plain, Prefix: plain != word})
	}
	return list
}

// search answers a query for words in types that are marked in their own way.
func (s *story) search(types []onto.Schema, q backend.Query, text string) string {
	s.Helper()
	q.Search = wordsOf(text)
	return s.names(clean(s.T, q, types))
}

// texts writes persons with texts.
func (s *story) texts() {
	s.Helper()
	var writes []backend.Write
	for key, text := range map[string]string{
		"a": `"Ada Lovelace"`,
		"b": `"ada, the countess"`,
		"c": `"Grace Hopper"`,
		"d": `"Hop-scotch; ADA's"`,
		"e": ``,
		"f": `""`,
		"g": `"Élan vital 42"`,
		"h": `"adam"`,
		"i": `"and or not near match"`,
		"j": `"日本 ÀÉÎ ß"`,
		"k": `"the the the"`,
	} {
		fields := `{"v":"ada"}`
		if text != "" {
			fields = fmt.Sprintf(`{"n":%d,"t":%s,"v":"ada"}`, len(text)%3, text)
		}
		writes = append(writes, set(person(key), fields))
	}
	s.commit(writes...)
}

// tellSearch asks about texts.
func (s *story) tellSearch() {
	for text, want := range map[string]string{
		"ada": "a b d", "ada*": "a b d h", "adam": "h", "ad": "", "ad*": "a b d h",
		"ada lovelace": "a", "lovelace ada": "a", "love* ada*": "a", "ada grace": "", "ada* hop*": "d", "ada nobody": "",
		"hop": "d", "hop*": "c d", "scotch": "d", "s": "d", "hopper": "c", "opper": "",
		"elan": "g", "elan 42": "g", "4*": "g", "42": "g", "vit*": "g",
		"or": "i", "not near": "i", "and ada": "", "match": "i", "or*": "i", "aei": "j", "日本": "j", "日*": "j",
		"the": "b k", "the the": "b k", "the countess the": "b",
	} {
		for _, at := range []int64{backend.Head, 1} {
			s.want(fmt.Sprintf("search %q as of %d", text, at), s.search(searchable(), persons(at), text), want)
		}
		history := *historyOf(onto.KindEntity, tPerson, backend.Head)
		want = strings.ReplaceAll(want, " ", "@1 ")
		if want != "" {
			want += "@1"
		}
		s.want(fmt.Sprintf("search %q in the history", text), s.search(searchable(), history, text), want)
	}
	q := persons(backend.Head)
	q.Where, q.Order = onto.Path("v").Eq("ada"), []onto.Order{onto.Path("t").Desc()}
	s.want("search with an order", s.search(searchable(), q, "ada*"), "h b d a")
	q.Offset, q.Limit = 1, 2
	s.want("search with offset and limit", s.search(searchable(), q, "ada*"), "b d")
	q = persons(backend.Head)
	q.Keys, q.After = []string{"h", "a", "b", "c"}, &backend.Place{Identity: person("a")}
	s.want("search among keys", s.search(searchable(), q, "ada*"), "b h")
	q.Where = onto.Not{Of: onto.Path("t").StartsWith("ada,")}
	s.want("search with a filter", s.search(searchable(), q, "ada*"), "h")
}

func searchSeveral(s *story) {
	types := flagged(func(_ string, f *onto.Field) { f.Search = f.Name == "t" || f.Name == "id" })
	s.register(types...)
	s.commit(set(person("ada"), `{"t":"Hopper"}`), set(person("grace hopper"), `{"t":"ada"}`), set(person("Bob"), `{}`), set(person("x"), `{"v":"ada hopper"}`))
	for text, want := range map[string]string{
		"ada hopper": "ada grace hopper", "hopper": "ada grace hopper", "bob": "Bob", "grace": "grace hopper", "ada bob": "", "x": "x",
	} {
		s.want("search "+text, s.search(types, persons(backend.Head), text), want)
	}
	s.want("search in texts alone", s.search(searchable(), persons(backend.Head), "hopper"), "ada")
}

func searchAsOf(s *story) {
	types := searchable()
	s.register(types...)
	s.commit(set(person("a"), `{"t":"red"}`), set(person("b"), `{"t":"green"}`))
	s.commit(set(person("a"), `{"t":"green"}`), set(person("c"), `{"t":"red"}`))
	s.commit(remove(person("b")))
	s.stream(draft(), set(person("b"), `{"t":"red green"}`), set(person("c"), `{"n":1}`))
	s.commit(remove(person("a")))
	for at, want := range map[int64][2]string{
		0: {"", ""}, 1: {"a", "b"}, 2: {"c", "a b"}, 3: {"c", "a"}, 4: {"b", "a b"}, 5: {"b", "b"}, backend.Head: {"b", "b"},
	} {
		s.want(fmt.Sprint("red as of ", at), s.search(types, persons(at), "red"), want[0])
		s.want(fmt.Sprint("green as of ", at), s.search(types, persons(at), "gre*"), want[1])
	}
	history := *historyOf(onto.KindEntity, tPerson, backend.Head)
	s.want("red in the history", s.search(types, history, "red"), "a@1 c@2 b@4")
	history.Since, history.At = 1, 3
	s.want("green in commits 2 and 3", s.search(types, history, "green"), "a@2")
	s.reopen()
	s.want("red after reopening", s.search(types, persons(backend.Head), "red"), "b")
}

func searchTies(s *story, of variety) {
	types := searchable()
	s.register(types...)
	s.commit(set(of.tie("a", "b", "1"), `{"t":"long trip"}`), set(of.tie("a", "b", "2"), `{"t":"short trip"}`), set(knows("a", "b"), `{"t":"trip"}`), set(person("a"), `{"t":"trip"}`), set(note("a", "b", "1"), `{"t":"trip"}`))
	s.commit(remove(of.tie("a", "b", "1")), set(of.tie("c", "b", "1"), `{"t":"trip"}`))
	q := *stateOf(of.Kind, of.Name, backend.Head)
	s.want("trips", s.search(types, q, "trip"), "a>b/2 c>b/1")
	q.At = 1
	s.want("trips before", s.search(types, q, "trip"), "a>b/1 a>b/2")
	q.Where, q.At = onto.Left("t").Eq("trip"), backend.Head
	s.want("trips of those", s.search(types, q, "tri*"), "a>b/2")
	s.want("acquaintances", s.search(types, *stateOf(onto.KindRelation, tKnows, backend.Head), "trip"), "a>b")
}

func searchNothing(s *story) {
	s.texts()
	s.want("search where nothing is marked", s.search(testSchemas(), persons(backend.Head), "ada"), "")
	s.register(searchable()...)
	s.want("search where the query marks nothing", s.search(testSchemas(), persons(backend.Head), "ada"), "")
	q := persons(backend.Head)
	q.Search = wordsOf("ada")
	s.want("search without a type", s.names(&q), "")
}

// marksComeAndGo changes what is marked while there is data.
func marksComeAndGo(s *story) {
	other := s.through(s.open())
	none := testSchemas()
	keys := flagged(func(_ string, f *onto.Field) { f.Search = f.Name == "id" })
	want := func(types []onto.Schema, text, want string) {
		s.Helper()
		for _, s := range []*story{s, other} {
			s.want("search "+text, s.search(types, persons(backend.Head), text), want)
		}
	}
	s.commit(set(person("a"), `{"n":1,"t":"one"}`), set(person("b"), `{"n":2,"t":"two"}`))
	s.register(searchable()...)
	want(searchable(), "one", "a")
	s.commit(set(person("a"), `{"n":3,"t":"two"}`), set(person("c"), `{"t":"one"}`))
	want(searchable(), "one", "c")
	other.register(none...)
	want(none, "one", "")
	other.commit(set(person("c"), `{"t":"two"}`), set(person("d"), `{"t":"one"}`), remove(person("b")))
	want(none, "one", "")
	s.register(keys...)
	want(keys, "one", "")
	want(keys, "d", "d")
	s.commit(set(person("one"), `{"t":"two"}`))
	want(keys, "one", "one")
	other.register(searchable()...)
	want(searchable(), "one", "d")
	want(searchable(), "two", "a c one")
	s.reopen()
	s.commit(set(person("a"), `{"t":"one"}`))
	want(searchable(), "one", "a d")
	want(keys, "one", "one")
}
