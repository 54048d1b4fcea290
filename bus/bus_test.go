package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

type Order struct {
	ID    string `json:"id" onto:"key"`
	State string `json:"state"`
}

type Invoice struct {
	ID     string  `json:"id" onto:"key"`
	Amount float64 `json:"amount"`
}

type OrderPaid struct {
	Order  string  `json:"order" onto:"ordering"`
	Amount float64 `json:"amount"`
}

type InvoiceDue struct {
	Invoice string `json:"invoice"`
}

// Ping has no ordering key.
type Ping struct {
	N int `json:"n"`
}

func (Ping) EventType() string { return "net.ping" }

// full is what the backends of these tests can do.
type full interface {
	backend.Backend
	backend.Bus
	backend.Watcher
	backend.Leaser
	backend.Dated
}

// meddler is a backend whose calls a test can look at, replace and fail.
type meddler struct {
	full
	append func(context.Context, *backend.Draft, func() (onto.Result, error)) (onto.Result, error)
	claim  func(*backend.ClaimRequest) error
	settle func([]backend.Settlement) error
	beat   func(*backend.Beat) error
	emit   func(*backend.Emission) error
	clean  func()
}

func (m *meddler) Clean(ctx context.Context, c *backend.Cleaning, progress func(done, total int64)) (backend.CleanPlan, error) {
	if m.clean != nil {
		m.clean()
	}
	return m.full.Clean(ctx, c, progress)
}

func (m *meddler) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if m.append != nil {
		return m.append(ctx, d, func() (onto.Result, error) { return m.full.Append(ctx, d) })
	}
	return m.full.Append(ctx, d)
}

func (m *meddler) Claim(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
	if m.claim != nil {
		if err := m.claim(r); err != nil {
			return backend.Claimed{}, err
		}
	}
	return m.full.Claim(ctx, r)
}

func (m *meddler) Settle(ctx context.Context, list []backend.Settlement) ([]error, error) {
	if m.settle != nil {
		if err := m.settle(list); err != nil {
			return nil, err
		}
	}
	return m.full.Settle(ctx, list)
}

func (m *meddler) Beat(ctx context.Context, b *backend.Beat) ([]onto.Claim, error) {
	if m.beat != nil {
		if err := m.beat(b); err != nil {
			return nil, err
		}
	}
	return m.full.Beat(ctx, b)
}

func (m *meddler) Emit(ctx context.Context, e *backend.Emission) ([]onto.Event, error) {
	if m.emit != nil {
		if err := m.emit(e); err != nil {
			return nil, err
		}
	}
	return m.full.Emit(ctx, e)
}

// world is a handle on a store, its bus, and what was observed on it.
type world struct {
	*testing.T
	place func() full // opens one more handle
	m     *meddler
	s     *store.Store
	b     *bus.Bus

	mu   sync.Mutex // guards seen
	seen []bus.Observation
}

// newWorld opens a new store. It is closed when the test ends.
func newWorld(t *testing.T, o *bus.Options) *world {
	t.Helper()
	if strings.Contains(t.Name(), "/sqlite") {
		path := filepath.Join(t.TempDir(), "bus.db")
		return openWorld(t, func() full {
			b, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			return deaf{b}
		}, o)
	}
	mem := memory.New(nil)
	return openWorld(t, func() full { return mem.Open() }, o)
}

// deaf is a backend that does not tell of writes: under a fake clock, looking for them
// every few milliseconds would take most of the time of a test.
type deaf struct{ full }

func (d deaf) Await(ctx context.Context, _ int64) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// again opens one more handle.
func (w *world) again(o *bus.Options) *world {
	w.Helper()
	return openWorld(w.T, w.place, o)
}

func openWorld(t *testing.T, place func() full, o *bus.Options) *world {
	t.Helper()
	w := &world{T: t, place: place, m: &meddler{full: place()}}
	var err error
	w.s, err = store.Open(t.Context(), w.m, onto.TypeOf[Order](), onto.TypeOf[Invoice]())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.s.Close() })
	opts := bus.Options{}
	if o != nil {
		opts = *o
	}
	if opts.Poll == 0 && strings.Contains(t.Name(), "/sqlite") {
		opts.Poll = 10 * time.Second // each costs real time
	}
	opts.Log = slog.New(slog.DiscardHandler)
	opts.Observe = func(o bus.Observation) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, o)
	}
	if w.b, err = bus.Open(w.s, &opts); err != nil {
		t.Fatal(err)
	}
	return w
}

// emit emits events without a commit.
func (w *world) emit(things ...any) []onto.Event {
	w.Helper()
	list, err := w.b.Emit(w.Context(), things...)
	if err != nil {
		w.Fatal(err)
	}
	return list
}

// runFor runs parts for a time.
func (w *world) runFor(d time.Duration, parts ...bus.Part) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), d)
	defer cancel()
	if err := w.b.Run(ctx, parts...); err != nil {
		w.Fatalf("Run: %v", err)
	}
}

// idle runs parts until there is nothing to do.
func (w *world) idle(parts ...bus.Part) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
	defer cancel()
	if err := w.b.RunUntilIdle(ctx, parts...); err != nil {
		w.Fatalf("RunUntilIdle: %v", err)
	}
}

// observed returns what was observed of a kind.
func (w *world) observed(what bus.Happening) []bus.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []bus.Observation
	for _, o := range w.seen {
		if o.What == what {
			list = append(list, o)
		}
	}
	return list
}

// counts are how often each thing was observed.
func (w *world) counts() map[bus.Happening]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[bus.Happening]int{}
	for _, o := range w.seen {
		n[o.What]++
	}
	return n
}

// states are the events as "type status attempts/deliveries", in order.
func (w *world) states() []string {
	w.Helper()
	var list []string
	for e, err := range w.b.Events(w.Context(), nil) {
		if err != nil {
			w.Fatal(err)
		}
		line := e.Type + " " + string(e.Status)
		for _, c := range e.Claims {
			line += fmt.Sprintf(" %s %d/%d", c.Handler, c.Attempts, c.Deliveries)
		}
		list = append(list, line)
	}
	return list
}

func (w *world) wantStates(want ...string) {
	w.Helper()
	if got := w.states(); !slices.Equal(got, want) {
		w.Errorf("events:\ngot  %q\nwant %q", got, want)
	}
}

func (w *world) letters() []onto.DeadLetter {
	w.Helper()
	var list []onto.DeadLetter
	for l, err := range w.b.DeadLetters(w.Context(), &backend.DeadLetterQuery{Resolved: true}) {
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// bubble runs a story under a fake clock, which begins at 2000-01-01, midnight UTC, and
// finds goroutines that were left behind. The storage is memory, and SQLite for what
// [TestOnSQLite] runs.
func bubble(t *testing.T, story func(t *testing.T)) {
	root, _, _ := strings.Cut(t.Name(), "/")
	if root == "TestOnSQLite" {
		t.Run("sqlite", func(t *testing.T) { synctest.Test(t, story) })
		return
	}
	if _, listed := stories()[root]; !listed {
		t.Errorf("%s is not in the list of stories, so that it never runs on SQLite", root)
	}
	t.Run("memory", func(t *testing.T) {
		defer goleak.VerifyNone(t)
		synctest.Test(t, story)
	})
}

// nothing is a handler of pings that does nothing.
func nothing(context.Context, *bus.Claim[Ping]) error { return nil }
