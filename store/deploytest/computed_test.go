package deploytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/store"
)

type chatMessage struct {
	ID     string         `json:"id"`
	Chat   string         `json:"chat"`
	Sender string         `json:"sender"`
	Text   string         `json:"text"`
	Sent   time.Time      `json:"sent,omitzero"`
	Head   messageHead    `json:"head"`
	Extra  map[string]any `json:"extra"`
}

type messageHead struct {
	Title string   `json:"title"`
	Tags  []string `json:"tags"`
}

// messageType is keyed by chat and id; without the search of texts it is an earlier version.
func messageType() onto.Type {
	return onto.TypeOf[chatMessage]().As("Message").Keyed("id", "chat").Indexed("sender", "head.title")
}

func searched() onto.Type { return messageType().TextSearch() }

func messageID(key string) onto.Identity { return onto.EntityID("Message", key) }

func (w world) message(s *store.Store, key string) string {
	w.Helper()
	v, err := s.Now().Get(w.Context(), messageID(key))
	if err != nil {
		w.Error(err)
	}
	return string(v.Fields)
}

func (w world) keys(s *store.Store, v store.View, ask func(store.Query[onto.Version]) store.Query[onto.Version]) string {
	w.Helper()
	var keys []string
	for v, err := range ask(v.Find("Message")).All(w.Context()) {
		if err != nil {
			w.Fatal(err)
		}
		keys = append(keys, v.Key)
	}
	return strings.Join(keys, " ")
}

func (w world) search(s *store.Store, words string) string {
	w.Helper()
	return w.keys(s, s.Now(), func(q store.Query[onto.Version]) store.Query[onto.Version] { return q.Search(words) })
}

