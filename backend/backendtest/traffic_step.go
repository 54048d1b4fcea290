package backendtest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// deed is what a step of random traffic does.
type deed string

const (
	idle       deed = "idle"    // only move the clock
	emit       deed = "emit"    // emit events
	claimDeed  deed = "claim"   // claim events, and settle claims before
	settleDeed deed = "settle"  // settle claims
	beatDeed   deed = "beat"    // a sign of life, or the end of a session
	commitDeed deed = "commit"  // append a draft
	streamDeed deed = "stream"  // append a stream
	again      deed = "again"   // send an earlier draft again, with other acks
	tickDeed   deed = "tick"    // emit for a schedule
	resolve    deed = "resolve" // resolve dead letters
	advance    deed = "advance" // move a position
	cleanDeed  deed = "clean"   // plan a cleaning, or clean
	inspect    deed = "inspect" // ask for some events and dead letters
	reopenDeed deed = "reopen"  // close a handle and open it again
)

// move is one operation of random traffic. It is plain data: claims and dead letters are
// those of the run when it is taken.
type move struct {
	Do     deed
	Handle int
	Clock  time.Duration
	Cancel bool // with a context that was cancelled

	Namespace, Handler, Session, Type int
	Types                             []int
	Limit                             int
	Lease                             time.Duration
	Events                            []sketch
	Settle                            []fate
	Acks                              []int // which claims, from the newest on

	Write  int // the value of a person; 0 for no write
	Key    int // which idempotency key; 0 for none
	Expect int // 1 for the head, 2 for another
	From   int // of a position: 0 for where it is, 1 for another; draft: 2 for none
	To     int
	Which  int
	Flag   bool // end a session, clean what is unhandled, drop a dead letter
	Apply  bool
	Forget []int
}

// sketch is an event of random traffic.
type sketch struct {
	Namespace, Type, Priority, Key int
	Delay                          time.Duration
	Until                          time.Duration // NotBefore, from now
	Depth                          int
}

// fate is a settlement of random traffic.
type fate struct {
	Do       backend.Settling
	Which    int // which claim, from the newest on
	Attempts int // how many more
	Starts   int // how many more deliveries
	Delay    time.Duration
	Notice   bool
	Forge    int // 1 for the claim of another session, 2 for one of another time
}

// itinerary is random traffic.
type itinerary []move

// GoString lists the steps that matter, one on each line.
func (p itinerary) GoString() string {
	var text strings.Builder
	for i, m := range p {
		if m.Do != idle || m.Clock != 0 {
			fmt.Fprintf(&text, "\n%4d: %s", i, m)
		}
	}
	return text.String()
}

// String describes the step for messages, without zero values.
func (m move) String() string {
	text := fmt.Sprintf("%s, handle %d", m.Do, m.Handle)
	v := reflect.ValueOf(m)
	for i := 2; i < v.NumField(); i++ {
		if f := v.Field(i); !f.IsZero() {
			text += fmt.Sprintf(", %s %+v", v.Type().Field(i).Name, f.Interface())
		}
	}
	return text
}

func busNamespaces() []string { return []string{"a", "b"} }
func busHandlers() []string   { return []string{"h", "g", "H"} }
func busSessions() []string   { return []string{"one", "two", "three"} }
func busTypes() []string      { return []string{"x", "y", "z", "x.late"} }
func busKeys() []string       { return []string{"", "k", "l"} }
func busPositions() []string  { return []string{"p", "q"} }

// itineraries generates random traffic. The simplest step comes first where there is a
// choice, since failing traffic is shrunk.
func itineraries() *rapid.Generator[itinerary] {
	return rapid.Map(rapid.SliceOfN(rapid.Custom(drawMove), 100, 300), func(moves []move) itinerary { return moves })
}

