package effort

import (
	"flag"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Check tries a property on random cases, full of them in all: first those of the seeds that
// failed once, at every level, then others. A case that fails is made as small as possible
// and printed with the flag -rapid.seed that repeats it.
func Check(t testing.TB, full int, property func(*rapid.T), failed ...uint64) {
	t.Helper()
	n := planned(t).count(full)
	repeat(t, failed, property)
	check(t, sequence(t, 0), n, property)
}

// CheckUntil is Check for properties that count what they did: it ends when enough reports
// true.
func CheckUntil(t testing.TB, enough func() bool, property func(*rapid.T), failed ...uint64) {
	t.Helper()
	planned(t)
	repeat(t, failed, property)
	for i := uint64(0); !enough(); i++ {
		check(t, sequence(t, i), 1, property)
	}
}

// repeat tries the cases of seeds that failed once.
func repeat(t testing.TB, failed []uint64, property func(*rapid.T)) {
	t.Helper()
	for _, seed := range failed {
		check(t, seed, 1, property)
	}
}

// sequence is the seed of the i-th check of a test.
func sequence(t testing.TB, i uint64) uint64 {
	if given := asked(); given != 0 {
		return given + i
	}
	return max(1, mix(named(t)^mix(present().seed))+i) // 0 would be another one each time
}

// asked is the seed that the flag -rapid.seed gives; 0 for none.
var asked = sync.OnceValue(func() uint64 {
	seed, _ := strconv.ParseUint(flag.Lookup("rapid.seed").Value.String(), 0, 64)
	return seed
})

// flags guards the flags of rapid, which are the only way to give it a seed and a number.
// Tests that run at once take turns until each has begun, when it has read them.
var flags sync.Mutex

func check(t testing.TB, seed uint64, n int, property func(*rapid.T)) {
	t.Helper()
	asked() // before the flag is set
	flags.Lock()
	var began sync.Once
	begin := func() { began.Do(flags.Unlock) }
	defer begin()
	for name, value := range map[string]string{"rapid.seed": strconv.FormatUint(seed, 10), "rapid.checks": strconv.Itoa(n)} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		begin()
		property(rt)
	})
}
