package main

import (
	"context"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"
)

// side is one of the things that are compared. Batch makes a batch ready and
// returns how many operations it has and the function that is timed.
type side struct {
	name  string // subject or control, for profiles
	batch func() (ops int, run func())
}

// as returns the side under another name.
func (s side) as(name string) side {
	s.name = name
	return s
}

// samples is what an operation took, one entry per round.
type samples []time.Duration

// plan is how sides take turns: in each round every side has so many turns, which
// together give one sample. With short turns a disturbance from outside affects all
// sides alike; with several turns in a round each side has its share of rare events,
// such as checkpoints.
type plan struct{ rounds, turns int }

// alternate lets the sides take turns, after one round that warms up. The
// order is reversed after every turn. Each turn starts with a collected heap.
func (e *env) alternate(p plan, sides ...side) []samples {
	taken := make([]samples, len(sides))
	order := series(len(sides), func(i int) int { return i })
	for round := range p.rounds + 1 {
		total, ops := make([]time.Duration, len(sides)), make([]int, len(sides))
		for range p.turns {
			for _, i := range order {
				n, took := e.timed(&sides[i])
				total[i], ops[i] = total[i]+took, ops[i]+n
			}
			slices.Reverse(order)
		}
		for i := range sides {
			if round > 0 {
				taken[i] = append(taken[i], total[i]/time.Duration(ops[i]))
			}
		}
	}
	return taken
}

// timed runs one batch and returns how many operations it had.
func (e *env) timed(s *side) (ops int, took time.Duration) {
	ops, run := s.batch()
	runtime.GC()
	pprof.Do(e.ctx, pprof.Labels("side", e.running+" "+s.name), func(context.Context) {
		start := e.clock()
		run()
		took = e.clock() - start
	})
	return ops, max(took, 1)
}

// clock is the time that counts: that on the wall, or that of the processors.
func (e *env) clock() time.Duration {
	if !e.cpu {
		return time.Since(e.started)
	}
	used, err := processorTime()
	e.must(err)
	return used
}

// median returns what an operation took in the middle of all rounds.
func (s samples) median() time.Duration {
	list := make([]float64, len(s))
	for i, d := range s {
		list[i] = float64(d)
	}
	return time.Duration(quantile(list, 0.5))
}

// spread is a ratio and how far its rounds lie apart.
type spread struct {
	Median float64 `json:"median"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
}

// over divides round by round.
func (s samples) over(other samples) spread {
	list := make([]float64, len(s))
	for i := range s {
		list[i] = float64(s[i]) / float64(other[i])
	}
	return spread{quantile(list, 0.5), quantile(list, 0.1), quantile(list, 0.9)}
}

// quantile returns the q-quantile, between neighbours if need be.
func quantile(list []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	at := q * float64(len(sorted)-1)
	low, high := int(math.Floor(at)), int(math.Ceil(at))
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}
