package object_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// A transaction over two sets is one commit, or nothing.
func TestTx(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		messages, chats := messagesOf(v), object.NewSet[Chat](v, "chat").Ready()
		acme := messages.Tenant("acme")
		post := func(ctx context.Context, m Message) error {
			return acme.Tx(ctx, m.Chat, func(tx *object.Tx) error {
				chat, err := object.In(tx, chats).SelectByID(ctx, m.Chat)
				if onto.CodeOf(err) == onto.NotFound {
					chat, err = Chat{ID: m.Chat, Title: "new"}, nil
				}
				if err != nil {
					return err
				}
				chat.Messages++
				if err := object.In(tx, chats).Upsert(ctx, chat); err != nil {
					return err
				}
				return object.In(tx, messages).Insert(ctx, m)
			})
		}
		for i := range 21 {
			must(t, post(as(t, "ana"), message(i)))
		}
		for i := range 7 {
			m := message(i)
			wantCode(t, post(t.Context(), m), onto.Conflict)
			chat, err := chats.Tenant("acme").SelectByIDWithMetadata(t.Context(), m.Chat)
			if err != nil || chat.Object.Messages != 3 || chat.Metadata.UpdatedBy != onto.Operator("ana") {
				t.Errorf("got %+v, %v", chat, err)
			}
			last, err := acme.SelectByIDWithMetadata(t.Context(), message(i+14).ID)
			if err != nil || last.Metadata.Version != chat.Metadata.Version || last.Metadata.Shard != chat.Metadata.Shard {
				t.Errorf("the message is of %+v, and the chat of %+v, %v", last.Metadata, chat.Metadata, err)
			}
		}
		once := object.With(t.Context(), onto.Draft{IdempotencyKey: "post"})
		must(t, post(once, message(30)))
		must(t, post(once, message(30)))

		m := message(0)
		must(t, acme.Tx(t.Context(), m.Chat, func(tx *object.Tx) error {
			in := object.In(tx, messages)
			list, err := in.Select(t.Context(), object.Where().Key("sender").Equal(m.Sender).OrderByDesc("id").Limit(2))
			if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], m) {
				t.Errorf("selected %+v, %v", list, err)
			}
			all, err := in.Select(t.Context(), nil)
			if err != nil || len(all) != 3 {
				t.Errorf("selected %v, %v", ids(all), err)
			}
			for id, want := range map[MessageID]bool{m.ID: true, "nobody": false, message(1).ID: false} {
				if ok, err := in.Exists(t.Context(), id); ok != want || err != nil {
					t.Errorf("%s exists: %t, %v", id, ok, err)
				}
			}
			m.Text = "in a transaction"
			if err := in.Update(t.Context(), m); err != nil {
				return err
			}
			ghost := m
			ghost.ID = "nobody"
			wantCode(t, in.Update(t.Context(), ghost), onto.NotFound)
			_, err = in.Select(t.Context(), object.Where().Key("nobody").IsNull())
			wantCode(t, err, onto.Invalid)
			_, err = in.Select(t.Context(), object.All().Cursor("x"))
			wantCode(t, err, onto.Invalid)
			return in.Delete(t.Context(), message(7).ID, "nobody")
		}))
		if list, err := acme.SelectAll(t.Context(), m.Chat); err != nil || len(list) != 2 || list[0].Text != m.Text {
			t.Errorf("got %+v, %v", list, err)
		}
	})
}

