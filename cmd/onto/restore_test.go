package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// From each sync of the WAL on, all fail while a backup takes the place of the
// store. When nobody knows whether it has, the command says where the copy of
// what was there is, and how to go back.
func TestRestoreOnAFailingDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the library that fails calls is for Linux")
	}
	dir := t.TempDir()
	library := filepath.Join(dir, "faulty.so")
	source := filepath.Join("..", "..", "backend", "sqlite", "testdata", "faulty.c")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	path, backup := newStore(t, dir, 3), filepath.Join(dir, "backup.db")
	must(t, "", "backup", backup, "--db", path)
	must(t, `{"id":"late"}`, "put", "Thing", "-", "--db", path)
	kept := path + ".before-restore-2"

	seen := map[int]int{}
	for after := 0; seen[exitOK] == 0; after++ {
		var stderr bytes.Buffer
		cmd := exec.Command("onto", "restore", backup, "--apply", "--db", path)
		cmd.Stderr = &stderr
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "FAULTY_FILE=things.db-wal", "FAULTY_CALLS=sync",
			"FAULTY_AFTER="+strconv.Itoa(after), "FAULTY_ERRNO="+strconv.Itoa(int(syscall.EIO)))
		status := exitStatus(t, cmd)
		seen[status]++
		_, err := os.Stat(kept)
		switch status {
		case exitOK, exitUnknown:
			if err != nil {
				t.Fatalf("after %d syncs: status %d, and the copy of what was there is gone: %v: %s", after, status, err, &stderr)
			}
		default:
			if err == nil {
				t.Errorf("after %d syncs: status %d, and a copy is left: %s", after, status, &stderr)
			}
		}
		if status == exitUnknown {
			for _, want := range []string{kept, "hint: ", "onto restore " + kept + " --apply --db " + path} {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("the command says %q, without %q", &stderr, want)
				}
			}
			must(t, "", "restore", kept, "--apply", "--db", path) // go back
			if err := os.Remove(kept); err != nil {
				t.Fatal(err)
			}
			os.Remove(kept + "-2") // what was there before going back
		}
	}
	if seen[exitUnknown] == 0 {
		t.Errorf("exit statuses: %v, want some %d", seen, exitUnknown)
	}
}
