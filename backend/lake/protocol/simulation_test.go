package protocol

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
)

// simulation is one run: four writers, two clients that change the catalog, a janitor,
// two readers, two compactors, two holders of the write lease and one client that
// sleeps, all with clocks of their own, on one world.
type simulation struct {
	w    *world
	seed uint64

	mu        sync.Mutex // guards what follows
	acked     map[string]int64
	unsure    map[string]bool
	refused   map[string]bool
	types     map[string]bool // acknowledged
	maybe     map[string]bool // types whose outcome is not known
	complaint []string
	tenures   []tenure
	history   []porcupine.Operation
	tick      int64 // a moment of the history
	compacted int
}

// began notes that an operation begins.
func (s *simulation) began() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick++
	return s.tick
}

// ended notes the outcome of an operation. One with an unknown outcome may be applied
// at any time after.
func (s *simulation) ended(client int, call int64, in step, out came) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick++
	end := s.tick
	if out.unknown {
		end = 1 << 40
	}
	s.history = append(s.history, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
}

func (s *simulation) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complaint = append(s.complaint, fmt.Sprintf(format, args...))
}

// open is the log as a client sees it. Its clock is wrong.
func (s *simulation) open(name string, index int) *peer {
	attempts := 0
	skew := s.skew(index)
	return newPeer(client{s.w, name}, Settings{
		Now: func() time.Time { return time.Now().Add(skew) },
		Attempt: func() string {
			attempts++
			return fmt.Sprintf("%s%0*d", strings.ToUpper(name), attemptDigits-len(name), attempts)
		},
		Jitter:  func(n int64) int64 { return n * int64(index) / 16 },
		Runtime: name, Patience: []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second}[s.seed%3],
	})
}

// simulate runs a seed and returns what went wrong.
func simulate(seed uint64) *simulation {
	w := newWorld(seed)
	w.exact = seed%4 == 3
	return simulateOn(w, seed)
}

func simulateOn(w *world, seed uint64) *simulation {
	s := &simulation{
		w: w, seed: seed, acked: map[string]int64{}, unsure: map[string]bool{}, refused: map[string]bool{},
		types: map[string]bool{}, maybe: map[string]bool{},
	}
	ctx := context.Background()
	var wg sync.WaitGroup
	running := 0
	start := func(name string, job func(ctx context.Context, l *peer)) *peer {
		running++
		l := s.open(name, min(running, furthest))
		w.patience = l.set.Patience
		wg.Go(func() {
			job(ctx, l)
			s.mu.Lock()
			defer s.mu.Unlock()
			running--
		})
		return l
	}
	for i := range 4 {
		start(fmt.Sprintf("w%d", i), func(ctx context.Context, l *peer) { s.write(ctx, l, i) })
	}
	for i := range 2 {
		start(fmt.Sprintf("c%d", i), func(ctx context.Context, l *peer) { s.register(ctx, l, i) })
		start(fmt.Sprintf("r%d", i), func(ctx context.Context, l *peer) { s.read(ctx, l, 10+i) })
	}
	start("j", s.clean)
	for i := range 2 {
		start(fmt.Sprintf("l%d", i), func(ctx context.Context, l *peer) { s.hold(ctx, l, i) })
	}
	for i := range 2 {
		start(fmt.Sprintf("m%d", i), func(ctx context.Context, l *peer) { s.compact(ctx, l, i) })
	}
	sleeper := start("z", s.doze)
	s.w.run(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return running == 0
	})
	wg.Wait()
	s.w.calm = true
	for len(s.w.late) > 0 {
		s.w.applyLate()
	}
	var end sync.WaitGroup
	finished := false
	end.Go(func() {
		s.wake(ctx, sleeper)
		s.verify(ctx, s.open("v", 8))
		s.judgeLeases()
		s.mu.Lock()
		defer s.mu.Unlock()
		finished = true
	})
	s.w.run(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return finished
	})
	end.Wait()
	return s
}

// write publishes rounds of one to three commits, each with a key of its own. One of
// the writers also compacts, also while others hold a lease.
func (s *simulation) write(ctx context.Context, l *peer, writer int) {
	if !s.begin(ctx, l) {
		return
	}
	for n := range 5 {
		var keys []string
		for c := range 1 + n%3 {
			keys = append(keys, fmt.Sprintf("w%d-%d-%d", writer, n, c))
		}
		time.Sleep(time.Duration(n*(writer+1)) * 300 * time.Millisecond)
		call := s.began()
		m, err := s.patient(ctx, l, keys)
		s.outcome(keys, m, err)
		s.noted(writer, call, keys, m, err)
		if writer == 3 {
			s.compactOnce(ctx, l, n%2)
		}
	}
}

