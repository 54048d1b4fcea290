package protocol

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ontologia/onto/internal/effort"
)

// step is an operation on the log: a round with these keys, or a look at the
// newest commit.
type step struct{ keys []string }

// came is what an operation came to: the newest commit after it, and its key.
type came struct {
	commit  int64
	key     string
	unknown bool
}

// state is the log as far as these operations show.
type state struct {
	commit int64
	key    string
}

// logModel says what a log may do. A round with an unknown outcome has been applied or
// not.
func logModel() porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, input, output any) []any {
			before, in, out := s.(state), input.(step), output.(came)
			if in.keys == nil {
				if before != (state{out.commit, out.key}) {
					return nil
				}
				return []any{before}
			}
			after := state{before.commit + int64(len(in.keys)), in.keys[len(in.keys)-1]}
			switch {
			case out.unknown:
				return []any{before, after}
			case after == (state{out.commit, out.key}):
				return []any{after}
			}
			return nil
		},
		Equal: func(a, b any) bool { return a == b },
	}).ToModel()
}

// The operations of writers and readers are linearizable, also where the outcome of a
// round is unknown.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	seeds, operations, unsure, judged := 0, 0, 0, 0
	for seed := range effort.Seeds(t, 700) {
		seeds++
		var s *simulation
		synctest.Test(t, func(*testing.T) {
			w := newWorld(seed)
			w.exact = true
			s = simulateOn(w, seed)
		})
		operations += len(s.history)
		if len(s.unsure) > 0 {
			unsure++
		}
		switch porcupine.CheckOperationsTimeout(logModel(), s.history, 20*time.Second) {
		case porcupine.Ok:
			judged++
		case porcupine.Illegal:
			t.Fatalf("seed %d: the history is not linearizable", seed)
		}
	}
	t.Logf("%d histories accepted of %d, %d of them with unknown outcomes, %d operations", judged, seeds, unsure, operations)
	if judged < seeds*9/10 {
		t.Errorf("only %d of %d histories could be judged in time", judged, seeds)
	}
}
