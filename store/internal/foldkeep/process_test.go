package foldkeep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"write": writeFacts, "rebuild": rebuildStates})
	os.Exit(effort.Main(m))
}

const subjects = 10

// counted counts the drafts that were stale.
type counted struct {
	backend.Backend
	stale atomic.Int64
}

func (c *counted) Unwrap() backend.Backend { return c.Backend }

func (c *counted) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	res, err := c.Backend.Append(ctx, d)
	if onto.CodeOf(err) == onto.Stale {
		c.stale.Add(1)
	}
	return res, err
}

// writeFacts asserts, revokes and retracts facts until the process is killed, and prints
// what was acknowledged. A plain process does not have the fold; one that streams commits
// some facts in a way that leaves it behind.
func writeFacts(args []string) error {
	ctx, path, name := context.Background(), args[0], args[1]
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	c := &counted{Backend: db}
	o := &store.Options{}
	if args[2] != "plain" {
		o.Folds = []store.Folding{notices(1)}
	}
	s, err := store.OpenWith(ctx, c, o, onto.TypeOf[notice]())
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 1))
	var mine []onto.Identity
	for n := 0; ; n++ {
		f := fact(fmt.Sprintf("s%d", random.IntN(subjects)), "seen", name)
		f.ID = fmt.Sprintf("%s-%d", name, n)
		d := onto.Draft{Actor: onto.Component(name)}.Assert(f)
		switch k := random.IntN(20); {
		case k == 0 && len(mine) > 0:
			d = d.Retract(mine[random.IntN(len(mine))])
		case k == 1 && len(mine) > 0:
			d = onto.Draft{}.Revoke(mine[len(mine)-1], time.Date(2026, 1, 1+n%28, 0, 0, 0, 0, time.UTC), n)
			f.ID = ""
		}
		var res onto.Result
		if args[2] != "drafts" && random.IntN(200) == 0 {
			res, err = s.CommitStream(ctx, onto.Draft{}, things([]onto.Fact{f}))
		} else {
			res, err = s.Commit(ctx, d)
		}
		switch code := onto.CodeOf(err); {
		case code == onto.NotFound, code == onto.Invalid, code == onto.Stale, code == onto.LockContention:
			fmt.Printf("refused %s\n", code)
			continue
		case err != nil:
			return err
		}
		ref := "none"
		if f.ID != "" {
			mine, ref = append(mine, f.Identity()), f.Ref()
		}
		fmt.Printf("ack %d %d %s .\n", res.At, c.stale.Swap(0), ref)
	}
}

// Processes that are killed at any time write facts about the same subjects, with a fold:
// nothing that was acknowledged is lost, and states are what a replay makes of the facts,
// or, where some of the processes do not have the fold, it says that it is behind.
func TestProcessesThatAreKilled(t *testing.T) {
	t.Parallel()
	t.Run("all have the fold", func(t *testing.T) { killProcesses(t, 0) })
	t.Run("one in eight has not, and some stream", func(t *testing.T) { killProcesses(t, 8) })
}

// killProcesses kills processes of which one in so many does not have the fold; 0 for
// none.
func killProcesses(t *testing.T, without int) {
	t.Parallel()
	processes, pace := 8, 200 // at most so many drafts are acknowledged between two kills
	if effort.Thorough(t) {
		processes, pace = 16, 600
	}
	path := filepath.Join(t.TempDir(), "store.db")
	p := place{t, func() backend.Backend { return opened(t, path) }}
	s := p.open(notices(1))
	k := &killing{t: t, path: path, without: without, random: effort.Rand(t), acked: map[string]bool{}, refused: map[string]int{}}
	k.more.L = &k.mu
	for i := range processes {
		k.start(i)
	}
	for range effort.Count(t, 100) {
		k.await(1 + k.random.IntN(pace))
		k.restart(k.random.IntN(processes))
	}
	for i := range k.running {
		k.running[i].End()
	}
	k.reading.Wait()
	if err := s.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.VerifyFolds(t.Context()); err != nil {
		t.Error(err)
	}
	for ref := range k.acked {
		id, err := onto.ParseFactRef(ref)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.Backend().Get(t.Context(), id, backend.Head); err != nil {
			t.Errorf("%s was acknowledged: %v, %v", ref, v, err)
		}
	}
	checked, behind := everyFiftieth(p, s)
	if without == 0 && behind > 0 {
		t.Errorf("the fold was behind at %d moments", behind)
	}
	head, err := s.Head(t.Context())
	if err != nil || len(k.acked) == 0 {
		t.Fatalf("%d facts were acknowledged, %v", len(k.acked), err)
	}
	t.Logf("%d commits, %d facts acknowledged, %d drafts computed again, refused %v, %d processes killed; of every 50th commit %d states equal a replay, %d moments were behind",
		head.ID, len(k.acked), k.stale, k.refused, k.killed, checked, behind)
}