func TestComputedFields(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(searched())
		m := chatMessage{ID: "m/1", Chat: "c%7", Sender: "ana", Text: "good \"morning\"\nall", Sent: time.Unix(9, 0).UTC(),
			Head: messageHead{"Greeting", []string{"x", "", "y"}}, Extra: map[string]any{"deep": []any{map[string]any{"a": "below", "n": 7, "at": "2026-01-02"}}}}
		w.commit(s, m)
		const key = "c%257/m%2F1"
		want := `{"chat":"c%7","extra":{"deep":[{"a":"below","at":"2026-01-02","n":7}]},"head":{"tags":["x","","y"],"title":"Greeting"},"id":"m/1",` +
			`"onto_id":"m/1","onto_key":"c%257/m%2F1","onto_text":"c%7\nbelow\n2026-01-02\nx\ny\nGreeting\nm/1\nana\ngood \"morning\"\nall",` +
			`"sender":"ana","sent":"1970-01-01T00:00:09.000000+00:00","text":"good \"morning\"\nall"}`
		if got := w.message(s, key); got != want {
			w.Errorf("got %s\nwant %s", got, want)
		}
		read, err := store.Get[chatMessage](w.Context(), s.Now(), key)
		if err != nil || fmt.Sprint(read) != fmt.Sprint(m) {
			w.Errorf("got %v, %v; want %v", read, err, m)
		}
		if shard, id, err := onto.KeyParts(key); shard != "c%7" || id != "m/1" || err != nil {
			w.Errorf("the key has the parts %q, %q, %v", shard, id, err)
		}
		if res := w.commit(s, m); res.ID != 0 {
			w.Error("what is there already has made a version")
		}

		w.commit(s, chatMessage{ID: "m2", Chat: "c8", Sender: "bob", Text: "evening"}, chatMessage{ID: "m/1", Chat: "c8", Sender: "bob"})
		for i, c := range []struct {
			ask  onto.Filter
			want string
		}{
			{onto.Path("onto_id").Eq("m/1"), key + " c8/m%2F1"},
			{onto.Path("onto_key").StartsWith("c8/"), "c8/m%2F1 c8/m2"},
			{onto.Path("head", "title").Eq("Greeting"), key},
		} {
			got := w.keys(s, s.Now(), func(q store.Query[onto.Version]) store.Query[onto.Version] { return q.Where(c.ask) })
			if got != c.want {
				w.Errorf("filter %d: got %s, want %s", i, got, c.want)
			}
		}
		if got := w.keys(s, s.Now(), func(q store.Query[onto.Version]) store.Query[onto.Version] {
			return q.OrderBy(onto.Path("onto_id").Desc())
		}); got != "c8/m2 "+key+" c8/m%2F1" && got != "c8/m2 c8/m%2F1 "+key {
			w.Errorf("in order of the ids: %s", got)
		}
		for words, want := range map[string]string{"below": key, "greeting": key, "bob": "c8/m%2F1 c8/m2", "1970": ""} {
			if got := w.search(s, words); got != want {
				w.Errorf("search of %s: got %q, want %q", words, got, want)
			}
		}

		if _, err := store.Update(w.Context(), s, onto.Draft{}, store.Key{"c8/m2"}, func(m *chatMessage) error { m.Text = "night"; return nil }); err != nil {
			w.Error(err)
		}
		if w.search(s, "night") != "c8/m2" || w.search(s, "evening") != "" {
			w.Error("an update has not changed the texts")
		}
		w.refused(onto.Invalid, func() error {
			_, err := store.Update(w.Context(), s, onto.Draft{}, store.Key{"c8/m2"}, func(m *chatMessage) error { m.Chat = "c9"; return nil })
			return err
		}, "a key cannot change", `c9/m2`)
		if _, err := s.Commit(w.Context(), onto.Draft{}.Delete(chatMessage{ID: "m2", Chat: "c8"}, messageID(key))); err != nil {
			w.Error(err)
		}
		if got := w.search(s, "bob"); got != "c8/m%2F1" {
			w.Errorf("after a delete: %s", got)
		}
		first, err := s.At(1).Get(w.Context(), messageID(key))
		if err != nil {
			w.Fatal(err)
		}
		w.commit(s, first)
		if got := w.message(s, key); got != want {
			w.Errorf("brought back it is %s\nwant %s", got, want)
		}
		if _, err := s.Commit(w.Context(), onto.Draft{}.Merge(first)); err != nil {
			w.Errorf("a version cannot be merged: %v", err)
		}
		w.commit(s, chatMessage{ID: "m/1", Chat: "c%7", Text: "later"})
		if _, _, err := s.Revert(w.Context(), onto.Draft{}, store.Revert{Identity: messageID(key), To: 1}); err != nil {
			w.Error(err)
		}
		if got := w.message(s, key); got != want {
			w.Errorf("reverted it is %s\nwant %s", got, want)
		}
		blame, err := s.Now().Blame(w.Context(), messageID(key))
		if err != nil || slices.ContainsFunc(blame, func(b onto.Blame) bool { return onto.IsComputed(b.Field) }) || len(blame) != 7 {
			w.Errorf("got %+v, %v; want who set the seven fields that are given", blame, err)
		}
	})
}

// Where id and shard key are the same, the key has one part, and there is no onto_id.
func TestKeyOfOnePart(t *testing.T) {
	type note struct {
		Head struct {
			ID string `json:"id"`
		} `json:"head"`
	}
	everywhere(t, func(w world) {
		s := w.open(onto.TypeOf[note]().As("Message").Keyed("head.id", "head.id"))
		var n note
		n.Head.ID = "a/b"
		w.commit(s, n)
		if got, want := w.message(s, onto.ObjectKey("a/b")), `{"head":{"id":"a/b"},"onto_key":"a%2Fb"}`; got != want {
			w.Errorf("got %s, want %s", got, want)
		}
		n.Head.ID = ""
		w.refused(onto.Invalid, func() error {
			_, err := s.Commit(w.Context(), onto.Draft{}.Ensure(n))
			return err
		}, "Message: field head.id is empty")
	})
}

func untypedMessage(key, fields string) onto.Entity {
	return onto.Entity{Type: "Message", Key: key, Fields: json.RawMessage(fields)}
}

const plainMessage = `"chat":"c1","extra":{},"head":{"tags":[],"title":""},"id":"m1","sender":"ana","text":"hello"`