// noted notes the outcome of a round in the history.
func (s *simulation) noted(client int, call int64, keys []string, m *Manifest, err error) {
	switch {
	case err == nil:
		s.ended(client, call, step{keys}, came{commit: m.CommitID, key: keys[len(keys)-1]})
	case onto.CodeOf(err) == onto.OutcomeUnknown:
		s.ended(100+int(call), call, step{keys}, came{unknown: true}) // it may go on beside the client's next operation
	}
}

// begin makes the lake, or finds it.
func (s *simulation) begin(ctx context.Context, l *peer) bool {
	for range 200 {
		if _, err := l.MakeLake(ctx, "store"); err == nil {
			return true
		}
		time.Sleep(time.Second)
	}
	s.complain("%s could not open the lake", l.set.Runtime)
	return false
}

// roundOf is a round of commits with a file whose rows carry the commit ids.
func roundOf(t *Tip, keys []string) *Round {
	r := &Round{}
	var rows []row
	for i, key := range keys {
		r.Commits = append(r.Commits, CommitEntry{Key: key, Operations: 1})
		rows = append(rows, row{t.Head.CommitID + 1 + int64(i), key})
	}
	r.Files = []DataFile{encoded(rows)}
	return r
}

// outcome notes what a writer was told.
func (s *simulation) outcome(keys []string, m *Manifest, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range keys {
		switch {
		case err == nil:
			s.acked[key] = m.First + int64(i)
		case onto.CodeOf(err) == onto.OutcomeUnknown:
			s.unsure[key] = true
		default:
			s.refused[key] = true
		}
	}
}

// read reads the lake now and then: it must be whole.
func (s *simulation) read(ctx context.Context, l *peer, client int) {
	if !s.begin(ctx, l) {
		return
	}
	var seen int64
	for range 12 {
		time.Sleep(50 * time.Millisecond)
		call := s.began()
		t, err := l.Load(ctx)
		if err == nil {
			out := came{commit: t.Head.CommitID}
			if t.Manifest != nil {
				out.key = t.Manifest.Commits[len(t.Manifest.Commits)-1].Key
			}
			s.ended(client, call, step{}, out)
			if t.Head.Sequence < seen {
				s.complain("%s: the head went back from %d to %d", l.set.Runtime, seen, t.Head.Sequence)
			}
			seen = t.Head.Sequence
			_, err = readAll(ctx, l, t)
		}
		if err != nil && !errors.Is(err, onto.Unavailable) { // the storage was that faulty, or a compaction was faster
			s.complain("%s reads: %v", l.set.Runtime, err)
		}
	}
}

// clean removes orphans now and then.
func (s *simulation) clean(ctx context.Context, l *peer) {
	if !s.begin(ctx, l) {
		return
	}
	for range 12 {
		time.Sleep(700 * time.Millisecond)
		plan, err := l.Plan(ctx, 10*l.set.Patience)
		if err == nil {
			_, _ = l.Sweep(ctx, plan)
		}
	}
}

