package object_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/object"
)

// Random histories of two sets and two tenants are those of a map in memory: what is there, who
// wrote it and when, in every question, and as of every moment that was remembered.
func TestRandomHistories(t *testing.T) {
	for seed := range effort.Seeds(t, 30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, rand.New(rand.NewPCG(seed, 1)))
			for i := range 120 {
				h.step(i)
				if i%3 == 0 {
					h.ask(pick(h.r, h.tenants), nil)
				}
				if t.Failed() {
					t.Fatalf("seed %d, step %d: %s", seed, i, h.did)
				}
				if i%12 == 11 {
					h.remember()
				}
			}
			for _, w := range h.tenants {
				h.compare(w)
			}
			h.compareMoments()
		})
	}
}

// history is a random history so far.
type history struct {
	*testing.T
	r        *rand.Rand
	messages *object.Set[Message, MessageID, ChatID]
	chats    *object.Set[Chat, ChatID, ChatID]
	tenants  []*world
	moments  []moment
	keys     int    // idempotency keys that were used
	did      string // the last operation
}

// world is a tenant and what it must have.
type world struct {
	name     string
	messages *model[Message]
	chats    *model[Chat]
	open     *pages // a question whose pages were not all read
}

func (w *world) clone() *world {
	return &world{name: w.name, messages: w.messages.clone(), chats: w.chats.clone()}
}

// pages are a question, what its pages have to show, and what they have shown.
type pages struct {
	asked
	want []entry[Message]
	next string
}

// moment is a time and what the tenants had then.
type moment struct {
	at      time.Time
	tenants []*world
}

func newHistory(t *testing.T, r *rand.Rand) *history {
	dir := t.TempDir()
	l := pick(r, []layout{{"mixed", 3}, {"memory", 3}, {"sqlite", 3}, {"mixed", 3}})
	v := open(t, object.Config{"chat": {"acme": l.uris(dir, "acme"), "rival": l.uris(dir, "rival")}})
	h := &history{T: t, r: r, messages: messagesOf(v), chats: object.NewSet[Chat](v, "chat").Ready()}
	for _, name := range []string{"acme", "rival"} {
		if err := v.Init(t.Context(), "chat", name); err != nil {
			t.Fatal(err)
		}
		h.tenants = append(h.tenants, &world{name: name, messages: newModel[Message](), chats: newModel[Chat]()})
	}
	return h
}

// step makes one random operation in the stores and in the model.
func (h *history) step(i int) {
	w := pick(h.r, h.tenants)
	by := onto.Operator(pick(h.r, []string{"ana", "bob", "eve"}))
	d := onto.Draft{Actor: by, Comment: fmt.Sprint("step ", i)}
	if h.r.IntN(4) == 0 {
		h.keys++
		d.IdempotencyKey = fmt.Sprint("key ", h.keys)
	}
	ctx := object.With(h.Context(), d)
	operations := []func(context.Context, *world, onto.Actor) func() error{
		h.insert, h.insert, h.upsert, h.upsert, h.update, h.mutate, h.mutate, h.safeUpdate, h.deleteKeys, h.deleteWhere, h.tx, h.tx, h.upsertChats,
	}
	before := w.clone()
	began := time.Now()
	again := pick(h.r, operations)(ctx, w, by)
	h.check(w, before, began)
	if d.IdempotencyKey != "" && again != nil { // to be answered, and not done again
		if err := again(); err != nil {
			h.Errorf("%s, repeated: %v", h.did, err)
		}
		h.check(w, w.clone(), began)
	}
}

// check reads what an operation has changed, notes the times, and compares what else was touched.
func (h *history) check(w, before *world, began time.Time) {
	h.Helper()
	for key, e := range w.messages.live {
		got, err := h.messages.Tenant(w.name).SelectByIDWithMetadata(h.Context(), e.object.ID, e.object.Chat)
		if err != nil || !reflect.DeepEqual(got.Object, e.object) {
			h.Errorf("%s: got %+v, %v; want %+v", h.did, got.Object, err, e.object)
			return
		}
		noteTimes(h, w.messages, before.messages, key, got.Metadata, began)
	}
	for key, e := range w.chats.live {
		got, err := h.chats.Tenant(w.name).SelectByIDWithMetadata(h.Context(), e.object.ID)
		if err != nil || !reflect.DeepEqual(got.Object, e.object) {
			h.Errorf("%s: got %+v, %v; want %+v", h.did, got.Object, err, e.object)
			return
		}
		noteTimes(h, w.chats, before.chats, key, got.Metadata, began)
	}
}

