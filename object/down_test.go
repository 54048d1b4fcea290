package object_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// chatsOn returns the chats c0 to c6 whose messages are on a place, and the others.
func (s *sky) chatsOn(i int) (on, off []ChatID) {
	s.Helper()
	for c := range 7 {
		chat := ChatID(fmt.Sprint("c", c))
		if s.placeOf(chat) == i {
			on = append(on, chat)
		} else {
			off = append(off, chat)
		}
	}
	if len(on) == 0 || len(off) == 0 {
		s.Fatalf("all chats are on one side: %v %v", on, off)
	}
	return on, off
}

// wantNamed fails unless an error names a place, and not its password.
func (s *sky) wantNamed(what string, err error, i int) {
	s.Helper()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("bad://host/%d", i)) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
		s.Errorf("%s: got %v, want an error that names shard %d and no password", what, err, i)
	}
}

// othersGoOn fails unless what needs only other shards works, at once.
func (s *sky) othersGoOn(off []ChatID) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
	defer cancel()
	began := time.Now()
	for _, chat := range off {
		m := message(1)
		m.ID, m.Chat = "new", chat
		eachOperation(func(name string, o operation) {
			if name == "Insert" || name == "TxSet.Insert" || !o.keyed || name == "BreakLock" || name == "ResumeLock" {
				return
			}
			err := errors.Join(s.acme().Upsert(ctx, m), o.run(ctx, s.set, s.acme(), m))
			if err != nil {
				s.Errorf("%s of an object on another shard: %v", name, err)
			}
		})
		if err := s.acme().Delete(ctx, m.DBKey()); err != nil {
			s.Error(err)
		}
	}
	if list, err := s.acme().SelectAll(ctx, off...); err != nil || len(list) == 0 {
		s.Errorf("got %d objects, %v", len(list), err)
	}
	if spent := time.Since(began); spent > 2*time.Second {
		s.Errorf("what needs only other shards took %v", spent)
	}
}

// While a shard fails, what needs only others goes on, and the rest names it. When it is back, so is
// everything.
func TestShardFails(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newSky(t, 3)
	defer func() { s.vaults.Close() }()
	const i = 1
	on, off := s.chatsOn(i)
	clause := object.All().Limit(4)
	first, err := s.acme().Page(t.Context(), clause)
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} { // while it is open, and when it has to be opened
		s.places[i].set(down)
		if again {
			s.reopen()
		}
		s.othersGoOn(off)
		eachOperation(func(name string, o operation) {
			if o.keyed && name != "BreakLock" && name != "ResumeLock" && name != "Lock" || !o.keyed && name != "Locks" && name != "DeleteWhere" {
				s.wantNamed(name, o.run(t.Context(), s.set, s.acme(), Message{ID: "m", Chat: on[0]}), i)
			}
		})
		_, err := s.acme().Page(t.Context(), clause.Cursor(first.Next))
		s.wantNamed("a page", err, i)
		_, err = s.acme().SelectByID(t.Context(), "m001")
		s.wantNamed("an id without a shard key", err, i)

		s.places[i].set(calm)
		if again {
			time.Sleep(1100 * time.Millisecond) // until it is tried again
		}
		page, err := s.acme().Page(t.Context(), clause.Cursor(first.Next))
		if err != nil || len(page.Objects) != 4 {
			t.Errorf("the cursor after the shard came back: got %v, %v", page, err)
		}
		s.othersGoOn(on)
	}
}

