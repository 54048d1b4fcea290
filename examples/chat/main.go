// Command chat keeps the chats of two companies apart, and each company's messages on two
// shards.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
)

// Message is an object. The messages of a chat are on one shard.
type Message struct {
	ID     string `json:"id"`
	Chat   string `json:"chat"`
	Sender string `json:"sender"`
	Text   string `json:"text"`
}

func (m Message) DBKey() object.Key[string, string] { return object.KeyOf(m.ID, m.Chat) }

// Chat counts its messages.
type Chat struct {
	Name     string `json:"name"`
	Messages int    `json:"messages"`
}

func (c Chat) DBKey() object.Key[string, string] { return object.KeyOf(c.Name, c.Name) }

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, out io.Writer) error {
	config := object.Config{"chat": {}}
	for _, tenant := range []string{"acme", "rival"} {
		for _, shard := range []string{"1", "2"} {
			uri := "sqlite:///" + filepath.Join(dir, tenant+"-"+shard+".db")
			config["chat"][tenant] = append(config["chat"][tenant], uri)
		}
	}
	vaults, err := object.Open(ctx, config, sqlite.Opener)
	if err != nil {
		return err
	}
	defer vaults.Close()
	messages := object.NewSet[Message](vaults, "chat").WithIndexes("sender").WithTextSearch().Ready()
	chats := object.NewSet[Chat](vaults, "chat").Ready()
	for tenant := range config["chat"] {
		if err := vaults.Init(ctx, "chat", tenant); err != nil {
			return err
		}
	}

	// A message and the count of its chat are one commit: they have the same shard key.
	acme := messages.Tenant("acme")
	post := func(m Message) error {
		ctx := object.With(ctx, onto.Draft{Actor: onto.Operator(m.Sender)})
		return acme.Tx(ctx, m.Chat, func(tx *object.Tx) error {
			chat := Chat{Name: m.Chat}
			if found, err := object.In(tx, chats).SelectByID(ctx, m.Chat); err == nil {
				chat = found
			} else if onto.CodeOf(err) != onto.NotFound {
				return err
			}
			chat.Messages++
			if err := object.In(tx, chats).Upsert(ctx, chat); err != nil {
				return err
			}
			return object.In(tx, messages).Insert(ctx, m)
		})
	}
	for _, m := range []Message{
		{"m1", "lobby", "ana", "Hello, everybody"}, {"m2", "lobby", "bob", "Hello, Ana"}, {"m3", "kitchen", "ana", "Coffee is ready"},
	} {
		if err := post(m); err != nil && onto.CodeOf(err) != onto.Conflict { // it was posted by an earlier run
			return err
		}
	}

	fmt.Fprintln(out, "What ana wrote, on all shards:")
	list, err := acme.SelectWithMetadata(ctx, object.Where().Key("sender").Equal("ana").OrderByDesc("id").Limit(20))
	if err != nil {
		return err
	}
	for _, m := range list {
		fmt.Fprintf(out, "  %s in %s: %s (by %s)\n", m.Object.ID, m.Object.Chat, m.Object.Text, m.Metadata.CreatedBy)
	}
	lobby, err := chats.Tenant("acme").SelectByID(ctx, "lobby")
	if err != nil {
		return err
	}
	found, err := acme.Count(ctx, object.Where().Search("hello"))
	if err != nil {
		return err
	}
	others, err := messages.Tenant("rival").Count(ctx, object.All())
	fmt.Fprintf(out, "The lobby has %d messages, %d say hello, and the rival sees %d.\n", lobby.Messages, found, others)
	return err
}
