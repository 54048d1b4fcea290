package work_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

// Page is what the tests write.
type Page struct {
	URL   string `json:"url" onto:"key"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// full is what the backends of these tests can do.
type full interface {
	backend.Backend
	backend.WorkQueue
	backend.Leaser
	backend.Dated
}

// meddler is a backend whose calls a test can look at and fail.
type meddler struct {
	full
	dequeue func(*backend.WorkRequest) error
	finish  func([]backend.WorkOutcome, func() ([]backend.WorkVerdict, error)) ([]backend.WorkVerdict, error)
	bring   func() error // before items are imported
}

func (m *meddler) ImportItems(ctx context.Context, items []backend.WorkState) ([]bool, error) {
	if m.bring != nil {
		if err := m.bring(); err != nil {
			return nil, err
		}
	}
	return m.full.ImportItems(ctx, items)
}

func (m *meddler) Dequeue(ctx context.Context, r *backend.WorkRequest) (backend.WorkTaken, error) {
	if m.dequeue != nil {
		if err := m.dequeue(r); err != nil {
			return backend.WorkTaken{}, err
		}
	}
	if m.finish == nil || len(r.Finish) == 0 {
		return m.full.Dequeue(ctx, r)
	}
	var got backend.WorkTaken
	_, err := m.finish(r.Finish, func() (v []backend.WorkVerdict, err error) {
		got, err = m.full.Dequeue(ctx, r)
		return got.Verdicts, err
	})
	if err != nil {
		return backend.WorkTaken{}, err
	}
	return got, nil
}

func (m *meddler) Finish(ctx context.Context, list []backend.WorkOutcome) ([]backend.WorkVerdict, error) {
	if m.finish != nil {
		return m.finish(list, func() ([]backend.WorkVerdict, error) { return m.full.Finish(ctx, list) })
	}
	return m.full.Finish(ctx, list)
}

// world is a store with a queue, and what was observed.
type world struct {
	*testing.T
	m *meddler
	s *store.Store
	q *work.Queue

	mu   sync.Mutex // guards seen
	seen []work.Observation
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return openWorld(t, memory.New(nil).Open())
}

func openWorld(t *testing.T, b full) *world {
	t.Helper()
	w := &world{T: t, m: &meddler{full: b}}
	var err error
	if w.s, err = store.Open(t.Context(), w.m, onto.TypeOf[Page]()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.s.Close() })
	if w.q, err = work.Open(w.s); err != nil {
		t.Fatal(err)
	}
	return w
}

// openFile opens a queue in a file.
func openFile(t *testing.T, path string) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, &sqlite.Options{LockTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return openWorld(t, db)
}

// item is an item of the test's source.
func item(id string) work.Item {
	return work.Item{System: "test", Source: "site", Type: "page", ID: id, URI: "test://site/" + id}
}

func (w *world) enqueue(items ...work.Item) []bool {
	w.Helper()
	fresh, err := w.q.Enqueue(w.Context(), items...)
	if err != nil {
		w.Fatal(err)
	}
	return fresh
}

// connect is a runner with one connector, for the system test.
func (w *world) connect(f work.ConnectorFunc) *work.Runner {
	return &work.Runner{Queue: w.q, Connectors: map[string]work.Connector{"test": f}}
}

// options completes options for a test.
func (w *world) options(o *work.RunOptions) *work.RunOptions {
	var c work.RunOptions
	if o != nil {
		c = *o
	}
	c.Log = slog.New(slog.DiscardHandler)
	observe := c.Observe
	c.Observe = func(o work.Observation) {
		w.mu.Lock()
		w.seen = append(w.seen, o)
		w.mu.Unlock()
		if observe != nil {
			observe(o)
		}
	}
	return &c
}

// run runs to the end.
func (w *world) run(r *work.Runner, o *work.RunOptions) work.Summary {
	w.Helper()
	sum, err := r.Run(w.Context(), w.options(o))
	if err != nil {
		w.Fatal(err)
	}
	return sum
}

// state is an item by its resource id.
func (w *world) state(id string) backend.WorkState {
	w.Helper()
	var found []backend.WorkState
	for s, err := range w.q.Items(context.WithoutCancel(w.Context()), &backend.WorkQuery{Attempts: true}) {
		if err != nil {
			w.Fatal(err)
		}
		if s.Resource == id {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		w.Fatalf("there are %d items %q", len(found), id)
	}
	return found[0]
}

// attempts are how the attempts at an item ended.
func attempts(s backend.WorkState) string {
	var list []string
	for _, a := range s.Attempts {
		list = append(list, string(a.Status))
	}
	return strings.Join(list, " ")
}

// expect compares what has become of an item: its status, and how its attempts ended.
func (w *world) expect(id string, status onto.WorkStatus, ends string) backend.WorkState {
	w.Helper()
	s := w.state(id)
	if s.Status != status || attempts(s) != ends {
		w.Errorf("item %s is %s after %q, want %s after %q; its error: %s", id, s.Status, attempts(s), status, ends, s.Error)
	}
	return s
}

// says checks that a text names things.
func (w *world) says(text string, want ...string) {
	w.Helper()
	for _, s := range want {
		if !strings.Contains(text, s) {
			w.Errorf("got %q, which does not say %q", text, s)
		}
	}
}

// count counts observations.
func (w *world) count(what work.Happening) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, o := range w.seen {
		if o.What == what {
			n++
		}
	}
	return n
}

// fetched is a connector that finds everything.
func fetched(context.Context, *onto.WorkItem) (*work.Record, error) {
	return &work.Record{Body: []byte("text")}, nil
}

// code checks the code of an error, and returns what it says.
func code(t *testing.T, err error, want onto.Code) string {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %s", err, want)
	}
	return err.Error()
}

func TestOpenWithoutAQueue(t *testing.T) {
	s, err := store.Open(t.Context(), struct{ backend.Backend }{memory.New(nil).Open()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = work.Open(s)
	code(t, err, onto.UnsupportedOperation)
}

// An item is known by system, source, type and id, whatever else it has.
func TestEnqueueTellsWhatIsNew(t *testing.T) {
	w := newWorld(t)
	other := item("a")
	other.URI, other.Priority = "test://elsewhere/", new(3)
	colon, colons := item("b"), item("b")
	colon.Source, colon.Type = "x:y", "z"
	colons.Source, colons.Type = "x", "y:z"
	if got, want := w.enqueue(item("a"), item("b"), other, colon, colons, item("b")), []bool{true, true, false, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	first, second := item("a"), item("a")
	first.Run, first.Scope = "1", work.ScopeRun
	second.Run, second.Scope = "2", work.ScopeRun
	if got, want := w.enqueue(first, second, first), []bool{true, true, false}; !slices.Equal(got, want) {
		t.Errorf("runs: got %v, want %v", got, want)
	}
	if s := w.q; s != nil {
		n, err := s.Stats(t.Context(), nil)
		if err != nil || work.ByStatus(n)[onto.WorkPending] != 6 || work.ByStatus(n)[onto.WorkFailed] != 0 {
			t.Errorf("got %v, %v", n, err)
		}
	}
}

func TestItemsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		change func(*work.Item)
		code   onto.Code
		says   string
	}{
		"no system":        {func(i *work.Item) { i.System = "" }, onto.Invalid, "the source system is missing"},
		"no source":        {func(i *work.Item) { i.Source = "" }, onto.Invalid, "the source is missing"},
		"no type":          {func(i *work.Item) { i.Type = "" }, onto.Invalid, "the resource type is missing"},
		"no id":            {func(i *work.Item) { i.ID = "" }, onto.Invalid, "the resource id is missing"},
		"control":          {func(i *work.Item) { i.ID = "a\x1fb" }, onto.Invalid, "control character"},
		"newline":          {func(i *work.Item) { i.Source = "a\nb" }, onto.Invalid, "control character"},
		"not UTF-8":        {func(i *work.Item) { i.ID = "\xff" }, onto.Invalid, "not valid UTF-8"},
		"long":             {func(i *work.Item) { i.ID = strings.Repeat("x", onto.MaxKey+1) }, onto.TooLarge, "the limit is"},
		"no URI":           {func(i *work.Item) { i.URI = "" }, onto.Invalid, "the request URI is missing"},
		"relative URI":     {func(i *work.Item) { i.URI = "/page" }, onto.Invalid, "not absolute"},
		"malformed URI":    {func(i *work.Item) { i.URI = "http://[::1" }, onto.Invalid, "malformed"},
		"no host":          {func(i *work.Item) { i.URI = "https:///page" }, onto.Invalid, "has no host"},
		"long URI":         {func(i *work.Item) { i.URI = "test://" + strings.Repeat("x", work.MaxURI) }, onto.TooLarge, "the limit is"},
		"method":           {func(i *work.Item) { i.Method = "GET /\r\n" }, onto.Invalid, "no method"},
		"header name":      {func(i *work.Item) { i.Headers = map[string]string{"a b": ""} }, onto.Invalid, "header name"},
		"header value":     {func(i *work.Item) { i.Headers = map[string]string{"A": "b\r\nC: d"} }, onto.Invalid, "header A"},
		"header not UTF-8": {func(i *work.Item) { i.Headers = map[string]string{"A": "\xff"} }, onto.Invalid, "not JSON"},
		"body":             {func(i *work.Item) { i.Body = "\x00" }, onto.Invalid, "body"},
		"long body":        {func(i *work.Item) { i.Body = strings.Repeat("x", work.MaxBody+1) }, onto.TooLarge, "body"},
		"metadata":         {func(i *work.Item) { i.Metadata = map[string]any{"f": func() {}} }, onto.Invalid, "metadata are not JSON"},
		"long metadata":    {func(i *work.Item) { i.Metadata = map[string]any{"f": strings.Repeat("x", onto.MaxMetadata)} }, onto.TooLarge, "metadata"},
		"scope":            {func(i *work.Item) { i.Scope = "week" }, onto.Invalid, "scope"},
		"no run":           {func(i *work.Item) { i.Scope = work.ScopeRun }, onto.Invalid, "names none"},
		"delay":            {func(i *work.Item) { i.Delay = -1 }, onto.Invalid, "negative"},
		"both":             {func(i *work.Item) { i.Delay, i.NotBefore = 1, time.Now() }, onto.Invalid, "both"},
		"never":            {func(i *work.Item) { i.NotBefore = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC) }, onto.Invalid, "cannot wait"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := item("bad")
			c.change(&bad)
			_, err := w.q.Enqueue(t.Context(), item("good"), bad)
			if text := code(t, err, c.code); !strings.Contains(text, c.says) || len(text) > 1000 {
				t.Errorf("got %q, want something about %q", text, c.says)
			}
		})
	}
	for s, err := range w.q.Items(t.Context(), nil) {
		t.Errorf("%v was enqueued, %v", s.Resource, err)
	}
}

// tree is the lineage of all items as indented text.
func (w *world) tree(id string) string {
	w.Helper()
	var b strings.Builder
	for n, err := range w.q.Tree(w.Context(), id) {
		if err != nil {
			w.Fatal(err)
		}
		fmt.Fprintf(&b, "%s%s %d %s\n", strings.Repeat(" ", n.Level), n.Resource, n.Depth, n.Run)
	}
	return b.String()
}

// The priority 0 is one like others, and what is discovered has that of its parent.
func TestPriorityZero(t *testing.T) {
	w := newWorld(t)
	urgent, late := item("urgent"), item("late")
	urgent.Priority, late.Priority = new(0), new(1)
	w.enqueue(item("plain"), late, urgent)
	r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		return &work.Record{Body: []byte("x")}, nil
	})
	r.Discover = []work.Discovery{work.DiscoveryFunc(func(_ context.Context, rec *work.Record) ([]work.Item, error) {
		switch rec.Item.Resource {
		case "urgent":
			return []work.Item{{ID: "below urgent", URI: "test://site/1"}}, nil
		case "plain":
			return []work.Item{{ID: "zero", URI: "test://site/2", Priority: new(0)}, {ID: "below plain", URI: "test://site/3"}}, nil
		}
		return nil, nil
	})}
	w.run(r, nil)
	for id, want := range map[string]int{"urgent": 0, "late": 1, "plain": 100, "below urgent": 0, "zero": 0, "below plain": 100} {
		if s := w.state(id); s.Priority != want || s.Status != onto.WorkCompleted {
			t.Errorf("%s: got the priority %d and the status %s, want %d", id, s.Priority, s.Status, want)
		}
	}
}

// A run fetches, writes and discovers, in order of priority and then of creation.
func TestARun(t *testing.T) {
	w := newWorld(t)
	first := item("first")
	first.Priority = new(0)
	w.enqueue(item("root"), item("other"), first)
	var order, wrote []string
	r := w.connect(func(_ context.Context, i *onto.WorkItem) (*work.Record, error) {
		order = append(order, i.Resource)
		return &work.Record{Body: []byte("body of " + i.Resource), Metadata: map[string]any{"etag": "1"}}, nil
	})
	r.Writers = []work.Writer{work.WriterFunc(func(_ context.Context, rec *work.Record) error {
		wrote = append(wrote, string(rec.Body)+" "+rec.URL)
		return nil
	})}
	r.Discover = []work.Discovery{work.DiscoveryFunc(func(_ context.Context, rec *work.Record) ([]work.Item, error) {
		if rec.Item.Resource != "root" {
			return []work.Item{{ID: "root", URI: "test://site/root"}}, nil
		}
		return []work.Item{{ID: "a", URI: "test://site/a"}, {ID: "b", URI: "test://site/b"}}, nil
	})}
	sum := w.run(r, &work.RunOptions{Run: "first", Workers: 1})

	if got, want := strings.Join(order, " "), "first root other a b"; got != want {
		t.Errorf("fetched %q, want %q", got, want)
	}
	if got, want := wrote[0], "body of first test://site/first"; got != want || len(wrote) != 5 {
		t.Errorf("wrote %q, want first %q", wrote, want)
	}
	if sum.Completed != 5 || sum.Discovered != 2 || sum.Known != 4 || sum.Bytes == 0 || sum.Status != work.RunFinished || sum.Sources["site"].Completed != 5 {
		t.Errorf("got %+v", sum)
	}
	if got, want := w.tree(""), "first 0 \nroot 0 \n a 1 first\n b 1 first\nother 0 \n"; got != want {
		t.Errorf("got the tree\n%swant\n%s", got, want)
	}
	if got, want := w.tree(w.state("a").ID), "a 1 first\n"; got != want {
		t.Errorf("got the tree\n%swant\n%s", got, want)
	}
	s := w.expect("a", onto.WorkCompleted, "completed")
	if string(s.Metadata) != `{"etag":"1"}` || s.Attempts[0].Run != "first" || s.Attempts[0].Worker == "" {
		t.Errorf("got %+v", s)
	}
	runs, err := w.q.Runs(t.Context())
	if err != nil || len(runs) != 1 || runs[0].ID != "first" || runs[0].Status != work.RunFinished || runs[0].Finished.IsZero() {
		t.Errorf("got %+v, %v", runs, err)
	}
	w.says(string(runs[0].Counts), `"completed":5`, `"discovered":2`)
}
