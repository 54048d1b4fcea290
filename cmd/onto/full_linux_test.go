package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullDisk is a story on a small volume that something else has filled.
const fullDisk = `
set -eu
mount -t tmpfs -o size=1m tmpfs "$VOLUME" || { echo no volume; exit 0; }
cp "$STORE" "$VOLUME/things.db"
head -c 2000000 /dev/zero >"$VOLUME/filler" 2>/dev/null || true
cd "$VOLUME"
before=$(ls -s)
left() { test "$(ls -s)" = "$before" || { echo "$1 leaves:"; ls -la; exit 1; }; }

onto query entities Thing --db things.db | grep thing-00002; left query
onto doctor --db things.db | grep disk_low; left doctor
onto backup "$ELSEWHERE/copy.db" --db things.db | grep 'checked *yes'; left backup
status=0; onto put Thing '{"id":"new"}' --db things.db || status=$?
test $status = 5; left put
rm filler
onto put Thing '{"id":"new"}' --db things.db
`

// On a full disk a store is read, examined and copied to another one, and the
// verbs leave nothing behind. Where no small volume can be mounted this is left
// out, unless ONTO_REQUIRE names tmpfs.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	out := onVolume(t, fullDisk, "STORE="+newStore(t, t.TempDir(), 3), "ELSEWHERE="+t.TempDir())
	for _, want := range []string{"do not fit", "free disk space"} {
		if !strings.Contains(out, want) {
			t.Errorf("the story does not tell %q:\n%s", want, out)
		}
	}
}

// copiedToAFullDisk is a story on a volume that has room for the first batch of a copy, up to
// the change of types, and not for the second.
const copiedToAFullDisk = `
set -eu
mount -t tmpfs -o size=2m tmpfs "$VOLUME" || { echo no volume; exit 0; }
status=0; onto copy "$STORE" "$TARGET" --apply || status=$?
test $status = 5; echo refused
status=0; onto info --db "$TARGET" || status=$?
test $status = 5
mount -o remount,size=40m "$VOLUME"
status=0; onto info --db "$TARGET" || status=$?
test $status = 5; echo unfinished
onto copy "$STORE" "$TARGET"
onto copy "$STORE" "$TARGET" --apply
onto copy "$STORE" "$TARGET" --verify
onto doctor --db "$TARGET" || test $? = 3
`

// A copy to a full disk says so and keeps what is durable, and the same command ends it once
// there is room.
func TestCopyToAFullDisk(t *testing.T) {
	t.Parallel()
	store := newStore(t, t.TempDir(), 3)
	must(t, things+"  Other:\n    key: id\n    fields:\n      id: {type: string}\n", "migrate", "--schema", "-", "--apply", "--force", "--db", store)
	var objects strings.Builder
	for range 30_000 {
		fmt.Fprintf(&objects, `{"id":"%s%s"}`+"\n", rand.Text(), rand.Text())
	}
	must(t, objects.String(), "put", "Thing", "-", "--db", store)
	for name, target := range map[string]string{"SQLite": "copy.db", "lake": "lake"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			volume := t.TempDir()
			place := filepath.Join(volume, target)
			if name == "lake" {
				place = "file://" + place
			}
			script := strings.ReplaceAll(copiedToAFullDisk, `--db "$TARGET"`, map[bool]string{true: `--storage-uri "$TARGET"`, false: `--db "$TARGET"`}[name == "lake"])
			out := onVolume(t, script, "STORE="+store, "TARGET="+place, "VOLUME="+volume)
			for _, want := range []string{"commits up to 1 were copied, then: ", "no room left to write", "hint: ", "an unfinished copy, at commit 1", "yes, all 2 commits"} {
				if !strings.Contains(out, want) {
					t.Errorf("the story does not tell %q:\n%s", want, out)
				}
			}
		})
	}
}

// onVolume runs a script that mounts a volume at $VOLUME, and returns what it has printed.
func onVolume(t *testing.T, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(append(os.Environ(), "VOLUME="+t.TempDir()), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Start()
	started := err == nil
	if started {
		err = cmd.Wait()
	}
	if (!started || strings.Contains(out.String(), "no volume")) && !strings.Contains(required, "tmpfs") {
		t.Skipf("no volume can be mounted: %v: %s", err, &out)
	}
	if err != nil {
		t.Errorf("%v:\n%s", err, &out)
	}
	return out.String()
}
