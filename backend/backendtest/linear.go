package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/effort"
)

func linearStories() []tale {
	return []tale{{"what happens at once could have happened in turn", linearizable}}
}

// call is one call of a concurrent history.
type call struct {
	id     onto.Identity
	write  bool  // otherwise a read
	value  int   // what the write puts
	expect int64 // the commit it expects; -1 for none
	fence  bool  // which is a fence
	once   bool
}

// answer is what came of a call.
type answer struct {
	commit  int64     // read: of the version, 0 for none; write: the one it made, 0 if nothing changed
	value   int       // read
	refused onto.Code // write: why; "" if it was not
	at      int64     // write: where it holds
}

// cell is the state of one identity.
type cell struct {
	commit int64 // 0 while it does not exist
	value  int
}

// cells is the model: each identity is a cell with compare-and-set.
func cells() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byID := map[onto.Identity][]porcupine.Operation{}
			for _, op := range history {
				id := op.Input.(call).id
				byID[id] = append(byID[id], op)
			}
			var parts [][]porcupine.Operation
			for _, part := range byID {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return cell{} },
		Step: func(state, input, output any) (bool, any) {
			return state.(cell).step(input.(call), output.(answer))
		},
	}
}

// step tells whether the answer to a call is possible in a state, and the next state.
func (r cell) step(c call, a answer) (bool, cell) {
	if !c.write {
		return a.commit == r.commit && a.value == r.value, r
	}
	if why := r.refuses(c); why != "" || a.refused != "" {
		return a.refused == why, r
	}
	if r.commit > 0 && r.value == c.value {
		return a.commit == 0, r
	}
	return a.commit > r.commit, cell{a.commit, c.value}
}

// refuses tells why a write is refused.
func (r cell) refuses(c call) onto.Code {
	holds := c.expect < 0 || c.expect == r.commit
	switch {
	case !holds && c.fence:
		return onto.Stale
	case !holds:
		return onto.VersionMismatch
	case c.once && r.commit > 0 && r.value != c.value:
		return onto.Conflict
	}
	return ""
}

// linearizable records histories of concurrent calls through two handles and checks
// each with porcupine.
func linearizable(s *story) {
	histories, calls := 0, 0
	for seed := range effort.Seeds(s.T, 150) {
		s := s.another()
		history := s.record(seed, s.Backend, s.open())
		histories, calls = histories+1, calls+len(history)
		if !porcupine.CheckOperations(cells(), history) {
			for _, op := range history {
				s.Logf("client %d, %d to %d: %+v gave %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
			}
			s.Fatalf("seed %d: no order of the calls explains the answers", seed)
		}
	}
	s.Logf("%d concurrent histories with %d calls are linearizable", histories, calls)
}

// record lets clients call at once and records when each call began and ended.
func (s *story) record(seed uint64, handles ...backend.Backend) []porcupine.Operation {
	const clients, rounds = 6, 25
	var mu sync.Mutex
	var history []porcupine.Operation
	start := time.Now()
	s.together(clients, handles, func(client int, b backend.Backend) error {
		r := rand.New(rand.NewPCG(seed, uint64(client)))
		var seen int64
		for range rounds {
			ids := []onto.Identity{person("0"), person("1"), claim("0", "n", "0"), claim("0", "n", "1")}
			c := call{id: ids[r.IntN(len(ids))], write: r.IntN(3) > 0, value: r.IntN(3), expect: -1, once: r.IntN(4) == 0}
			if r.IntN(2) == 0 {
				c.expect, c.fence = seen, r.IntN(2) == 0
			}
			began := time.Since(start)
			a, err := s.make(b, c)
			ended := time.Since(start)
			if err == nil && c.write && a.refused == "" {
				err = s.holds(b, c, a.at)
			}
			if err != nil {
				return err
			}
			if !c.write || a.commit > 0 {
				seen = a.commit
			}
			mu.Lock()
			history = append(history, porcupine.Operation{ClientId: client, Input: c, Output: a, Call: began.Nanoseconds(), Return: ended.Nanoseconds()})
			mu.Unlock()
		}
		return nil
	})
	return history
}

// make makes one call.
func (s *story) make(b backend.Backend, c call) (answer, error) {
	if !c.write {
		v, err := b.Get(s.ctx, c.id, backend.Head)
		if errors.Is(err, onto.NotFound) {
			return answer{}, nil
		}
		var fields struct{ N int }
		if err == nil {
			err = json.Unmarshal(v.Fields, &fields)
		}
		return answer{commit: v.Commit, value: fields.N}, err
	}
	w := put(c.id, c.value)
	w.Once = c.once
	d := draft(w)
	switch {
	case c.expect >= 0 && c.fence:
		d.Fence = []onto.Expectation{isAt(c.id, c.expect)}
	case c.expect >= 0:
		d.Expect = []onto.Expectation{isAt(c.id, c.expect)}
	}
	r, err := b.Append(s.ctx, d)
	switch code := onto.CodeOf(err); code {
	case onto.VersionMismatch, onto.Stale, onto.Conflict:
		return answer{refused: code}, nil
	}
	return answer{commit: r.ID, at: r.At}, err
}

// holds fails unless what a write put is there at a commit.
func (s *story) holds(b backend.Backend, c call, at int64) error {
	v, err := b.Get(s.ctx, c.id, at)
	if want := put(c.id, c.value); err == nil && string(v.Fields) != string(want.Fields) {
		err = fmt.Errorf("a draft that is said to hold at commit %d: got %s, want %s", at, v, want.Fields)
	}
	return err
}