// noteTimes compares metadata with the model, which takes over times of what was just written.
func noteTimes[T any](h *history, m, before *model[T], key string, md object.Metadata, began time.Time) {
	h.Helper()
	e, was := m.live[key], before.live[key]
	versions, had := len(m.history[key]), len(before.history[key])
	near := func(at time.Time) bool {
		return !at.Before(began.Add(-time.Second)) && !at.After(time.Now().Add(time.Second))
	}
	switch {
	case versions == had:
	case e.CreatedAt.IsZero():
		if !near(md.CreatedAt) || !md.UpdatedAt.Equal(md.CreatedAt) {
			h.Errorf("%s: %q was created at %v and updated at %v, now %v", h.did, key, md.CreatedAt, md.UpdatedAt, time.Now())
		}
		e.CreatedAt, e.UpdatedAt, e.Shard, e.Version = md.CreatedAt, md.UpdatedAt, md.Shard, md.Version
	default:
		if !near(md.UpdatedAt) || !md.UpdatedAt.After(was.UpdatedAt) || md.Version <= was.Version {
			h.Errorf("%s: %q was updated at %v (%d) and before at %v (%d)", h.did, key, md.UpdatedAt, md.Version, was.UpdatedAt, was.Version)
		}
		e.UpdatedAt, e.Version = md.UpdatedAt, md.Version
	}
	m.live[key] = e
	if !reflect.DeepEqual(e.Metadata, md) {
		h.Errorf("%s: %q: got %+v, want %+v", h.did, key, md, e.Metadata)
	}
}

// ask compares the answers to a random question: as of a time, or now.
func (h *history) ask(w *world, at *time.Time) {
	h.Helper()
	a := drawClause(h.r)
	tenant := h.messages.Tenant(w.name).Reader
	if at != nil {
		tenant = tenant.AsOf(*at)
	}
	all := a.matching(w.messages)
	want := a.part(all)
	got, err := tenant.SelectWithMetadata(h.Context(), a.where.Offset(a.offset).Limit(a.n), a.shardKeys...)
	h.same(a, got, want, err)
	if n, err := tenant.Count(h.Context(), a.where.Offset(a.offset).Limit(a.n), a.shardKeys...); err != nil || n != int64(len(all)) {
		h.Errorf("%+v: counted %d, %v; want %d", a, n, err, len(all))
	}
	h.byID(tenant, w)
	if at != nil {
		return
	}
	if w.open == nil {
		w.open = &pages{asked: a, want: all}
	}
	h.page(tenant, w)
}

// same compares objects and their metadata.
func (h *history) same(what any, got []object.WithMetadata[Message], want []entry[Message], err error) {
	h.Helper()
	if err != nil || len(got) != len(want) {
		h.Errorf("%+v: got %d objects, %v; want %d", what, len(got), err, len(want))
		return
	}
	for i := range got {
		if !reflect.DeepEqual(got[i].Object, want[i].object) || !reflect.DeepEqual(got[i].Metadata, want[i].Metadata) {
			h.Errorf("%+v: object %d: got %+v, want %+v", what, i, got[i], want[i])
			return
		}
	}
}

