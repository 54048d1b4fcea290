//go:build unix

package bus_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"work": work})
	os.Exit(effort.Main(m))
}

// Task is an event of the test. Some are poison.
type Task struct {
	Key    string `json:"key" onto:"ordering"`
	N      int    `json:"n"`
	Poison string `json:"poison,omitempty"`
}

// Done is what is left of a task.
type Done struct {
	ID string `json:"id" onto:"key"`
}

const (
	fatal    = "fatal"   // ends the process
	failing  = "failing" // fails each time
	attempts = 4
)

func openTasks(ctx context.Context, path string) (*store.Store, *bus.Bus, error) {
	db, err := sqlite.Open(ctx, path, &sqlite.Options{LockTimeout: time.Minute})
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(ctx, db, onto.TypeOf[Done]())
	if err != nil {
		return nil, nil, err
	}
	b, err := bus.Open(s, &bus.Options{
		ClaimLease: time.Second, Heartbeat: 200 * time.Millisecond, MaxAttempts: attempts,
		BackoffBase: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	return s, b, err
}

// work is a worker process. It handles tasks until its input ends, and writes down each
// start: handler, event, whether the claim before was lost, and the time.
func work(args []string) error {
	path, journal := args[0], args[1]
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	s, b, err := openTasks(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	out, err := os.Create(journal)
	if err != nil {
		return err
	}
	defer out.Close()
	note := func(c *onto.Claim) {
		fmt.Fprintf(out, "%s %s %v %d\n", c.Handler, c.ID, c.Lost, time.Now().UnixMicro())
	}
	fmt.Println("ready")
	return b.Run(ctx,
		bus.On("commit", func(_ context.Context, c *bus.Claim[Task]) error {
			note(&c.Claim)
			switch c.Payload.Poison {
			case fatal:
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			case failing:
				return errors.New("poison")
			}
			c.Ensure(Done{ID: fmt.Sprintf("%s.%d", c.Payload.Key, c.Payload.N)})
			c.Draft.Comment = c.ID
			return nil
		}).Concurrency(32),
		bus.On("plain", func(_ context.Context, c *bus.Claim[Task]) error {
			note(&c.Claim)
			return nil
		}),
	)
}

// Four processes handle tasks, and one of them is killed again and again. No task is lost,
// none is handled after its ack, those of one key are handled in order, each is committed
// once, and the dead letters are exactly the poison, one of which kills its process.
func TestProcessesAreKilled(t *testing.T) {
	t.Parallel()
	tasks, keys := effort.Count(t, 12_000), 100
	random := effort.Rand(t)
	pause := func() time.Duration { return time.Duration(200+random.IntN(400)) * time.Millisecond }
	ctx := t.Context()
	dir := t.TempDir()
	path := filepath.Join(dir, "tasks.db")
	s, b, err := openTasks(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	journals := 0
	start := func() *child.Process {
		journals++
		return child.Start(t, "work", path, filepath.Join(dir, fmt.Sprintf("journal%d", journals)))
	}
	crew := make([]*child.Process, 4)
	gone := make(chan int, len(crew))
	watch := func(i int) {
		p := crew[i]
		go func() { _ = p.Wait(); gone <- i }()
	}
	for i := range crew {
		crew[i] = start()
		crew[i].Until(t, "ready")
		watch(i)
	}

	poison := map[string]string{}
	want := map[string]Task{}
	emitted := make(chan error, 1)
	go func() { emitted <- emitTasks(ctx, b, tasks, keys, poison, want) }()

	kills, deaths := 0, 0
	kill := time.NewTimer(pause())
	look := time.NewTicker(100 * time.Millisecond)
	defer kill.Stop()
	defer look.Stop()
	deadline := time.After(5*time.Minute + time.Duration(tasks)*10*time.Millisecond) // for a machine with much else to do
	for done := false; !done; {
		select {
		case i := <-gone:
			deaths++
			crew[i] = start()
			watch(i)
		case <-kill.C:
			kills++
			_ = crew[random.IntN(len(crew))].Process.Kill()
			kill.Reset(pause())
		case <-look.C:
			select {
			case err := <-emitted:
				if err != nil {
					t.Fatal(err)
				}
				emitted <- nil
			default:
				continue
			}
			n, err := b.Namespace(ctx, "default")
			if err != nil {
				t.Fatal(err)
			}
			done = len(n.Handlers) == 2 && n.Handlers[0].Waiting+n.Handlers[1].Waiting == 0
		case <-deadline:
			n, err := b.Namespace(ctx, "default")
			t.Fatalf("not done in time: %+v, %v", n.Handlers, err)
		}
	}
	for _, p := range crew {
		p.Stdin.Close()
	}
	for range crew {
		<-gone
	}
	t.Logf("%d tasks, %d kills, %d deaths", tasks, kills, deaths)
	checkCommits(t, s, poison, want)
	starts := readJournals(t, dir, journals)
	checkEvents(t, b, starts, poison, want)
	if deaths < kills/2 { // a kill may find its process dead
		t.Errorf("%d kills, and %d deaths", kills, deaths)
	}
}

func emitTasks(ctx context.Context, b *bus.Bus, tasks, keys int, poison map[string]string, want map[string]Task) error {
	for at := 0; at < tasks; at += 100 {
		var list []any
		for i := at; i < at+100; i++ {
			task := Task{Key: fmt.Sprint("k", i%keys), N: i / keys}
			switch {
			case i == tasks/3:
				task.Poison = fatal
			case i%997 == 500:
				task.Poison = failing
			}
			list = append(list, task)
		}
		made, err := b.Emit(ctx, list...)
		if err != nil {
			return err
		}
		for i, e := range made {
			want[e.ID] = list[i].(Task)
			if p := want[e.ID].Poison; p != "" {
				poison[e.ID] = p
			}
		}
	}
	return nil
}

// checkCommits finds one commit for each task that is no poison, in order per key.
func checkCommits(t *testing.T, s *store.Store, poison map[string]string, want map[string]Task) {
	t.Helper()
	last := map[string]int{} // by key: the next number at the least
	seen := map[string]int64{}
	for c, err := range s.Commits(t.Context(), store.CommitOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		task, ok := want[c.Comment]
		if !ok || poison[c.Comment] != "" || seen[c.Comment] != 0 {
			t.Errorf("commit %d is for %q: known %v, poison %q, also in commit %d", c.ID, c.Comment, ok, poison[c.Comment], seen[c.Comment])
		}
		seen[c.Comment] = c.ID
		if task.N < last[task.Key] {
			t.Errorf("commit %d: number %d of key %s comes after %d", c.ID, task.N, task.Key, last[task.Key]-1)
		}
		last[task.Key] = task.N + 1
	}
	if len(seen) != len(want)-len(poison) {
		t.Errorf("%d tasks were committed, want %d", len(seen), len(want)-len(poison))
	}
}

// start is one start of a handler.
type start struct {
	lost bool
	at   time.Time
}

func readJournals(t *testing.T, dir string, n int) map[[2]string][]start {
	t.Helper()
	starts := map[[2]string][]start{}
	for i := 1; i <= n; i++ {
		f, err := os.Open(filepath.Join(dir, fmt.Sprintf("journal%d", i)))
		if errors.Is(err, os.ErrNotExist) {
			continue // killed before it began
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var handler, event string
			var lost bool
			var at int64
			if _, err := fmt.Sscan(lines.Text(), &handler, &event, &lost, &at); err != nil {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			name := [2]string{handler, event}
			starts[name] = append(starts[name], start{lost, time.UnixMicro(at)})
		}
		f.Close()
	}
	return starts
}

// checkEvents compares what became of each task with the starts of its handlers.
func checkEvents(t *testing.T, b *bus.Bus, starts map[[2]string][]start, poison map[string]string, want map[string]Task) {
	t.Helper()
	again, fatals := 0, 0
	for e, err := range b.Events(t.Context(), &backend.EventQuery{Types: []string{"Task"}}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Claims) != 2 {
			t.Errorf("task %s has %d claims, want one of each handler", e.ID, len(e.Claims))
		}
		for _, c := range e.Claims {
			dead := c.Handler == "commit" && poison[e.ID] != ""
			if c.Dead.IsZero() == dead || c.Acked.IsZero() != dead {
				t.Errorf("task %s of %s: %+v, poison %q", e.ID, c.Handler, c, poison[e.ID])
			}
			fresh, lost := 0, 0
			for _, s := range starts[[2]string{c.Handler, e.ID}] {
				if s.lost {
					lost++
				} else {
					fresh++
				}
				if end := c.Acked.Add(time.Microsecond); !dead && s.at.After(end) {
					t.Errorf("task %s of %s was started at %v, after its ack at %v", e.ID, c.Handler, s.at, c.Acked)
				}
			}
			if lost > 0 {
				again++
			}
			switch {
			case dead && poison[e.ID] == fatal:
				fatals += fresh + lost
				if c.Deliveries != attempts || lost > attempts || fresh > 1 {
					t.Errorf("the task that kills was started %d and %d times: %+v", fresh, lost, c)
				}
			case dead:
				if c.Attempts+lost < attempts || c.Deliveries < attempts {
					t.Errorf("a task that fails was given up early: %+v", c)
				}
			case fresh > 1 || fresh+lost == 0 || c.Deliveries < max(1, lost) || c.Attempts != 0:
				t.Errorf("task %s of %s was started %d times, and %d after a lost claim: %+v", e.ID, c.Handler, fresh, lost, c)
			}
		}
	}
	buried := 0
	for l, err := range b.DeadLetters(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		buried++
		if poison[l.Event.ID] == "" || l.Handler != "commit" {
			t.Errorf("dead letter %d of %s: task %+v: %s", l.ID, l.Handler, want[l.Event.ID], l.Error)
		}
	}
	if buried != len(poison) || fatals == 0 {
		t.Errorf("got %d dead letters, want %d; the task that kills was started %d times", buried, len(poison), fatals)
	}
	t.Logf("%d handlings began after a lost claim, %d dead letters, %d deaths by poison", again, buried, fatals)
}
