package bus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/internal/cron"
)

type Due struct {
	At time.Time `json:"at"`
}

// at is an event that says which tick it is of.
func at(tick time.Time) any { return Due{tick} }

// ticks collects the times of Due events.
type ticks struct {
	mu   sync.Mutex // guards list
	list []time.Time
}

func (k *ticks) handler() *bus.Handler {
	return bus.On("collect", func(_ context.Context, c *bus.Claim[Due]) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.list = append(k.list, c.Payload.At)
		return nil
	}).Concurrency(1)
}

func (k *ticks) minutes() string {
	var list []string
	for _, t := range k.list {
		list = append(list, t.Format("15:04"))
	}
	return strings.Join(list, " ")
}

// A schedule fires at its times, once, however many processes have it.
func TestEvery(t *testing.T) {
	bubble(t, func(t *testing.T) {
		first := newWorld(t, nil)
		var k ticks
		var group sync.WaitGroup
		for range 3 {
			w := first.again(nil)
			group.Go(func() {
				w.runFor(61*time.Minute, bus.Every("quarters", "*/15 * * * *", "", at), bus.Every("static", "@hourly", "", Ping{1}), k.handler())
			})
		}
		group.Wait()
		if got := k.minutes(); got != "00:15 00:30 00:45 01:00" {
			t.Errorf("fired at %s", got)
		}
		if got := first.states(); !slices.Contains(got, "net.ping pending") || len(got) != 5 {
			t.Errorf("got %q, want four ticks handled and one ping", got)
		}
	})
}

// Ticks during which no process runs are skipped; with CatchUp the last one fires when a
// process starts.
func TestMissedTicks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var skipping, catching ticks
		parts := []bus.Part{
			bus.Every("skip", "*/10 * * * *", "", func(t time.Time) any { return at(t) }),
			skipping.handler(),
		}
		w.runFor(15*time.Minute, parts...) // 0:10
		time.Sleep(30 * time.Minute)
		w.runFor(10*time.Minute, parts...) // from 0:45: 0:50
		if got := skipping.minutes(); got != "00:10 00:50" {
			t.Errorf("without catching up: %s", got)
		}
		other := newWorld(t, nil) // it is 0:55
		parts = []bus.Part{bus.Every("catch", "*/10 * * * *", "", at).CatchUp(), catching.handler()}
		other.runFor(time.Minute, parts...) // it never fired, and has missed none
		other.runFor(10*time.Minute, parts...)
		time.Sleep(30 * time.Minute)
		other.runFor(5*time.Minute, parts...) // from 1:36
		other.runFor(time.Minute, parts...)
		other.idle(parts...)
		time.Sleep(30 * time.Minute)
		other.idle(parts...) // at 2:12
		if got := catching.minutes(); got != "01:00 01:30 01:40 02:10" {
			t.Errorf("catching up: %s", got)
		}
	})
}

// Ticks that the store could not take are made up for when it can again, each of them.
func TestTicksOutlastATrouble(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var k ticks
		w.m.emit = func(*backend.Emission) error {
			if m := time.Now().Minute(); m >= 20 && m < 45 {
				return onto.Errorf(onto.Unavailable, "planted")
			}
			return nil
		}
		w.runFor(61*time.Minute, bus.Every("tens", "*/10 * * * *", "", at), k.handler())
		if got := k.minutes(); got != "00:10 00:20 00:30 00:40 00:50 01:00" {
			t.Errorf("fired at %s", got)
		}
	})
}

// A machine that slept has missed its ticks.
func TestTicksDuringASleep(t *testing.T) {
	for catch, want := range map[bool]string{false: "00:10 02:20", true: "00:10 02:10 02:20"} {
		t.Run(fmt.Sprint("catch up ", catch), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var asleep atomic.Int64
				w := newWorld(t, &bus.Options{Now: func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) }})
				var k ticks
				s := bus.Every("tens", "*/10 * * * *", "", at)
				if catch {
					s.CatchUp()
				}
				go func() { time.Sleep(15 * time.Minute); asleep.Store(int64(2 * time.Hour)) }() // from 0:15 to 2:15
				w.runFor(21*time.Minute, s, k.handler())
				if got := k.minutes(); got != want {
					t.Errorf("fired at %s, want %s", got, want)
				}
			})
		})
	}
}

