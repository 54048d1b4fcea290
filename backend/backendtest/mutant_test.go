package backendtest_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/filter/filtertest"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

// mutant is the reference with one mistake planted in it.
type mutant struct {
	name   string
	caught string // the parts of the suite, or stories, that must each detect it; corpus is that of filters
	plant  planting
}

// planting puts a mistake into a target.
type planting = func(backendtest.Target) backendtest.Target

// What is run without a mistake: the reference, and what mistakes with its bus and its work
// are planted in.
const (
	soundName = "no mistake"
	soundBus  = "no mistake with the bus"
	soundWork = "no mistake with work"
)

// TestMutants runs the suite against each mutant, in a child process since it has to
// fail there. A plain run tries one part of the suite for one mistake of ten.
func TestMutants(t *testing.T) {
	list := slices.Concat(mutants(), queryMutants(), endMutants(), searchMutants(), aggregateMutants(), admitMutants(), evolveMutants(), leaseMutants(), busMutants(), rideMutants(),
		workMutants(), factMutants(), archiveMutants())
	if args, ok := child.Args(); ok {
		target := reference()
		if i := slices.IndexFunc(list, func(m mutant) bool { return m.name == args[0] }); i >= 0 {
			target = list[i].plant(target)
		}
		if args[0] == soundBus {
			target = onBus(func(*postman) {})(target)
		}
		if args[0] == soundWork {
			target = onWork(func(*foreman) {})(target)
		}
		backendtest.Run(t, target)
		t.Run("corpus", func(t *testing.T) { filtertest.Run(t, openIn(target)) })
		return
	}
	runs, tried := 0, 0
	for _, m := range list {
		for _, part := range strings.Fields(m.caught) {
			runs++
			if !effort.Includes(t, runs) {
				continue
			}
			tried++
			t.Run(m.name+"/"+part, func(t *testing.T) {
				t.Parallel()
				out, err := runChild(m.name, part)
				if err == nil {
					t.Errorf("the %s passed, want a failure", part)
				}
				if !strings.Contains(out, "--- FAIL: TestMutants") || strings.Contains(out, "panic: ") {
					t.Errorf("got %v and this, want an ordinary failure:\n%s", err, out)
				}
				t.Logf("caught by %s", firstFailure(out))
			})
		}
	}
	t.Logf("%d mutants, %d of %d runs", len(list), tried, runs)
}

// firstFailure names the innermost test that failed first.
func firstFailure(out string) string {
	name := "nothing"
	for line := range strings.Lines(out) {
		if _, after, ok := strings.Cut(line, "--- FAIL: TestMutants/"); ok && (name == "nothing" || strings.HasPrefix(after, name)) {
			name, _, _ = strings.Cut(after, " (")
		}
	}
	return name
}

// openIn makes stores of a target, as package filtertest wants them.
func openIn(target backendtest.Target) filtertest.Open {
	return func(t testing.TB, dir string) backend.Backend {
		return target.Open(t, &backendtest.Place{Dir: dir, Name: dir, Now: time.Now})
	}
}

// TestReference runs what the mutants are made of, without a mistake.
func TestReference(t *testing.T) {
	for name, parts := range map[string]string{
		soundName: "(stories|handles|cancel|concurrency|optional|bus|traffic|work|workload|archive|copies|faults|corpus)",
		soundBus:  "(bus|traffic)",
		soundWork: "(work|workload)",
	} {
		if out, err := runChild(name, parts); err != nil {
			t.Errorf("%s: got %v, want no failure:\n%s", name, err, out)
		}
	}
}

