package object_test

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/words"
	"github.com/ontologia/onto/object"
)

// entry is what a model knows of an object that exists.
type entry[T any] struct {
	object T
	object.Metadata
}

// model is the objects of a set of a tenant, by the keys they have in their stores.
type model[T any] struct {
	live    map[string]entry[T]
	history map[string][]object.Revision[T] // without commits
}

func newModel[T any]() *model[T] {
	return &model[T]{map[string]entry[T]{}, map[string][]object.Revision[T]{}}
}

func (m *model[T]) clone() *model[T] {
	c := newModel[T]()
	for k, e := range m.live {
		c.live[k] = e
	}
	for k, list := range m.history {
		c.history[k] = slices.Clone(list)
	}
	return c
}

// put notes a write, and reports whether it makes a version.
func (m *model[T]) put(key string, value T, by onto.Actor) bool {
	e, exists := m.live[key]
	if exists && reflect.DeepEqual(e.object, value) {
		return false
	}
	if !exists {
		e.CreatedBy = by
	}
	e.object, e.UpdatedBy = value, by
	m.live[key] = e
	m.history[key] = append(m.history[key], object.Revision[T]{Object: value})
	return true
}

func (m *model[T]) remove(key string) bool {
	if _, exists := m.live[key]; !exists {
		return false
	}
	delete(m.live, key)
	m.history[key] = append(m.history[key], object.Revision[T]{Deleted: true})
	return true
}

func messageKey(m Message) string { return onto.ShardedKey(string(m.Chat), string(m.ID)) }
func chatKey(c Chat) string       { return onto.ObjectKey(string(c.ID)) }

// hostileKeys are texts that are easily taken for something else, and prefixes of each other.
var hostileKeys = []string{
	"c", "c/", "c0", "c%2F", "c%", "%", "/", "%2F", "%25", " ", "c ", `"`, "'", "it's \"it\"", "line\nbreak", "\t", "ü", "日本語", "𝒳", "..", "*",
	"c/c", "C", "\u2028", "\U0010ffff", "null", "0", strings.Repeat("l", 500), strings.Repeat("l", 499) + "m",
}

// hostileTexts have words that search engines take for something else.
var hostileTexts = []string{
	"", "alpha", "Alpha beta", "alphabet", "NEAR(alpha, beta)", "alpha AND NOT beta", `"alpha beta"`, "beta*", "text:alpha", "-alpha", "alpha'--", "ALPHA\nOR", "älpha", "日本語 alpha", "%_alpha", "{\"a\": \"beta\"}",
}

var hostileSearches = []string{"alpha", "alp*", "near", "and", `"alpha`, "or not", "text:alpha", "beta alpha", "-alpha", "älpha", "日本語", "alpha' beta", "a*", "c 0", "l*"}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// drawMessage draws a message out of few keys, so that they meet.
func drawMessage(r *rand.Rand) Message {
	m := Message{
		ID: MessageID(pick(r, hostileKeys)), Chat: ChatID(pick(r, hostileKeys)), Sender: pick(r, []string{"ana", "bob", "", "a'b"}),
		Text: pick(r, hostileTexts), Sent: int64(r.IntN(5)) * 1 << 50, Place: Place{City: pick(r, []string{"Oslo", "Rome", "oslo"})},
	}
	m.Place.Tags = []string{pick(r, []string{"beta", "x", ""})}
	if r.IntN(2) == 0 {
		stars := int64(r.IntN(3))
		m.Stars = &stars
	}
	return m
}

func drawChat(r *rand.Rand) Chat {
	c := Chat{Title: pick(r, hostileTexts), Messages: int64(r.IntN(3))}
	for strings.TrimSpace(string(c.ID)) == "" { // which is no key of an entity by itself
		c.ID = ChatID(pick(r, hostileKeys))
	}
	return c
}

// asked is a clause and what it means.
type asked struct {
	where     object.Selection
	match     func(Message) bool
	less      func(a, b Message) int
	offset, n int
	shardKeys []ChatID
}

// test is a condition on a message, and what it means.
type test struct {
	filter onto.Filter
	match  func(Message) bool
}