// A transaction is about one shard key of one tenant of one vault.
func TestTxRefuses(t *testing.T) {
	v := open(t, object.Config{
		"chat": {"acme": {"memory://", "memory://"}, "rival": {"memory://"}}, "mail": {"acme": {"memory://"}},
	})
	for vault, tenant := range map[string]string{"chat": "acme", "mail": "acme"} {
		must(t, v.Init(t.Context(), vault, tenant))
	}
	other := open(t, object.Config{"chat": {"acme": {"memory://"}}})
	set, mails, others := messagesOf(v), object.NewSet[Message](v, "mail").Ready(), messagesOf(other)
	acme := set.Tenant("acme")
	all := insert(t, acme, 5)
	m, stranger := all[1], all[2]
	must(t, acme.Tx(t.Context(), m.Chat, func(tx *object.Tx) error {
		in := object.In(tx, set)
		wantCode(t, in.Insert(t.Context(), message(9), stranger), onto.Invalid)
		wantCode(t, in.Upsert(t.Context(), stranger), onto.Invalid)
		wantCode(t, in.Update(t.Context(), stranger), onto.Invalid)
		wantCode(t, in.Delete(t.Context(), ""), onto.Invalid)
		for _, foreign := range []object.TxSet[Message, MessageID, ChatID]{object.In(tx, mails), object.In(tx, others)} {
			wantCode(t, foreign.Insert(t.Context(), m), onto.Invalid)
			wantCode(t, foreign.Upsert(t.Context(), m), onto.Invalid)
			wantCode(t, foreign.Update(t.Context(), m), onto.Invalid)
			wantCode(t, foreign.Delete(t.Context(), m.ID), onto.Invalid)
			_, err := foreign.SelectByID(t.Context(), m.ID)
			wantCode(t, err, onto.Invalid)
			_, err = foreign.Exists(t.Context(), m.ID)
			wantCode(t, err, onto.Invalid)
			_, err = foreign.Select(t.Context(), nil)
			wantCode(t, err, onto.Invalid)
		}
		return nil
	}))
	wantCode(t, acme.Tx(t.Context(), "", func(*object.Tx) error { return nil }), onto.Invalid)
	wantCode(t, acme.Tx(t.Context(), m.Chat, nil), onto.Invalid)
	if list, err := acme.SelectAll(t.Context()); err != nil || len(list) != 5 {
		t.Errorf("got %v, %v", ids(list), err)
	}
	var kept *object.Tx
	must(t, acme.Tx(t.Context(), m.Chat, func(tx *object.Tx) error {
		kept = tx
		return nil
	}))
	wantCode(t, object.In(kept, set).Upsert(t.Context(), m), onto.Closed)
}

// What a transaction has read and others change is read again.
func TestTxIsRepeated(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		set := messagesOf(v)
		acme := set.Tenant("acme")
		all := insert(t, acme, 20)
		m := all[1]
		for name, read := range map[string]func(in object.TxSet[Message, MessageID, ChatID]) error{
			"by id": func(in object.TxSet[Message, MessageID, ChatID]) error {
				_, err := in.SelectByID(t.Context(), m.ID)
				return err
			},
			"by a clause": func(in object.TxSet[Message, MessageID, ChatID]) error {
				_, err := in.Select(t.Context(), object.Where().Key("sender").Equal("nobody"))
				return err
			},
			"that it exists": func(in object.TxSet[Message, MessageID, ChatID]) error {
				_, err := in.Exists(t.Context(), m.ID)
				return err
			},
		} {
			tries := 0
			must(t, acme.Tx(t.Context(), m.Chat, func(tx *object.Tx) error {
				in := object.In(tx, set)
				if err := read(in); err != nil {
					return err
				}
				if tries++; tries == 1 { // another writer is faster
					changed := m
					changed.Text = "changed for what is read " + name
					must(t, acme.Update(t.Context(), changed))
				}
				beside := all[8]
				beside.Text = name
				return in.Upsert(t.Context(), beside)
			}))
			if tries != 2 {
				t.Errorf("read %s: %d tries", name, tries)
			}
		}
		broken := errors.New("broken")
		if err := acme.Tx(t.Context(), m.Chat, func(tx *object.Tx) error {
			must(t, object.In(tx, set).Delete(t.Context(), m.ID))
			return broken
		}); err != broken {
			t.Errorf("got %v", err)
		}
		func() {
			defer func() {
				if recover() != "no" {
					t.Error("the panic was lost")
				}
			}()
			acme.Tx(t.Context(), m.Chat, func(tx *object.Tx) error {
				must(t, object.In(tx, set).Delete(t.Context(), m.ID))
				panic("no")
			})
		}()
		if n, err := acme.Count(t.Context(), nil); n != 20 || err != nil {
			t.Errorf("counted %d, %v", n, err)
		}
	})
}
