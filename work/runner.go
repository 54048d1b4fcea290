package work

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/mailbox"
	"github.com/ontologia/onto/internal/uuid"
)

// Connector fetches items of a system. Its calls overlap.
type Connector interface {
	// Fetch gets the resource of an item. The context ends when the attempt's time is up,
	// when its lease is lost, or when the run ends.
	Fetch(ctx context.Context, item *onto.WorkItem) (*Record, error)
}

// Writer writes what was fetched. Its calls overlap. It can be called again for an item
// that it has written, since the process can end before that is known.
type Writer interface {
	Write(ctx context.Context, r *Record) error
}

// Discovery finds items in what was fetched. Its calls overlap. What it leaves out (System,
// Source, Type, Run, Scope, Priority) is as in the item that they are found in; an empty ID
// is the URI.
type Discovery interface {
	Discover(ctx context.Context, r *Record) ([]Item, error)
}

// ConnectorFunc is a function as a Connector.
type ConnectorFunc func(ctx context.Context, item *onto.WorkItem) (*Record, error)

// Fetch implements [Connector].
func (f ConnectorFunc) Fetch(ctx context.Context, item *onto.WorkItem) (*Record, error) {
	return f(ctx, item)
}

// WriterFunc is a function as a Writer.
type WriterFunc func(ctx context.Context, r *Record) error

// Write implements [Writer].
func (f WriterFunc) Write(ctx context.Context, r *Record) error { return f(ctx, r) }

// DiscoveryFunc is a function as a Discovery.
type DiscoveryFunc func(ctx context.Context, r *Record) ([]Item, error)

// Discover implements [Discovery].
func (f DiscoveryFunc) Discover(ctx context.Context, r *Record) ([]Item, error) { return f(ctx, r) }

// Record is what was fetched for an item.
type Record struct {
	Item        *onto.WorkItem // filled in by the runner
	URL         string         // where it came from in the end; "" for the item's URI
	Status      int            // of the answer; 0 if there is none
	Header      http.Header    // of the answer; may be nil
	ContentType string
	Body        []byte
	Fetched     time.Time // filled in by the runner if it is zero

	// NotModified says that the resource is as it was when it was last completed: nothing
	// is written, and nothing discovered.
	NotModified bool

	// Metadata is set in the metadata of the item when it is completed; nil values remove.
	Metadata map[string]any
}

// Runner works on items.
type Runner struct {
	Queue      *Queue
	Connectors map[string]Connector // by system
	Writers    []Writer             // called one after the other
	Discover   []Discovery          // called after them
}

// The defaults of RunOptions.
const (
	DefaultWorkers     = 4
	DefaultMaxAttempts = 5
	DefaultBackoffBase = time.Second
	DefaultBackoffMax  = 5 * time.Minute
	DefaultLease       = time.Minute
	DefaultTimeout     = 5 * time.Minute
	DefaultDrain       = 30 * time.Second
	DefaultPoll        = 250 * time.Millisecond
)

// Limit bounds the work on a source, across all processes that give the same.
type Limit struct {
	Concurrent int     // items in progress at once; 0 for any number
	PerSecond  float64 // items begun in a second; 0 for any number
	Burst      int     // how many may begin at once after a pause; 0 for 1
}

// Limits are limits by the name of the source, which hold for each system by itself. That
// of "" holds for sources that are not named.
type Limits map[string]Limit

// RunOptions change how a Run works. The zero value is the default.
type RunOptions struct {
	// Run names the run; "" for a new name. A run that exists is refused with Conflict,
	// unless Resume is set: then it must exist, and not be under way.
	Run     string
	Resume  bool
	OnlyRun bool     // work only on items that belong to Run
	Systems []string // work only on items of these systems; nil for all

	Workers  int // items at once in this process
	Limits   Limits
	MaxItems int // end after so many attempts; 0 for no limit
	MaxDepth int // discover nothing from items at this depth; 0 for no limit

	MaxAttempts int           // at an item before it fails; one that was tried as often by earlier runs fails without another attempt
	BackoffBase time.Duration // before the second attempt; it doubles with each
	BackoffMax  time.Duration // and never is more than this, but for a quarter at random

	Lease   time.Duration // of an item, renewed while the attempt runs
	Timeout time.Duration // of an attempt
	Drain   time.Duration // how long attempts may go on when the run is to end
	Poll    time.Duration // between two looks at a queue that has nothing to do; up to eight times that if it stays so
	MaxWait time.Duration // end if nothing falls due for so long; 0 to wait for everything

	// Progress and Observe, if not nil, are called with the figures up to now, some times a
	// second, and for all that happens. Calls do not overlap, and hold up the run.
	Progress func(Summary)
	Observe  func(Observation)
	Log      *slog.Logger // nil for slog.Default()
}

