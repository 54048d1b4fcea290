package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// childEnv makes the test binary a child: what to do, and the path of the store.
const childEnv = "ONTO_TEST_CHILD"

func TestMain(m *testing.M) {
	job := strings.Split(os.Getenv(childEnv), "\n")
	if len(job) < 2 {
		os.Exit(m.Run())
	}
	if err := runChild(job[0], job[1], job[2:]); err != nil {
		fmt.Println("failed", onto.CodeOf(err), err)
		os.Exit(1)
	}
	fmt.Println("done")
}

func runChild(what, path string, args []string) error {
	ctx := context.Background()
	b, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	switch what {
	case "write":
		return writeForever(ctx, b)
	case "migrate":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		return grow(ctx, pausing{b, args[1], new(int)}, n)
	}
	return fmt.Errorf("unknown job %s", what)
}

// writeForever puts new things until it may not any more, and prints the key of
// each that was acknowledged.
func writeForever(ctx context.Context, b backend.Backend) error {
	s, err := store.Open(ctx, kept{b})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		key := "new" + strconv.Itoa(i)
		if _, err := s.Commit(ctx, onto.Draft{}.Ensure(onto.Entity{Type: "Thing", Key: key})); err != nil {
			return err
		}
		fmt.Println("put", key)
	}
}

// thingType is the type with so many fields that have a default.
func thingType(fields int) onto.Type {
	var list []string
	for i := range fields {
		list = append(list, fmt.Sprintf("f%d int=%d", i, i))
	}
	return entityOf("Thing", list...)
}

// grow migrates to one field more.
func grow(ctx context.Context, b backend.Backend, fields int) error {
	_, _, err := store.Migrate(ctx, b, &store.Migration{Types: []onto.Type{thingType(fields)}},
		&store.ApplyOptions{Force: true, LeaseTTL: 300 * time.Millisecond, Wait: time.Minute})
	return err
}

// pausing is a backend that, when a migration holds its lease and has come to a
// certain point, says so and waits to be told to go on.
type pausing struct {
	backend.Backend
	point string
	calls *int
}

func (p pausing) Unwrap() backend.Backend { return p.Backend }

func (p pausing) pause() {
	fmt.Println("reached", p.point)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// Schemas is called before the lease is taken, and again to plan.
func (p pausing) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	if *p.calls++; *p.calls == 2 && p.point == "plan" {
		p.pause()
	}
	return p.Backend.Schemas(ctx)
}

func (p pausing) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if p.point == "append" {
		p.pause()
	}
	return p.Backend.AppendStream(ctx, d, writes)
}

// process is a running child.
type process struct {
	*exec.Cmd
	stdin io.Writer
	lines *bufio.Scanner
}

func startChild(t *testing.T, job ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(job, "\n"))
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
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &process{cmd, stdin, bufio.NewScanner(stdout)}
}

