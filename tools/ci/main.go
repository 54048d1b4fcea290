// Command ci runs everything that must hold before a change lands, step by step. It is
// called by .ci/run, which installs what the tests can use.
//
//	.ci/run                  all steps, a quarter of the long tests
//	.ci/run --all            all steps, all of the long tests
//	.ci/run --list           what steps there are, and what they are for
//	.ci/run contract race    some steps
//
// Which quarter is told by the number of commits, and the seed of random cases by the newest
// commit. Both are printed; TEST_EFFORT and TEST_SEED, if set, are used instead.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/effort"
)

// parts is how many runs in a row try all of the long tests.
const parts = 4

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Println("ci:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("ci", flag.ContinueOnError)
	all := flags.Bool("all", false, "do all of the long tests")
	list := flags.Bool("list", false, "list the steps")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(steps(), flags.Args(), *all)
	if err != nil {
		return err
	}
	if *list {
		for _, s := range steps() {
			fmt.Fprintf(out, "%-12s %5s  %s\n", s.name, s.share, s.about)
		}
		return nil
	}
	r, err := newRunner(ctx, out, *all)
	if err != nil {
		return err
	}
	defer r.close()
	return r.runAll(chosen)
}

// choose returns the steps of these names, or those of a whole run.
func choose(table []step, names []string, all bool) ([]step, error) {
	var chosen []step
	for _, s := range table {
		if len(names) == 0 && (all || !s.onlyAll) || slices.Contains(names, s.name) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(table, func(s step) bool { return s.name == name }) {
			return nil, fmt.Errorf("there is no step %q; see .ci/run --list", name)
		}
	}
	return chosen, nil
}

// runner runs steps.
type runner struct {
	ctx     context.Context
	out     io.Writer
	scratch string // a directory of its own
	part    int    // of the long tests
	level   string // the effort of the long tests
	seed    string // of the long tests
	gateway string // the S3 server, once it is built
}

func newRunner(ctx context.Context, out io.Writer, all bool) (*runner, error) {
	r := &runner{ctx: ctx, out: out}
	commits, err := r.output("git", "rev-list", "--count", "HEAD")
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(commits)
	if err != nil {
		return nil, err
	}
	r.part = n % parts
	head, err := r.output("git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(head[:15], 16, 64)
	if err != nil {
		return nil, err
	}
	level := fmt.Sprintf("%d/%d", r.part, parts)
	if all {
		level = "all"
	}
	r.level = cmp.Or(os.Getenv(effort.LevelVariable), level)
	r.seed = cmp.Or(os.Getenv(effort.SeedVariable), strconv.FormatUint(seed, 10))
	// The README's command has to be that of everybody else.
	for _, name := range []string{effort.LevelVariable, effort.SeedVariable} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	r.scratch, err = os.MkdirTemp("", "onto-ci")
	return r, err
}

func (r *runner) close() { _ = os.RemoveAll(r.scratch) }

// runAll runs steps one after the other until one fails, and prints how long each took.
func (r *runner) runAll(list []step) error {
	fmt.Fprintf(r.out, "the long tests: %s=%s %s=%s\n", effort.LevelVariable, r.level, effort.SeedVariable, r.seed)
	type timing struct {
		step
		took time.Duration
	}
	var timings []timing
	var failure error
	began := time.Now()
	for _, s := range list {
		fmt.Fprintf(r.out, "\n== %s: %s\n", s.name, s.about)
		start := time.Now()
		err := s.run(r)
		took := time.Since(start).Round(time.Second / 10)
		timings = append(timings, timing{s, took})
		if err != nil {
			failure = fmt.Errorf("step %s failed after %v: %w", s.name, took, err)
			break
		}
		fmt.Fprintf(r.out, "-- %s took %v of %v\n", s.name, took, s.share)
	}
	fmt.Fprintf(r.out, "\n%-12s %9s %9s\n", "step", "took", "share")
	for _, t := range timings {
		fmt.Fprintf(r.out, "%-12s %9v %9v\n", t.name, t.took, t.share)
	}
	fmt.Fprintf(r.out, "%-12s %9v\n", "in all", time.Since(began).Round(time.Second))
	if r.level != "all" {
		for _, t := range timings {
			if t.took > t.share {
				fmt.Fprintf(r.out, "WARNING: STEP %s TOOK %v, WHICH IS MORE THAN ITS SHARE OF %v. "+
					"If the machine was quiet, make its tests shorter, or save the time elsewhere and change the share.\n", strings.ToUpper(t.name), t.took, t.share)
			}
		}
	}
	return failure
}

// command runs a command of the repository, with further variables.
func (r *runner) command(env []string, name string, args ...string) error {
	cmd := exec.CommandContext(r.ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = r.out, r.out
	return named(cmd, cmd.Run())
}

// output returns what a command prints, without the last line break.
func (r *runner) output(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, name, args...)
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%s%s", err, text, exit.Stderr)
	}
	return strings.TrimSpace(string(text)), named(cmd, err)
}

// named puts the command before its error.
func named(cmd *exec.Cmd, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
}
