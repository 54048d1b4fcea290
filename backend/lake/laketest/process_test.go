package laketest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
)

// childEnv makes the test binary a child that writes: the directory, a name, and
// how many callers it has.
const childEnv = "ONTO_TEST_LAKE"

func TestMain(m *testing.M) {
	backendtest.PutAsChild(func(ctx context.Context, dir string) (backend.Backend, error) {
		b, err := file.Open(dir, nil)
		if err != nil {
			return nil, err
		}
		return lake.Open(ctx, b, nil)
	})
	job := strings.Split(os.Getenv(childEnv), "\n")
	if len(job) != 3 {
		os.Exit(m.Run())
	}
	if err := writeForever(job[0], job[1], job[2]); err != nil {
		fmt.Fprintln(os.Stderr, job[1], err)
		os.Exit(1)
	}
}

// writeForever commits new things, and prints each that was acknowledged, until
// its standard input ends.
func writeForever(dir, name, callers string) error {
	ctx := context.Background()
	l, err := openLake(ctx, dir)
	if err != nil {
		return err
	}
	defer l.Close()
	stop := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		close(stop)
	}()
	n, err := strconv.Atoi(callers)
	if err != nil {
		return err
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for c := range n {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("%s-%d-%d", name, c, i)
				res, err := l.Append(ctx, thing(key))
				if err != nil {
					errs[c] = err
					return
				}
				fmt.Println(res.ID, key)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// openLake opens the lake in a directory, or in a bucket of a service on this
// machine.
func openLake(ctx context.Context, place string) (*lake.Backend, error) {
	var b bucket.Bucket
	var err error
	if strings.HasPrefix(place, "http://") {
		b, err = s3.Open(ctx, s3.Options{Bucket: "things", Endpoint: place, AccessKey: accessKey, SecretKey: secretKey})
	} else {
		b, err = file.Open(place, nil)
	}
	if err != nil {
		return nil, err
	}
	return lake.Open(ctx, b, &lake.Options{Patience: time.Minute})
}

func thing(key string) *backend.Draft {
	return &backend.Draft{Writes: []backend.Write{{
		Identity: onto.EntityID("Thing", key), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":%q}`, key), SchemaVersion: 1,
	}}}
}

// newThings is a lake on disk with the type that children write.
func newThings(t *testing.T, dir string) string {
	t.Helper()
	l, err := openLake(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}, {Name: "n", Type: onto.Int, Optional: true}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// writer is a child that writes.
type writer struct {
	cmd   *exec.Cmd
	stop  func() error
	acked chan map[string]int64 // gets what was acknowledged when the child has ended
}

func startWriter(t *testing.T, dir, name string, callers int) *writer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%s\n%d", childEnv, dir, name, callers))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &writer{cmd, stdin.Close, make(chan map[string]int64, 1)}
	go func() {
		acked := map[string]int64{}
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var id int64
			var key string
			if n, _ := fmt.Sscan(lines.Text(), &id, &key); n == 2 {
				acked[key] = id
			}
		}
		w.acked <- acked
	}()
	return w
}

// end waits for the child and returns what it was acknowledged.
func (w *writer) end(t *testing.T, killed bool) map[string]int64 {
	t.Helper()
	acked := <-w.acked
	if err := w.cmd.Wait(); err != nil && !killed {
		t.Errorf("the writer failed: %v", err)
	}
	return acked
}

// wantAll fails unless everything acknowledged is there under its commit, and
// commits have no gaps.
func wantAll(t *testing.T, dir string, acked map[string]int64) int64 {
	t.Helper()
	l, err := openLake(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	backendtest.Check(t, l)
	at := map[string]int64{}
	for v, err := range l.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", Mode: backend.History, At: backend.Head}) {
		if err != nil {
			t.Fatal(err)
		}
		at[v.Key] = v.Commit
	}
	for key, id := range acked {
		if at[key] != id {
			t.Errorf("%s was acknowledged as commit %d and is %d", key, id, at[key])
		}
	}
	next := int64(0)
	for c, err := range l.Commits(t.Context(), &backend.CommitQuery{Until: backend.Head}) {
		if next++; err != nil || c.ID != next {
			t.Fatalf("got commit %d, %v; want %d", c.ID, err, next)
		}
	}
	return next
}

// Processes share a lake on disk: ids have no gaps, and what was acknowledged is
// there.
func TestProcesses(t *testing.T) { shareLake(t, t.TempDir()) }

// shareLake lets processes write to one lake.
func shareLake(t *testing.T, dir string) {
	t.Helper()
	processes, length := 2, 2*time.Second
	if backendtest.Soak() {
		processes, length = 4, time.Minute
	}
	newThings(t, dir)
	var writers []*writer
	for i := range processes {
		writers = append(writers, startWriter(t, dir, fmt.Sprint("p", i), 8))
	}
	time.AfterFunc(length, func() {
		for _, w := range writers {
			_ = w.stop()
		}
	})
	acked := map[string]int64{}
	for i, w := range writers {
		mine := w.end(t, false)
		if len(mine) == 0 {
			t.Errorf("process %d was never acknowledged", i)
		}
		for key, id := range mine {
			acked[key] = id
		}
	}
	t.Logf("%d processes, %v: %d commits, %d acknowledged", processes, length, wantAll(t, dir, acked), len(acked))
}

// A writer that is killed at any moment loses nothing that was acknowledged, and
// leaves nothing that is half there.
func TestKilled(t *testing.T) {
	kills := 10
	if backendtest.Soak() {
		kills = 200
	}
	dir, acked := newThings(t, t.TempDir()), map[string]int64{}
	for i := range kills {
		w := startWriter(t, dir, fmt.Sprint("k", i), 1+i%4)
		time.AfterFunc(20*time.Millisecond+rand.N(150*time.Millisecond), func() { _ = w.cmd.Process.Kill() })
		for key, id := range w.end(t, true) {
			acked[key] = id
		}
	}
	t.Logf("%d kills: %d commits, %d acknowledged", kills, wantAll(t, dir, acked), len(acked))
}
