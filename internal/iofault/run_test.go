//go:build linux && amd64

package iofault_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto/internal/iofault"
)

// shell runs a script in a directory of its own, with a plan for that directory.
func shell(t *testing.T, script string, plan iofault.Plan) (*iofault.Outcome, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	plan.Below = dir
	o, err := iofault.Run(t.Context(), cmd, plan)
	if err != nil {
		t.Fatal(err)
	}
	return o, dir
}

func names(calls []iofault.Call) []string {
	var list []string
	for _, c := range calls {
		list = append(list, c.Name+" "+filepath.Base(c.Path))
	}
	return list
}

func TestCallsAreCounted(t *testing.T) {
	o, _ := shell(t, `echo one > a; mkdir d; mv a d/b; rm d/b; echo else > /dev/null`, iofault.Plan{})
	got := names(o.Calls)
	for _, want := range []string{"openat a", "write a", "mkdir d", "unlinkat b"} {
		if !slices.Contains(got, want) {
			t.Errorf("got %q, want %q among them", got, want)
		}
	}
	if status, ok := o.Exited(); !ok || status != 0 {
		t.Errorf("got status %v", o.Status)
	}
	if strings.Contains(strings.Join(got, ","), "null") {
		t.Errorf("got %q, want calls on files of the directory alone", got)
	}
}

func TestFaults(t *testing.T) {
	const script = `echo first > a; echo second >> a || exit 9; echo third >> b || exit 9`
	for _, c := range []struct {
		plan   iofault.Plan
		status int
		signal syscall.Signal
		a, b   string
	}{
		{iofault.Plan{}, 0, 0, "first\nsecond\n", "third\n"},
		{iofault.Plan{Call: 4, Fault: iofault.EIO}, 9, 0, "first\n", ""}, // open, write, open, write
		{iofault.Plan{Call: 3, Fault: iofault.ENOSPC}, 9, 0, "first\n", ""},
		{iofault.Plan{Call: 2, Fault: iofault.Short}, 9, 0, "first\nsec", ""}, // the rest finds no room
		{iofault.Plan{Call: 1, Fault: iofault.ENOSPCFrom, Effects: []iofault.Effect{iofault.Writes}}, 9, 0, "", ""},
		{iofault.Plan{Call: 1, Fault: iofault.EDQUOTFrom, Effects: []iofault.Effect{iofault.Writes}, Suffix: "/b"}, 9, 0, "first\nsecond\n", ""},
		{iofault.Plan{Call: 2, Fault: iofault.EFBIGFrom, Suffix: "/a"}, 9, 0, "", ""},
		{iofault.Plan{Call: 4, Fault: iofault.Kill}, -1, syscall.SIGKILL, "first\n", ""},
		{iofault.Plan{Call: 99, Fault: iofault.Kill}, 0, 0, "first\nsecond\n", "third\n"},
	} {
		t.Run(c.plan.Fault.String(), func(t *testing.T) {
			o, dir := shell(t, script, c.plan)
			if status, _ := o.Exited(); status != c.status || o.Status.Signaled() && o.Status.Signal() != c.signal {
				t.Errorf("got status %d, %v, want %d, %v", status, o.Status.Signal(), c.status, c.signal)
			}
			if want := c.plan.Call > 0 && c.plan.Call < 99; o.Reached != want {
				t.Errorf("reached: got %v, want %v", o.Reached, want)
			}
			a, _ := os.ReadFile(filepath.Join(dir, "a"))
			b, _ := os.ReadFile(filepath.Join(dir, "b"))
			if string(a) != c.a || string(b) != c.b {
				t.Errorf("got a %q, b %q, want %q and %q; calls %q", a, b, c.a, c.b, names(o.Calls))
			}
		})
	}
}