func TestComputedFieldsAreNotGiven(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(searched())
		commit := func(d onto.Draft) func() error {
			return func() error {
				_, err := s.Commit(w.Context(), d)
				return err
			}
		}
		for _, name := range []string{"onto_key", "onto_id", "onto_text"} {
			given := fmt.Sprintf(`{%s,%q:"c1/m1"}`, plainMessage, name)
			says := fmt.Sprintf("Message: field %s is given, but the store computes it", name)
			w.refused(onto.Invalid, commit(onto.Draft{}.Ensure(untypedMessage("", given))), says)
			w.refused(onto.Invalid, commit(onto.Draft{}.Merge(untypedMessage("", given))), says)
			w.refused(onto.Invalid, commit(onto.Draft{}.Merge(untypedMessage("c1/m1", `{"`+name+`":null}`))), fmt.Sprintf(`field %s is given`, name))
		}
		w.refused(onto.Invalid, commit(onto.Draft{}.Ensure(untypedMessage("c2/m1", "{"+plainMessage+"}"))), "chat and id", `"c1/m1"`)
		w.refused(onto.Invalid, commit(onto.Draft{}.Ensure(untypedMessage("", strings.Replace("{"+plainMessage+"}", `"c1"`, `""`, 1)))), "Message: field chat is empty")
		w.refused(onto.Invalid, commit(onto.Draft{}.Ensure(untypedMessage("", strings.Replace("{"+plainMessage+"}", `"c1"`, `7`, 1)))), "Message: field chat: expected string, found int")
		w.refused(onto.Invalid, commit(onto.Draft{}.Ensure(untypedMessage("", `{"chat":"c1"}`))), "Message: field id is missing")
		w.refused(onto.Invalid, commit(onto.Draft{}.Ensure(untypedMessage("", `{"chat":"c1","idd":"m1"}`))), "Message: type Message has no field idd", "did you mean id?")
		w.refused(onto.Invalid, commit(onto.Draft{}.Ensure(chatMessage{ID: strings.Repeat("/", 400), Chat: "c1"})), "Message: the key made from chat and id is 1203 bytes long", "three bytes")
		w.refused(onto.Invalid, commit(onto.Draft{}.Ensure(chatMessage{ID: "m1"})), "Message: field chat is empty")
		w.refused(onto.Invalid, commit(onto.Draft{}.Delete(chatMessage{Chat: "c1"})), "Message: field id is empty")
		w.refused(onto.Invalid, commit(onto.Draft{}.Merge(untypedMessage("", `{"chat":"c1"}`))), "Message: field id is missing")
		w.refused(onto.Invalid, commit(onto.Draft{}.Merge(untypedMessage("c1/m1", `{"text":"hi"}`))), "it does not exist, and field")

		w.commit(s, untypedMessage("", "{"+plainMessage+"}"))
		w.commit(s, untypedMessage("c1/m1", "{"+plainMessage+"}"))
		for _, change := range []string{`{"chat":"c2"}`, `{"id":"m2"}`, `{"chat":"c2","id":"m1"}`} {
			w.refused(onto.Invalid, commit(onto.Draft{}.Merge(untypedMessage("c1/m1", change))), `Message "c1/m1": a key cannot change`, "delete the one and ensure the other")
		}
		w.refused(onto.Invalid, commit(onto.Draft{}.Merge(untypedMessage("c1/m1", `{"chat":null}`))), "field chat is missing")
		if _, err := s.Commit(w.Context(), onto.Draft{}.Merge(untypedMessage("c1/m1", `{"text":"bye"}`), chatMessage{ID: "m2", Chat: "c1", Text: "new"})); err != nil {
			w.Error(err)
		}
		if w.search(s, "bye") != "c1/m1" || w.search(s, "new") != "c1/m2" {
			w.Error("merges have not changed the texts")
		}
	})
}