// page reads the next page of the open question, which shows what was there when it was asked.
func (h *history) page(tenant object.Reader[Message, MessageID, ChatID], w *world) {
	h.Helper()
	p := w.open
	n := 1 + h.r.IntN(4)
	got, err := tenant.PageWithMetadata(h.Context(), p.where.Limit(n).Cursor(p.next), p.shardKeys...)
	if err != nil {
		h.Errorf("page of %+v: %v", p.asked, err)
		return
	}
	n = min(n, len(p.want))
	h.same(p.asked, got.Objects, p.want[:n], nil)
	p.want, p.next = p.want[n:], got.Next
	if (got.Next == "") != (len(p.want) == 0) {
		h.Errorf("page of %+v: the cursor is %q and %d objects follow", p.asked, got.Next, len(p.want))
	}
	if got.Next == "" {
		w.open = nil
	}
}

// byID compares a random object, asked for by its id with and without the shard key, and its history.
func (h *history) byID(tenant object.Reader[Message, MessageID, ChatID], w *world) {
	h.Helper()
	m := drawMessage(h.r)
	e, exists := w.messages.live[messageKey(m)]
	got, err := tenant.SelectByID(h.Context(), m.ID, m.Chat)
	if exists && (err != nil || !reflect.DeepEqual(got, e.object)) || !exists && onto.CodeOf(err) != onto.NotFound {
		h.Errorf("%q %q: got %+v, %v; want %+v", m.ID, m.Chat, got, err, e.object)
	}
	var with []Message
	for _, e := range w.messages.live {
		if e.object.ID == m.ID {
			with = append(with, e.object)
		}
	}
	got, err = tenant.SelectByID(h.Context(), m.ID)
	switch {
	case len(with) == 0 && onto.CodeOf(err) == onto.NotFound, len(with) > 1 && onto.CodeOf(err) == onto.Conflict:
	case len(with) == 1 && err == nil && reflect.DeepEqual(got, with[0]):
	default:
		h.Errorf("%q: got %+v, %v; want one of %d", m.ID, got, err, len(with))
	}
	if exists, err := tenant.Exists(h.Context(), m.ID); err != nil || exists != (len(with) > 0) {
		h.Errorf("%q exists: got %t, %v; want %d", m.ID, exists, err, len(with))
	}
	var revisions []object.Revision[Message]
	for r, err := range tenant.History(h.Context(), m.DBKey()) {
		if err != nil {
			if onto.CodeOf(err) != onto.NotFound {
				h.Errorf("history of %q: %v", m.ID, err)
			}
			break
		}
		r.Commit = onto.Commit{}
		revisions = append(revisions, r)
	}
	if want := w.messages.history[messageKey(m)]; !reflect.DeepEqual(revisions, want) {
		h.Errorf("history of %q %q: got %+v, want %+v", m.ID, m.Chat, revisions, want)
	}
}

// compare compares everything that a tenant has.
func (h *history) compare(w *world) {
	h.Helper()
	a := asked{where: object.All(), match: func(Message) bool { return true }, less: func(a, b Message) int { return compare(messageKey(a), messageKey(b)) }}
	got, err := h.messages.Tenant(w.name).SelectAllWithMetadata(h.Context())
	h.same("all", got, a.matching(w.messages), err)
	chats, err := h.chats.Tenant(w.name).SelectAll(h.Context())
	if err != nil || len(chats) != len(w.chats.live) {
		h.Errorf("got %d chats, %v; want %d", len(chats), err, len(w.chats.live))
	}
	if !slices.IsSortedFunc(chats, func(a, b Chat) int { return compare(chatKey(a), chatKey(b)) }) {
		h.Errorf("chats come in another order than that of their keys")
	}
}

// remember notes the time and what is there.
func (h *history) remember() {
	time.Sleep(2 * time.Millisecond) // commits have times of less than a nanosecond's exactness
	m := moment{at: time.Now()}
	for _, w := range h.tenants {
		m.tenants = append(m.tenants, w.clone())
	}
	h.moments = append(h.moments, m)
	time.Sleep(2 * time.Millisecond)
}

// compareMoments asks as of each time that was remembered.
func (h *history) compareMoments() {
	for i, m := range h.moments {
		h.did = fmt.Sprint("as of moment ", i)
		for _, w := range m.tenants {
			for range 3 {
				h.ask(w, &m.at)
			}
			if h.Failed() {
				h.Fatal(h.did)
			}
		}
	}
}
