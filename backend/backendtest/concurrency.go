package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/typelist"
)

func concurrencyStories() []tale {
	return []tale{
		{"appends at once", func(s *story) { s.appendConcurrently(s) }},
		{"only whole commits are seen", func(s *story) { s.seeWholeCommits(s) }},
		{"counting", func(s *story) { s.count(expects(), person("counter"), s) }},
		{"counting with fences", func(s *story) { s.count(fences(), claim("counter", "n", "1"), s) }},
		{"an expectation has one winner", func(s *story) { s.raceExpectation(expects(), s) }},
		{"a fence has one winner", func(s *story) { s.raceExpectation(fences(), s) }},
		{"what is written once has one winner", func(s *story) { s.raceOnce(s) }},
		{"one key raced", func(s *story) { s.raceKey(s) }},
		{"registering at once", registerAtOnce},
		{"streams and drafts at once", streamsAndDrafts},
		{"types evolve while others write", evolveWhileWriting},
	}
}

// times is how many of ten times as many rounds are done at once.
func (s *story) times(n int) int {
	s.Helper()
	return effort.Count(s.T, 10*n)
}

// together runs workers at once, spread over handles, and waits for them. The
// first error of each fails the test.
func (s *story) together(workers int, handles []backend.Backend, work func(worker int, b backend.Backend) error) {
	s.Helper()
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			if err := work(worker, handles[worker%len(handles)]); err != nil {
				s.Errorf("worker %d: %v", worker, err)
			}
		})
	}
	wg.Wait()
}

// appendConcurrently appends from many goroutines: ids are 1 to n, times do not go
// back, and everything is there.
func (s *story) appendConcurrently(handles ...backend.Backend) {
	const workers = 8
	rounds := s.times(10)
	ids := make([][]int64, workers)
	s.together(workers, handles, func(worker int, b backend.Backend) error {
		for n := range rounds {
			s.place.clock.move(time.Duration(n%3-1) * time.Millisecond)
			r, err := b.Append(s.ctx, draft(put(person(fmt.Sprintf("%d-%d", worker, n)), n), put(city(fmt.Sprint(worker)), n)))
			if err != nil {
				return err
			}
			ids[worker] = append(ids[worker], r.ID)
		}
		return nil
	})
	all := slices.Sorted(slices.Values(slices.Concat(ids...)))
	for i, id := range all {
		if id != int64(i+1) {
			s.Fatalf("acknowledged ids: got %d at place %d", id, i+1)
		}
	}
	for worker, list := range ids {
		if !slices.IsSorted(list) {
			s.Errorf("worker %d got its ids out of order: %v", worker, list)
		}
	}
	s.wantLog(workers * rounds)
	if got := len(s.scan(stateOf(onto.KindEntity, tPerson, backend.Head))); got != workers*rounds {
		s.Errorf("persons: got %d, want %d", got, workers*rounds)
	}
}

// wantLog wants commits 1 to n with times that do not go back.
func (s *story) wantLog(n int) {
	s.Helper()
	var last onto.Commit
	for c, err := range s.Commits(s.ctx, &backend.CommitQuery{Until: backend.Head}) {
		s.must(err)
		if c.ID != last.ID+1 || c.Time.Before(last.Time) {
			s.Errorf("%s comes after %s", showCommit(c), showCommit(last))
		}
		last = c
	}
	if last.ID != int64(n) {
		s.Errorf("commits: got %d, want %d", last.ID, n)
	}
}

// seeWholeCommits reads while each commit gives a pair of persons the same number: no
// reader may see them differ.
func (s *story) seeWholeCommits(handles ...backend.Backend) {
	s.commit(put(person("left"), 0), put(person("middle"), 0), put(person("right"), 0))
	var done atomic.Bool
	var reads atomic.Int64
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			for b := handles[i%len(handles)]; !done.Load() && !s.Failed(); reads.Add(1) {
				if err := s.lookForTorn(b); err != nil {
					s.Errorf("reader %d: %v", i, err)
				}
			}
		})
	}
	rounds := s.times(25)
	s.together(2, handles, func(worker int, b backend.Backend) error {
		for n := range rounds {
			value := 1 + worker*rounds + n
			_, err := b.Append(s.ctx, draft(put(person("left"), value), put(person("right"), value)))
			if err != nil {
				return err
			}
		}
		return nil
	})
	done.Store(true)
	readers.Wait()
	s.Logf("%d reads while writing", reads.Load())
	s.wantLog(1 + 2*rounds)
}