// Two programs merge different fields; a third knows nothing of what is computed.
func TestMergesThatCross(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(messageType())
		w.commit(old, untypedMessage("", "{"+plainMessage+"}"))
		key := "c1/m1"
		w.migrate(searched())
		a, b := w.open(searched()), w.open(searched())
		for i, s := range []*store.Store{a, b, old} {
			change := []string{`{"text":"first"}`, `{"sender":"bob"}`, `{"head":{"title":"third"}}`}[i]
			if _, err := s.Commit(w.Context(), onto.Draft{}.Merge(untypedMessage(key, change))); err != nil {
				w.Error(err)
			}
		}
		for _, words := range []string{"first", "bob", "third"} {
			if got := w.search(a, words); got != key {
				w.Errorf("search of %s: got %q", words, got)
			}
		}
		w.commit(old, chatMessage{ID: "m2", Chat: "c1", Text: "fourth"})
		if _, err := store.Update(w.Context(), old, onto.Draft{}, store.Key{key}, func(m *chatMessage) error { m.Text = "fifth"; return nil }); err != nil {
			w.Error(err)
		}
		if w.search(a, "fourth") != "c1/m2" || w.search(a, "fifth") != key {
			w.Error("an older program has not changed the texts")
		}
		d := onto.Draft{IdempotencyKey: "once"}.Ensure(chatMessage{ID: "m3", Chat: "c1", Text: "sixth"})
		first, err := old.Commit(w.Context(), d)
		if again, repeated := old.Commit(w.Context(), d); err != nil || repeated != nil || again.ID != first.ID || !again.Repeated {
			w.Errorf("got %+v, %v, then %+v, %v", first, err, again, repeated)
		}
	})
}

// A draft that was committed before the type got further computed fields is the same draft.
func TestRepeatedBesideComputed(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(messageType())
		d := onto.Draft{IdempotencyKey: "once"}.Ensure(chatMessage{ID: "m1", Chat: "c1", Text: "hello"})
		first, err := old.Commit(w.Context(), d)
		if err != nil {
			w.Fatal(err)
		}
		w.migrate(searched())
		if _, err := old.Commit(w.Context(), onto.Draft{}.Ensure(chatMessage{ID: "m2", Chat: "c1"})); err != nil {
			w.Fatal(err)
		}
		if again, err := w.open(messageType()).Commit(w.Context(), d); err != nil || again.ID != first.ID {
			w.Errorf("got %+v, %v; want the result of commit %d", again, err, first.ID)
		}
	})
}

// Rows that were written before a field was computed get it when the type joins, and the past is
// read with it.
func TestComputedLater(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(messageType())
		w.commit(s, chatMessage{ID: "m1", Chat: "c1", Text: "early"}, chatMessage{ID: "m2", Chat: "c1", Text: "gone"})
		if _, err := s.Commit(w.Context(), onto.Draft{}.Delete(chatMessage{ID: "m2", Chat: "c1"})); err != nil {
			w.Fatal(err)
		}
		plan, err := store.PlanMigration(w.Context(), w.handle(), &store.Migration{Types: []onto.Type{searched()}})
		if err != nil || len(plan.Types) != 1 || !plan.Types[0].Rewrite || plan.Types[0].Steps[0].How != "compute onto_text" {
			w.Fatalf("got %+v, %v; want that rows are rewritten", plan, err)
		}
		s = w.open(searched())
		if got := w.search(s, "early"); got != "c1/m1" {
			w.Errorf("got %q", got)
		}
		past := w.keys(s, s.At(1), func(q store.Query[onto.Version]) store.Query[onto.Version] { return q.Search("gone") })
		if past != "c1/m2" {
			w.Errorf("in the past: got %q", past)
		}

		w.migrate(zoned(w)) // and away again
		s = w.open(zoned(w))
		if got := w.message(s, "c1/m1"); strings.Contains(got, "onto_text") || !strings.Contains(got, `"onto_key":"c1/m1"`) {
			w.Errorf("got %s", got)
		}
		other := onto.TypeOf[chatMessage]().As("Message").Keyed("id", "sender")
		w.refused(onto.UpgraderMissing, func() error { return w.tryMigrate(other) }, "the rule of the key onto_key has changed")
		w.refused(onto.UpgraderFailed, func() error {
			return w.tryMigrate(other, store.Upgrader{Type: "Message", From: 3, Program: `.sender = "x"`})
		}, `from sender and id follows another key, "x/m1"`)
		w.refused(onto.UpgraderFailed, func() error {
			return w.tryMigrate(searched(), store.Upgrader{Type: "Message", From: 3, Program: `.onto_text = "mine"`})
		}, "field onto_text is given, but the store computes it")
		w.migrate(other, store.Upgrader{Type: "Message", From: 3, Program: `.sender = .chat`})
		if got := w.message(w.open(other), "c1/m1"); !strings.Contains(got, `"sender":"c1"`) {
			w.Errorf("got %s", got)
		}
	})
}

