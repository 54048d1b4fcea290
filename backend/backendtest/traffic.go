package backendtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/effort"
)

// runTraffic takes random steps on two handles of a bus and on the reference until
// there were enough.
func runTraffic(t *testing.T, target Target) {
	if !isBus(t, target) {
		return
	}
	want := effort.Count(t, 5*cmp.Or(target.Operations, 10_000))
	dir := t.TempDir()
	counts := trafficTally{}
	effort.CheckUntil(t, func() bool { return counts["steps"] >= want }, func(rt *rapid.T) {
		r := newTraffic(t, rt, target, newPlace(t, dir), counts)
		defer r.end()
		moves := itineraries().Draw(rt, "traffic")
		jumps := clockJumps().Draw(rt, "jumps")
		for i, m := range moves {
			m.Clock += jumps[i]
			r.take(i, m)
		}
		r.compare()
		if len(jumps) > 0 {
			r.settleAll()
		}
		if err := check(r.handles[1]); err != nil {
			rt.Fatalf("check: %v", err)
		}
	}, trafficThatFailed()...)
	t.Log(counts)
}

// trafficThatFailed is the seeds of traffic that once was not the same on two backends.
func trafficThatFailed() []uint64 {
	return []uint64{
		6675729586645831908, // a type that only a forgotten handler had asked for
	}
}

// trafficTally counts what random traffic did.
type trafficTally map[string]int

// String lists the counts by name.
func (c trafficTally) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		list = append(list, fmt.Sprintf("%s %d", name, c[name]))
	}
	return strings.Join(list, ", ")
}

// traffic is one run of random steps.
type traffic struct {
	*rapid.T
	outer  *testing.T
	target Target
	place  *Place
	counts trafficTally

	reference caller
	handles   [2]backend.Backend // both on the store under test
	steps     int

	latest time.Time      // that the clock has shown
	events int            // how many were made
	claims []onto.Claim   // as they were handed out
	sent   []trafficDraft // that were appended
}

// trafficDraft is a draft as it was sent.
type trafficDraft struct {
	draft  *backend.Draft
	stream bool
}

func newTraffic(t *testing.T, rt *rapid.T, target Target, p *Place, counts trafficTally) *traffic {
	r := &traffic{T: rt, outer: t, target: target, place: p, counts: counts}
	r.reference = caller{memory.New(&memory.Options{Now: p.Now}).Open()}
	for i := range r.handles {
		r.handles[i] = target.Open(t, p)
	}
	for _, b := range []backend.Backend{r.reference, r.handles[0]} {
		if _, err := b.Register(rt.Context(), &backend.Registration{Schemas: testSchemas(), Runtime: "test", Reason: "initial"}); err != nil {
			rt.Fatal(err)
		}
	}
	counts["runs"]++
	return r
}

// end closes what is open and removes the place.
func (r *traffic) end() {
	for _, b := range r.handles {
		if err := b.Close(); err != nil && !errors.Is(err, onto.Closed) {
			r.Errorf("close: %v", err)
		}
	}
	discard(r.outer, r.place)
}

// take takes a step on both sides and compares the answers.
func (r *traffic) take(i int, m move) {
	r.counts["steps"]++
	r.counts["step "+string(m.Do)]++
	r.place.clock.move(m.Clock)
	if now := r.place.Now(); now.After(r.latest) {
		r.latest = now
	}
	if m.Do == reopenDeed {
		if err := r.handles[m.Handle].Close(); err != nil {
			r.Fatalf("close: %v", err)
		}
		r.handles[m.Handle] = r.target.Open(r.outer, r.place)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if m.Cancel {
		cancel()
		r.counts["cancelled"]++
	}
	if call := r.call(&m); call != nil {
		got, want := call(ctx, r.handles[m.Handle], false), call(ctx, r.reference, true)
		if got != want {
			r.Fatalf("step %d: %s\n got: %s\nwant: %s", i, m, got, want)
		}
	}
	if i%10 == 9 {
		r.compare()
	}
}

// compare asks both for everything.
func (r *traffic) compare() {
	r.steps++
	r.counts["comparisons"]++
	got, want := r.everything(r.handles[r.steps%2]), r.everything(r.reference)
	if got != want {
		r.Fatalf("everything\n got: %s\nwant: %s", got, want)
	}
}

// everything formats all that can be asked about a bus.
func (r *traffic) everything(b backend.Backend) string {
	ctx := r.Context()
	bus := busOf(b)
	head, err := b.Resolve(ctx, onto.Point{})
	text := []string{
		outcome(showCommit(head), err),
		lines(bus.Events(ctx, &backend.EventQuery{}), showState),
		lines(bus.DeadLetters(ctx, &backend.DeadLetterQuery{Resolved: true}), showLetter),
	}
	spaces, err := bus.Namespaces(ctx, sessionTTL)
	for _, n := range spaces {
		text = append(text, showNamespace(n))
	}
	text = append(text, outcome("", err))
	if p, ok := backend.As[backend.Positions](b); ok {
		list, err := p.Positions(ctx)
		text = append(text, outcome(showPositions(list), err))
	}
	return strings.Join(text, "\n      ")
}

func busOf(b backend.Backend) backend.Bus {
	bus, _ := backend.As[backend.Bus](b)
	return bus
}

// newEvents makes the events of a step.
func (r *traffic) newEvents(sketches []sketch) []backend.NewEvent {
	var list []backend.NewEvent
	for _, k := range sketches {
		r.events++
		list = append(list, k.event(r.events, r.place.Now()))
	}
	return list
}

// claim returns a claim that was handed out, the newest first.
func (r *traffic) claim(which int) (onto.Claim, bool) {
	if len(r.claims) == 0 {
		return onto.Claim{}, false
	}
	return r.claims[len(r.claims)-1-which%len(r.claims)], true
}

// someClaims returns claims that were handed out, each event once for each handler.
func (r *traffic) someClaims(which []int) []onto.Claim {
	var list []onto.Claim
	for _, w := range which {
		c, ok := r.claim(w)
		same := func(o onto.Claim) bool { return o.ID == c.ID && o.Handler == c.Handler }
		if ok && !slices.ContainsFunc(list, same) {
			c.Deliveries++
			list = append(list, c)
		}
	}
	return list
}

// settlements makes the settlements of a step.
func (r *traffic) settlements(fates []fate) []backend.Settlement {
	var list []backend.Settlement
	for _, f := range fates {
		c, ok := r.claim(f.Which)
		if !ok {
			continue
		}
		switch f.Forge {
		case 1:
			c.Session = busSessions()[(slices.Index(busSessions(), c.Session)+1)%len(busSessions())]
		case 2:
			c.Claimed = c.Claimed.Add(time.Microsecond)
		}
		t := settling(f.Do, c)
		t.Attempts, t.Deliveries, t.Delay = c.Attempts+f.Attempts, c.Deliveries+f.Starts, f.Delay
		t.Error = fmt.Sprintf("failure %d", t.Attempts)
		if f.Do == backend.Bury && f.Notice {
			n := r.newEvents([]sketch{{Type: 1, Key: f.Which % 3}})[0]
			t.Notice = &n
		}
		list = append(list, t)
	}
	return list
}

// verdicts formats verdicts, and counts them.
func (r *traffic) verdicts(settled []backend.Settlement, verdicts []error, count bool) string {
	var list []string
	for i, err := range verdicts {
		list = append(list, outcome("done", err))
		if count {
			name := map[bool]string{true: " done", false: " stale"}[err == nil]
			r.counts[showSettling(settled[i].Do)+name]++
		}
	}
	return strings.Join(list, ", ")
}
