package object_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
)

type (
	MessageID string
	ChatID    string
)

// Message is what most tests are about: an object whose shard key is not its id.
type Message struct {
	ID     MessageID `json:"id"`
	Chat   ChatID    `json:"chat"`
	Sender string    `json:"sender"`
	Text   string    `json:"text"`
	Sent   int64     `json:"sent"`
	Stars  *int64    `json:"stars,omitempty"`
	Place  Place     `json:"place"`
}

type Place struct {
	City string   `json:"city"`
	Tags []string `json:"tags"`
}

func (m Message) DBKey() object.Key[MessageID, ChatID] { return object.KeyOf(m.ID, m.Chat) }

// Chat is an object whose id is its shard key.
type Chat struct {
	ID       ChatID `json:"id"`
	Title    string `json:"title"`
	Messages int64  `json:"messages"`
}

func (c Chat) DBKey() object.Key[ChatID, ChatID] { return object.KeyOf(c.ID, c.ID) }

// layout is where the shards of a tenant are.
type layout struct {
	kind   string // memory, sqlite, lake, or mixed
	shards int
}

func (l layout) String() string { return l.kind + "-" + strconv.Itoa(l.shards) }

// layouts are those on which each test runs.
var layouts = []layout{
	{"memory", 1}, {"memory", 2}, {"memory", 5},
	{"sqlite", 1}, {"sqlite", 2}, {"sqlite", 5},
	{"lake", 1}, {"lake", 2}, {"lake", 5},
	{"mixed", 3},
}

// uris makes up shards of a tenant below a directory.
func (l layout) uris(dir, tenant string) []string {
	var list []string
	for i := range l.shards {
		kind := l.kind
		if kind == "mixed" {
			kind = []string{"memory", "sqlite", "lake"}[i%3]
		}
		path := filepath.Join(dir, fmt.Sprintf("%s-%d", tenant, i))
		switch kind {
		case "memory":
			list = append(list, "memory://")
		case "sqlite":
			list = append(list, "sqlite:///"+path+".db")
		case "lake":
			list = append(list, "file://"+path)
		}
	}
	return list
}

// openVaults opens a vault chat with the tenants acme and rival on each layout, which are made.
func onEach(t *testing.T, f func(t *testing.T, v *object.Vaults)) {
	for _, l := range layouts {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			v := open(t, object.Config{"chat": {"acme": l.uris(dir, "acme"), "rival": l.uris(dir, "rival")}})
			for _, tenant := range []string{"acme", "rival"} {
				if err := v.Init(t.Context(), "chat", tenant); err != nil {
					t.Fatal(err)
				}
			}
			f(t, v)
		})
	}
}

func open(t testing.TB, config object.Config) *object.Vaults {
	t.Helper()
	v, err := object.Open(context.Background(), config, sqlite.Opener, memory.Opener, lake.Opener)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func messagesOf(v *object.Vaults) *object.Set[Message, MessageID, ChatID] {
	return object.NewSet[Message](v, "chat").WithIndexes("sender", "place.city").WithTextSearch().Ready()
}

func message(i int) Message {
	m := Message{
		ID: MessageID(fmt.Sprintf("m%03d", i)), Chat: ChatID(fmt.Sprintf("c%d", i%7)), Sender: []string{"ana", "bob", "eve"}[i%3],
		Text: fmt.Sprintf("word%d hello", i%5), Sent: int64(i % 10), Place: Place{City: []string{"Oslo", "Rome"}[i%2], Tags: []string{"tag" + strconv.Itoa(i%4)}},
	}
	if i%4 == 0 {
		stars := int64(i % 3)
		m.Stars = &stars
	}
	return m
}

func wantCode(t *testing.T, err error, code onto.Code) {
	t.Helper()
	if onto.CodeOf(err) != code {
		t.Errorf("got error %v (%s), want %s", err, onto.CodeOf(err), code)
	}
}