// A shard that hangs delays only those who need it, and these as long as they wish.
func TestShardHangs(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newSky(t, 3)
	defer func() { s.vaults.Close() }()
	const i = 2
	on, off := s.chatsOn(i)
	briefly := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	for _, again := range []bool{false, true} {
		s.places[i].set(hanging)
		if again {
			s.reopen()
		}
		if _, err := s.acme().SelectAll(briefly()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 4 { // they need it, and have time
			waiting.Go(func() { _, _ = s.acme().SelectAll(ctx, on...) })
		}
		time.Sleep(20 * time.Millisecond)
		s.othersGoOn(off)
		if _, err := s.acme().SelectByID(briefly(), "m", on[0]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := s.acme().Upsert(briefly(), Message{ID: "m", Chat: on[0]}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		s.places[i].set(calm)
		cancel()
		waiting.Wait()
		s.othersGoOn(on)
	}
}

// Vaults are closed at once, also while a shard is being opened.
func TestCloseWhileAShardHangs(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newSky(t, 2)
	s.places[0].set(hanging)
	s.reopen()
	failed := make(chan error)
	go func() {
		_, err := s.acme().SelectAll(context.Background())
		failed <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := s.vaults.Close(); err != nil {
		t.Error(err)
	}
	wantError(t, "a read while the vaults are closed", <-failed, onto.Closed)
}

// A shard whose storage has to be opened again is opened again.
func TestReopened(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newSky(t, 3)
	defer func() { s.vaults.Close() }()
	const i = 0
	on, _ := s.chatsOn(i)
	for _, write := range []func() error{
		func() error {
			return s.acme().Upsert(t.Context(), Message{ID: "x", Chat: on[0], Text: time.Now().String()})
		},
		func() error {
			_, err := s.acme().Mutate(t.Context(), message(0).DBKey(), func(m *Message) error { m.Sent++; return nil })
			return err
		},
		func() error {
			return s.acme().Tx(t.Context(), on[0], func(tx *object.Tx) error {
				return object.In(tx, s.set).Upsert(t.Context(), Message{ID: "y", Chat: on[0], Text: time.Now().String()})
			})
		},
		func() error {
			_, err := s.acme().DeleteWhere(t.Context(), object.Where().Key("id").Equal("x"), on...)
			return err
		},
	} {
		if err := s.acme().Upsert(t.Context(), message(0), Message{ID: "x", Chat: on[0]}); err != nil {
			t.Fatal(err)
		}
		p := s.places[s.placeOf(message(0).Chat)]
		s.places[i].set(broken)
		p.set(broken)
		before := s.places[i].opened.Load() + p.opened.Load()
		s.wantNamed("a write", write(), 0)
		s.places[i].set(calm)
		p.set(calm)
		if err := write(); err != nil {
			t.Errorf("after it was opened again: %v", err)
		}
		if s.places[i].opened.Load()+p.opened.Load() == before {
			t.Error("it was not opened again")
		}
	}
}

// A write to several shards of which some fail says which have committed, truly, and is finished
// by its repetition, once.
func TestPartialWrites(t *testing.T) {
	for name, how := range map[string]weather{"down": down, "broken": broken, "lost": lost} {
		t.Run(name, func(t *testing.T) {
			s := newSky(t, 3)
			on, _ := s.chatsOn(1)
			isOn := map[ChatID]bool{}
			for _, chat := range on {
				isOn[chat] = true
			}
			var list []Message
			var keys []object.Key[MessageID, ChatID]
			for i := 20; i < 40; i++ {
				list, keys = append(list, message(i)), append(keys, message(i).DBKey())
			}
			for i, write := range []func(context.Context) error{
				func(ctx context.Context) error { return s.acme().Insert(ctx, list...) },
				func(ctx context.Context) error { return s.acme().Delete(ctx, keys...) },
				func(ctx context.Context) error { return s.acme().Upsert(ctx, list...) },
				func(ctx context.Context) error {
					n, err := s.acme().DeleteWhere(ctx, object.Where().Key("id").GreaterThanOrEqual("m020"))
					if err == nil && n != 20 {
						err = fmt.Errorf("%d were deleted", n)
					}
					return err
				},
			} {
				ctx := object.With(t.Context(), onto.Draft{IdempotencyKey: fmt.Sprint("write ", i)})
				if how == down { // when it comes to the commit
					if err := s.acme().Upsert(t.Context(), message(0)); err != nil {
						t.Fatal(err)
					}
				}
				s.places[1].set(how)
				err := write(ctx)
				s.places[1].set(calm)
				var partial *object.PartialError
				if how == down && errors.As(err, &partial) == false {
					s.wantNamed("a write that was not begun", err, 1)
				} else if !errors.As(err, &partial) || len(partial.Committed) != 2 || len(partial.Failed) != 1 || partial.Failed["shard-2"] == nil {
					t.Fatalf("got %v", err)
				} else {
					s.wantNamed("a write", err, 1)
					for _, m := range list {
						exists, err := s.acme().Exists(t.Context(), m.ID, m.Chat)
						if done := !isOn[m.Chat] || how == lost; err != nil || exists != ((i%2 == 0) == done) {
							t.Errorf("write %d of %q, done %t: exists %t, %v", i, m.ID, done, exists, err)
						}
					}
				}
				for range 2 {
					if err := write(ctx); err != nil {
						t.Fatalf("repeated: %v", err)
					}
				}
				for _, m := range list {
					n := 0
					for _, err := range s.acme().History(t.Context(), m.DBKey()) {
						if err != nil {
							t.Fatal(err)
						}
						n++
					}
					if n != i+1 {
						t.Errorf("after %d writes %q has %d revisions", i+1, m.ID, n)
					}
				}
			}
		})
	}
}

// In any weather each of many operations that are repeated until they succeed is done once.
func TestStorm(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newSky(t, 3)
	defer func() { s.vaults.Close() }()
	const workers, each = 4, 25
	for _, p := range s.places {
		p.set(stormy)
	}
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for i := range each {
				ctx := object.With(t.Context(), onto.Draft{IdempotencyKey: fmt.Sprint(w, " ", i)})
				m := message(i % 5)
				s.insist(func() error {
					_, err := s.acme().Mutate(ctx, m.DBKey(), func(m *Message) error { m.Sent += 100; return nil })
					return err
				})
				bulk := object.With(t.Context(), onto.Draft{IdempotencyKey: fmt.Sprint("bulk ", w, " ", i)})
				s.insist(func() error { return s.acme().Insert(bulk, fresh(w, i, 0), fresh(w, i, 1), fresh(w, i, 2)) })
				s.insist(func() error {
					_, err := s.acme().Count(ctx, nil)
					return err
				})
			}
		})
	}
	running.Wait()
	for _, p := range s.places {
		p.set(calm)
	}
	s.insist(func() error { _, err := s.acme().SelectAll(t.Context()); return err })
	for i := range 5 {
		m, err := s.acme().SelectByID(t.Context(), message(i).ID, message(i).Chat)
		if want := message(i).Sent + 100*workers*each/5; err != nil || m.Sent != want {
			t.Errorf("%q is at %d, %v; want %d", m.ID, m.Sent, err, want)
		}
	}
	if n, err := s.acme().Count(t.Context(), nil); err != nil || n != 20+3*workers*each {
		t.Errorf("counted %d, %v", n, err)
	}
}

func fresh(w, i, j int) Message {
	return Message{ID: MessageID(fmt.Sprintf("new-%d-%d-%d", w, i, j)), Chat: ChatID(fmt.Sprint("c", i+j))}
}

// insist repeats an operation until it succeeds.
func (s *sky) insist(do func() error) {
	var err error
	for range 2000 {
		if err = do(); err == nil {
			return
		}
		if strings.Contains(err.Error(), secret) {
			s.Errorf("the error has a password: %v", err)
		}
		var e *onto.Error
		if !errors.As(err, &e) || e.Code == onto.Conflict || e.Code == onto.Invalid || e.Code == onto.IdempotencyConflict {
			s.Errorf("got %v", err)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.Errorf("an operation does not succeed: %v", err)
}
