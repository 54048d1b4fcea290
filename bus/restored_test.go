package bus_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

// noted is a thing of which each commit makes one.
type noted struct {
	ID string `onto:"key"`
}

// mirror is what a follower has seen.
type mirror struct {
	mu    sync.Mutex
	seen  map[string]bool // commits by id and comment
	last  int64           // since the follower was last told that the store was restored; 0 for none
	told  int             // how often it was
	wrong []string
}

// follow follows a store until the context ends, and begins again when the store was restored.
func (m *mirror) follow(ctx context.Context, s *store.Store) error {
	for {
		var err error
		for c, followErr := range s.Follow(ctx, "mirror") {
			if err = followErr; err == nil {
				m.note(c)
			}
		}
		switch onto.CodeOf(err) {
		case onto.Stale, onto.Conflict:
			m.mu.Lock()
			m.last, m.told = 0, m.told+1
			m.mu.Unlock()
		default:
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

func (m *mirror) note(c onto.Commit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last > 0 && c.ID != m.last+1 {
		m.wrong = append(m.wrong, fmt.Sprintf("commit %d after commit %d", c.ID, m.last))
	}
	m.last = c.ID
	m.seen[fmt.Sprint(c.ID, c.Comment)] = true
}

// A store is restored again and again while it is followed, read by pages, and its events are
// handled: nothing is skipped, and nothing is mixed up with what was there before, without an
// error that says so.
func TestManyRestores(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "store.db")
	open := func(ctx context.Context, o *sqlite.Options) *store.Store {
		b, err := sqlite.Open(ctx, path, o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(ctx, b, onto.TypeOf[noted]())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := open(ctx, nil)
	m := &mirror{seen: map[string]bool{}}
	followed, handled := make(chan error, 1), make(chan error, 1)
	other := open(ctx, nil)
	go func() { followed <- m.follow(ctx, other) }()
	b, err := bus.Open(open(ctx, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { handled <- b.Run(ctx, bus.On("h", nothing)) }()

	n := 0
	commit := func(times int) {
		t.Helper()
		for range times {
			n++
			name := fmt.Sprint("n", n)
			if _, err := s.Commit(ctx, onto.Draft{Comment: name}.Ensure(noted{name}).Emit(Ping{n})); err != nil {
				t.Fatal(err)
			}
		}
	}
	const restores = 10
	for i := range restores {
		commit(3 + i%3)
		backup := filepath.Join(t.TempDir(), "backup.db")
		if _, err := s.Backend().(backend.Copier).CopyTo(ctx, backup, nil); err != nil {
			t.Fatal(err)
		}
		commit(1 + i%4)
		page, err := store.Find[noted](s.Now()).Limit(2).Page(ctx)
		if err != nil || page.Next == "" {
			t.Fatalf("got %+v, %v", page, err)
		}
		done, err := sqlite.Restore(ctx, backup, path, &sqlite.RestoreOptions{Actor: onto.Operator("ana"), Comment: fmt.Sprint("restore ", i)})
		if err != nil || done.Lost < int64(1+i%4) {
			t.Fatalf("got %+v, %v", done, err)
		}
		if _, err := store.Find[noted](s.Now()).Limit(2).After(page.Next).Page(ctx); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("a cursor from before the restore: got error %v", err)
		}
		commit(2 + i%5)
	}
	list, err := s.Backend().(backend.Restorable).Restores(ctx)
	if err != nil || len(list) != restores || list[3].Comment != "restore 3" || list[3].Actor != onto.Operator("ana") || list[3].Lost == 0 || list[3].Kept == "" {
		t.Errorf("got the restores %+v, %v", list, err)
	}
	head, err := s.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for m.at() < head.ID { // the watcher tells of the last commits
		if _, err := s.Backend().(backend.Watcher).Await(ctx, 0); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for what, done := range map[string]chan error{"the follower": followed, "the handler": handled} {
		if err := <-done; err != nil {
			t.Errorf("%s ended with %v", what, err)
		}
	}
	if len(m.wrong) > 0 || m.told == 0 {
		t.Errorf("told of %d restores; out of order: %v", m.told, m.wrong)
	}
	for c, err := range s.Commits(t.Context(), store.CommitOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !m.seen[fmt.Sprint(c.ID, c.Comment)] {
			t.Errorf("commit %d %q was not seen", c.ID, c.Comment)
		}
	}
	// What was claimed when a backup was taken is claimed again when the lease has ended.
	later := func() time.Time { return time.Now().Add(bus.DefaultClaimLease) }
	if b, err = bus.Open(open(t.Context(), &sqlite.Options{Now: later}), nil); err != nil {
		t.Fatal(err)
	}
	if err := b.RunUntilIdle(t.Context(), bus.On("h", nothing)); err != nil {
		t.Fatal(err)
	}
	for e, err := range b.Events(t.Context(), nil) {
		if err != nil || e.Status != onto.EventAcked {
			t.Errorf("event %s is %s, %v", e.ID, e.Status, err)
		}
	}
}

// at is the last commit that was seen.
func (m *mirror) at() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}