func opened(t *testing.T, path string) backend.Backend {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// killing is processes that are killed and started again.
type killing struct {
	t       *testing.T
	path    string
	without int
	random  *rand.Rand
	running []*child.Process
	started int
	killed  int
	reading sync.WaitGroup

	mu      sync.Mutex // guards the following
	more    sync.Cond  // a draft was acknowledged, or a process has ended
	drafts  int        // that were acknowledged
	alive   int        // processes
	acked   map[string]bool
	stale   int
	refused map[string]int
}

func (k *killing) start(i int) {
	kind := "streams"
	switch {
	case k.without == 0:
		kind = "drafts"
	case i%k.without == k.without-1:
		kind = "plain"
	}
	k.started++
	p := child.Start(k.t, "write", k.path, fmt.Sprintf("p%d", k.started), kind, fmt.Sprint(k.random.Uint64()))
	if i < len(k.running) {
		k.running[i] = p
	} else {
		k.running = append(k.running, p)
	}
	k.mu.Lock()
	k.alive++
	k.mu.Unlock()
	k.reading.Go(func() {
		for line := range p.Lines() {
			k.note(strings.Fields(line))
		}
		k.mu.Lock()
		k.alive--
		k.mu.Unlock()
		k.more.Signal()
	})
}

// await waits until so many more drafts are acknowledged.
func (k *killing) await(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for end := k.drafts + n; k.drafts < end; k.more.Wait() {
		if k.alive == 0 {
			k.t.Fatal("all processes have ended by themselves")
		}
	}
}

func (k *killing) restart(i int) {
	k.running[i].End()
	k.killed++
	k.start(i)
}

func (k *killing) note(words []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(words) == 2:
		k.refused[words[1]]++
	case len(words) == 5: // a line that was cut off has fewer
		k.drafts++
		k.more.Signal()
		n, _ := strconv.Atoi(words[2])
		if k.stale += n; words[3] != "none" {
			k.acked[words[3]] = true
		}
	}
}

// everyFiftieth compares states with replays as of every 50th commit, unless the fold was
// behind then.
func everyFiftieth(p place, s *store.Store) (checked, behind int) {
	p.Helper()
	head, err := s.Head(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	for at := int64(50); at <= head.ID; at += 50 {
		v, err := s.At(at).Get(p.Context(), onto.EntityID("onto_folds", "notice/inbox"))
		if err != nil {
			p.Fatal(err)
		}
		var record struct {
			Behind  int64 `json:"behind"`
			Rebuild any   `json:"rebuild"`
		}
		if err := json.Unmarshal(v.Fields, &record); err != nil {
			p.Fatal(err)
		}
		if record.Behind != 0 || record.Rebuild != nil {
			behind++
			continue
		}
		for i := range subjects {
			subject := fmt.Sprintf("s%d", i)
			want, err := notices(1).At(p.Context(), s.At(at), subject)
			got, gotErr := store.Get[inbox](p.Context(), s.At(at), subject)
			if got != want || onto.CodeOf(err) != onto.CodeOf(gotErr) {
				p.Errorf("%s as of commit %d: got %+v, %v; a replay makes %+v, %v", subject, at, got, gotErr, want, err)
			}
			checked++
		}
	}
	return checked, behind
}

// rebuildStates opens a store with a version of a fold, which is rebuilt in the background.
func rebuildStates(args []string) error {
	ctx := context.Background()
	version, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, args[0], nil)
	if err != nil {
		return err
	}
	s, err := store.OpenWith(ctx, db, &store.Options{Folds: []store.Folding{notices(version)}})
	if err != nil {
		return err
	}
	fmt.Println("begun")
	if err := s.CatchUp(ctx); err != nil {
		return err
	}
	fmt.Println("finished")
	return s.Close()
}

// A rebuild that is killed again and again finishes, and no follower has seen it.
func TestRebuildsThatAreKilled(t *testing.T) {
	t.Parallel()
	kills, things, random := effort.Count(t, 30), 1000, effort.Rand(t)
	if effort.Thorough(t) {
		things = 3000
	}
	path := filepath.Join(t.TempDir(), "store.db")
	p := place{t, func() backend.Backend { return opened(t, path) }}
	ctx, s := t.Context(), p.open(notices(1))
	var list []onto.Fact
	for i := range things {
		list = append(list, fact(fmt.Sprintf("s%05d", i), "opened", "x"), fact(fmt.Sprintf("s%05d", i), "snoozed", "x"))
	}
	p.stream(s, list...)
	eventually(p, func() bool { return p.status(s, "inbox").UpToDate() })
	version, finished := 2, 0
	for killed := 0; killed < kills; killed++ {
		c := child.Start(t, "rebuild", path, strconv.Itoa(version))
		c.Until(t, "begun")
		for range 1 + random.IntN(3) { // some steps
			before := p.status(s, "inbox").Rebuilt
			eventually(p, func() bool { st := p.status(s, "inbox"); return st.Rebuilt != before || !st.Rebuilding })
		}
		c.End()
		if !p.status(s, "inbox").Rebuilding {
			version++
			finished++
		}
	}
	last := p.open(notices(version))
	if err := last.CatchUp(ctx); err != nil {
		t.Fatal(err)
	}
	p.verified(last, "s00999", fmt.Sprintf("%do%ds", version, version))
	rebuilding, seen := 0, 0
	for c, err := range last.Commits(ctx, store.CommitOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Metadata["onto_rebuild"] != nil {
			rebuilding++
		}
	}
	for c, err := range last.FollowWith(ctx, "reader", &store.FollowOptions{Once: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Metadata["onto_rebuild"] != nil {
			seen++
		}
	}
	if seen > 0 || rebuilding == 0 {
		t.Errorf("a follower saw %d of %d commits of rebuilds", seen, rebuilding)
	}
	t.Logf("%d kills, %d rebuilds finished meanwhile, %d commits of rebuilds", kills, finished, rebuilding)
}
