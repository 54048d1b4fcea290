package bus

import (
	"cmp"
	"context"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/emission"
	"github.com/ontologia/onto/store"
)

// The defaults of Options.
const (
	DefaultClaimLease  = 30 * time.Second
	DefaultClaimLimit  = 100
	DefaultMaxPerPass  = 1000
	DefaultMaxAttempts = 10
	DefaultBackoffBase = 250 * time.Millisecond
	DefaultBackoffMax  = 30 * time.Second
	DefaultPoll        = time.Second
	DefaultHeartbeat   = 5 * time.Second
	DefaultSessionTTL  = time.Minute
	DefaultDrain       = 30 * time.Second
)

// Options change how a bus works. The zero value is the default.
type Options struct {
	Namespace string         // of events, handlers and schedules; "" for that of the store
	Session   string         // names a run of the program; "" for host, process and a random part
	Metadata  map[string]any // of the session, beside host, pid and handlers; must be JSON

	ClaimLease  time.Duration // how long a claim lasts unless it is renewed
	ClaimLimit  int           // most events claimed at once
	MaxPerPass  int           // most events that a handler claims before those of lower priority have their turn
	MaxAttempts int           // of handlers that say nothing else
	BackoffBase time.Duration // before the first repetition it is twice that
	BackoffMax  time.Duration // and never more than this, but for up to 100 ms at random

	Poll       time.Duration // the longest time between two looks for events
	Retention  time.Duration // how long handled events are kept; 0 for ever
	Heartbeat  time.Duration // between two signs of life, which also renew claims
	SessionTTL time.Duration // a session without sign of life for that long is dead
	Drain      time.Duration // how long running handlers may go on when Run is to end

	// Observe, if not nil, is called for what happens, for metrics. The calls of a Run do
	// not overlap, and hold it up until they return.
	Observe func(Observation)
	Log     *slog.Logger     // nil for slog.Default()
	Now     func() time.Time // the wall clock; nil for time.Now
}

// Bus is the events of a store. It may be used concurrently.
type Bus struct {
	s       *store.Store
	port    backend.Bus
	watcher backend.Watcher // nil if the backend is none
	leaser  backend.Leaser  // nil if the backend is none
	o       Options
	rules   emission.Rules
	ages    backend.Ages
	named   atomic.Bool // a Run with the session of Options is under way
}

// Open returns the bus of a store, which stays open. It fails with UnsupportedOperation if the
// store's backend keeps no events.
func Open(s *store.Store, o *Options) (*Bus, error) {
	b := &Bus{s: s}
	var ok bool
	if b.port, ok = backend.As[backend.Bus](s.Backend()); !ok {
		return nil, onto.Errorf(onto.UnsupportedOperation, "this storage keeps no events").
			WithHint("use a SQLite file for a program that emits or handles events")
	}
	b.watcher, _ = backend.As[backend.Watcher](s.Backend())
	b.leaser, _ = backend.As[backend.Leaser](s.Backend())
	if o != nil {
		b.o = *o
	}
	b.o.Namespace = cmp.Or(b.o.Namespace, s.Namespace())
	if err := b.o.fill(); err != nil {
		return nil, err
	}
	b.ages = backend.OpenAges(b.o.Now())
	b.rules = emission.Rules{Namespace: b.o.Namespace, MaxDepth: s.MaxChainDepth()}
	return b, nil
}

// fill checks the options and sets the defaults.
func (o *Options) fill() error {
	if err := onto.CheckBusName("namespace", o.Namespace); err != nil {
		return err
	}
	if len(o.Session) > onto.MaxKey || !utf8.ValidString(o.Session) || strings.IndexByte(o.Session, 0) >= 0 {
		return onto.Errorf(onto.Invalid, "the session name is not text of at most %d bytes", onto.MaxKey)
	}
	if _, err := codec.AppendValue(nil, reflect.ValueOf(o.Metadata)); err != nil {
		return onto.Errorf(onto.Invalid, "the metadata of the session is not JSON: %w", err)
	}
	if o.Retention < 0 {
		return onto.Errorf(onto.Invalid, "Retention is %v, and cannot be negative", o.Retention).WithHint("leave it at zero to keep what was handled")
	}
	if o.ClaimLease > backend.MaxLease {
		return onto.Errorf(onto.Invalid, "ClaimLease is %v, and can be at most %v", o.ClaimLease, backend.MaxLease).
			WithHint("claims are renewed while a handler runs: leave it at zero for %v", DefaultClaimLease)
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{
		{"ClaimLease", &o.ClaimLease, DefaultClaimLease},
		{"BackoffBase", &o.BackoffBase, DefaultBackoffBase},
		{"BackoffMax", &o.BackoffMax, DefaultBackoffMax},
		{"Poll", &o.Poll, DefaultPoll},
		{"Heartbeat", &o.Heartbeat, DefaultHeartbeat},
		{"SessionTTL", &o.SessionTTL, DefaultSessionTTL},
		{"Drain", &o.Drain, DefaultDrain},
	} {
		if err := setting(d.name, d.value, d.usual); err != nil {
			return err
		}
	}
	for _, n := range []struct {
		name  string
		value *int
		usual int
	}{
		{"ClaimLimit", &o.ClaimLimit, DefaultClaimLimit},
		{"MaxPerPass", &o.MaxPerPass, DefaultMaxPerPass},
		{"MaxAttempts", &o.MaxAttempts, DefaultMaxAttempts},
	} {
		if err := setting(n.name, n.value, n.usual); err != nil {
			return err
		}
	}
	o.ClaimLimit = min(o.ClaimLimit, o.MaxPerPass)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
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

// Emit emits events without a commit, all or none. They are as in [onto.Draft.Emit].
func (b *Bus) Emit(ctx context.Context, things ...any) ([]onto.Event, error) {
	list, err := b.rules.Events(things)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return b.port.Emit(ctx, &backend.Emission{Events: list})
}