func drawMove(t *rapid.T) move {
	m := move{
		Do: oneOf(t, "do", idle, claimDeed, emit, settleDeed, commitDeed, claimDeed, again, emit, settleDeed, claimDeed, streamDeed, settleDeed,
			beatDeed, claimDeed, emit, commitDeed, cleanDeed, resolve, settleDeed, tickDeed, advance, beatDeed, inspect, claimDeed, reopenDeed, again),
		Handle: oneOf(t, "handle", 0, 1),
		Clock: oneOf(t, "clock", 0, 0, 0, 0, 0, time.Microsecond, 999, time.Second, time.Second, 3*time.Second, 10*time.Second, -time.Second,
			time.Minute, -20*time.Second),
	}
	m.Cancel = m.Do != reopenDeed && oneOf(t, "cancel", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) == 1
	m.Namespace = oneOf(t, "namespace", 0, 0, 0, 1)
	switch m.Do {
	case emit:
		m.Events = rapid.SliceOfN(rapid.Custom(drawSketch), 1, 3).Draw(t, "events")
	case claimDeed:
		m.drawClaim(t)
	case settleDeed:
		m.Settle = rapid.SliceOfN(rapid.Custom(drawFate), 1, 4).Draw(t, "settle")
	case beatDeed:
		m.Session = rapid.IntRange(0, 2).Draw(t, "session")
		m.Acks = rapid.SliceOfN(rapid.IntRange(0, 12), 0, 4).Draw(t, "claims")
		m.Lease = drawLease(t)
		m.Flag = oneOf(t, "end", false, false, false, false, true)
		m.Which = rapid.IntRange(0, 3).Draw(t, "metadata")
	case commitDeed, streamDeed, again:
		m.drawDraft(t)
	case tickDeed:
		m.Which = rapid.IntRange(0, 1).Draw(t, "schedule")
		m.To = rapid.IntRange(-2, 2).Draw(t, "tick")
		m.Events = rapid.SliceOfN(rapid.Custom(drawSketch), 0, 2).Draw(t, "events")
	case resolve:
		m.Acks = rapid.SliceOfN(rapid.IntRange(0, 5), 1, 3).Draw(t, "letters")
		m.Flag = oneOf(t, "drop", false, true)
		m.Apply = oneOf(t, "with a tick", false, false, false, true)
	case advance:
		m.Which, m.From, m.To = rapid.IntRange(0, 1).Draw(t, "position"), oneOf(t, "from", 0, 0, 1), rapid.IntRange(0, 3).Draw(t, "to")
	case cleanDeed:
		m.drawCleaning(t)
	case inspect:
		m.Which = rapid.IntRange(0, 999).Draw(t, "which")
		m.Types = drawTypes(t)
		m.Handler, m.Limit = rapid.IntRange(0, 2).Draw(t, "handler"), rapid.IntRange(0, 3).Draw(t, "limit")
	}
	return m
}

func (m *move) drawClaim(t *rapid.T) {
	m.Handler = oneOf(t, "handler", 0, 0, 1, 2)
	m.Session = rapid.IntRange(0, 2).Draw(t, "session")
	m.Types = drawTypes(t)
	m.Limit = oneOf(t, "limit", 2, 1, 3, 5, 0, 9)
	m.Lease = drawLease(t)
	if oneOf(t, "settling", false, false, true) {
		m.Settle = rapid.SliceOfN(rapid.Custom(drawFate), 1, 3).Draw(t, "settle")
	}
}

func (m *move) drawDraft(t *rapid.T) {
	m.Write = oneOf(t, "write", 1, 2, 3, 0)
	if oneOf(t, "keyed", false, true) {
		m.Key = rapid.IntRange(1, 40).Draw(t, "key")
	}
	m.Expect = oneOf(t, "expect", 0, 0, 0, 0, 0, 1, 2)
	m.From, m.Which, m.To = oneOf(t, "from", 2, 2, 0, 2, 1), rapid.IntRange(0, 9).Draw(t, "which"), rapid.IntRange(0, 3).Draw(t, "to")
	m.Events = rapid.SliceOfN(rapid.Custom(drawSketch), 0, 2).Draw(t, "events")
	m.Acks = rapid.SliceOfNDistinct(rapid.IntRange(0, 8), 0, 2, rapid.ID[int]).Draw(t, "acks")
}

