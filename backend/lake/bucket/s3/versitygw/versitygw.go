// Package versitygw starts a real S3 server on a file system, for tests.
package versitygw

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Start runs the server on a free port of the loopback interface, with one bucket and
// one user, until the test ends, and returns its address. ONTO_VERSITYGW names its
// program, which tools/README.md says how to build. Without it the test is left out,
// unless ONTO_REQUIRE names versitygw.
func Start(t testing.TB, bucket, accessKey, secretKey string) (endpoint string) {
	t.Helper()
	program := os.Getenv("ONTO_VERSITYGW")
	if program == "" {
		if strings.Contains(os.Getenv("ONTO_REQUIRE"), "versitygw") {
			t.Fatal("ONTO_REQUIRE names versitygw, but ONTO_VERSITYGW does not say where it is")
		}
		t.Skip("left out: ONTO_VERSITYGW does not name the program")
	}
	root := onDisk(t)
	if err := os.Mkdir(filepath.Join(root, bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	address := freeAddress(t)
	cmd := exec.Command(program, "--port", address, "--health", "/health", "--quiet", "posix", root)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
	})
	endpoint = "http://" + address
	if !answers(t, endpoint+"/health", exited) {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("%s does not answer at %s:\n%s", program, address, text)
	}
	return endpoint
}

// onDisk makes a temporary directory that is not in memory, where not every file system has
// the attributes that the server needs.
func onDisk(t testing.TB) string {
	t.Helper()
	if !strings.HasPrefix(os.TempDir(), "/dev/shm") {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/tmp", "versitygw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before which the server has ended
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// answers polls until the server is ready, has exited, or a deadline passes.
func answers(t testing.TB, url string, exited <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return true
			}
		}
		select {
		case <-tick.C:
		case <-exited:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// freeAddress returns a loopback address that nothing listens at.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
