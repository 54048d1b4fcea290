package deploytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// deployment is programs that share a store, one in each slot.
type deployment struct {
	t         *testing.T
	kind, dir string
	byName    bool
	random    *rand.Rand // seeds of the programs
	slots     []*running
	started   int
	counts    map[string]int

	mu       sync.Mutex // guards what follows, and acks and failed of what runs
	changed  *sync.Cond // something of it has
	ledger   ledger
	failures []failure
	wrong    []string // what should not have happened
}

// running is a process of the program.
type running struct {
	*child.Process
	acks  int
	ended chan struct{}
}

// newDeployment starts the first generation in each slot. Its programs use their structs
// only, or also write by name.
func newDeployment(t *testing.T, kind string, byName bool) *deployment {
	d := &deployment{t: t, kind: kind, byName: byName, random: effort.Rand(t), dir: t.TempDir(), ledger: ledger{}, counts: map[string]int{}}
	d.changed = sync.NewCond(&d.mu)
	b, err := open(t.Context(), kind, d.dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), b, onto.TypeOf[accountV1]().As("Account"), follows)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for slot := range 3 {
		d.slots = append(d.slots, d.start(slot, 1))
	}
	return d
}

// start starts a generation of the program.
func (d *deployment) start(slot, generation int) *running {
	d.started++
	r := &running{Process: child.Start(d.t, "program", d.kind, d.dir, strconv.Itoa(generation), strconv.Itoa(slot), strconv.FormatBool(d.byName),
		strconv.FormatUint(d.random.Uint64(), 10)), ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for line := range r.Lines() {
			d.heard(r, line)
		}
	}()
	return r
}

// heard notes what a process has printed.
func (d *deployment) heard(r *running, line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.changed.Broadcast()
	word, doc, _ := strings.Cut(line, " ")
	var err error
	switch word {
	case "ack":
		var a ack
		if err = json.Unmarshal([]byte(doc), &a); err == nil {
			err = d.ledger.add(a)
		}
		r.acks++
	case "failed":
		var f failure
		err = json.Unmarshal([]byte(doc), &f)
		d.failures = append(d.failures, f)
	case "end":
		var counts map[string]int
		err = json.Unmarshal([]byte(doc), &counts)
		for call, n := range counts {
			d.counts[call] += n
		}
	case "open":
	default:
		err = fmt.Errorf("a program said %q", line)
	}
	if err != nil {
		d.wrong = append(d.wrong, err.Error())
	}
}

// work lets all processes write so often, and for a while.
func (d *deployment) work(times int, length time.Duration) {
	d.t.Helper()
	end := time.Now().Add(length)
	defer time.AfterFunc(length, d.changed.Broadcast).Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	until := map[*running]int{}
	for _, r := range d.slots {
		until[r] = r.acks + times
	}
	enough := func() bool {
		return !time.Now().Before(end) && !slices.ContainsFunc(d.slots, func(r *running) bool { return r.acks < until[r] })
	}
	for len(d.failures)+len(d.wrong) == 0 && !enough() {
		d.changed.Wait()
	}
	if len(d.failures)+len(d.wrong) > 0 {
		d.t.Fatalf("programs failed: %+v %q", d.failures, d.wrong)
	}
}

// replace stops the program in a slot and starts another generation there.
func (d *deployment) replace(slot, generation int) {
	d.t.Helper()
	d.stop(slot)
	d.slots[slot] = d.start(slot, generation)
}

// stop lets the program in a slot end.
func (d *deployment) stop(slot int) {
	d.t.Helper()
	_ = d.slots[slot].Stdin.Close()
	<-d.slots[slot].ended
	if err := d.slots[slot].Wait(); err != nil {
		d.t.Errorf("slot %d: %v", slot, err)
	}
}

// compare holds the store against the ledger.
func (d *deployment) compare() (versions, migrated int) {
	d.t.Helper()
	b, err := open(d.t.Context(), d.kind, d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer b.Close()
	return d.ledger.compare(d.t, b)
}

// Programs are replaced by their next generation, one by one and under load, and back
// by older ones, again and again. Each new generation adds fields to a type. No call
// fails, and no value of any field is lost.
func TestRollingDeploys(t *testing.T) {
	for _, kind := range []string{"sqlite", "lake"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rounds, length := max(2, effort.Count(t, 5)), time.Duration(0)
			if effort.Thorough(t) {
				length = time.Duration(effort.Count(t, 2_000)) * time.Millisecond
			}
			d := newDeployment(t, kind, true)
			d.work(2, length)
			for round := range rounds {
				next := round + 2
				for slot := range d.slots {
					d.replace(slot, next)
					d.work(2, length)
				}
				for slot, generation := range []int{1, max(1, next-1), 1} { // one goes back by one only
					d.replace(slot, generation)
					d.work(2, length)
				}
			}
			for slot := range d.slots {
				d.stop(slot)
			}
			if len(d.failures)+len(d.wrong) > 0 {
				t.Errorf("programs failed: %+v %q", d.failures, d.wrong)
			}
			versions, migrated := d.compare()
			t.Logf("%d rounds, %d processes, %d versions as acknowledged, %d of them by migrations; calls: %s",
				rounds, d.started, versions, migrated, counted(d.counts))
		})
	}
}

