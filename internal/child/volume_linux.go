package child

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// noVolume is what a child prints if it cannot mount a small volume.
const noVolume = "no volume can be mounted"

// Volumes returns a directory where this process can mount small volumes, with [Mount], and
// true. A process that was not started for that runs the test in one that was, where it
// passed, and gets false. Where no volume can be mounted the test is left out, unless
// ONTO_REQUIRE names tmpfs.
func Volumes(t *testing.T) (dir string, ok bool) {
	t.Helper()
	if args, ok := Args(); ok {
		return args[0], true
	}
	cmd := Test("^"+t.Name()+"$", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	text, err := cmd.CombinedOutput()
	out := string(text)
	if (cmd.Process == nil || strings.Contains(out, noVolume)) && !strings.Contains(os.Getenv("ONTO_REQUIRE"), "tmpfs") {
		t.Skipf("%s: %v: %s", noVolume, err, out)
	}
	if err != nil || !Passed(t, out) || strings.Contains(out, noVolume) {
		t.Errorf("%v:\n%s", err, out)
	} else {
		t.Logf("in a process of its own:\n%s", out)
	}
	return "", false
}

// Mount mounts a volume of a size, such as 1m, until the test ends. Resize gives it another
// one.
func Mount(t *testing.T, dir, size string) (resize func(size string)) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("%s: %v", noVolume, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return func(size string) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
			t.Fatal(err)
		}
	}
}
