package object_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// An object keeps its shard key: no update moves it, and nothing is written when one tries.
func TestShardKeyStays(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		m := insert(t, acme, 1)[0]
		moved := m
		moved.Chat = "c5"
		wantCode(t, acme.Update(ctx, moved), onto.NotFound)
		wantCode(t, acme.SafeUpdate(ctx, m, moved), onto.Invalid)
		_, err := acme.Mutate(ctx, m.DBKey(), func(m *Message) error {
			m.Chat = "c5"
			return nil
		})
		wantCode(t, err, onto.Invalid)
		_, err = acme.Mutate(ctx, moved.DBKey(), func(*Message) error { return nil })
		wantCode(t, err, onto.NotFound)
		if list, err := acme.SelectAll(ctx); err != nil || !reflect.DeepEqual(list, []Message{m}) {
			t.Errorf("got %+v, %v", list, err)
		}
		for name, wrong := range map[string]Message{
			"no id": {Chat: "c1"}, "no shard key": {ID: "m1"}, "a long id": {ID: MessageID(strings.Repeat("x", 1<<10)), Chat: "c1"},
		} {
			if err := acme.Insert(ctx, message(2), wrong); onto.CodeOf(err) != onto.Invalid && onto.CodeOf(err) != onto.TooLarge {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if n, err := acme.Count(ctx, nil); n != 1 || err != nil {
			t.Errorf("%d objects are left, %v", n, err)
		}
	})
}

// Mutate returns what it stored, also when its idempotency key was used before.
func TestMutate(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		acme := messagesOf(v).Tenant("acme")
		m := insert(t, acme, 1)[0]
		once := object.With(t.Context(), onto.Draft{IdempotencyKey: "star"})
		for range 2 {
			got, err := acme.Mutate(once, m.DBKey(), func(m *Message) error {
				m.Sent++
				return nil
			})
			if want := m.Sent + 1; err != nil || got.Sent != want || got.ID != m.ID {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		_, err := acme.Mutate(t.Context(), m.DBKey(), nil)
		wantCode(t, err, onto.Invalid)
		stop := errors.New("stop")
		if _, err := acme.Mutate(t.Context(), m.DBKey(), func(m *Message) error {
			m.Text = "never"
			return stop
		}); err != stop {
			t.Errorf("got %v", err)
		}
		got, err := acme.SelectByID(t.Context(), m.ID)
		if err != nil || got.Sent != m.Sent+1 || got.Text != m.Text {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// Shards commit one by one. What some have not committed is named, and repeating the write
// with its idempotency key finishes it.
func TestPartialError(t *testing.T) {
	onEachWatched(t, func(t *testing.T, v *object.Vaults, w *watch) {
		shards, err := v.Shards(t.Context(), "chat", "acme")
		must(t, err)
		set := messagesOf(v)
		acme := set.Tenant("acme")
		_, err = acme.SelectAll(t.Context()) // so that the type is known
		must(t, err)
		var all []Message
		for i := range 40 {
			all = append(all, message(i))
		}
		ctx := object.With(t.Context(), onto.Draft{Actor: onto.Operator("ana"), IdempotencyKey: "import-1"})
		w.fails.Store(1)
		err = acme.Insert(ctx, all...)
		if onto.CodeOf(err) != onto.Unavailable {
			t.Fatalf("got %v", err)
		}
		var partial *object.PartialError
		written, _ := acme.Count(t.Context(), nil)
		if len(shards) == 1 {
			if errors.As(err, &partial) || written > 0 {
				t.Errorf("the only shard failed: got %v, and %d objects", err, written)
			}
		} else if !errors.As(err, &partial) {
			if written > 0 { // the others were not begun
				t.Errorf("got %v, and %d objects", err, written)
			}
		} else {
			if len(partial.Failed) != 1 || len(partial.Committed) == 0 || !strings.Contains(err.Error(), "the disk is on fire") {
				t.Errorf("got %+v", partial)
			}
			for name := range partial.Failed {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("the error %q does not name %s", err, name)
				}
			}
			var sum int
			for _, res := range partial.Committed {
				sum += res.Operations
			}
			if int64(sum) != written {
				t.Errorf("%d objects are written, and the error says %d", written, sum)
			}
		}
		must(t, acme.Insert(ctx, all...))
		must(t, acme.Insert(ctx, all...))
		if list, err := acme.SelectAll(t.Context()); err != nil || len(list) != len(all) {
			t.Errorf("finished: got %d objects, %v", len(list), err)
		}
		wantCode(t, acme.Insert(ctx, message(99)), onto.IdempotencyConflict)
		wantCode(t, acme.Insert(t.Context(), all...), onto.Conflict)
		changed := all[3]
		changed.Text = "changed"
		must(t, acme.Upsert(t.Context(), append(all[:3:3], changed)...))
		if m, err := acme.SelectByID(t.Context(), changed.ID); err != nil || m.Text != "changed" {
			t.Errorf("upserted: got %+v, %v", m, err)
		}
	})
}

// The draft of a context says who and why. Anything else is refused, and nothing is written.
func TestDraftOfAContext(t *testing.T) {
	v := open(t, object.Config{"chat": {"acme": {"memory://"}}})
	must(t, v.Init(t.Context(), "chat", "acme"))
	set := messagesOf(v)
	acme := set.Tenant("acme")
	m := insert(t, acme, 1)[0]
	for name, d := range map[string]onto.Draft{
		"intents":      onto.Draft{}.Ensure(m),
		"deletes":      onto.Draft{}.Delete(onto.EntityID("Message", "x")),
		"events":       onto.Draft{}.Emit(m),
		"expectations": onto.Draft{}.ExpectHead(1),
		"fences":       onto.Draft{}.GivenHead(1),
	} {
		ctx := object.With(t.Context(), d)
		for operation, err := range map[string]error{
			"Insert": acme.Insert(ctx, message(1)), "Upsert": acme.Upsert(ctx, message(1)), "Update": acme.Update(ctx, m),
			"SafeUpdate": acme.SafeUpdate(ctx, m, m), "Delete": acme.Delete(ctx, m.DBKey()),
			"Tx": acme.Tx(ctx, m.Chat, func(*object.Tx) error { return nil }),
		} {
			if onto.CodeOf(err) != onto.Invalid {
				t.Errorf("%s with %s: got %v", operation, name, err)
			}
		}
		_, err := acme.DeleteWhere(ctx, nil)
		wantCode(t, err, onto.Invalid)
	}
	if n, err := acme.Count(t.Context(), nil); n != 1 || err != nil {
		t.Errorf("%d objects are left, %v", n, err)
	}
	ctx := object.With(t.Context(), onto.Draft{Actor: onto.Daemon("d"), Comment: "why", Correlation: "c", Metadata: map[string]any{"k": "v"}})
	must(t, acme.Insert(ctx, message(1)))
	for r, err := range acme.History(ctx, message(1).DBKey()) {
		if c := r.Commit; err != nil || c.Actor != onto.Daemon("d") || c.Comment != "why" || c.Correlation != "c" || c.Metadata["k"] != "v" {
			t.Errorf("got %+v, %v", c, err)
		}
	}
}
