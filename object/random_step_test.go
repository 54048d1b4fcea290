package object_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// some returns a message that exists, mostly.
func (h *history) some(w *world) Message {
	m := drawMessage(h.r)
	if h.r.IntN(5) == 0 || len(w.messages.live) == 0 {
		return m
	}
	i := h.r.IntN(len(w.messages.live))
	keys := make([]string, 0, len(w.messages.live))
	for key := range w.messages.live {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	was := w.messages.live[keys[i]].object
	m.ID, m.Chat = was.ID, was.Chat
	return m
}

// draw returns messages with keys of their own.
func (h *history) draw(w *world) []Message {
	list := []Message{h.some(w)}
	for range h.r.IntN(6) {
		m := drawMessage(h.r)
		if !slices.ContainsFunc(list, func(other Message) bool { return other.DBKey() == m.DBKey() }) {
			list = append(list, m)
		}
	}
	return list
}

// failed compares an error with a code, "" for none.
func (h *history) failed(err error, code onto.Code) {
	h.Helper()
	if onto.CodeOf(err) != code || (err == nil) != (code == "") {
		h.Errorf("%s: got %v (%s), want %q", h.did, err, onto.CodeOf(err), code)
	}
}

func (h *history) insert(ctx context.Context, w *world, by onto.Actor) func() error {
	list := h.draw(w)
	h.did = fmt.Sprintf("%s: insert %+v", w.name, list)
	err := h.messages.Tenant(w.name).Insert(ctx, list...)
	exists := slices.ContainsFunc(list, func(m Message) bool { _, ok := w.messages.live[messageKey(m)]; return ok })
	var partial *object.PartialError
	switch {
	case !exists && err == nil:
		for _, m := range list {
			w.messages.put(messageKey(m), m, by)
		}
	case exists && errors.As(err, &partial):
		h.failed(err, onto.Conflict)
		for _, m := range list { // what a shard committed, it committed whole
			if ok, err := h.messages.Tenant(w.name).Exists(h.Context(), m.ID, m.Chat); err != nil {
				h.Error(err)
			} else if _, was := w.messages.live[messageKey(m)]; ok && !was {
				w.messages.put(messageKey(m), m, by)
			}
		}
	case exists:
		h.failed(err, onto.Conflict)
	default:
		h.failed(err, "")
	}
	if err != nil {
		return nil
	}
	return func() error { return h.messages.Tenant(w.name).Insert(ctx, list...) }
}

func (h *history) upsert(ctx context.Context, w *world, by onto.Actor) func() error {
	list := h.draw(w)
	h.did = fmt.Sprintf("%s: upsert %+v", w.name, list)
	h.failed(h.messages.Tenant(w.name).Upsert(ctx, list...), "")
	for _, m := range list {
		w.messages.put(messageKey(m), m, by)
	}
	return func() error { return h.messages.Tenant(w.name).Upsert(ctx, list...) }
}

func (h *history) upsertChats(ctx context.Context, w *world, by onto.Actor) func() error {
	chat := drawChat(h.r)
	h.did = fmt.Sprintf("%s: upsert %+v", w.name, chat)
	h.failed(h.chats.Tenant(w.name).Upsert(ctx, chat), "")
	w.chats.put(chatKey(chat), chat, by)
	return func() error { return h.chats.Tenant(w.name).Upsert(ctx, chat) }
}

func (h *history) update(ctx context.Context, w *world, by onto.Actor) func() error {
	m := h.some(w)
	h.did = fmt.Sprintf("%s: update %+v", w.name, m)
	err := h.messages.Tenant(w.name).Update(ctx, m)
	if _, exists := w.messages.live[messageKey(m)]; !exists {
		h.failed(err, onto.NotFound)
		return nil
	}
	h.failed(err, "")
	w.messages.put(messageKey(m), m, by)
	return func() error { return h.messages.Tenant(w.name).Update(ctx, m) }
}

func (h *history) mutate(ctx context.Context, w *world, by onto.Actor) func() error {
	m := h.some(w)
	add := int64(h.r.IntN(2))
	h.did = fmt.Sprintf("%s: mutate %q by %d", w.name, m.DBKey(), add)
	change := func(m *Message) error { m.Sent += add; return nil }
	got, err := h.messages.Tenant(w.name).Mutate(ctx, m.DBKey(), change)
	e, exists := w.messages.live[messageKey(m)]
	if !exists {
		h.failed(err, onto.NotFound)
		return nil
	}
	h.failed(err, "")
	want := e.object
	want.Sent += add
	w.messages.put(messageKey(m), want, by)
	if got.Sent != want.Sent || got.ID != want.ID {
		h.Errorf("%s: got %+v, want %+v", h.did, got, want)
	}
	return func() error {
		again, err := h.messages.Tenant(w.name).Mutate(ctx, m.DBKey(), change)
		if add > 0 && (again.Sent != want.Sent || again.ID != want.ID) {
			h.Errorf("%s, repeated: got %+v, want %+v", h.did, again, want)
		}
		if add == 0 {
			return nil // the key was not used, since nothing was committed
		}
		return err
	}
}

func (h *history) safeUpdate(ctx context.Context, w *world, by onto.Actor) func() error {
	to := h.some(w)
	e, exists := w.messages.live[messageKey(to)]
	from := to
	if exists {
		from = e.object
	}
	wrong := h.r.IntN(2) == 0
	if wrong {
		from.Text += "!"
	}
	h.did = fmt.Sprintf("%s: safe update %+v to %+v", w.name, from, to)
	err := h.messages.Tenant(w.name).SafeUpdate(ctx, from, to)
	switch {
	case !exists:
		h.failed(err, onto.NotFound)
	case wrong:
		h.failed(err, onto.VersionMismatch)
	default:
		h.failed(err, "")
		if w.messages.put(messageKey(to), to, by) {
			return func() error { return h.messages.Tenant(w.name).SafeUpdate(ctx, from, to) }
		}
	}
	return nil
}

func (h *history) deleteKeys(ctx context.Context, w *world, _ onto.Actor) func() error {
	var keys []object.Key[MessageID, ChatID]
	for _, m := range h.draw(w) {
		keys = append(keys, m.DBKey())
	}
	h.did = fmt.Sprintf("%s: delete %q", w.name, keys)
	h.failed(h.messages.Tenant(w.name).Delete(ctx, keys...), "")
	for _, key := range keys {
		w.messages.remove(onto.ShardedKey(string(key.ShardKey), string(key.ID)))
	}
	return func() error { return h.messages.Tenant(w.name).Delete(ctx, keys...) }
}

func (h *history) deleteWhere(ctx context.Context, w *world, _ onto.Actor) func() error {
	t := drawTest(h.r)
	a := asked{where: object.Where().Filter(t.filter).Selection, match: t.match, less: func(a, b Message) int { return 0 }}
	if h.r.IntN(2) == 0 {
		a.shardKeys = []ChatID{ChatID(pick(h.r, hostileKeys))}
	}
	h.did = fmt.Sprintf("%s: delete where %v %q", w.name, t.filter, a.shardKeys)
	n, err := h.messages.Tenant(w.name).DeleteWhere(ctx, a.where, a.shardKeys...)
	h.failed(err, "")
	list := a.matching(w.messages)
	for _, e := range list {
		w.messages.remove(messageKey(e.object))
	}
	if n != int64(len(list)) {
		h.Errorf("%s: %d were deleted, want %d", h.did, n, len(list))
	}
	return func() error {
		again, err := h.messages.Tenant(w.name).DeleteWhere(ctx, a.where, a.shardKeys...)
		if again != n {
			return fmt.Errorf("%d were deleted, want %d as before: %w", again, n, err)
		}
		return err
	}
}

// tx writes a chat and some of its messages in one transaction, which may fail at its end.
func (h *history) tx(ctx context.Context, w *world, by onto.Actor) func() error {
	chat := drawChat(h.r)
	fails := h.r.IntN(4) == 0
	stop := errors.New("stop")
	var puts, removes []Message
	for range 1 + h.r.IntN(3) {
		m := drawMessage(h.r)
		m.Chat = chat.ID
		puts = append(puts, m)
	}
	gone := drawMessage(h.r)
	gone.Chat = chat.ID
	if !slices.ContainsFunc(puts, func(m Message) bool { return m.ID == gone.ID }) {
		removes = append(removes, gone)
	}
	h.did = fmt.Sprintf("%s: transaction of %+v, %+v, without %+v, fails %t", w.name, chat, puts, removes, fails)
	do := func(tx *object.Tx) error {
		chats, messages := object.In(tx, h.chats), object.In(tx, h.messages)
		_, was := w.chats.live[chatKey(chat)]
		if exists, err := chats.Exists(ctx, chat.ID); err != nil || exists != was {
			return fmt.Errorf("the chat exists: %t, %w", exists, err)
		}
		n := 0
		for _, e := range w.messages.live {
			if e.object.Chat == chat.ID {
				n++
			}
		}
		if list, err := messages.Select(ctx, nil); err != nil || len(list) != n {
			return fmt.Errorf("the chat has %d messages, want %d: %w", len(list), n, err)
		}
		if err := errors.Join(chats.Upsert(ctx, chat), messages.Upsert(ctx, puts...)); err != nil {
			return err
		}
		for _, m := range removes {
			if err := messages.Delete(ctx, m.ID); err != nil {
				return err
			}
		}
		if fails {
			return stop
		}
		return nil
	}
	err := h.chats.Tenant(w.name).Tx(ctx, chat.ID, do)
	if fails {
		if err != stop {
			h.Errorf("%s: got %v", h.did, err)
		}
		return nil
	}
	h.failed(err, "")
	changed := w.chats.put(chatKey(chat), chat, by)
	last := map[string]Message{}
	for _, m := range puts { // a later write of the same object replaces the earlier one
		last[messageKey(m)] = m
	}
	for key, m := range last {
		changed = w.messages.put(key, m, by) || changed
	}
	for _, m := range removes {
		changed = w.messages.remove(messageKey(m)) || changed
	}
	if !changed {
		return nil
	}
	return func() error { return h.chats.Tenant(w.name).Tx(ctx, chat.ID, do) }
}