// readAll reads every round and every file that a tip leads to, and returns the
// keys by commit. Each version must be there once.
func readAll(ctx context.Context, l *peer, t *Tip) (map[int64]string, error) {
	keys := map[int64]string{}
	for m, err := range l.rounds(ctx, t) {
		if err != nil {
			return nil, err
		}
		for i, c := range m.Commits {
			if i > 0 && c.Time < m.Commits[i-1].Time || len(m.Ancestors) > 0 && c.Time < m.Ancestors[0].Time {
				return nil, onto.Errorf(onto.Corrupt, "commit %d is earlier than the one before", c.ID)
			}
			keys[c.ID] = c.Key
		}
	}
	s, err := l.Shelve(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	seen := map[int64]bool{}
	for _, f := range s.Files[onto.TypeName{Kind: onto.KindEntity, Name: "T"}] {
		body, err := l.Data(ctx, &f)
		if err != nil {
			return nil, err
		}
		rows, err := decoded(body)
		if err != nil {
			return nil, err
		}
		for _, v := range rows {
			if seen[v.Commit] || keys[v.Commit] != v.Key || v.Commit < f.First || v.Commit > f.Last {
				return nil, onto.Errorf(onto.Corrupt, "%s holds %s as of %d, where %s is due, or twice", f.Path, v.Key, v.Commit, keys[v.Commit])
			}
			seen[v.Commit] = true
		}
	}
	if len(seen) != len(keys) {
		return nil, onto.Errorf(onto.Corrupt, "there are %d versions of %d commits", len(seen), len(keys))
	}
	return keys, nil
}

// verify compares the lake at the end with what the clients were told.
func (s *simulation) verify(ctx context.Context, l *peer) {
	t, err := l.Load(ctx)
	if err != nil {
		s.complain("the end: %v", err)
		return
	}
	keys, err := readAll(ctx, l, t)
	if err != nil {
		s.complain("the end: %v", err)
		return
	}
	at := map[string]int64{}
	for id := int64(1); id <= t.Head.CommitID; id++ {
		key, ok := keys[id]
		if !ok {
			s.complain("commit %d is missing", id)
		}
		if before, twice := at[key]; twice {
			s.complain("%s was applied twice, as %d and %d", key, before, id)
		}
		at[key] = id
	}
	for key, id := range s.acked {
		if at[key] != id {
			s.complain("%s was acknowledged as commit %d and is %d", key, id, at[key])
		}
	}
	for key := range s.refused {
		if at[key] != 0 {
			s.complain("%s was refused and is commit %d", key, at[key])
		}
	}
	var names []string
	for _, e := range t.Catalog.Types {
		if slices.Contains(names, e.Name) {
			s.complain("type %s is there twice", e.Name)
		}
		names = append(names, e.Name)
	}
	for name := range s.types {
		if !slices.Contains(names, name) {
			s.complain("type %s was acknowledged and is not there", name)
		}
	}
}

// TestSimulation runs the simulation with many seeds. A plain run does fewer than its share,
// since a second goes by with every 25.
func TestSimulation(t *testing.T) {
	t.Parallel()
	full := 5000
	if !effort.Thorough(t) {
		full = 1000
	}
	simulateAll(t, effort.Seeds(t, full))
}

// TestSimulationFrom runs seeds that are given, such as one that has failed:
//
//	go test -run TestSimulationFrom ./backend/lake/protocol -args 2743 1
func TestSimulationFrom(t *testing.T) {
	if flag.NArg() != 2 {
		t.Skip("no first seed and no number of seeds are given")
	}
	first, err := strconv.ParseUint(flag.Arg(0), 10, 64)
	n, err2 := strconv.ParseUint(flag.Arg(1), 10, 64)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	simulateAll(t, func(yield func(uint64) bool) {
		for seed := first; seed < first+n && yield(seed); seed++ {
		}
	})
}

// simulateAll runs seeds until one goes wrong. All faults must have been active in many.
func simulateAll(t *testing.T, all iter.Seq[uint64]) {
	seeds, active, acked, unsure, refused, leases, compacted := 0, map[string]int{}, 0, 0, 0, 0, 0
	for seed := range all {
		synctest.Test(t, func(t *testing.T) {
			s := simulate(seed)
			for _, c := range s.complaint {
				t.Errorf("seed %d: %s", seed, c)
			}
			for f := range s.w.fault {
				active[f]++
			}
			acked, unsure, refused, compacted = acked+len(s.acked), unsure+len(s.unsure), refused+len(s.refused), compacted+s.compacted
			leases += len(s.tenures)
		})
		if t.Failed() {
			return
		}
		seeds++
	}
	for _, f := range slices.Concat(faults("get"), faults("list"), faults("delete"), faults("swap"), []string{"late answer", "forgotten heads"}) {
		least := seeds / 2
		if f == "old listing" { // there are few listings
			least = seeds * 2 / 5
		}
		if active[f] < least {
			t.Errorf("the fault %q was active in %d of %d runs only, want %d", f, active[f], seeds, least)
		}
	}
	t.Logf("%d seeds: %d commits acknowledged, %d unknown, %d refused; %d leases; %d compactions; faults active in runs: %v", seeds, acked, unsure, refused, leases, compacted, active)
}

// The same seed gives the same trace.
func TestSimulationIsDeterministic(t *testing.T) {
	for seed := range uint64(5) {
		var traces [2][]string
		for i := range traces {
			synctest.Test(t, func(*testing.T) { traces[i] = simulate(seed).w.trace })
		}
		for i := range min(len(traces[0]), len(traces[1])) {
			if traces[0][i] != traces[1][i] {
				t.Fatalf("seed %d, step %d: %s, then %s", seed, i, traces[0][i], traces[1][i])
			}
		}
		if len(traces[0]) != len(traces[1]) || len(traces[0]) == 0 {
			t.Fatalf("seed %d: %d steps, then %d", seed, len(traces[0]), len(traces[1]))
		}
	}
}

// decider decides what a round holds, given the tip it comes after. Nil means
// that nothing changes.
type decider func(t *Tip) (*Round, error)

// commit publishes a round and returns its manifest, or nil if nothing changed.
// If another round was published first, it is decided anew.
func (l *peer) commit(ctx context.Context, decide decider) (*Manifest, error) {
	return l.commitAs(ctx, nil, decide)
}

// commitAs commits with a lease, or with none.
func (l *peer) commitAs(ctx context.Context, carried *onto.Lease, decide decider) (*Manifest, error) {
	var made *Manifest
	_, err := l.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
		if err := l.MayWrite(ctx, t, carried); err != nil {
			return nil, err
		}
		r, err := decide(t)
		if made = nil; err != nil || r == nil {
			return nil, err
		}
		p := l.proposeRound(t, r, attempt)
		made = p.next.Manifest
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}