// fill checks the options and sets the defaults.
func (o *RunOptions) fill() error {
	if err := checkText("the run id", o.Run, 0, onto.MaxKey); err != nil {
		return err
	}
	if o.Run == "" && (o.Resume || o.OnlyRun) {
		return onto.Errorf(onto.Invalid, "Resume and OnlyRun are about a run, and none is named").WithHint("set RunOptions.Run")
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{
		{"BackoffBase", &o.BackoffBase, DefaultBackoffBase},
		{"BackoffMax", &o.BackoffMax, DefaultBackoffMax},
		{"Lease", &o.Lease, DefaultLease},
		{"Timeout", &o.Timeout, DefaultTimeout},
		{"Drain", &o.Drain, DefaultDrain},
		{"Poll", &o.Poll, DefaultPoll},
		{"MaxWait", &o.MaxWait, 0},
	} {
		if err := setting(d.name, d.value, d.usual); err != nil {
			return err
		}
	}
	if o.Lease > backend.MaxLease {
		return onto.Errorf(onto.Invalid, "Lease is %v, and can be at most %v", o.Lease, backend.MaxLease).
			WithHint("leases are renewed while an attempt runs: leave it at zero for %v", DefaultLease)
	}
	for _, n := range []struct {
		name  string
		value *int
		usual int
	}{
		{"Workers", &o.Workers, DefaultWorkers},
		{"MaxItems", &o.MaxItems, 0},
		{"MaxDepth", &o.MaxDepth, 0},
		{"MaxAttempts", &o.MaxAttempts, DefaultMaxAttempts},
	} {
		if err := setting(n.name, n.value, n.usual); err != nil {
			return err
		}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return nil
}

// setting is the usual value for zero, and refuses a negative one.
func setting[T int | time.Duration](name string, value *T, usual T) error {
	if *value < 0 {
		return onto.Errorf(onto.Invalid, "%s is %v, and cannot be negative", name, *value).WithHint("leave it at zero for %v", usual)
	}
	if *value == 0 {
		*value = usual
	}
	return nil
}

// limit is a limit as the backend takes it.
func (l Limit) limit(name string) (backend.WorkLimit, error) {
	w := backend.WorkLimit{Concurrent: l.Concurrent}
	const least, most = 1 / 3600., 1e6 // a second
	switch {
	case l.Concurrent < 0 || l.Burst < 0:
		return w, onto.Errorf(onto.Invalid, "a limit of source %.200q is negative", name).WithHint("leave it at zero for none")
	case l.PerSecond == 0 && l.Burst > 0:
		return w, onto.Errorf(onto.Invalid, "source %.200q has a burst and no rate", name).WithHint("set PerSecond, too")
	case l.PerSecond == 0:
		return w, nil
	case !(l.PerSecond >= least && l.PerSecond <= most):
		return w, onto.Errorf(onto.Invalid, "source %.200q cannot have a rate of %v items a second", name, l.PerSecond).WithHint("give one from an item in an hour to %v in a second", most)
	}
	// Rounded up, so that the rate is never exceeded.
	w.Every = (time.Duration(float64(time.Second)/l.PerSecond) + time.Microsecond - 1).Truncate(time.Microsecond)
	w.Burst = max(1, l.Burst)
	if w.Every > backend.MaxLease/time.Duration(w.Burst) {
		return w, onto.Errorf(onto.Invalid, "source %.200q cannot have a burst of %d, which at its rate lasts for more than %v", name, l.Burst, backend.MaxLease).
			WithHint("give a smaller burst, or a higher rate")
	}
	return w, nil
}

// request is what the run asks of the queue, but for how many items.
func (r *Runner) request(o *RunOptions, id, worker string) (backend.WorkRequest, error) {
	req := backend.WorkRequest{Worker: worker, Run: id, OnlyRun: o.OnlyRun, Systems: o.Systems, Lease: o.Lease, MaxTries: o.MaxAttempts, Limits: map[backend.WorkSource]backend.WorkLimit{}}
	for name, l := range o.Limits {
		w, err := l.limit(name)
		if err != nil {
			return req, err
		}
		if name == "" {
			req.Most = w
			continue
		}
		for system := range r.Connectors {
			req.Limits[backend.WorkSource{System: system, Source: name}] = w
		}
	}
	return req, nil
}

// Run works on items until none is left: none is pending or in progress, also in another
// process, whose items may return or lead to more. It ends earlier at MaxItems or MaxWait,
// or when the context ends. Then it takes nothing more, returns what was not started, waits
// for attempts that run for as long as Drain says, and returns their items if they end for
// that. One that ignores its context is left behind after a few seconds, and its lease runs
// out.
//
// Options that are not well formed fail with Invalid before anything starts. SchemaOutdated
// of a writer ends Run with that error, as does a store that is closed, damaged or
// read-only: the items are returned. Other troubles of the queue's store are waited for.
// The figures are right also with an error.
func (r *Runner) Run(ctx context.Context, opts *RunOptions) (Summary, error) {
	var o RunOptions
	if opts != nil {
		o = *opts
	}
	if err := o.fill(); err != nil {
		return Summary{}, err
	}
	if r.Queue == nil || len(r.Connectors) == 0 {
		return Summary{}, onto.Errorf(onto.Invalid, "the runner has no queue or no connectors").WithHint("set Runner.Queue and Runner.Connectors")
	}
	id := cmp.Or(o.Run, uuid.V7())
	req, err := r.request(&o, id, workerName())
	if err != nil {
		return Summary{}, err
	}
	n := &run{
		q: r.Queue, runner: r, o: o, id: id, request: req, p: newPolicy(&o), due: true,
		systems: slices.Sorted(maps.Keys(r.Connectors)), jobs: map[*job]bool{}, mail: mailbox.New(),
	}
	return n.run(ctx)
}

// workerName is this process and one run in it.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return cut(host, 200) + "/" + strconv.Itoa(os.Getpid()) + "/" + uuid.V4()[:8]
}
