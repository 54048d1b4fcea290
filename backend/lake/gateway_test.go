package lake_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const accessKey, secretKey = "things-access", "things-secret"

// Processes share a lake on a real S3 server. ONTO_VERSITYGW names its program,
// which tools/README.md says how to build. Without it this is left out, unless
// ONTO_REQUIRE names versitygw.
func TestProcessesOnVersitygw(t *testing.T) {
	program := os.Getenv("ONTO_VERSITYGW")
	if program == "" {
		if strings.Contains(os.Getenv("ONTO_REQUIRE"), "versitygw") {
			t.Fatal("ONTO_REQUIRE names versitygw, but ONTO_VERSITYGW does not say where it is")
		}
		t.Log("left out: ONTO_VERSITYGW does not name the program")
		return
	}
	shareLake(t, startGateway(t, program))
}

// startGateway runs the server on a free port of the loopback interface until the
// test ends, and returns its address.
func startGateway(t *testing.T, program string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "things"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "--port", address, "--health", "/health", "--quiet", "posix", root)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if res, err := http.Get("http://" + address + "/health"); err == nil {
			res.Body.Close()
			return "http://" + address
		}
	}
	t.Fatal("the server does not answer")
	return ""
}
