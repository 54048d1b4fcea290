package evolve

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// optionsFor is how a plan is applied to a store, under some settings of the environment.
func optionsFor(t *testing.T, env map[string]string) (wait, ttl time.Duration) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ONTO_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	c := session.New(strings.NewReader(""), io.Discard, io.Discard)
	cfg, err := c.Configure()
	if err != nil {
		t.Fatal(err)
	}
	var f applyFlags
	cmd := &cobra.Command{Use: "migrate"}
	f.register(cmd)
	opts, done, err := f.options(cmd, c, cfg, "migrating")
	if err != nil {
		t.Fatal(err)
	}
	done()
	return opts.Wait, opts.LeaseTTL
}

// A migration waits as long as the library does by default, on every storage, unless the
// setting for the storage says otherwise.
func TestWaitOfMigrations(t *testing.T) {
	const lake = "file:///nowhere"
	for name, c := range map[string]struct {
		env  map[string]string
		want time.Duration // 0 for store.DefaultMigrationWait
		ttl  time.Duration
	}{
		"a file":                   {nil, 0, 30 * time.Second},
		"a lake":                   {map[string]string{"ONTO_STORAGE_URI": lake}, 0, 30 * time.Second},
		"a file with the setting":  {map[string]string{"ONTO_LOCK_TIMEOUT_MS": "300", "ONTO_LEASE_TTL_MS": "1500.5"}, 300 * time.Millisecond, 1500500 * time.Microsecond},
		"a lake with the setting":  {map[string]string{"ONTO_STORAGE_URI": lake, "ONTO_S3_LOCK_TIMEOUT_MS": "5000"}, 5 * time.Second, 30 * time.Second},
		"a lake with that of file": {map[string]string{"ONTO_STORAGE_URI": lake, "ONTO_LOCK_TIMEOUT_MS": "300"}, 0, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if wait, ttl := optionsFor(t, c.env); wait != c.want || ttl != c.ttl {
				t.Errorf("got a wait of %v and a lease of %v, want %v and %v", wait, ttl, c.want, c.ttl)
			}
		})
	}
}
