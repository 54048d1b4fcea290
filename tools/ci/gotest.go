package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ontologia/onto/internal/effort"
)

const module = "github.com/ontologia/onto"

// event is a line that go test -json prints.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// counts is the lines of passing tests that are printed: those with the numbers of what
// was tried.
var counts = regexp.MustCompile(`\.go:\d+: .*\d (kills|histories|migrations|questions|processes|faults|outcomes|calls|flipped|mutants|mistakes|ticks|seeds|runs|years|programs)`)

// long does a step of the long tests, and fails unless every one of them passes: a test that
// is skipped, or is not there, was left out. Packages are tested side by side.
func (r *runner) long(s effort.Step) error {
	env, err := r.environment()
	if err != nil {
		return err
	}
	args := []string{"test", "-json", "-count=1", "-timeout", "80m", "-run", "^(" + strings.Join(testNames(s), "|") + ")$"}
	if s.Skip != "" {
		args = append(args, "-skip", s.Skip)
	}
	for _, folder := range slices.Sorted(maps.Keys(s.Tests)) {
		args = append(args, "./"+folder)
	}
	cmd := exec.CommandContext(r.ctx, "go", args...)
	cmd.Env = slices.Concat(os.Environ(), env, []string{effort.LevelVariable + "=" + r.level, effort.SeedVariable + "=" + r.seed, r.keepLakes()})
	cmd.Stderr = r.out
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	passed, err := r.report(stdout)
	if err := errors.Join(err, named(cmd, cmd.Wait())); err != nil {
		return err
	}
	for folder, tests := range s.Tests {
		for _, name := range tests {
			if !passed[path.Join(module, folder)+" "+name] {
				return fmt.Errorf("%s of ./%s was left out", name, folder)
			}
		}
	}
	return nil
}

// testNames is the names of the tests of a step, each once.
func testNames(s effort.Step) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(s.Tests))...))))
}

// report prints what tests did: counts of those that pass, everything of those that do not.
// It returns those that passed, as "package test".
func (r *runner) report(events io.Reader) (map[string]bool, error) {
	passed, output := map[string]bool{}, map[string][]string{}
	decoder := json.NewDecoder(events)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return passed, nil
		} else if err != nil {
			return nil, fmt.Errorf("the output of go test: %w", err)
		}
		id := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if e.Test == "" {
				fmt.Fprint(r.out, e.Output)
				continue
			}
			output[id] = append(output[id], e.Output)
		case "pass", "fail", "skip":
			passed[id] = e.Action == "pass"
			for _, line := range output[id] {
				if e.Action == "fail" || counts.MatchString(line) && !strings.Contains(line, "[rapid]") {
					fmt.Fprint(r.out, line)
				}
			}
			delete(output, id)
		}
	}
}
