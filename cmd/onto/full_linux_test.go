package main

import (
	"bytes"
	"os"
	"os/exec"
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
	cmd := exec.Command("sh", "-c", fullDisk)
	cmd.Env = append(os.Environ(), "STORE="+newStore(t, t.TempDir(), 3), "VOLUME="+t.TempDir(), "ELSEWHERE="+t.TempDir())
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
	for _, want := range []string{"do not fit", "free disk space"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story does not tell %q:\n%s", want, &out)
		}
	}
}
