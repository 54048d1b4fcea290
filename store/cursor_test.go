package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
)

type part struct {
	ID   string `json:"id" onto:"key"`
	Size any    `json:"size"`
}

// FuzzCursor tries arbitrary cursors: each is refused as Invalid or NotFound, or gives
// a page.
func FuzzCursor(f *testing.F) {
	s, err := Open(f.Context(), memory.New(nil).Open(), onto.TypeOf[part]().As("Part"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	draft := onto.Draft{}
	for _, p := range []part{{"a", 1}, {"b", "x"}, {"c", nil}, {"d", true}, {"e", []int{1}}, {"f", 1.5}} {
		draft = draft.Ensure(p)
	}
	if _, err := s.Commit(f.Context(), draft); err != nil {
		f.Fatal(err)
	}
	q := Find[part](s.Now()).OrderBy(onto.Path("size").Desc()).Limit(2)
	for next := ""; ; {
		page, err := q.After(next).Page(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		if next = page.Next; next == "" {
			break
		}
		text, _ := base64.RawURLEncoding.DecodeString(next)
		f.Add(string(text))
	}
	for _, text := range []string{"", "{}", "null", `{"q":"x"}`, `{"m":1,"i":["a"]}`} {
		f.Add(text)
	}
	ask, err := q.ask(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, withQuestion(text, q.fingerprint(ask))} {
			page, err := q.After("").After(base64.RawURLEncoding.EncodeToString([]byte(text))).Page(t.Context())
			if err != nil && !errors.Is(err, onto.Invalid) && !errors.Is(err, onto.NotFound) {
				t.Errorf("%q: got %v, want Invalid or NotFound", text, err)
			}
			if len(page.Items) > 2 {
				t.Errorf("%q: got %d items, want 2 at most", text, len(page.Items))
			}
		}
	})
}

type belief struct {
	onto.About[string]
	Rank int      `json:"rank"`
	Tags []string `json:"tags" onto:"many"`
}

// FuzzFactCursor is FuzzCursor for facts, whose cursors have a valid time as well.
func FuzzFactCursor(f *testing.F) {
	s, err := Open(f.Context(), memory.New(nil).Open(), onto.TypeOf[belief]().As("Belief"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	draft := onto.Draft{}
	for i, subject := range []string{"a", "a", "b", "c"} {
		draft = draft.Assert(onto.Fact{Type: "Belief", Subject: subject, Attribute: "rank", Value: i},
			onto.Fact{Type: "Belief", Subject: subject, Attribute: "tags", Value: subject})
	}
	if _, err := s.Commit(f.Context(), draft); err != nil {
		f.Fatal(err)
	}
	q := s.Now().Facts("Belief").Limit(2)
	first, err := q.Page(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	text, err := base64.RawURLEncoding.DecodeString(first.Next)
	if err != nil {
		f.Fatal(err)
	}
	var c cursor
	if err := json.Unmarshal(text, &c); err != nil || c.Valid == "" {
		f.Fatalf("%s has no valid time, or %v", text, err)
	}
	f.Add(string(text))
	for _, valid := range []string{"", "x", "2026-01-01T00:00:00Z", "0000-01-01T00:00:00.000000+00:00", "9999-12-31T23:59:59.999999+00:00"} {
		other := c
		other.Valid = valid
		text, _ := json.Marshal(other)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, withQuestion(text, c.Question)} {
			page, err := q.After(base64.RawURLEncoding.EncodeToString([]byte(text))).Page(t.Context())
			if err != nil && !errors.Is(err, onto.Invalid) && !errors.Is(err, onto.NotFound) {
				t.Errorf("%q: got %v, want Invalid or NotFound", text, err)
			}
			if len(page.Items) > 2 {
				t.Errorf("%q: got %d items, want 2 at most", text, len(page.Items))
			}
		}
	})
}

// withQuestion makes the cursor one of this question, so that later checks are reached,
// too.
func withQuestion(text, question string) string {
	var c cursor
	if json.Unmarshal([]byte(text), &c) != nil {
		return text
	}
	c.Question = question
	made, err := json.Marshal(c)
	if err != nil {
		return text
	}
	return string(made)
}