// lookForTorn reads the pair in each way and compares its halves.
func (s *story) lookForTorn(b backend.Backend) error {
	at := map[string]int64{}
	for v, err := range b.Scan(s.ctx, stateOf(onto.KindEntity, tPerson, backend.Head)) {
		if err != nil {
			return err
		}
		at[v.Key] = v.Commit
	}
	if at["left"] != at["right"] || len(at) != 3 {
		return fmt.Errorf("the state shows %v, want left and right at the same commit", at)
	}
	head, err := b.Resolve(s.ctx, onto.Point{})
	if err != nil {
		return err
	}
	for _, key := range []string{"left", "right"} {
		v, err := b.Get(s.ctx, person(key), head.ID)
		if err != nil {
			return err
		}
		if v.Commit != head.ID {
			return fmt.Errorf("as of commit %d, %s is at commit %d", head.ID, key, v.Commit)
		}
	}
	n := 0
	for _, err := range b.Diff(s.ctx, &backend.DiffQuery{From: head.ID - 1, To: head.ID}) {
		if err != nil {
			return err
		}
		n++
	}
	if n != head.Operations {
		return fmt.Errorf("commit %d has %d changes, want %d", head.ID, n, head.Operations)
	}
	return nil
}

// demand is a way to make a draft depend on a version.
type demand struct {
	draft func(e onto.Expectation, writes ...backend.Write) *backend.Draft
	code  onto.Code // of drafts that are too late
}

func expects() demand {
	return demand{func(e onto.Expectation, writes ...backend.Write) *backend.Draft {
		return expecting([]onto.Expectation{e}, writes...)
	}, onto.VersionMismatch}
}

func fences() demand {
	return demand{func(e onto.Expectation, writes ...backend.Write) *backend.Draft {
		return fenced(draft(writes...), e)
	}, onto.Stale}
}

// count lets workers increment one number, each on condition that it is the one that was
// read: no increment is lost.
func (s *story) count(on demand, counter onto.Identity, handles ...backend.Backend) {
	const workers = 4
	rounds := s.times(5)
	s.commit(put(counter, 0))
	var lost atomic.Int64
	s.together(workers, handles, func(worker int, b backend.Backend) error {
		for done := 0; done < rounds; {
			v, err := b.Get(s.ctx, counter, backend.Head)
			if err != nil {
				return err
			}
			var fields struct{ N int }
			if err := json.Unmarshal(v.Fields, &fields); err != nil {
				return err
			}
			next := put(counter, fields.N+1)
			_, err = b.Append(s.ctx, on.draft(isAt(counter, v.Commit), next))
			switch {
			case err == nil:
				done++
			case errors.Is(err, on.code):
				lost.Add(1)
			default:
				return err
			}
		}
		return nil
	})
	s.Logf("%d races lost", lost.Load())
	s.want("the counter", s.get(counter, backend.Head), row(counter, int64(workers*rounds+1), workers*rounds))
}

// raceExpectation lets workers change what they all saw at the same commit:
// one of them wins.
func (s *story) raceExpectation(on demand, handles ...backend.Backend) {
	const workers = 8
	ada := person("ada")
	for round := range s.times(5) {
		var wins atomic.Int64
		s.together(workers, handles, func(worker int, b backend.Backend) error {
			_, err := b.Append(s.ctx, on.draft(isAt(ada, int64(round)), put(ada, round*workers+worker)))
			if err == nil {
				wins.Add(1)
			} else if !errors.Is(err, on.code) {
				return err
			}
			return nil
		})
		if got := wins.Load(); got != 1 {
			s.Fatalf("round %d: got %d winners, want 1", round, got)
		}
		s.wantHead(int64(round + 1))
	}
}

// raceOnce lets workers assert a fact under one id, with one of two values: one makes it,
// others repeat it or are refused.
func (s *story) raceOnce(handles ...backend.Backend) {
	const workers = 8
	for round := range s.times(5) {
		id := claim("ada", "n", fmt.Sprint("f", round))
		results, errs := make([]onto.Result, workers), make([]error, workers)
		s.together(workers, handles, func(worker int, b backend.Backend) error {
			w := once(set(id, fmt.Sprintf(`{"n":%d,"seq":%d}`, worker%2, worker+1)))
			results[worker], errs[worker] = b.Append(s.ctx, draft(w))
			return nil
		})
		winner := slices.IndexFunc(results, func(r onto.Result) bool { return r.Changed() })
		if winner < 0 {
			s.Fatalf("round %d: got %v, want a winner", round, errs)
		}
		for i, r := range results {
			switch same := i%2 == winner%2; {
			case i != winner && r.Changed():
				s.Errorf("round %d: got %s beside %s, want one commit", round, showCommit(r.Commit), showCommit(results[winner].Commit))
			case same && errs[i] != nil, !same && !errors.Is(errs[i], onto.Conflict):
				s.Errorf("round %d: worker %d got %v while %d won; want an error for the other value", round, i, errs[i], winner)
			}
		}
		s.want("the fact", s.get(id, backend.Head), fmt.Sprintf(`%s @%d {"n":%d,"seq":%d}`, id, round+1, winner%2, winner+1))
	}
}

