package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/effort"
)

// step is a part of a run.
type step struct {
	name, about string
	share       time.Duration // that it may take on two quiet cores; more gives a warning
	onlyAll     bool          // left out unless everything is done
	run         func(*runner) error
}

// steps is what there is to run, in order: what is quick and likely to fail comes first.
// The tests of package effort are the steps between the race detector and what the
// commands of the README do.
func steps() []step {
	list := []step{
		{"format", "gofmt", 5 * time.Second, false, (*runner).format},
		{"vet", "go vet", 45 * time.Second, false, func(r *runner) error { return r.command(nil, "go", "vet", "./...") }},
		{"tidy", "go mod tidy leaves no difference, in every module", 15 * time.Second, false, (*runner).tidy},
		{"staticcheck", "staticcheck, with all of its default checks", time.Minute, false, (*runner).staticcheck},
		{"changed", "the tests of the packages that the change touches", 2 * time.Minute, false, (*runner).changed},
		{"test", "the README's test command, with an S3 server and stock clients", 5 * time.Minute, false, (*runner).test},
		{"race", "the race detector, on the packages that start goroutines", 5 * time.Minute, false, (*runner).race},
	}
	for _, s := range effort.Steps() {
		list = append(list, step{s.Name, s.About, s.Share, false, func(r *runner) error { return r.long(s) }})
	}
	return append(list,
		step{"arrow", "arrow-go reads the data files of the contract", 20 * time.Second, false, (*runner).arrow},
		step{"fuzz", "every fuzz target, for ten seconds", 10 * time.Minute, true, (*runner).fuzz},
		step{"demo", "the README's main command", 10 * time.Second, false, func(r *runner) error {
			return r.command(nil, "go", "run", "./cmd/onto", "demo", "--db", filepath.Join(r.scratch, "demo.db"))
		}},
	)
}

func (r *runner) format() error {
	files, err := r.output("gofmt", "-l", ".")
	if err == nil && files != "" {
		err = fmt.Errorf("not formatted:\n%s", files)
	}
	return err
}

// modules is the directories with a go.mod.
func modules() ([]string, error) {
	tools, err := filepath.Glob("tools/*/go.mod")
	list := []string{"."}
	for _, file := range tools {
		list = append(list, filepath.Dir(file))
	}
	return list, err
}

func (r *runner) tidy() error {
	list, err := modules()
	for _, dir := range list {
		if err := r.command(nil, "go", "-C", dir, "mod", "tidy", "-diff"); err != nil {
			return err
		}
	}
	return err
}

func (r *runner) staticcheck() error {
	return r.command(nil, "go", "tool", "-modfile=tools/staticcheck/go.mod", "staticcheck", "./...")
}

// required is what the tests use if it is there, and fail without here.
const required = "ONTO_REQUIRE=sqlite3,versitygw,awscli,jq,python3,ptrace,tmpfs"

// environment is the variables of tests that use an S3 server, which is built.
func (r *runner) environment() ([]string, error) {
	if r.gateway == "" {
		path, err := r.output("go", "tool", "-n", "-modfile=tools/versitygw/go.mod", "versitygw")
		if err != nil {
			return nil, err
		}
		r.gateway = path
	}
	return []string{required, "ONTO_VERSITYGW=" + r.gateway}, nil
}

// changed tests what has changed. The step after it takes these results from the cache.
func (r *runner) changed() error {
	files, err := r.changedFiles()
	if err != nil {
		return err
	}
	list, err := packagesOf(os.DirFS("."), files)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(r.out, "no package has changed")
		return nil
	}
	env, err := r.environment()
	if err != nil {
		return err
	}
	return r.command(env, "go", slices.Concat([]string{"test", "-timeout", "30m"}, list)...)
}

func (r *runner) test() error {
	env, err := r.environment()
	if err != nil {
		return err
	}
	return r.command(env, "go", "test", "-timeout", "30m", "./...")
}

// race examines the packages with goroutines. Of the long tests it does a fortieth: what
// counts is which code runs at once, and not how often.
func (r *runner) race() error {
	env, err := r.environment()
	if err != nil {
		return err
	}
	env = append(env, fmt.Sprintf("%s=%d/40", effort.LevelVariable, r.part), effort.SeedVariable+"="+r.seed)
	args := []string{"test", "-race", "-timeout", "30m", "-skip", raceSkips()}
	return r.command(env, "go", append(args, racePackages()...)...)
}

// keepLakes has the tests of lakes and of their codec keep data files for the step arrow.
func (r *runner) keepLakes() string { return "TEST_KEEP_LAKES=" + filepath.Join(r.scratch, "lakes") }

// arrow reads the data files that the contract has left, with arrow-go. The reader is tested
// first: it has to notice damage.
func (r *runner) arrow() error {
	tests := "^TestFilesForOthers$"
	if _, err := os.Stat(filepath.Join(r.scratch, "lakes")); err != nil {
		tests = "^(TestFilesForOthers|TestContractOnFiles)$" // the contract was no step of this run
	}
	for _, args := range [][]string{
		{"-C", "tools/arrowread", "vet", "./..."},
		{"-C", "tools/arrowread", "test", "./..."},
		{"test", "-count=1", "-timeout", "30m", "-run", tests, "./backend/lake/laketest", "./backend/lake/parquet"},
		{"-C", "tools/arrowread", "run", ".", filepath.Join(r.scratch, "lakes")},
	} {
		if err := r.command([]string{r.keepLakes()}, "go", args...); err != nil {
			return err
		}
	}
	return nil
}

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

func (r *runner) fuzz() error {
	files, err := r.output("git", "ls-files", "*_test.go")
	if err != nil {
		return err
	}
	for _, file := range strings.Fields(files) {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range fuzzTarget.FindAllSubmatch(text, -1) {
			args := []string{"test", "-run", "^$", "-fuzz", "^" + string(m[1]) + "$", "-fuzztime", "10s", "-fuzzminimizetime", "20x", "./" + filepath.Dir(file)}
			if err := r.command(nil, "go", args...); err != nil {
				return err
			}
		}
	}
	return nil
}
