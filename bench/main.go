// Command bench measures what must be fast, against what a careful developer
// would otherwise write by hand.
//
//	go run ./bench                     # everything, some minutes
//	go run ./bench -short              # smaller sizes, within two minutes
//	go run ./bench -only B1,B3         # by number, or by group: -only sqlite
//	go run ./bench -dir /mnt/disk      # where the database files go
//	go run ./bench -only B5 -cpuprofile cpu.out
//	go run ./bench -chart docs/growth.svg
//
// It prints a Markdown table and writes the same as JSON, with the spread of
// every ratio and a description of the machine. Progress goes to stderr. With
// -chart it measures nothing but how times grow with the log, draws that as SVG
// and prints the times behind it.
//
// # How to read it
//
// A ratio is speed against the control: 0.80x means that the subject does 80%
// of the control's work in the same time, 12x that it does twelve times as
// much. Where the row says slower or growth, the ratio is time against time.
// The goal is what we hold ourselves to; rows without one are there to be
// known. Absolute figures depend on the machine, above all on how long its
// disk takes to make a write durable; ratios hold better.
//
// # How it measures
//
// Subject and control take short turns, in one process and on one disk, and
// the order is swapped every time. Several turns of each make a round, each
// round gives one ratio, and the row shows the median. Both sides have the same
// driver, pragmas and bytes: WAL, synchronous=FULL, 64 MB of cache. What a
// control writes is made ready before its clock starts; what the subject writes
// is not, since turning structs into bytes is its work. Rounds of commits are
// long enough to hold checkpoints, so that these are paid for. Before scans are
// measured, the answers of both sides are compared; while they are, their number
// is. Both sides decode every answer into the same struct.
//
// On a machine that is busy with other things, -cpu measures the time that the
// processors work for this process instead of the time that passes. It suits
// B4 to B9, which read what is in memory, and not commits, which wait for the
// disk.
//
// In a CPU profile the label side tells the benchmark, and subject from control:
//
//	go tool pprof -tagfocus='side=B9 subject' cpu.out
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are what the flags say.
type settings struct {
	short, cpu                      bool
	only, dir, json, profile, chart string
}

func parseFlags() settings {
	var s settings
	flag.BoolVar(&s.short, "short", false, "smaller sizes, within two minutes")
	flag.BoolVar(&s.cpu, "cpu", false, "measure processor time; not for what waits for the disk")
	flag.StringVar(&s.only, "only", "", "numbers and groups to run, separated by commas")
	flag.StringVar(&s.dir, "dir", "", "where to put database files (default a temporary directory)")
	flag.StringVar(&s.json, "json", "bench.json", "where to write the results as JSON; empty writes none")
	flag.StringVar(&s.profile, "cpuprofile", "", "where to write a CPU profile")
	flag.StringVar(&s.chart, "chart", "", "measure how times grow, and where to draw that as SVG")
	flag.Parse()
	return s
}

func run() error {
	if os.Getenv(pingEnv) != "" && len(os.Args) == 3 {
		return pingProcess(os.Args[1], os.Args[2])
	}
	s := parseFlags()
	chosen, err := choose(benchmarks(), s.only)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(s.dir, "onto-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if s.profile != "" {
		stop, err := startProfile(s.profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	e := newEnv(work, s.short)
	e.cpu = s.cpu
	if s.chart != "" {
		return drawGrowth(e, s.chart)
	}
	return runTable(e, chosen, s.json)
}

// runTable runs benchmarks and reports them. Results from before a failure are printed
// all the same.
func runTable(e *env, chosen []benchmark, json string) error {
	rep, err := runAll(e, chosen)
	if json != "" && err == nil {
		err = rep.writeJSON(json)
	}
	rep.writeTable(os.Stdout)
	return err
}

func startProfile(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}

// benchmark is one numbered line of the list of goals. It may give several
// rows: those with goals, and others that are good to know.
type benchmark struct {
	ID, What, Group string
	Run             func(*env) []row
}

// benchmarks is all there are. Each topic has a file.
func benchmarks() []benchmark {
	var all []benchmark
	all = append(all, commitBenchmarks()...)
	all = append(all, ensureBenchmarks()...)
	all = append(all, getBenchmarks()...)
	all = append(all, scanBenchmarks()...)
	all = append(all, indexBenchmarks()...)
	all = append(all, growthBenchmarks()...)
	all = append(all, memoryBenchmarks()...)
	all = append(all, recordBenchmarks()...)
	all = append(all, busBenchmarks()...)
	all = append(all, workBenchmarks()...)
	all = append(all, factBenchmarks()...)
	all = append(all, foldBenchmarks()...)
	all = append(all, lakeBenchmarks()...)
	all = append(all, copyBenchmarks()...)
	all = append(all, objectBenchmarks()...)
	all = append(all, byHandBenchmarks()...)
	return all
}

// choose picks benchmarks by number or group.
func choose(all []benchmark, only string) ([]benchmark, error) {
	if only == "" {
		return all, nil
	}
	wanted := map[int]bool{}
	for word := range strings.SplitSeq(only, ",") {
		found := false
		for i, b := range all {
			if strings.EqualFold(word, b.ID) || strings.EqualFold(word, b.Group) {
				wanted[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no benchmark or group is named %q", word)
		}
	}
	var chosen []benchmark
	for i, b := range all {
		if wanted[i] {
			chosen = append(chosen, b)
		}
	}
	return chosen, nil
}

// runAll runs benchmarks one after the other. The first that fails ends it.
func runAll(e *env, chosen []benchmark) (*report, error) {
	rep := newReport(e)
	for _, b := range chosen {
		e.logf("%s %s", b.ID, b.What)
		e.running = b.ID
		rows, err := e.runOne(b)
		if err != nil {
			return rep, fmt.Errorf("%s: %w", b.ID, err)
		}
		for i := range rows {
			rows[i].ID, rows[i].Group = b.ID, b.Group
			e.logf("   %s", rows[i].line())
		}
		rep.Rows = append(rep.Rows, rows...)
	}
	return rep, nil
}