func (m *move) drawCleaning(t *rapid.T) {
	m.Namespace = oneOf(t, "only", 0, 1, 2)
	m.Flag = oneOf(t, "unhandled", false, false, false, true)
	m.Apply = oneOf(t, "apply", false, true)
	m.Lease = oneOf(t, "before", time.Minute, 10*time.Second, 0, -time.Second)
	if oneOf(t, "forgetting", false, false, true) {
		m.Forget = rapid.SliceOfNDistinct(rapid.IntRange(0, 2), 1, 2, rapid.ID[int]).Draw(t, "forget")
	}
}

func drawTypes(t *rapid.T) []int {
	return rapid.SliceOfNDistinct(oneOfEach(0, 0, 0, 1, 1, 2, 3), 1, 3, rapid.ID[int]).Draw(t, "types")
}

func oneOfEach(values ...int) *rapid.Generator[int] { return rapid.SampledFrom(values) }

func drawLease(t *rapid.T) time.Duration {
	return oneOf(t, "lease", 5*time.Second, time.Second, 1500, 30*time.Second, time.Minute)
}

func drawSketch(t *rapid.T) sketch {
	e := sketch{
		Namespace: oneOf(t, "namespace", 0, 0, 0, 1), Type: oneOf(t, "type", 0, 0, 1, 1, 2, 3),
		Priority: oneOf(t, "priority", 100, 100, 100, 0, 7, 200, -3), Key: oneOf(t, "key", 0, 0, 1, 1, 2), Depth: oneOf(t, "depth", 0, 0, 1),
	}
	if e.Key == 0 {
		e.Delay = oneOf(t, "delay", 0, 0, 0, 0, time.Second, 1234567*time.Nanosecond, 10*time.Second)
		if e.Delay == 0 {
			e.Until = oneOf(t, "until", 0, 0, 0, 0, 0, 4*time.Second, -4*time.Second)
		}
	}
	return e
}

func drawFate(t *rapid.T) fate {
	return fate{
		Do:    oneOf(t, "do", backend.Ack, backend.Ack, backend.Ack, backend.Release, backend.Release, backend.Return, backend.Start, backend.Bury),
		Which: oneOf(t, "which", 0, 1, 2, 3, 4, 5, 6, 8, 11), Attempts: oneOf(t, "attempts", 1, 0), Starts: oneOf(t, "starts", 1, 0, 2),
		Delay: oneOf(t, "delay", 0, 0, time.Second, 2500, 20*time.Second), Notice: oneOf(t, "notice", true, false),
		Forge: oneOf(t, "forge", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2),
	}
}

// names returns what indexes stand for.
func names(all []string, indexes []int) []string {
	var list []string
	for _, i := range indexes {
		list = append(list, all[i])
	}
	return list
}

// event is the event of a sketch.
func (k sketch) event(n int, now time.Time) backend.NewEvent {
	e := backend.NewEvent{Delay: k.Delay, Event: onto.Event{
		ID: eventID(n), Namespace: busNamespaces()[k.Namespace], Type: busTypes()[k.Type], Payload: fmt.Appendf(nil, `{"n":%d}`, n),
		Priority: k.Priority, OrderingKey: busKeys()[k.Key],
	}}
	if k.Until != 0 {
		e.NotBefore = now.Truncate(time.Microsecond).Add(k.Until)
	}
	if k.Depth > 0 {
		e.Depth, e.Root, e.Parent = k.Depth, eventID(n/2), eventID(n-1)
	}
	if k.Depth > 0 && n%3 == 0 {
		e.ReplayOf = eventID(n / 3)
	}
	return e
}

// cleaning is the cleaning of a step.
func (m *move) cleaning(now time.Time) *backend.Cleaning {
	return &backend.Cleaning{
		Namespace: slices.Concat([]string{""}, busNamespaces())[m.Namespace], Before: now.Add(-m.Lease), Unhandled: m.Flag, Apply: m.Apply,
		Forget: names(busHandlers(), m.Forget),
	}
}
