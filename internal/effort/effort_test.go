package effort

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		level, seed string
		want        level
	}{
		{"", "", level{0, 10, 0}}, {"all", "", level{0, 1, 0}}, {"0/4", "", level{0, 4, 0}}, {"3/4", "12", level{3, 4, 12}}, {"", "7", level{0, 10, 7}},
	} {
		if got, err := parse(c.level, c.seed); err != nil || got != c.want {
			t.Errorf("%q and seed %q: got %v and %v, want %v", c.level, c.seed, got, err, c.want)
		}
	}
	for _, c := range [][2]string{{"4/4", ""}, {"-1/4", ""}, {"most", ""}, {"1/", ""}, {"/", ""}, {"", "x"}, {"", "-1"}} {
		if l, err := parse(c[0], c[1]); err == nil {
			t.Errorf("%q and seed %q: got %v, want an error", c[0], c[1], l)
		}
	}
}

// The parts of a whole have every case of a list and every seed once.
func TestPartsAreTheWhole(t *testing.T) {
	for _, full := range []int{1, 3, 4, 10, 99, 100} {
		for parts := 1; parts <= 10; parts++ {
			var cases []int
			seeds := map[uint64]bool{}
			for part := range parts {
				l := level{part, parts, 0}
				for i := range full {
					if l.includes(i) {
						cases = append(cases, i)
					}
					if i < l.count(full) {
						seeds[l.first(full)+uint64(i)] = true
					}
				}
			}
			slices.Sort(cases)
			if len(slices.Compact(slices.Clone(cases))) != full || len(cases) != full {
				t.Errorf("%d parts of %d cases: got %v", parts, full, cases)
			}
			for i := range full {
				if !seeds[uint64(i)] {
					t.Errorf("%d parts of %d seeds lack %d", parts, full, i)
				}
			}
		}
	}
}

// Tests that run at once have seeds of their own, and the same ones each time.
func TestCheckIsDeterministic(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	var runs [2][4][]int
	for run := range runs {
		t.Run("all", func(t *testing.T) {
			for i, name := range names {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					check(t, sequence(t, 0), 20, func(rt *rapid.T) { runs[run][i] = append(runs[run][i], rapid.Int().Draw(rt, "n")) })
				})
			}
		})
	}
	for i := range names {
		first, again := runs[0][i], runs[1][i]
		if len(first) != 20 {
			t.Errorf("got %d cases, want 20", len(first))
		}
		// The second group is called all#01, so that its seeds are others.
		if slices.Equal(first, again) || slices.Equal(first, runs[0][(i+1)%4]) {
			t.Errorf("tests of different names have the same cases %v", first)
		}
	}
	var same [2][]int
	for i := range same {
		check(t, sequence(t, 0), 20, func(rt *rapid.T) { same[i] = append(same[i], rapid.Int().Draw(rt, "n")) })
	}
	if !slices.Equal(same[0], same[1]) {
		t.Errorf("one seed gives\n%v and\n%v", same[0], same[1])
	}
}

// Each test of the table exists, and is in one step.
func TestSteps(t *testing.T) {
	seen := map[string]string{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, s := range Steps() {
		for folder, tests := range s.Tests {
			files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			has := map[string]bool{}
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
					has[m[1]] = true
				}
			}
			for _, name := range tests {
				if !has[name] {
					t.Errorf("step %s: ./%s has no %s", s.Name, folder, name)
				}
				if other := seen[folder+name]; other != "" {
					t.Errorf("%s of ./%s is in the steps %s and %s", name, folder, other, s.Name)
				}
				seen[folder+name] = s.Name
			}
		}
	}
}

// A test that is in no step fails when it asks.
func TestUnknown(t *testing.T) {
	if os.Getenv("TEST_UNKNOWN") != "" {
		Count(t, 10)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestUnknown$")
	cmd.Env = append(os.Environ(), "TEST_UNKNOWN=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "TestUnknown of ./internal/effort asks how much to do but is in no step") {
		t.Errorf("got %v and:\n%s", err, out)
	}
}
