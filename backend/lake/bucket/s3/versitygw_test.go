package s3_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/buckettest"
)

// A real S3 server on a file system. ONTO_VERSITYGW names its program, which
// tools/README.md says how to build. Without it this part of the contract is
// left out, unless ONTO_REQUIRE names versitygw.
func TestContractOnVersitygw(t *testing.T) {
	program := os.Getenv("ONTO_VERSITYGW")
	if program == "" {
		if strings.Contains(os.Getenv("ONTO_REQUIRE"), "versitygw") {
			t.Fatal("ONTO_REQUIRE names versitygw, but ONTO_VERSITYGW does not say where it is")
		}
		t.Log("left out: ONTO_VERSITYGW does not name the program")
		return
	}
	endpoint := startGateway(t, program)
	var mu sync.RWMutex
	buckettest.Run(t, func(t testing.TB) bucket.Bucket {
		return deletesAlone{openAt(t, endpoint, "lake"), &mu}
	})
}

// deletesAlone keeps deletions apart from writes. The gateway holds a lock while
// it evaluates a condition and publishes an object, but does not take it to
// delete one: a swap that is under way can bring back what was deleted meanwhile.
// Nothing in a lake deletes what it swaps. All else is the gateway's own doing.
type deletesAlone struct {
	bucket.Bucket
	mu *sync.RWMutex // held by writes, alone by deletions
}

func (d deletesAlone) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.Bucket.Create(ctx, key, data)
}

func (d deletesAlone) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.Bucket.Swap(ctx, key, data, old)
}

func (d deletesAlone) Delete(ctx context.Context, key string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Bucket.Delete(ctx, key)
}

// startGateway runs the server on a free port of the loopback interface, over a
// directory with the bucket stuff, until the test ends.
func startGateway(t *testing.T, program string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "stuff"), 0o755); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.Command(program, "--port", address, "--health", "/health", "--quiet", "posix", root)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-exited
	})
	if !answers(t, "http://"+address+"/health", exited) {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("%s does not answer at %s:\n%s", program, address, text)
	}
	return "http://" + address
}

// answers asks until the server says that it is well, has exited, or a deadline
// passes.
func answers(t *testing.T, url string, exited <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
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

// freeAddress returns a loopback address that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