// A tick whose event cannot be made is skipped, and the next one fires.
func TestATickWithoutEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var k ticks
		w.runFor(31*time.Minute, k.handler(), bus.Every("tens", "*/10 * * * *", "", func(tick time.Time) any {
			if tick.Minute() == 20 {
				return 7
			}
			return at(tick)
		}))
		if got := k.minutes(); got != "00:10 00:30" || w.counts()[bus.Troubled] != 1 {
			t.Errorf("fired at %s, observed %v", got, w.counts())
		}
	})
}

// A year of ticks in zones whose clocks shift, by an hour and by half of one, with three
// processes of which one or two are down in turns: each tick fires once.
func TestAYearOfTicks(t *testing.T) {
	zones := []string{"America/New_York", "America/Santiago", "Australia/Lord_Howe"}
	expressions := []string{"30 2 * * *", "45 */3 * * *", "0 0 * * 0", "15 1 1,29 * 1-5"}
	bubble(t, func(t *testing.T) {
		first := newWorld(t, nil)
		began := time.Now()
		year := 366 * 24 * time.Hour
		options := &bus.Options{Poll: 6 * time.Hour, Heartbeat: 200 * 24 * time.Hour, ClaimLease: time.Hour, SessionTTL: 10000 * time.Hour}
		var group sync.WaitGroup
		for p := range 3 {
			w := first.again(options)
			var parts []bus.Part
			for i, zone := range zones {
				for j, x := range expressions {
					name := fmt.Sprintf("s%d.%d", i, j)
					parts = append(parts, bus.Every(name, x, zone, func(tick time.Time) any {
						return onto.Emission{Type: name, Payload: tick}
					}))
				}
			}
			group.Go(func() {
				// Down in turns: process 0 in the first third of each 9 days, and so on.
				for time.Since(began) < year {
					turn := int(time.Since(began)/(72*time.Hour)) % 3
					if turn == p {
						time.Sleep(72 * time.Hour)
						continue
					}
					w.runFor(min(72*time.Hour+time.Minute, year-time.Since(began)), parts...)
				}
			})
		}
		group.Wait()
		fired := map[string][]string{}
		for e, err := range first.b.Events(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			fired[e.Type] = append(fired[e.Type], strings.Trim(string(e.Payload), `"`))
		}
		total := 0
		for i, zone := range zones {
			for j, x := range expressions {
				times, err := cron.Parse(x, zone)
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for at := times.Next(began); !at.After(began.Add(year)); at = times.Next(at) {
					want = append(want, at.Format("2006-01-02T15:04:05.000000+00:00"))
				}
				got := fired[fmt.Sprintf("s%d.%d", i, j)]
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%s in %s fired %d times, want %d:\n%q\n%q", x, zone, len(got), len(want), got, want)
				}
				total += len(want)
			}
		}
		t.Logf("%d ticks of %d schedules, each once", total, len(zones)*len(expressions))
	})
}

// Old events are removed once an hour, by one process, and only those that no handler has
// still to handle.
func TestRetention(t *testing.T) {
	bubble(t, func(t *testing.T) {
		options := &bus.Options{Retention: 48 * time.Hour, Poll: time.Minute, Heartbeat: time.Hour, ClaimLease: time.Hour}
		a := newWorld(t, options)
		b := a.again(options)
		a.emit(Ping{1}, OrderPaid{Order: "o"})
		a.idle(bus.On("h", nothing))
		a.idle(bus.On("later", func(context.Context, *bus.Claim[OrderPaid]) error { return bus.Snooze(1000 * time.Hour) }))
		time.Sleep(24 * time.Hour)
		var group sync.WaitGroup
		var cleanings atomic.Int64
		for _, w := range []*world{a, b} {
			w.m.clean = func() { cleanings.Add(1) }
			group.Go(func() { w.runFor(30*time.Hour, bus.On("h", nothing)) })
		}
		group.Wait()
		a.wantStates("OrderPaid pending later 0/0")
		if n := len(a.observed(bus.Cleaned)) + len(b.observed(bus.Cleaned)); n != 1 {
			t.Errorf("events were removed %d times, want once", n)
		}
		if n := cleanings.Load(); n < 15 || n > 31 {
			t.Errorf("%d cleanings in 30 hours, want one an hour of both processes together", n)
		}
	})
}

