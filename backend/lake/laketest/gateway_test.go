package laketest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
	"github.com/ontologia/onto/backend/lake/bucket/s3/s3fake"
	"github.com/ontologia/onto/filter/filtertest"
)

const accessKey, secretKey = "things-access", "things-secret"

// Processes share a lake on a real S3 server.
func TestProcessesOnVersitygw(t *testing.T) {
	if endpoint := gateway(t); endpoint != "" {
		shareLake(t, endpoint)
	}
}

// A lake on a real S3 server keeps the contract.
func TestContractOnVersitygw(t *testing.T) {
	endpoint := gateway(t)
	if endpoint == "" {
		return
	}
	fewHistories(t, 2)
	backendtest.Run(t, backendtest.Target{
		Operations: 300,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			return open(t, openBucket(t, endpoint, p.Name), p, 0)
		},
	})
}

// A lake on an S3 server in this process keeps the contract too, in short.
func TestContractOnFake(t *testing.T) {
	endpoint := s3fake.Serve(t, "things")
	fewHistories(t, 1)
	backendtest.Run(t, backendtest.Target{
		Operations: 100,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			return open(t, openBucket(t, endpoint, p.Name), p, 0)
		},
	})
}

// What a lake on a real S3 server answers is right.
func TestQuestionsOnVersitygw(t *testing.T) {
	endpoint := gateway(t)
	if endpoint == "" {
		return
	}
	fewHistories(t, 5)
	lakes := 0
	onGateway := func(t testing.TB, _ string) backend.Backend {
		lakes++
		prefix := fmt.Sprint("lake-", lakes)
		return newDivided(17, func(inProcess int64) backend.Backend {
			return openTrusted(t, openBucket(t, endpoint, prefix), inProcess)
		})
	}
	t.Run("corpus", func(t *testing.T) { filtertest.Run(t, onGateway) })
	t.Run("random", func(t *testing.T) { agree(t, 1_000, onGateway) })
}

// gateway starts a real S3 server and returns its address. ONTO_VERSITYGW names
// its program, which tools/README.md says how to build. Without it the address is
// empty and the test is left out, unless ONTO_REQUIRE names versitygw.
func gateway(t *testing.T) string {
	t.Helper()
	program := os.Getenv("ONTO_VERSITYGW")
	if program == "" {
		if strings.Contains(os.Getenv("ONTO_REQUIRE"), "versitygw") {
			t.Fatal("ONTO_REQUIRE names versitygw, but ONTO_VERSITYGW does not say where it is")
		}
		t.Log("left out: ONTO_VERSITYGW does not name the program")
		return ""
	}
	return startGateway(t, program)
}

// openBucket opens a prefix of the server's bucket.
func openBucket(t testing.TB, endpoint, prefix string) bucket.Bucket {
	t.Helper()
	b, err := s3.Open(t.Context(), s3.Options{
		Bucket: "things", Prefix: prefix, Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
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

// Who the server does not know is told so, not that there is no bucket.
func TestCredentialsOnVersitygw(t *testing.T) {
	endpoint := gateway(t)
	if endpoint == "" {
		return
	}
	for _, keys := range [][2]string{{accessKey, "wrong-secret"}, {"nobody", secretKey}} {
		_, err := s3.Open(t.Context(), s3.Options{Bucket: "things", Endpoint: endpoint, AccessKey: keys[0], SecretKey: keys[1]})
		if err == nil || !strings.Contains(err.Error(), "credentials") || strings.Contains(err.Error(), keys[1]) {
			t.Errorf("%s: got %v, want a word about credentials", keys[0], err)
		}
	}
	if _, err := s3.Open(t.Context(), s3.Options{Bucket: "nothing", Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey}); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("got %v, want that there is no such bucket", err)
	}
}