// zoned is a later version without the texts.
func zoned(w world) onto.Type {
	s, err := messageType().Schema()
	if err != nil {
		w.Fatal(err)
	}
	s.Fields = append(slices.Clip(s.Fields), onto.Field{Name: "zone", Type: onto.String, Optional: true})
	return onto.Untyped(s)
}

// A time is no text where it is declared as one, and is where it can be anything.
func TestTimeBecomesText(t *testing.T) {
	at := func(typ onto.FieldType) onto.Type {
		return onto.Untyped(onto.Schema{Kind: onto.KindEntity, Name: "Message", Key: "id", Fields: []onto.Field{
			{Name: "id", Type: onto.String}, {Name: "all", Type: onto.Object, Fields: []onto.Field{{Name: "at", Type: typ}}},
		}}).TextSearch()
	}
	everywhere(t, func(w world) {
		s := w.open(at(onto.DateOnly))
		w.commit(s, untypedMessage("m1", `{"all":{"at":"2026-01-02"}}`))
		if got := w.search(s, "2026"); got != "" {
			w.Errorf("got %q, want that a date is no text", got)
		}
		w.migrate(at(onto.Any))
		if got := w.search(w.open(at(onto.Any)), "2026"); got != "m1" {
			w.Errorf("got %q, want that any text is found", got)
		}
	})
}

// Whatever programs write, by structs and by name, beside one that does not know the texts:
// every row has what is computed of its fields.
func TestComputedRowsDrawn(t *testing.T) {
	everywhereDrawn(t, 60, func(w world, r *rapid.T) {
		old := w.open(messageType())
		w.migrate(searched())
		programs := []*store.Store{old, w.open(searched()), w.open()}
		text := rapid.SampledFrom([]string{"", "a", "b/c", "%", `"q"`, "x\ny", "é"})
		part := rapid.SampledFrom([]string{"a", "b/c", "%25"})
		var last onto.Version
		for range rapid.IntRange(3, 12).Draw(r, "writes") {
			s := rapid.SampledFrom(programs).Draw(r, "program")
			m := chatMessage{ID: part.Draw(r, "id"), Chat: part.Draw(r, "chat"), Sender: text.Draw(r, "sender"), Text: text.Draw(r, "text"),
				Head: messageHead{text.Draw(r, "title"), rapid.SliceOfN(text, 0, 2).Draw(r, "tags")}, Extra: map[string]any{"é": text.Draw(r, "extra")}}
			key := onto.ShardedKey(m.Chat, m.ID)
			var d onto.Draft
			switch rapid.IntRange(0, 4).Draw(r, "kind") {
			case 0:
				if s == programs[2] {
					continue // has no struct
				}
				d = d.Ensure(m)
			case 1:
				fields, err := json.Marshal(m)
				if err != nil {
					r.Fatal(err)
				}
				d = d.Ensure(untypedMessage("", string(fields)))
			case 2:
				d = d.Merge(onto.Entity{Type: "Message", Key: key, Fields: map[string]any{"text": m.Text, "head": map[string]any{"title": m.Head.Title}}})
			case 3:
				d = d.Delete(messageID(key))
			default:
				if last.Op == "" {
					continue
				}
				d = d.Ensure(last)
			}
			if _, err := s.Commit(w.Context(), d); err != nil && !strings.Contains(err.Error(), "it does not exist, and field") {
				r.Fatal(err)
			}
			if v, err := s.Now().Get(w.Context(), messageID(key)); err == nil {
				last = v
			}
		}
		schema, err := programs[2].Type("Message")
		if err != nil {
			r.Fatal(err)
		}
		rules := computed.Of(&schema)
		for v, err := range programs[2].Now().Find("Message").All(w.Context()) {
			if err == nil {
				err = rules.Check(v.Identity, v.Fields)
			}
			shard, id, keyErr := onto.KeyParts(v.Key)
			if err != nil || keyErr != nil || v.Key != onto.ShardedKey(shard, id) || string(codec.Find(v.Fields, []string{"onto_text"})) == "" {
				r.Fatalf("%v %v: %s", err, keyErr, v.Fields)
			}
			if read, err := store.Get[chatMessage](w.Context(), programs[1].Now(), v.Key); err != nil || read.ID != id || read.Chat != shard {
				r.Fatalf("%s is read as %+v, %v", v.Key, read, err)
			}
		}
	})
}
