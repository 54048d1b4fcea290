package store_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{
		"write": onStore(func(ctx context.Context, b backend.Backend, _ []string) error { return writeForever(ctx, b) }),
		"migrate": onStore(func(ctx context.Context, b backend.Backend, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return err
			}
			return grow(ctx, pausing{b, args[1], new(int)}, n)
		}),
	})
	os.Exit(effort.Main(m))
}

// onStore is a job on the store that its first argument names. It prints how it ended.
func onStore(job func(ctx context.Context, b backend.Backend, args []string) error) child.Job {
	return func(args []string) error {
		b, err := sqlite.Open(context.Background(), args[0], nil)
		if err == nil {
			defer b.Close()
			err = job(context.Background(), b, args[1:])
		}
		if err != nil {
			fmt.Println("failed", onto.CodeOf(err), err)
			return err
		}
		fmt.Println("done")
		return nil
	}
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

// pausing is a backend that pauses a migration at a certain point, while it holds its
// lease, reports that and waits to be resumed.
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
	t.Parallel()
	const rows = 1000
	kills, random := effort.Count(t, 150), effort.Rand(t)
	path, fields := manyThings(t, rows), 0
	start := time.Now()
	if err := child.Start(t, "migrate", path, "1", "").Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	fields++
	outcomes := map[string]int{}
	for range kills {
		migration := child.Start(t, "migrate", path, strconv.Itoa(fields+1), "")
		timer := time.AfterFunc(time.Duration(random.Int64N(int64(took+took/4))), func() { _ = migration.Process.Kill() })
		err := migration.Wait()
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

// A program that writes with the old types while another migrates is told so, and its
// acknowledged writes are there.
func TestMigrationBesideAWriter(t *testing.T) {
	path := manyThings(t, 500)
	writer := child.Start(t, "write", path)
	writer.Until(t, "put new20")
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backendtest.Check(t, b); b.Close() })
	if err := grow(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	s := keepOpen(t, b)
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 21
	lines := writer.Until(t, fmt.Sprintf("put new%d", head.ID+20))
	writer.End()
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
	if err != nil || n < int64(500+acknowledged) {
		t.Errorf("got %d things, %v; want at least %d", n, err, 500+acknowledged)
	}
}

// A migration that is stopped until its lease has expired and was taken over cannot
// commit when it resumes.
func TestMigrationStopped(t *testing.T) {
	for _, point := range []string{"plan", "append"} {
		for _, released := range []bool{false, true} {
			t.Run(fmt.Sprint(point, " ", released), func(t *testing.T) {
				t.Parallel()
				path := manyThings(t, 100)
				migration := child.Start(t, "migrate", path, "1", point)
				migration.Until(t, "reached "+point)
				child.Stop(t, migration.Process)
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
				child.Continue(t, migration.Process)
				fmt.Fprintln(migration.Stdin)
				lines := migration.Until(t, "failed")
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
