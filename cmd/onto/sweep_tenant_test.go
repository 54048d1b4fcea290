//go:build linux && amd64

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/iofault"
)

// tenantSweep runs a verb about tenants with faults, each time on a copy of a directory.
type tenantSweep struct {
	template string
	args     []string
	reads    bool // it must change no store
}

// Whatever goes wrong while the shards of a tenant are made or migrated, each stays whole and
// the same verb completes what was begun. Verbs that read change nothing.
func TestFaultSweepOfTenants(t *testing.T) {
	iofault.Need(t)
	t.Parallel()
	empty := t.TempDir()
	for name, text := range map[string]string{
		"vaults.yaml": "chat: {acme: [sqlite:///a-1.db, sqlite:///a-2.db]}", "v1.yaml": sweepTypes, "v2.yaml": sweepTypes + "      size: {type: int, default: 1}\n",
	} {
		if err := os.WriteFile(filepath.Join(empty, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := &tenantSweep{template: empty, args: []string{"init", "--schema", "v1.yaml"}}
	filled := made.copy(t)
	made.must(t, filled, made.args...)
	for _, db := range []string{"a-1.db", "a-2.db"} {
		must(t, "", "put", "Thing", `{"id":"`+db+`","name":"x","n":1}`, "--db", filepath.Join(filled, db))
	}
	for _, s := range []*tenantSweep{
		made,
		{template: filled, args: []string{"migrate", "--schema", "v2.yaml", "--apply", "--force"}},
		{template: filled, args: []string{"query", "entities", "Thing", "--order-by", "$.n"}, reads: true},
		{template: filled, args: []string{"shard", "status", "--stats"}, reads: true},
	} {
		t.Run(s.args[0], func(t *testing.T) {
			t.Parallel()
			s.run(t)
		})
	}
}

func (s *tenantSweep) copy(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "case"), os.DirFS(s.template))
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "case")
}

// start runs a verb in a directory with a plan, and returns what it printed.
func (s *tenantSweep) start(t *testing.T, dir string, plan iofault.Plan, args ...string) (*iofault.Outcome, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.Command("onto", append(args, "--vaults", "vaults.yaml")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), "HOME="+dir, "ONTO_LEASE_TTL_MS=200")
	plan.Below = dir
	o, err := iofault.Run(ctx, cmd, plan)
	if err != nil {
		t.Fatal(err)
	}
	return o, out.String()
}

// must runs a verb that has to succeed.
func (s *tenantSweep) must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	o, out := s.start(t, dir, iofault.Plan{}, args...)
	if status, exited := o.Exited(); !exited || status != session.ExitOK {
		t.Fatalf("onto %v ended with status %d: %s", args, status, out)
	}
	return out
}

func (s *tenantSweep) run(t *testing.T) {
	dir := s.copy(t)
	counted, _ := s.start(t, dir, iofault.Plan{}, s.args...)
	random, tries := effort.Rand(t), 0
	for _, i := range random.Perm(len(iofault.Faults())) {
		fault, n := iofault.Faults()[i], 0
		for _, c := range counted.Calls {
			if fault.Fits(c.Effect) {
				n++
			}
		}
		for range 12 {
			if n == 0 || tries == 3 && !effort.Thorough(t) {
				break
			}
			tries++
			s.try(t, iofault.Plan{Call: 1 + random.IntN(n), Fault: fault})
		}
	}
	if tries == 0 {
		t.Error("no fault was tried")
	}
}

// try runs the verb with one fault and checks what is left.
func (s *tenantSweep) try(t *testing.T, plan iofault.Plan) {
	t.Helper()
	dir := s.copy(t)
	before := s.stores(t, dir)
	o, out := s.start(t, dir, plan, s.args...)
	status, exited := o.Exited()
	if !exited && plan.Fault != iofault.Kill || strings.Contains(out, "panic:") {
		t.Errorf("%v, %v at call %d: it ended by %v: %s", s.args, plan.Fault, plan.Call, o.Status.Signal(), out)
	}
	if s.reads {
		if after := s.stores(t, dir); after != before {
			t.Errorf("%v, %v at call %d: a store was changed: %s", s.args, plan.Fault, plan.Call, out)
		}
		return
	}
	if exited && status == session.ExitOK {
		s.must(t, dir, "shard", "status")
	}
	s.must(t, dir, s.args...)
	if again := s.must(t, dir, s.args...); strings.Contains(again, "made ") || strings.Contains(again, "commit ") {
		t.Errorf("%v, %v at call %d: it does something the third time: %s", s.args, plan.Fault, plan.Call, again)
	}
	s.must(t, dir, "shard", "status")
	s.must(t, dir, "doctor")
}

// stores is what the files of the stores hold.
func (s *tenantSweep) stores(t *testing.T, dir string) string {
	t.Helper()
	all := ""
	for _, name := range []string{"a-1.db", "a-2.db"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}
