package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

// runRows compares handlers with the calls that they save.
func (e *env) runRows(kept int) []row {
	return []row{e.runNothing(kept), e.runCommits()}
}

// runNothing compares handlers that do nothing with claims and acks in hundreds.
func (e *env) runNothing(kept int) row {
	path := e.ackedEvents(kept)
	port := e.openQueue(e.copied(path), 100)
	s := e.openStore(e.copied(path))
	feed := &eventQueue{b: s.Backend().(*sqlite.Backend)}
	handled := 0
	handler := bus.OnTypes(busHandler, []string{busType}, func(context.Context, *bus.Claim[json.RawMessage]) error { return nil }).Concurrency(64)
	b, err := bus.Open(s, &bus.Options{Namespace: busNamespace, Observe: func(o bus.Observation) {
		if o.What == bus.Acked {
			handled++
		}
	}})
	e.must(err)
	n := 5000
	taken := e.alternate(plan{rounds: e.pick(10, 5), turns: 2},
		side{"subject", func() (int, func()) {
			feed.emit(e, n)
			return n, func() {
				handled = 0
				e.must(b.RunUntilIdle(e.ctx, handler))
				e.assert(handled == n, "%d of %d events were handled", handled, n)
			}
		}},
		port.turn(e, n/100, "control"))
	return faster("Run with handlers that do nothing / claim and ack by 100", taken[0], taken[1], atLeast(0.5))
}

// runCommits compares handlers that commit with callers that do.
func (e *env) runCommits() row {
	w, n := plain(), e.entities()
	history := e.history(w, n, 1)
	s, control := e.openStore(e.copied(history)), e.openStore(e.copied(history))
	b, err := bus.Open(s, &bus.Options{Namespace: busNamespace})
	e.must(err)
	feed := &eventQueue{b: s.Backend().(*sqlite.Backend)}
	var mu sync.Mutex // guards ours
	ours, theirs, many := n, n, 20*callers
	handler := bus.OnTypes(busHandler, []string{busType}, func(_ context.Context, c *bus.Claim[json.RawMessage]) error {
		mu.Lock()
		ours++
		thing := w.thing(ours, 0)
		mu.Unlock()
		c.Ensure(thing)
		return nil
	}).Concurrency(callers)
	taken := e.alternate(plan{rounds: e.pick(15, 10), turns: e.pick(5, 2)},
		side{"subject", func() (int, func()) {
			feed.emit(e, many)
			before := ours
			return many, func() {
				e.must(b.RunUntilIdle(e.ctx, handler))
				e.assert(ours == before+many, "%d of %d events were handled", ours-before, many)
			}
		}},
		side{"control", func() (int, func()) {
			theirs += many
			things := series(many, func(i int) any { return w.thing(theirs-many+i, 0) })
			return many, func() { e.must(commitAtOnce(e.ctx, control, things)) }
		}})
	return faster("handlers that commit one entity, 64 at once / commits by 64 callers", taken[0], taken[1], atLeast(0.8))
}

// Ping tells when the commit that it rides in was begun.
type Ping struct {
	At int64 `json:"at"`
}

// latency is B14: how long it takes from the beginning of a commit to the start of a
// handler of the event that rides in it, at 300 commits a second.
func latency(e *env) []row {
	own := e.pings(func(ctx context.Context, s *store.Store, _ string) error { return ping(ctx, s, e.pingCount()) })
	other := e.pings(func(ctx context.Context, _ *store.Store, path string) error { return e.pingFromAnother(ctx, path) })
	return append(latencyRows("to a handler of the same process", own, 2, 10), latencyRows("to a handler of another process", other, 5, 25)...)
}

func (e *env) pingCount() int { return e.pick(6000, 900) }

// pings runs a handler while send commits, and returns what each event took, sorted.
func (e *env) pings(send func(ctx context.Context, s *store.Store, path string) error) []time.Duration {
	path := e.fresh("pings")
	s := e.openStore(path)
	b, err := bus.Open(s, nil)
	e.must(err)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	var took []time.Duration
	var mu sync.Mutex // guards took
	handler := bus.On("pong", func(_ context.Context, c *bus.Claim[Ping]) error {
		now := time.Now().UnixNano()
		mu.Lock()
		defer mu.Unlock()
		if took = append(took, time.Duration(now-c.Payload.At)); len(took) == e.pingCount() {
			stop()
		}
		return nil
	})
	sent := make(chan error, 1)
	go func() { sent <- send(e.ctx, s, path) }()
	e.must(b.Run(ctx, handler))
	e.must(<-sent)
	slices.Sort(took)
	return took
}

// ping commits events, 300 a second.
func ping(ctx context.Context, s *store.Store, n int) error {
	tick := time.NewTicker(time.Second / 300)
	defer tick.Stop()
	w := plain()
	for i := range n {
		<-tick.C
		if _, err := s.Commit(ctx, onto.Draft{}.Ensure(w.thing(i, 0)).Emit(Ping{time.Now().UnixNano()})); err != nil {
			return err
		}
	}
	return nil
}

// pingEnv makes this program commit events to a store, and end.
const pingEnv = "ONTO_BENCH_PING"

// pingFromAnother commits the events in another process.
func (e *env) pingFromAnother(ctx context.Context, path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, path, strconv.Itoa(e.pingCount()))
	cmd.Env = append(os.Environ(), pingEnv+"=1")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// pingProcess is what the other process does.
func pingProcess(path, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	e := newEnv("", false)
	s := e.store(path)
	defer s.Close()
	return ping(e.ctx, s, n)
}

func latencyRows(what string, took []time.Duration, p50, p99 float64) []row {
	at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))] }
	one := func(name string, d time.Duration, most float64) row {
		ms := float64(d) / float64(time.Millisecond)
		r := row{What: fmt.Sprintf("commit %s, %s of %s", what, name, thousands(int64(len(took)))), Subject: figure{ms, "ms", brief(d)}, Control: figure{Text: "-"}}
		return r.judge(ms, atMost(most, " ms"))
	}
	return []row{one("median", at(0.5), p50), one("99th percentile", at(0.99), p99)}
}