// raceKey sends one draft with an idempotency key concurrently: it is applied once and
// each caller gets the same commit.
func (s *story) raceKey(handles ...backend.Backend) {
	const workers = 8
	for round := range s.times(3) {
		results := make([]onto.Result, workers)
		s.together(workers, handles, func(worker int, b backend.Backend) (err error) {
			results[worker], err = b.Append(s.ctx, keyed(fmt.Sprint("k", round), put(person("ada"), round)))
			return err
		})
		firsts := 0
		for _, r := range results {
			if r.ID != int64(round+1) {
				s.Errorf("got commit %d, want %d", r.ID, round+1)
			}
			if !r.Repeated {
				firsts++
			}
		}
		if firsts != 1 {
			s.Errorf("first results: got %d, want 1", firsts)
		}
	}
}

func registerAtOnce(s *story) {
	handles := []backend.Backend{s, s.open()}
	s.together(8, handles, func(worker int, b backend.Backend) error {
		list, err := b.Register(s.ctx, &backend.Registration{Schemas: []onto.Schema{tagged("Tag")}, Reason: "initial"})
		if err == nil && list[0].Version != 1 {
			err = fmt.Errorf("got version %d, want 1", list[0].Version)
		}
		return err
	})
	if got := len(s.schemaVersions()); got != len(testSchemas())+1 {
		s.Errorf("schemas: got %d, want %d", got, len(testSchemas())+1)
	}
}

func streamsAndDrafts(s *story) {
	rounds := s.times(5)
	s.together(4, []backend.Backend{s, s.open()}, func(worker int, b backend.Backend) error {
		for n := range rounds {
			var err error
			if worker < 2 {
				_, err = b.AppendStream(s.ctx, draft(), sequence(rows(200, 1+worker*rounds+n), nil))
			} else {
				_, err = b.Append(s.ctx, draft(put(city(fmt.Sprint(worker)), n)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	s.wantLog(4 * rounds)
	at := map[int64]int{}
	for v, err := range s.Scan(s.ctx, stateOf(onto.KindEntity, tPerson, backend.Head)) {
		s.must(err)
		at[v.Commit]++
	}
	if len(at) != 1 {
		s.Errorf("persons by commit: got %v, want all 200 at one commit", at)
	}
}

// evolveWhileWriting lets types evolve beside writers, which read the types again when
// theirs are outdated: each row has the version of its time.
func evolveWhileWriting(s *story) {
	rounds := s.times(5)
	s.together(4, []backend.Backend{s, s.open()}, func(worker int, b backend.Backend) error {
		for n := 0; n < rounds; {
			stored, err := b.Schemas(s.ctx)
			if err != nil {
				return err
			}
			version := typelist.NextVersion(stored, onto.TypeName{Kind: onto.KindEntity, Name: tPerson}) - 1
			if worker > 0 {
				_, err = b.Append(s.ctx, draft(stamped(put(person(fmt.Sprint(worker)), n), version)))
			} else {
				e := adding(grown(tPerson, onto.Field{Name: fmt.Sprint("zip", n), Type: onto.Int, Optional: true}))
				e.Base = typelist.Hash(stored)
				w := stamped(put(person("evolver"), n/2), version+1) // every other one makes no commit
				_, err = b.AppendStream(s.ctx, &backend.Draft{Evolve: &e}, sequence([]backend.Write{w}, nil))
			}
			switch {
			case err == nil:
				n++
			case worker == 0 || !errors.Is(err, onto.SchemaOutdated):
				return err
			}
		}
		return nil
	})
	stored := slices.DeleteFunc(s.schemaVersions(), func(v onto.SchemaVersion) bool { return v.Schema.Name != tPerson })
	if len(stored) != rounds+1 {
		s.Fatalf("versions: got %s, want %d", s.versionsOf(tPerson), rounds+1)
	}
	for v, err := range s.Scan(s.ctx, historyOf(onto.KindEntity, tPerson, backend.Head)) {
		s.must(err)
		i := v.SchemaVersion - 1
		if v.Commit < stored[i].Since || i < rounds && v.Commit >= stored[i+1].Since {
			s.Errorf("%s does not go with %s", showVersion(v), s.versionsOf(tPerson))
		}
	}
}