// Nothing is removed unless the options say so, and then nothing that is old only for a clock
// that is ahead.
func TestNothingIsRemoved(t *testing.T) {
	ahead := func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }
	for name, options := range map[string]*bus.Options{
		"by default":               {Poll: time.Minute},
		"by a clock that is wrong": {Poll: time.Minute, Retention: 7 * 24 * time.Hour, Now: ahead},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a := newWorld(t, nil)
				a.emit(Ping{1}, OrderPaid{Order: "o"})
				a.idle(bus.On("h", nothing))
				b := a.again(options)
				b.runFor(5*time.Hour, bus.On("h", nothing))
				if options.Retention == 0 {
					time.Sleep(1000 * time.Hour)
					b.runFor(5*time.Hour, bus.On("h", nothing))
				}
				a.wantStates("net.ping acked h 0/1", "OrderPaid pending")
				if n := len(b.observed(bus.Cleaned)); n != 0 {
					t.Errorf("events were removed %d times", n)
				}
			})
		})
	}
}

// Sessions that ended without saying so are kept for a week.
func TestDeadSessions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Poll: time.Minute})
		_, err := w.m.full.Beat(t.Context(), &backend.Beat{Session: onto.Session{ID: "killed", Namespace: "default"}})
		if err != nil {
			t.Fatal(err)
		}
		sessions := func() int {
			n, err := w.b.Namespace(t.Context(), "default")
			if err != nil {
				t.Fatal(err)
			}
			return len(n.Dead)
		}
		w.emit(Ping{1})
		w.runFor(6*24*time.Hour, bus.On("h", nothing))
		if n := sessions(); n != 1 {
			t.Errorf("after six days: got %d sessions, want 1", n)
		}
		w.runFor(2*24*time.Hour, bus.On("h", nothing))
		if n := sessions(); n != 0 {
			t.Errorf("after eight days: got %d sessions, want none", n)
		}
	})
}

// A clock that is far behind what is stored is told of.
func TestAClockThatIsBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newWorld(t, nil)
		a.emit(Ping{1})
		for behind, want := range map[time.Duration]int{59 * time.Minute: 0, 2 * time.Hour: 1} {
			b := a.again(&bus.Options{Now: func() time.Time { return time.Now().Add(-behind) }})
			b.idle(bus.On("h", nothing))
			if got := b.observed(bus.Behind); len(got) != want || want > 0 && got[0].Delay.Round(time.Minute) != behind {
				t.Errorf("%v behind: observed %v", behind, got)
			}
		}
	})
}

// A schedule's function may panic.
func TestATickPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var k ticks
		w.runFor(31*time.Minute, k.handler(), bus.Every("tens", "*/10 * * * *", "", func(tick time.Time) any {
			if tick.Minute() == 20 {
				panic("at the clock")
			}
			return at(tick)
		}))
		if got := k.minutes(); got != "00:10 00:30" || w.counts()[bus.Troubled] != 1 {
			t.Errorf("fired at %s, observed %v", got, w.counts())
		}
	})
}

// A tick is on its way when the machine falls asleep.
func TestASleepDuringATick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var asleep atomic.Int64
		w := newWorld(t, &bus.Options{Now: func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) }})
		var k ticks
		w.m.emit = func(*backend.Emission) error {
			if asleep.Load() == 0 && time.Now().Minute() == 10 {
				time.Sleep(time.Second)
				asleep.Store(int64(2 * time.Hour))
				time.Sleep(5 * time.Second)
			}
			return nil
		}
		w.runFor(21*time.Minute, bus.Every("tens", "*/10 * * * *", "", at), k.handler())
		if got := k.minutes(); got != "00:10 02:20" {
			t.Errorf("fired at %s", got)
		}
	})
}
