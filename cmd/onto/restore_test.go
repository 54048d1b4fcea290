package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/iofault"
)

// From each sync of the WAL on, all fail while a backup replaces the store. If the
// outcome is unknown, the command says where the copy of the old store is, and how to
// go back.
func TestRestoreOnAFailingDisk(t *testing.T) {
	t.Parallel()
	iofault.Need(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path, backup := newStore(t, dir, 3), filepath.Join(dir, "backup.db")
	must(t, "", "backup", backup, "--db", path)
	must(t, `{"id":"late"}`, "put", "Thing", "-", "--db", path)
	kept := path + ".before-restore-2"

	seen := map[int]int{}
	for after := 0; seen[session.ExitOK] == 0; after++ {
		cmd := exec.Command("onto", "restore", backup, "--apply", "--db", path)
		said, err := os.Create(filepath.Join(dir, "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = said
		o, err := iofault.Run(t.Context(), cmd, iofault.Plan{
			Below: dir, Suffix: "things.db-wal", Effects: []iofault.Effect{iofault.Syncs}, Call: after + 1, Fault: iofault.EIOFrom,
		})
		said.Close()
		if err != nil {
			t.Fatal(err)
		}
		stderr, err := os.ReadFile(said.Name())
		if err != nil {
			t.Fatal(err)
		}
		status, _ := o.Exited()
		seen[status]++
		_, err = os.Stat(kept)
		switch status {
		case session.ExitOK, session.ExitUnknown:
			if err != nil {
				t.Fatalf("after %d syncs: status %d, and the copy of what was there is gone: %v: %s", after, status, err, stderr)
			}
		default:
			if err == nil {
				t.Errorf("after %d syncs: status %d, and a copy is left: %s", after, status, stderr)
			}
		}
		if status == session.ExitUnknown {
			for _, want := range []string{kept, "hint: ", "onto restore " + kept + " --apply --db " + path} {
				if !strings.Contains(string(stderr), want) {
					t.Errorf("the command says %q, without %q", stderr, want)
				}
			}
			must(t, "", "restore", kept, "--apply", "--db", path) // go back
			if err := os.Remove(kept); err != nil {
				t.Fatal(err)
			}
			os.Remove(kept + "-2") // what was there before going back
		}
	}
	if seen[session.ExitUnknown] == 0 {
		t.Errorf("exit statuses: %v, want some %d", seen, session.ExitUnknown)
	}
}