// until reads lines up to one with the prefix, which must come.
func (p *process) until(t *testing.T, prefix string) []string {
	t.Helper()
	var lines []string
	for p.lines.Scan() {
		lines = append(lines, p.lines.Text())
		if strings.HasPrefix(p.lines.Text(), prefix) {
			return lines
		}
	}
	t.Fatalf("the child never said %s, only %q", prefix, lines)
	return nil
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// manyThings is a file with so many things of a type without fields.
func manyThings(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := tryOpen(t.Context(), path, thingType(0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var list []onto.Entity
	for i := range n {
		list = append(list, onto.Entity{Type: "Thing", Key: "t" + strconv.Itoa(i)})
	}
	mustCommit(t, s, onto.Draft{}.Ensure(list))
	return path
}

// A migration that is killed leaves the old state or the new one.
func TestMigrationKilled(t *testing.T) {
	const rows = 1000
	kills := 12
	if backendtest.Soak() {
		kills = 150
	}
	path, fields := manyThings(t, rows), 0
	start := time.Now()
	if err := startChild(t, "migrate", path, "1", "").Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	fields++
	outcomes := map[string]int{}
	for range kills {
		child := startChild(t, "migrate", path, strconv.Itoa(fields+1), "")
		timer := time.AfterFunc(rand.N(took+took/4), func() { _ = child.Process.Kill() })
		err := child.Wait()
		timer.Stop()
		grown := checkGrown(t, path, fields, rows)
		switch {
		case err == nil && !grown:
			t.Fatal("the migration said that it was done, and is not there")
		case err == nil:
			outcomes["not killed"]++
		case grown:
			outcomes["new"]++
		default:
			outcomes["old"]++
		}
		if grown {
			fields++
		}
	}
	t.Logf("%d migrations: %v", kills, outcomes)
}

// checkGrown reports whether things have one field more, and fails unless all
// have as many.
func checkGrown(t *testing.T, path string, fields, rows int) bool {
	t.Helper()
	s, err := tryOpen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	backendtest.Check(t, s.Backend())
	schema, err := s.Type("Thing")
	if err != nil {
		t.Fatal(err)
	}
	want := len(schema.Fields) - 1 // without the key
	if want != fields && want != fields+1 {
		t.Fatalf("the type has %d fields, want %d or one more", want, fields)
	}
	n := 0
	for v, err := range s.Now().AsStored().Find("Thing").All(t.Context()) {
		if got := strings.Count(string(v.Fields), ":") - 1; err != nil || got != want {
			t.Fatalf("%s, %v: got %d fields, want %d", v, err, got, want)
		}
		n++
	}
	head, err := s.Head(t.Context())
	if err != nil || n != rows || head.ID != int64(want)+1 {
		t.Fatalf("got %d things at head %d, %v; want %d at %d", n, head.ID, err, rows, want+1)
	}
	return want > fields
}

// A program that writes with the old types while another migrates is told so,
// and what it was acknowledged is there.
func TestMigrationBesideAWriter(t *testing.T) {
	path := manyThings(t, 500)
	writer := startChild(t, "write", path)
	writer.until(t, "put new20")
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backendtest.Check(t, b); b.Close() })
	if err := grow(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	lines := writer.until(t, "failed")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "failed schema_outdated") {
		t.Errorf("the writer said %q, want schema_outdated", last)
	}
	s := keepOpen(t, b)
	acknowledged := 21
	for _, line := range lines {
		if key, ok := strings.CutPrefix(line, "put "); ok {
			acknowledged++
			v, err := s.Now().Get(t.Context(), onto.EntityID("Thing", key))
			if want := fmt.Sprintf(`{"f0":0,"id":%q}`, key); err != nil || string(v.Fields) != want {
				t.Errorf("%s: got %s, %v; want %s", key, v.Fields, err, want)
			}
		}
	}
	n, err := s.Now().Find("Thing").Count(t.Context())
	if err != nil || n != int64(500+acknowledged) {
		t.Errorf("got %d things, %v; want %d", n, err, 500+acknowledged)
	}
}

// A migration that is stopped until its lease has run out and somebody else has
// taken it cannot commit when it wakes.
func TestMigrationStopped(t *testing.T) {
	for _, point := range []string{"plan", "append"} {
		for _, released := range []bool{false, true} {
			t.Run(fmt.Sprint(point, " ", released), func(t *testing.T) {
				path := manyThings(t, 100)
				child := startChild(t, "migrate", path, "1", point)
				child.until(t, "reached "+point)
				child.signal(t, syscall.SIGSTOP)
				b, err := sqlite.Open(t.Context(), path, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { backendtest.Check(t, b); b.Close() })
				s := keepOpen(t, b)
				lease, err := s.Lease(t.Context(), onto.WriteLease, &store.LeaseOptions{Wait: time.Minute, TTL: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				if released {
					if err := lease.Release(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				child.signal(t, syscall.SIGCONT)
				fmt.Fprintln(child.stdin)
				lines := child.until(t, "failed")
				if last := lines[len(lines)-1]; !strings.HasPrefix(last, "failed lease_expired") {
					t.Errorf("the migration said %q, want lease_expired", last)
				}
				checkGrown(t, path, 0, 100)
				if !released {
					if err := lease.Release(t.Context()); err != nil {
						t.Errorf("the lease of the new holder is gone: %v", err)
					}
				}
			})
		}
	}
}