// runChild runs one part of the suite, or one story of it, against a mutant and returns what it printed.
func runChild(name, part string) (string, error) {
	cmd := child.Test("^TestMutants$/^"+part+"$", name)
	cmd.Env = append(cmd.Env, "GOGC=400") // it is over soon
	level := ""                           // a plain run, whatever this one is
	if part == "histories" || part == "copies" {
		level = "all"
	}
	cmd.Env = append(cmd.Env, effort.LevelVariable+"="+level, effort.SeedVariable+"=")
	cmd.Args = append(cmd.Args, "-test.failfast", "-test.timeout=60s", "-rapid.nofailfile", "-rapid.shrinktime=0s")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// reference returns package memory as a target whose appends can be made to fail.
func reference() backendtest.Target {
	var stores sync.Map // from the name of a place to its *memory.Store
	return backendtest.Target{
		Open: func(_ testing.TB, p *backendtest.Place) backend.Backend {
			s, _ := stores.LoadOrStore(p.Name, memory.New(&memory.Options{Now: p.Now, LockTimeout: p.LockTimeout, MigrationWait: p.MigrationWait}))
			if p.Target {
				return &faulty{archived: archived{s.(*memory.Store).OpenTarget()}}
			}
			return &faulty{archived: archived{s.(*memory.Store).Open()}}
		},
		Points: []string{"before"},
		Fault: func(_ testing.TB, b backend.Backend, _ string, err error) {
			f, _ := backend.As[*faulty](b)
			f.err = err
		},
	}
}

// wrapped plants a mistake by putting something around each handle.
func wrapped(wrap func(b backend.Backend, p *backendtest.Place) backend.Backend) planting {
	return func(t backendtest.Target) backendtest.Target {
		open := t.Open
		t.Open = func(tb testing.TB, p *backendtest.Place) backend.Backend { return wrap(open(tb, p), p) }
		return t
	}
}

// around is wrapped for what needs only the handle.
func around[T backend.Backend](wrap func(b backend.Backend) T) planting {
	return wrapped(func(b backend.Backend, _ *backendtest.Place) backend.Backend { return wrap(b) })
}

// mutants lists the mistakes.
func mutants() []mutant {
	return []mutant{
		{"as of is off by one", "stories histories", around(func(b backend.Backend) asOfLate { return asOfLate{b} })},
		{"a delete is lost", "stories histories", around(func(b backend.Backend) lostDelete { return lostDelete{b} })},
		{"lives begin with the first version", "stories histories", around(func(b backend.Backend) eternal { return eternal{b} })},
		{"lives never end", "stories histories", around(func(b backend.Backend) undying { return undying{b} })},
		{"certain commits are all commits", "stories histories", around(func(b backend.Backend) anyCommits { return anyCommits{b} })},
		{"history hides deletes", "stories histories", around(func(b backend.Backend) hiddenDelete { return hiddenDelete{b} })},
		{"what is deleted stays in the state", "stories histories", around(func(b backend.Backend) undead { return undead{b} })},
		{"unchanged writes make versions", "stories histories", around(newRestless)},
		{"expectations of the head are ignored", "stories histories handles", around(func(b backend.Backend) deafToHead { return deafToHead{b} })},
		{"expectations of versions are ignored", "stories histories handles concurrency", around(func(b backend.Backend) deafToVersions { return deafToVersions{b} })},
		{"stamps are ignored", "stories histories handles", around(func(b backend.Backend) stampless { return stampless{b} })},
		{"idempotency keys are not kept", "stories histories concurrency", around(func(b backend.Backend) keyless { return keyless{b} })},
		{"idempotency keys are known to their handle only", "stories histories handles", around(newForgetful)},
		{"a used key fits every draft", "stories histories", around(func(b backend.Backend) gullible { return gullible{b} })},
		{"an unchanged draft uses up its key", "stories histories", around(newGreedy)},
		{"an unchanged draft holds nowhere", "stories histories", around(func(b backend.Backend) nowhere { return nowhere{b} })},
		{"a repeated draft holds at the head", "stories histories", around(func(b backend.Backend) lateRepeat { return lateRepeat{b} })},
		{"ids have gaps", "stories histories", around(func(b backend.Backend) *wasteful { return &wasteful{Backend: b} })},
		{"pages start with the last row of the page before", "stories histories", around(func(b backend.Backend) inclusive { return inclusive{b} })},
		{"pages are one row too long", "stories histories", around(func(b backend.Backend) generous { return generous{b} })},
		{"state is in order of time", "stories histories", around(func(b backend.Backend) shuffled { return shuffled{b, byCommit} })},
		{"state is in order of letters", "stories histories", around(func(b backend.Backend) shuffled { return shuffled{b, byLetter} })},
		{"history is in order of identity", "stories histories", around(func(b backend.Backend) scattered { return scattered{b} })},
		{"the newest commits are the oldest", "stories histories", around(func(b backend.Backend) backward { return backward{b} })},
		{"a time means before it", "stories histories", around(func(b backend.Backend) early { return early{b} })},
		{"of equal times the first counts", "stories histories", around(func(b backend.Backend) hasty { return hasty{b} })},
		{"times go back with the clock", "stories histories", wrapped(newUnsteady)},
		{"a clock that cannot be right is believed", "stories", credulous},
		{"diff shows what is the same again", "stories histories", around(func(b backend.Backend) restating { return restating{b} })},
		{"diff does not show the delete", "stories histories", around(func(b backend.Backend) reticent { return reticent{b} })},
		{"metadata loses its integers", "stories", around(func(b backend.Backend) imprecise { return imprecise{b} })},
		{"answers are shared", "stories", around(newShared)},
		{"a failed stream leaves its beginning", "stories histories cancel", around(func(b backend.Backend) halfStream { return halfStream{b} })},
		{"a registration is done in part", "stories histories", around(func(b backend.Backend) piecemeal { return piecemeal{b} })},
		{"a scan sees later writes", "stories handles", around(func(b backend.Backend) restive { return restive{b} })},
		{"a commit is seen before it is whole", "handles concurrency", around(func(b backend.Backend) *torn { return &torn{Backend: b} })},
		{"a handle remembers its head", "handles histories", around(func(b backend.Backend) *stale { return &stale{Backend: b} })},
		{"cancelling is ignored", "cancel histories", around(func(b backend.Backend) stubborn { return stubborn{b} })},
		{"a scan goes on when it is cancelled", "cancel", around(func(b backend.Backend) deaf { return deaf{b} })},
		{"a stopped scan leaves a goroutine", "stories", around(func(b backend.Backend) leaky { return leaky{b} })},
		{"a closed handle answers", "stories", around(func(b backend.Backend) open { return open{b} })},
		{"closing loses the data", "stories histories", amnesic},
		{"a failed append is there", "faults", around(func(b backend.Backend) *faulty { return &faulty{archived: archived{b}, late: true} })},
	}
}
