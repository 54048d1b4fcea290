package backendtest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/effort"
)

// Target is a backend under test.
type Target struct {
	// Open opens the store at a place, and makes it if there is none. A place that is
	// opened twice gives two handles on one store. A place that is opened after its
	// handles were closed has its data. A store that cannot be opened fails the test with
	// its error alone, as t.Fatal(err) does.
	Open func(t testing.TB, p *Place) backend.Backend

	// Operations is how many operations random histories have in all; 0 for 10,000.
	// Random traffic on a bus has five times as many, a random workload three times; for
	// each hundred, one history is copied. What
	// of that is done at once is told by package effort.
	Operations int

	// Again is not 0 if another target of the package covers the same contract with other
	// storage. A plain run tries only the parts about concurrent handles and callers, and
	// so does a run of a part of the long tests unless [effort.Includes] this number.
	Again int

	// Points names where an append can be made to fail: any moment before the commit is
	// there. Without any, the part about faults is left out.
	Points []string

	// Fault makes the next append or restoration through b fail at a point. It
	// returns an error that wraps err, and the handle stays usable.
	Fault func(t testing.TB, b backend.Backend, point string, err error)
}

// Place is where one store is.
type Place struct {
	Dir  string           // exists and is for this store alone
	Name string           // of lower case letters and digits; no other place has it
	Now  func() time.Time // the clock of the store

	// LockTimeout is how long a write waits for other writers; 0 for the backend's
	// default. For a backend without the setting, the tests wait.
	LockTimeout time.Duration

	// MigrationWait is how long a write waits for a migration; 0 for the backend's default.
	MigrationWait time.Duration

	// Target asks for a handle for the target of a copy, see [backend.Archive], which can
	// be opened also while the copy has not ended. Backends without Archive ignore it.
	Target bool

	clock *clock
}

// Run tests a backend. It must not run in parallel with other tests, whose goroutines
// would count as leaks.
func Run(t *testing.T, target Target) {
	before := goleak.IgnoreCurrent()
	target = target.called()
	if target.Again == 0 || effort.Thorough(t) && effort.Includes(t, target.Again) {
		t.Run("stories", func(t *testing.T) { runStories(t, target, stories()) })
		t.Run("histories", func(t *testing.T) { runHistories(t, target) })
		t.Run("bus", func(t *testing.T) { runStories(t, target, busStories(t, target)) })
		t.Run("traffic", func(t *testing.T) { runTraffic(t, target) })
		t.Run("work", func(t *testing.T) { runStories(t, target, workStories(t, target)) })
		t.Run("workload", func(t *testing.T) { runWorkload(t, target) })
		t.Run("archive", func(t *testing.T) { runStories(t, target, archiveStories(t, target)) })
		t.Run("copies", func(t *testing.T) { runCopies(t, target) })
	}
	t.Run("handles", func(t *testing.T) { runStories(t, target, handleStories()) })
	t.Run("cancel", func(t *testing.T) { runStories(t, target, cancelStories()) })
	t.Run("concurrency", func(t *testing.T) { runStories(t, target, concurrencyStories()) })
	t.Run("linearizable", func(t *testing.T) { runStories(t, target, linearStories()) })
	t.Run("optional", func(t *testing.T) { runStories(t, target, optionalStories()) })
	if len(target.Points) > 0 {
		t.Run("faults", func(t *testing.T) { runFaults(t, target) })
	}
	if err := goleak.Find(before); err != nil {
		t.Errorf("goroutines are left: %v", err)
	}
}

// Check examines a backend that is a [backend.Checker] and fails the test for
// each finding that is an error.
func Check(t testing.TB, b backend.Backend) {
	t.Helper()
	if err := check(b); err != nil {
		t.Errorf("check: %v", err)
	}
}

// check returns the findings that are errors. It has a context of its own
// since a test's context has ended when its cleanups run.
func check(b backend.Backend) error {
	c, ok := backend.As[backend.Checker](b)
	if !ok {
		return nil
	}
	var found []error
	for f, err := range c.Check(context.Background()) {
		switch {
		case err != nil:
			found = append(found, err)
		case f.Severity == onto.SeverityError:
			found = append(found, errors.New(f.String()))
		}
	}
	return errors.Join(found...)
}

// newPlace makes a place in a directory of its own under dir.
func newPlace(t testing.TB, dir string) *Place {
	t.Helper()
	name := "s" + strings.ToLower(rand.Text())
	dir, err := os.MkdirTemp(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{now: startOfClocks()}
	return &Place{Dir: dir, Name: name, Now: c.Now, clock: c}
}

// startOfClocks is what the clocks of places show at first.
func startOfClocks() time.Time { return time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC) }

// clock stands still until it is moved, unless it runs.
type clock struct {
	mu   sync.Mutex // guards now and tick
	now  time.Time
	tick time.Duration // how far it advances at each reading
}

// Now returns the time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.tick)
	return c.now
}

// run makes the clock advance at each reading; 0 stops it.
func (c *clock) run(tick time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick = tick
}

// move sets the clock forward, or back if d is negative.
func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// set sets the clock.
func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}