func counted(counts map[string]int) string {
	var list []string
	for _, call := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprint(counts[call], " ", call))
	}
	return strings.Join(list, ", ")
}

// A change that is not compatible ends old programs: they are told what has changed,
// and nothing of theirs is half written.
func TestIncompatibleDeploys(t *testing.T) {
	entity := func(fields ...onto.Field) onto.Type {
		s := onto.Schema{Kind: onto.KindEntity, Name: "Account", Key: "id", Fields: append(fields, onto.Field{Name: "id", Type: onto.String})}
		s.SortFields()
		return onto.Untyped(s)
	}
	owner, n := onto.Field{Name: "owner", Type: onto.String}, onto.Field{Name: "n", Type: onto.Int}
	for name, c := range map[string]struct {
		t          onto.Type
		upgrader   store.Upgrader
		difference string
	}{
		"a renamed field": {entity(onto.Field{Name: "holder", Type: onto.String}, n), store.RenameField("Account", 1, "owner", "holder"), "Account: + owner, - holder"},
		"a dropped field": {entity(n), store.DropField("Account", 1, "owner"), "Account: + owner"},
		"a required field": {entity(owner, n, onto.Field{Name: "must", Type: onto.Int}),
			store.Upgrader{Type: "Account", From: 1, Program: ".must = 1"}, "Account: - must"},
	} {
		for _, kind := range []string{"sqlite", "lake"} {
			t.Run(name+" on "+kind, func(t *testing.T) {
				t.Parallel()
				d := newDeployment(t, kind, false)
				d.work(4, 0)
				b, err := open(t.Context(), kind, d.dir)
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				res, _, err := store.Migrate(t.Context(), b, &store.Migration{Types: []onto.Type{c.t}, Upgraders: []store.Upgrader{c.upgrader}},
					&store.ApplyOptions{Force: true, Wait: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range d.slots {
					<-r.ended // by itself
				}
				if len(d.failures) != len(d.slots) || len(d.wrong) > 0 {
					t.Errorf("got %+v %q, want a failure of each", d.failures, d.wrong)
				}
				for _, f := range d.failures {
					if f.Code != onto.SchemaOutdated || len(f.Differences) != 1 || f.Differences[0].String() != c.difference {
						t.Errorf("got %+v, want %s", f, c.difference)
					}
				}
				d.compareAround(res.ID)
				again := d.start(0, 1)
				<-again.ended
				if f := d.failures[len(d.failures)-1]; len(d.failures) != len(d.slots)+1 || f.Code != onto.SchemaOutdated {
					t.Errorf("an old program opens: %+v", f)
				}
			})
		}
	}
}

// compareAround holds the store against the ledger before a migration that ends old
// programs, and after it, where they have deleted by key at most.
func (d *deployment) compareAround(migration int64) {
	d.t.Helper()
	b, err := open(d.t.Context(), d.kind, d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer b.Close()
	backendtest.Check(d.t, b)
	s, err := store.Open(d.t.Context(), b)
	if err != nil {
		d.t.Fatal(err)
	}
	state, versions := map[string]map[string]any{}, 0
	for past, err := range s.Now().AsStored().Find("Account").Versions(d.t.Context(), 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		v := past.Version
		if v.Commit == migration {
			continue
		}
		if v.Commit > migration && v.Live() {
			d.t.Errorf("%s was written after the migration: %s", v.Key, v.Fields)
		}
		a, acknowledged := d.ledger[v.Commit][v.Key]
		if !acknowledged {
			d.t.Errorf("%s of commit %d was acknowledged to no program", v.Key, v.Commit)
		}
		versions++
		if state[v.Key] = a.after(state[v.Key]); v.Live() && string(v.Fields) != text(d.t, state[v.Key]) {
			d.t.Errorf("%s of commit %d: got %s, want %v", v.Key, v.Commit, v.Fields, state[v.Key])
		}
	}
	acknowledged := 0
	for _, acks := range d.ledger {
		acknowledged += len(acks)
	}
	if versions != acknowledged {
		d.t.Errorf("got %d versions, want %d", versions, acknowledged)
	}
}
