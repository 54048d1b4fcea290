// Package effort says how much the long tests do and which random cases they try, so that
// one setting is enough for all of them.
//
//	go test ./...                     a tenth, the same cases each time
//	TEST_EFFORT=2/4 go test ./bus     the third quarter
//	TEST_EFFORT=all go test ./bus     everything
//	TEST_SEED=7 go test ./bus         a tenth, other random cases
//
// A plain run is for every change, so it has to be short, and a failure of it has to come
// again on the next machine. A quarter is what .ci/run does: which one is told by the number
// of commits, and the seed by the newest of them, so that four runs in a row try everything
// once and no two try the same random cases.
//
// A test that asks how much to do must be in the table of [Steps]; otherwise it fails, since
// no run would ever do the rest of it.
package effort

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The variables that are read. They do not begin with ONTO_, since the command onto
// refuses what it does not know there.
const (
	LevelVariable = "TEST_EFFORT"
	SeedVariable  = "TEST_SEED"
)

// plain is how many times more there is to do than a plain run does.
const plain = 10

// level is how much is done: the share part of parts.
type level struct {
	part, parts int
	seed        uint64 // 0 for the fixed cases
}

// present is the level that the environment asks for.
var present = sync.OnceValue(func() level {
	l, err := parse(os.Getenv(LevelVariable), os.Getenv(SeedVariable))
	if err != nil {
		panic(err)
	}
	return l
})

func parse(text, seed string) (level, error) {
	l := level{0, plain, 0}
	switch part, parts, cut := strings.Cut(text, "/"); {
	case text == "":
	case text == "all":
		l.parts = 1
	case cut:
		var err, err2 error
		l.part, err = strconv.Atoi(part)
		l.parts, err2 = strconv.Atoi(parts)
		if err != nil || err2 != nil || l.part < 0 || l.part >= l.parts {
			return l, fmt.Errorf("%s=%s: want all, or a part such as 0/4 or 3/4", LevelVariable, text)
		}
	default:
		return l, fmt.Errorf("%s=%s: want all, or a part such as 0/4 or 3/4", LevelVariable, text)
	}
	if seed != "" {
		var err error
		if l.seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
			return l, fmt.Errorf("%s=%s: want a whole number", SeedVariable, seed)
		}
	}
	return l, nil
}

func (l level) count(full int) int  { return (full + l.parts - 1) / l.parts }
func (l level) includes(i int) bool { return i%l.parts == l.part }
func (l level) thorough() bool      { return l.parts < plain }
func (l level) first(full int) uint64 {
	if l.seed != 0 {
		return mix(l.seed)
	}
	return uint64(l.part * l.count(full))
}

// Count returns how many of full random cases, rounds or kills to do. It is at least 1.
func Count(t testing.TB, full int) int {
	t.Helper()
	return planned(t).count(full)
}

// Includes reports whether to try case number i of a list. Over all parts of a whole, each
// is tried once.
func Includes(t testing.TB, i int) bool {
	t.Helper()
	return planned(t).includes(i)
}

// Thorough reports whether more is done than in a plain run.
func Thorough(t testing.TB) bool {
	t.Helper()
	return planned(t).thorough()
}

// Seeds returns the seeds that a test tries, full of them in all: first those that failed
// once, at every level, then others.
func Seeds(t testing.TB, full int, failed ...uint64) iter.Seq[uint64] {
	t.Helper()
	l := planned(t)
	first, n := l.first(full), l.count(full)
	t.Logf("%d seeds from %d on", n, first)
	return func(yield func(uint64) bool) {
		for _, seed := range failed {
			if !yield(seed) {
				return
			}
		}
		for i := range n {
			if !yield(first + uint64(i)) {
				return
			}
		}
	}
}

// Rand returns random numbers for a test: those of its name and the seed of the run.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(named(t), planned(t).seed))
}

// named is a number that the name of a test stands for.
func named(t testing.TB) uint64 {
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	return h.Sum64()
}

// mix spreads the bits of a number, so that seeds of neighbouring numbers do not overlap.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// planned returns the level, and fails a test that is in no step.
func planned(t testing.TB) level {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if folder := folder(); !known(folder, name) {
		t.Fatalf("%s of ./%s asks how much to do but is in no step: add it to the table in internal/effort/steps.go", name, folder)
	}
	return present()
}

// folder is the package under test, from the root of the module.
var folder = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	path := strings.TrimSuffix(info.Path, ".test")
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(path, info.Main.Path), "/"), ".")
})

// known reports whether a test is in a step.
func known(folder, test string) bool {
	for _, s := range Steps() {
		for _, name := range s.Tests[folder] {
			if name == test {
				return true
			}
		}
	}
	return false
}
