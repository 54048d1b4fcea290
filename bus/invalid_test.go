package bus_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

type badName struct{}

func (badName) EventType() string { return "no spaces" }

// Parts that are not well formed are refused before anything starts.
func TestBadParts(t *testing.T) {
	ping := func(context.Context, *bus.Claim[Ping]) error { return nil }
	raw := func(context.Context, *bus.Claim[json.RawMessage]) error { return nil }
	type twoKeys struct {
		A string `onto:"ordering"`
		B string `onto:"ordering"`
	}
	for name, c := range map[string]struct {
		parts []bus.Part
		want  string
	}{
		"nothing":               {nil, "nothing to run"},
		"two of one name":       {[]bus.Part{bus.On("h", ping), bus.OnTypes("h", []string{"x"}, raw)}, "two handlers are named h"},
		"a bad handler name":    {[]bus.Part{bus.On("h h", ping)}, `"h h"`},
		"no handler name":       {[]bus.Part{bus.On("", ping)}, "handler"},
		"no function":           {[]bus.Part{bus.On[Ping]("h", nil)}, "no function"},
		"no types":              {[]bus.Part{bus.OnTypes("h", nil, raw)}, "no event types"},
		"a bad type":            {[]bus.Part{bus.OnTypes("h", []string{"a", "b c"}, raw)}, `"b c"`},
		"no struct":             {[]bus.Part{bus.On("h", func(context.Context, *bus.Claim[int]) error { return nil })}, "int is no struct"},
		"a bad struct":          {[]bus.Part{bus.On("h", func(context.Context, *bus.Claim[badName]) error { return nil })}, `"no spaces"`},
		"two ordering keys":     {[]bus.Part{bus.On("h", func(context.Context, *bus.Claim[twoKeys]) error { return nil })}, "more than one field marked ordering"},
		"no concurrency":        {[]bus.Part{bus.On("h", ping).Concurrency(0)}, "concurrency 0"},
		"no attempts":           {[]bus.Part{bus.On("h", ping).Attempts(0)}, "0 attempts"},
		"no time":               {[]bus.Part{bus.On("h", ping).Timeout(-time.Second)}, "timeout -1s"},
		"a bad cron expression": {[]bus.Part{bus.Every("s", "0 25 * * *", "", Ping{})}, `schedule s: hour "25"`},
		"four fields":           {[]bus.Part{bus.Every("s", "0 5 * *", "", Ping{})}, "schedule s: "},
		"a bad zone":            {[]bus.Part{bus.Every("s", "@daily", "Europe/Berlni", Ping{})}, `schedule s: zone "Europe/Berlni"`},
		"a bad schedule name":   {[]bus.Part{bus.Every("s s", "@daily", "", Ping{})}, `"s s"`},
		"two schedules":         {[]bus.Part{bus.Every("s", "@daily", "", Ping{}), bus.Every("s", "@hourly", "", Ping{})}, "two schedules are named s"},
		"no event":              {[]bus.Part{bus.Every("s", "@daily", "", 7)}, "schedule s: a int is no event"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.m.beat = func(*backend.Beat) error { t.Error("a session was registered"); return nil }
			for _, run := range []func(context.Context, ...bus.Part) error{w.b.Run, w.b.RunUntilIdle} {
				if err := run(t.Context(), c.parts...); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want Invalid with %q", err, c.want)
				}
			}
		})
	}
}

// Options that make no sense are refused.
func TestBadOptions(t *testing.T) {
	w := newWorld(t, nil)
	for name, o := range map[string]*bus.Options{
		"namespace":  {Namespace: "a b"},
		"session":    {Session: "\xff"},
		"metadata":   {Metadata: map[string]any{"f": func() {}}},
		"ClaimLease": {ClaimLease: -1},
		"ClaimLimit": {ClaimLimit: -1},
		"Drain":      {Drain: -time.Second},
	} {
		if _, err := bus.Open(w.s, o); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A backend that keeps no events is refused when the bus is opened.
func TestNoBus(t *testing.T) {
	w := newWorld(t, nil)
	s, err := store.Open(t.Context(), struct{ backend.Backend }{w.m.full})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Open(s, nil); onto.CodeOf(err) != onto.UnsupportedOperation || onto.HintOf(err).Text == "" {
		t.Errorf("got %v", err)
	}
}

// Events that cannot be stored are refused, and none of their call is emitted.
func TestBadEvents(t *testing.T) {
	w := newWorld(t, nil)
	for name, c := range map[string]struct {
		thing any
		want  onto.Code
	}{
		"no struct": {7, onto.Invalid},
		"too large": {onto.Emission{Type: "t", Payload: strings.Repeat("x", 1<<20)}, onto.TooLarge},
		"type":      {onto.Emission{Type: "a b"}, onto.Invalid},
		"namespace": {onto.Emission{Type: "a", Namespace: "b c"}, onto.Invalid},
		"key":       {onto.Emission{Type: "a", OrderingKey: strings.Repeat("k", 2000)}, onto.TooLarge},
		"key, late": {onto.Emission{Type: "a", OrderingKey: "k", Delay: time.Second}, onto.Invalid},
		"depth":     {onto.Emission{Type: "a", Cause: &onto.Event{ID: "x", Root: "x", Depth: 20}}, onto.EventLoopLimit},
	} {
		if _, err := w.b.Emit(t.Context(), Ping{1}, c.thing); onto.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	w.wantStates()
	if _, err := w.b.Event(t.Context(), "nowhere"); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("got %v, want NotFound", err)
	}
}

// What happens is logged with stable keys; failures are warnings.
func TestLog(t *testing.T) {
	w := newWorld(t, nil)
	var out strings.Builder
	b, err := bus.Open(w.s, &bus.Options{MaxAttempts: 1, Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	e := w.emit(Ping{1})[0]
	if err := b.RunUntilIdle(t.Context(), bus.On("h", reject(5))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`level=ERROR msg="event buried"`, "namespace=default", "handler=h", "event=" + e.ID, "type=net.ping", "attempts=1", "deliveries=1", `error="number 1 is bad"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log misses %s: %s", want, out.String())
		}
	}
}

// A store that can only be read is refused at the start, and by no handler.
func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	for _, o := range []*sqlite.Options{nil, {ReadOnly: true}} {
		db, err := sqlite.Open(t.Context(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		b, err := bus.Open(s, &bus.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if o == nil {
			if _, err := b.Emit(t.Context(), Ping{1}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		err = b.Run(t.Context(), bus.On("h", func(context.Context, *bus.Claim[Ping]) error { t.Error("started"); return nil }))
		if onto.CodeOf(err) != onto.ReadOnly {
			t.Errorf("got %v, want ReadOnly", err)
		}
		if e, err := b.Replay(t.Context(), "x", onto.Operator("ana")); onto.CodeOf(err) != onto.NotFound {
			t.Errorf("got %v and %v, want NotFound", e, err)
		}
	}
}
