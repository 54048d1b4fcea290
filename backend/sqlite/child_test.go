package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

// childEnv makes the test binary a writing child: path, name, goroutines, and
// the point at which it kills itself, if any.
const childEnv = "ONTO_TEST_WRITER"

func TestMain(m *testing.M) {
	backendtest.PutAsChild(func(ctx context.Context, path string) (backend.Backend, error) { return sqlite.Open(ctx, path, nil) })
	if job := os.Getenv(childEnv); job != "" {
		if err := writeForever(strings.Split(job, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if job := os.Getenv(faultyEnv); job != "" {
		runFaulty(strings.Split(job, "\n"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeForever commits new entities and prints a line for each commit that was
// acknowledged, until its standard input ends or it is killed.
func writeForever(job []string) error {
	path, name := job[0], job[1]
	goroutines, err := strconv.Atoi(job[2])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		bufio.NewReader(os.Stdin).ReadByte()
		stop()
	}()
	b, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	if point := job[3]; point != "" {
		left := 20 // commits or groups before the end
		b.CallAt(point, func() {
			if left--; left == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		})
	}
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() { errs[g] = writeUntil(ctx, b, fmt.Sprintf("%s-%d", name, g)) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func writeUntil(ctx context.Context, b *sqlite.Backend, name string) error {
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("%s-%d", name, i)
		r, err := b.Append(context.WithoutCancel(ctx), thingDraft(key, i))
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("%d %s\n", r.ID, key); err != nil {
			return err
		}
	}
	return nil
}

// thingDraft writes an entity of its own, one that all writers share, and a
// relation between them.
func thingDraft(key string, i int) *backend.Draft {
	fields := fmt.Appendf(nil, `{"id":%q,"n":%d}`, key, i)
	return &backend.Draft{Writes: []backend.Write{
		{Identity: onto.EntityID("Thing", key), Op: onto.Put, Fields: fields, SchemaVersion: 1},
		{Identity: onto.EntityID("Thing", "~shared"), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":"~shared","last":%q,"n":%d}`, key, i), SchemaVersion: 1},
		{Identity: onto.RelationID("Touches", key, "~shared"), Op: onto.Put, Fields: []byte(`{}`), SchemaVersion: 1},
	}}
}

// makeThings makes a store with the types the children write.
func makeThings(t *testing.T, path string) {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.Register(t.Context(), &backend.Registration{Reason: "initial", Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{
			{Name: "id", Type: onto.String, Search: true}, {Name: "last", Type: onto.String, Optional: true, Search: true},
			{Name: "n", Type: onto.Int, Index: true}}},
		{Kind: onto.KindRelation, Name: "Touches", Left: "Thing", Right: "Thing"},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// child is a running writer.
type child struct {
	cmd   *exec.Cmd
	stdin interface{ Close() error }
	acks  map[string]int64 // key to commit; complete after wait
	read  chan struct{}
	first chan struct{} // closed at the first acknowledgement
}

func startChild(t *testing.T, path, name string, goroutines int, point string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{path, name, strconv.Itoa(goroutines), point}, "\n"))
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
	c := &child{cmd: cmd, stdin: stdin, acks: map[string]int64{}, read: make(chan struct{}), first: make(chan struct{})}
	go func() {
		defer close(c.read)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			id, key, whole := strings.Cut(lines.Text(), " ")
			if n, err := strconv.ParseInt(id, 10, 64); err == nil && whole {
				if len(c.acks) == 0 {
					close(c.first)
				}
				c.acks[key] = n
			}
		}
	}()
	return c
}

// stop lets the child finish what it does.
func (c *child) stop() error {
	c.stdin.Close()
	<-c.read
	return c.cmd.Wait()
}

// kill ends the child at once.
func (c *child) kill() {
	c.cmd.Process.Kill()
	<-c.read
	c.cmd.Wait()
}

// wantAcknowledged fails for each acknowledged commit that is not there.
func wantAcknowledged(t *testing.T, b *sqlite.Backend, acks map[string]int64) {
	t.Helper()
	for key, commit := range acks {
		v, err := b.Get(t.Context(), onto.EntityID("Thing", key), backend.Head)
		if err != nil || v.Commit != commit {
			t.Errorf("commit %d was acknowledged for %s: got commit %d, error %v", commit, key, v.Commit, err)
		}
	}
}