func drawTest(r *rand.Rand) test {
	text, n, key := pick(r, []string{"alpha", "a", "'", "%", "_", "beta", ""}), int64(r.IntN(5))*1<<50, pick(r, hostileKeys)
	stars := int64(r.IntN(3))
	return pick(r, []test{
		{onto.Path("sender").Eq("ana"), func(m Message) bool { return m.Sender == "ana" }},
		{onto.Path("sender").Ne("a'b"), func(m Message) bool { return m.Sender != "a'b" }},
		{onto.Path("sent").Lt(n), func(m Message) bool { return m.Sent < n }},
		{onto.Path("sent").Ge(n), func(m Message) bool { return m.Sent >= n }},
		{onto.Path("text").Contains(text), func(m Message) bool { return strings.Contains(m.Text, text) }},
		{onto.Path("text").StartsWith(text), func(m Message) bool { return strings.HasPrefix(m.Text, text) }},
		{onto.Path("id").EndsWith(key), func(m Message) bool { return strings.HasSuffix(string(m.ID), key) }},
		{onto.Path("chat").Eq(key), func(m Message) bool { return string(m.Chat) == key }},
		{onto.Path("chat").Gt(key), func(m Message) bool { return string(m.Chat) > key }},
		{onto.Path("id").In([]string{key, "c", "%2F"}), func(m Message) bool { return string(m.ID) == key || m.ID == "c" || m.ID == "%2F" }},
		{onto.Path("stars").IsNull(), func(m Message) bool { return m.Stars == nil }},
		{onto.Path("stars").Eq(stars), func(m Message) bool { return m.Stars != nil && *m.Stars == stars }},
		{onto.Path("place", "city").Eq("Oslo"), func(m Message) bool { return m.Place.City == "Oslo" }},
	})
}

// drawClause draws conditions, an order and a part.
func drawClause(r *rand.Rand) asked {
	a := asked{where: object.All(), match: func(Message) bool { return true }}
	first, second := drawTest(r), drawTest(r)
	switch r.IntN(5) {
	case 0:
		a.where, a.match = object.Where().Filter(first.filter).Selection, first.match
	case 1:
		a.where = object.Where().Filter(first.filter).And().Filter(second.filter).Selection
		a.match = func(m Message) bool { return first.match(m) && second.match(m) }
	case 2:
		a.where = object.Where().Filter(first.filter).Or().Filter(second.filter).Selection
		a.match = func(m Message) bool { return first.match(m) || second.match(m) }
	case 3:
		text := pick(r, hostileSearches)
		query := words.Query(text)
		a.where = object.Where().Search(text).Selection
		a.match = func(m Message) bool {
			return words.Match(query, append([]string{string(m.ID), string(m.Chat), m.Sender, m.Text, m.Place.City}, m.Place.Tags...)...)
		}
	}
	byKey := func(a, b Message) int { return cmp.Compare(messageKey(a), messageKey(b)) }
	a.less = byKey
	switch r.IntN(4) {
	case 0:
		a.where = a.where.OrderByDesc("sent").OrderBy("sender")
		a.less = func(a, b Message) int {
			return cmp.Or(cmp.Compare(b.Sent, a.Sent), cmp.Compare(a.Sender, b.Sender), byKey(a, b))
		}
	case 1:
		a.where = a.where.OrderBy("id")
		a.less = func(a, b Message) int { return cmp.Or(cmp.Compare(a.ID, b.ID), byKey(a, b)) }
	}
	if r.IntN(3) == 0 {
		a.offset = r.IntN(6)
	}
	if r.IntN(3) == 0 {
		a.n = 1 + r.IntN(6)
	}
	for range r.IntN(3) {
		a.shardKeys = append(a.shardKeys, ChatID(pick(r, hostileKeys)))
	}
	return a
}

// matching returns what the model has for a clause, in order and without a part.
func (a asked) matching(m *model[Message]) []entry[Message] {
	var list []entry[Message]
	for _, e := range m.live {
		if a.match(e.object) && (len(a.shardKeys) == 0 || slices.Contains(a.shardKeys, e.object.Chat)) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(x, y entry[Message]) int { return a.less(x.object, y.object) })
	return list
}

// part returns the part of what matches.
func (a asked) part(list []entry[Message]) []entry[Message] {
	list = list[min(a.offset, len(list)):]
	if a.n > 0 {
		list = list[:min(a.n, len(list))]
	}
	return list
}
