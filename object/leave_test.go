package object_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// panics returns what a function panics with.
func panics(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// Leaving a loop early, or by a panic, leaves nothing behind: no goroutine, no reader, no place in
// a line. A panic in a function of the program passes through, and nothing is written.
func TestLeave(t *testing.T) {
	for _, l := range []layout{{"memory", 1}, {"memory", 3}, {"sqlite", 1}, {"sqlite", 3}, {"lake", 2}} {
		t.Run(l.String(), func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			v := open(t, object.Config{"chat": {"acme": l.uris(t.TempDir(), "acme")}})
			if err := v.Init(t.Context(), "chat", "acme"); err != nil {
				t.Fatal(err)
			}
			throws := false
			set := object.NewSet[Message](v, "chat").WithCompute(func(context.Context, object.Metadata, *Message) error {
				if throws {
					panic("in a compute function")
				}
				return nil
			}).Ready()
			acme, ctx := set.Tenant("acme"), t.Context()
			var list []Message
			for i := range 300 {
				list = append(list, message(i))
			}
			if err := acme.Insert(ctx, list...); err != nil {
				t.Fatal(err)
			}
			m := message(1)
			for n := range 20 {
				for range acme.Each(ctx, nil) {
					break
				}
				for range acme.EachWithMetadata(ctx, object.All().OrderByDesc("sent")) {
					break
				}
				for range acme.History(ctx, m.DBKey()) {
					break
				}
				inner, cancel := context.WithCancel(ctx)
				for range acme.Each(inner, nil) {
					cancel()
				}
				cancel()
				for what, f := range map[string]func(){
					"Each": func() {
						for range acme.Each(ctx, nil) {
							panic("Each")
						}
					},
					"Process": func() { _, _ = acme.Process(ctx, nil, func(context.Context, Message) error { panic("Process") }) },
					"Mutate": func() {
						_, _ = acme.Mutate(ctx, m.DBKey(), func(m *Message) error { m.Text = "no"; panic("Mutate") })
					},
					"Tx": func() {
						_ = acme.Tx(ctx, m.Chat, func(tx *object.Tx) error {
							if err := object.In(tx, set).Delete(ctx, m.ID); err != nil {
								t.Error(err)
							}
							panic("Tx")
						})
					},
				} {
					if got := panics(f); got != what {
						t.Errorf("%s panics with %v", what, got)
					}
				}
				throws = true
				for what, f := range map[string]func(){
					"Select":     func() { _, _ = acme.Select(ctx, nil) },
					"SelectByID": func() { _, _ = acme.SelectByID(ctx, m.ID) },
					"Page":       func() { _, _ = acme.Page(ctx, nil) },
					"SafeUpdate": func() { _ = acme.SafeUpdate(ctx, m, m) },
					"TxSet.Select": func() {
						_ = acme.Tx(ctx, m.Chat, func(tx *object.Tx) error { _, err := object.In(tx, set).Select(ctx, nil); return err })
					},
				} {
					if got := panics(f); got != "in a compute function" {
						t.Errorf("%s panics with %v", what, got)
					}
				}
				throws = false
				if n == 0 {
					if got, err := acme.SelectByID(ctx, m.ID, m.Chat); err != nil || got.Text != m.Text {
						t.Errorf("after panics: %+v, %v", got, err)
					}
				}
			}
			if _, err := acme.Mutate(ctx, m.DBKey(), func(m *Message) error { m.Sent++; return nil }); err != nil {
				t.Errorf("after panics: %v", err)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
			goleak.VerifyNone(t, before)
		})
	}
}

// An error of a compute function is no answer to the question whether an object exists.
func TestComputeFails(t *testing.T) {
	v := open(t, object.Config{"chat": {"acme": {"memory://", "memory://"}}})
	if err := v.Init(t.Context(), "chat", "acme"); err != nil {
		t.Fatal(err)
	}
	mine := onto.Errorf(onto.NotFound, "the sender is unknown")
	set := object.NewSet[Message](v, "chat").WithCompute(func(context.Context, object.Metadata, *Message) error { return mine }).Ready()
	acme, ctx, m := set.Tenant("acme"), t.Context(), message(1)
	if err := acme.Insert(ctx, m); err != nil {
		t.Fatal(err)
	}
	if exists, err := acme.Exists(ctx, m.ID); err != nil || !exists {
		t.Errorf("Exists: got %t, %v", exists, err)
	}
	err := acme.Tx(ctx, m.Chat, func(tx *object.Tx) error {
		if exists, err := object.In(tx, set).Exists(ctx, m.ID); err != nil || !exists {
			t.Errorf("Exists: got %t, %v", exists, err)
		}
		if _, err := object.In(tx, set).SelectByID(ctx, m.ID); err != error(mine) {
			t.Errorf("SelectByID: got %v", err)
		}
		if err := object.In(tx, set).Update(ctx, m); err != nil {
			t.Errorf("Update: %v", err)
		}
		err := object.In(tx, set).Insert(ctx, m)
		wantError(t, "Insert", err, onto.Conflict, string(m.ID))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := acme.SafeUpdate(ctx, m, m); err != error(mine) {
		t.Errorf("SafeUpdate: got %v", err)
	}
}

// A safe update takes what was read, and what was written if that is the same but for empty lists.
func TestSafeUpdateOfEmptyLists(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		acme := messagesOf(v).Tenant("acme")
		for i, tags := range [][]string{nil, {}} {
			m := Message{ID: MessageID(fmt.Sprint(i)), Chat: "c", Place: Place{Tags: tags}}
			if err := acme.Insert(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			to := m
			to.Text = strings.Repeat("x", 10)
			if err := acme.SafeUpdate(t.Context(), m, to); err != nil {
				t.Errorf("from what was written: %v", err)
			}
			read, err := acme.SelectByID(t.Context(), m.ID)
			if err != nil {
				t.Fatal(err)
			}
			if err := acme.SafeUpdate(t.Context(), read, m); err != nil {
				t.Errorf("from what was read: %v", err)
			}
			m.Place.Tags = []string{"other"}
			wantCode(t, acme.SafeUpdate(t.Context(), m, to), onto.VersionMismatch)
		}
	})
}
