//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/hostiletest"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/effort"
)

// measured runs the command on hostile stores and keeps what it took.
type measured struct {
	healthy string // a lake to copy
	stores  int    // that were made hostile

	mu   sync.Mutex // guards what follows
	runs int
	time time.Duration // the longest
	rss  int64         // the largest, in MB
}

// run runs a verb in a process of its own. It has to end by itself with little memory; how
// long it took is printed. An object that is missing is waited for, and here not for long.
func (m *measured) run(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), boundedTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "weigh", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "ONTO_S3_REQUEST_TIMEOUT_S=1")
	var stdout, stderr firstPart
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	weight, err := os.Create(filepath.Join(t.TempDir(), "weight"))
	if err != nil {
		t.Fatal(err)
	}
	defer weight.Close()
	cmd.ExtraFiles = []*os.File{weight}
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	verb := strings.Join(args[:len(args)-2], " ")
	if ctx.Err() != nil {
		t.Fatalf("%s hangs", verb)
	}
	status = cmd.ProcessState.ExitCode()
	var rss, cpu int64
	if _, err := fmt.Fscan(io.NewSectionReader(weight, 0, 100), &rss, &cpu); err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(t.Name(), "/")
	t.Logf("%-52s %-40s %2d %6.2f s (%.2f s of a processor) %4d MB", name, verb, status, took.Seconds(), float64(cpu)/1000, rss)
	m.mu.Lock()
	m.runs, m.time, m.rss = m.runs+1, max(m.time, took), max(m.rss, rss)
	m.mu.Unlock()
	if rss > boundedMemory {
		t.Errorf("%s: it took %d MB", verb, rss)
	}
	if status < 0 || status == session.ExitGeneral || strings.Contains(stderr.text.String(), "goroutine ") {
		t.Errorf("%s: status %d: %.2000s", verb, status, &stderr.text)
	}
	return status, stdout.text.String() + stderr.text.String()
}

// firstPart is the beginning of an output.
type firstPart struct{ text bytes.Buffer }

func (h *firstPart) Write(p []byte) (int, error) {
	h.text.Write(p[:min(len(p), max(0, 1<<20-h.text.Len()))])
	return len(p), nil
}

// told fails unless a verb failed with a message that names the culprit, or did not
// need it.
func told(t *testing.T, verb string, must bool, status int, said, name, want string) {
	t.Helper()
	switch {
	case status == session.ExitOK && must:
		t.Errorf("%s: got status 0 and %.300q, want an error about %s", verb, said, name)
	case status != session.ExitOK && (!strings.Contains(said, name) || !strings.Contains(said, want)):
		t.Errorf("%s: got status %d and %.600q, want one that names %s and says %q", verb, status, said, name, want)
	}
}

// lakeVerbs are the verbs for a hostile lake. Those that begin with ! read all of it,
// and need what is hostile.
var lakeVerbs = []string{
	"!query entities Person", "!doctor", "query entities Person --as-of 2", `query entities Person --where $.id=="new"`, "log Person new",
	"diff 1 head", "commits", "doctor --quick", "info --stats", `put Person {"id":"more","n":1}`, "export --output -", "janitor", "compact",
}

// longVerbs are enough where a case takes long.
var longVerbs = []string{"!query entities Person", "doctor"}

// lake tries verbs on a copy of the healthy lake that plant makes hostile. Plant returns the
// name that errors must have in them, and want is what else they must say.
func (m *measured) lake(t *testing.T, name string, verbs []string, want string, plant func(t *testing.T, dir string, l hostiletest.Lake) string) {
	t.Helper()
	number := m.next()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		dir, l := copyLake(t, m.healthy)
		object := plant(t, dir, l)
		m.try(t, number, verbs, object, want, "--storage-uri", "file://"+dir)
	})
}

// next is the number of the next hostile store.
func (m *measured) next() int {
	m.stores++
	return m.stores
}

// try runs some of the verbs on a hostile store. A plain run tries each store with one verb
// that needs what is hostile, and each of the other verbs with a few stores.
func (m *measured) try(t *testing.T, number int, verbs []string, name, want string, where ...string) {
	t.Helper()
	needing := slices.IndexFunc(verbs, func(verb string) bool { return !strings.HasPrefix(verb, "!") }) // they are the first
	for i, verb := range verbs {
		tried := i == number%needing || (number+i)%30 == 0
		if effort.Thorough(t) {
			tried = effort.Includes(t, number+i)
		}
		if !tried {
			continue
		}
		verb, must := strings.CutPrefix(verb, "!")
		status, said := m.run(t, append(strings.Fields(verb), where...)...)
		told(t, verb, must, status, said, name, want)
	}
}

// newPersonLake makes a lake whose past needs a program to be read.
func newPersonLake(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	newPersons(t, "--storage-uri", "file://"+dir)
	return dir
}

// newPersons makes a store whose past needs a program to be read. Its newest commit is
// one person.
func newPersons(t *testing.T, where ...string) {
	t.Helper()
	const schema = `
entities:
  Person:
    key: id
    fields:
      id: {type: string}
`
	with := filepath.Join(t.TempDir(), "with.yaml")
	up := filepath.Join(t.TempDir(), "up.yaml")
	if err := errors.Join(os.WriteFile(with, []byte(schema+"      n: {type: int}\n"), 0o600),
		os.WriteFile(up, []byte("Person:\n  1: {jq: '.n = 1'}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	run := func(stdin string, args ...string) { t.Helper(); must(t, stdin, append(args, where...)...) }
	run(schema, "init", "--schema", "-")
	run(`{"id":"a"}{"id":"b"}`, "put", "Person", "-")
	run(`{"id":"c"}`, "put", "Person", "-")
	run("", "migrate", "--schema", with, "--upgraders", up, "--apply", "--force")
	run(`{"id":"new","n":2}`, "put", "Person", "-")
}

// copyLake copies a lake to a directory whose name is short enough for sockets.
func copyLake(t *testing.T, from string) (string, hostiletest.Lake) {
	t.Helper()
	dir, err := os.MkdirTemp("", "onto-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	b, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return dir, hostiletest.Lake{TB: t, Bucket: b}
}

// Each hostile lake ends every verb soon, with little memory and with a message that
// names the object.
func TestHostileLakes(t *testing.T) {
	t.Parallel()
	m := &measured{healthy: newPersonLake(t)}
	t.Cleanup(func() {
		t.Logf("%d hostile stores, %d runs, at most %.2f s and %d MB", m.stores, m.runs, m.time.Seconds(), m.rss)
	})
	for _, c := range hostiletest.Cases() {
		m.lake(t, c.Name, lakeVerbs, c.Want, func(_ *testing.T, _ string, l hostiletest.Lake) string { return c.Plant(l) })
	}
	t.Run("sparse", m.sparse)
	t.Run("kinds", m.kinds)
	t.Run("jq", m.programs)
}

// sparse are objects of gigabytes that take no room on disk.
func (m *measured) sparse(t *testing.T) {
	const listed, honest = 6 << 30, 640 << 20
	grow := func(key func(hostiletest.Lake) string) func(t *testing.T, dir string, l hostiletest.Lake) string {
		return func(t *testing.T, dir string, l hostiletest.Lake) string {
			path := key(l)
			if err := os.Truncate(filepath.Join(dir, path), listed); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	vouch := func(sum func() string, size int64) func(t *testing.T, dir string, l hostiletest.Lake) string {
		return func(t *testing.T, dir string, l hostiletest.Lake) string {
			path := l.Vouch(sum(), size, 1)
			if err := os.Truncate(filepath.Join(dir, path), size); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	right := func() string {
		h := sha256.New()
		_, _ = io.CopyN(h, zeroes{}, honest) // it never fails
		return fmt.Sprintf("%x", h.Sum(nil))
	}
	wrong := func() string { return strings.Repeat("0", 64) }
	for _, c := range []struct {
		name  string
		plant func(t *testing.T, dir string, l hostiletest.Lake) string
		verbs []string
		want  string
	}{
		{"6 GB listed as some", grow(hostiletest.Lake.File), lakeVerbs, "at most"},
		{"6 GB of manifest", grow(hostiletest.Lake.Manifest), lakeVerbs, "at most"},
		{"6 GB of catalog", grow(hostiletest.Lake.Catalog), lakeVerbs, "at most"},
		{"6 GB of head", grow(func(hostiletest.Lake) string { return hostiletest.HeadKey }), lakeVerbs, "at most"},
		{"6 GB listed as such", vouch(wrong, listed), lakeVerbs, "bytes"},
		{"640 MB listed as such, with its hash", vouch(right, honest), longVerbs, ""},
		{"640 MB listed as such, with another hash", vouch(wrong, honest), longVerbs, "bytes that are not"},
	} {
		if c.want == "" && !effort.Thorough(t) {
			continue // takes as long as the one with another hash
		}
		m.lake(t, c.name, c.verbs, c.want, c.plant)
	}
}

// zeroes is a file without end, of zeros.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// kinds are objects that are not regular files.
func (m *measured) kinds(t *testing.T) {
	for _, kind := range []struct {
		name string
		make func(path string) error
	}{
		{"a named pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"a socket", func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		}},
		{"a device", func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }}, // /dev/zero
	} {
		for _, as := range []struct {
			name string
			key  func(hostiletest.Lake) string
		}{
			{"head", func(hostiletest.Lake) string { return hostiletest.HeadKey }}, {"catalog", hostiletest.Lake.Catalog},
			{"manifest", hostiletest.Lake.Manifest}, {"file", hostiletest.Lake.File},
		} {
			m.lake(t, kind.name+" as "+as.name, lakeVerbs, kind.name, func(t *testing.T, dir string, l hostiletest.Lake) string {
				path, made := as.key(l), filepath.Join(dir, "made") // names of sockets are short
				err := kind.make(made)
				if errors.Is(err, syscall.EPERM) && os.Getuid() != 0 {
					t.Skip("only root can make a device")
				}
				if err := errors.Join(err, os.Rename(made, filepath.Join(dir, path))); err != nil {
					t.Fatal(err)
				}
				return path
			})
		}
	}
}

// hostilePrograms are programs that a stored schema may make readers of the past run.
var hostilePrograms = []struct{ name, program string }{
	{"stack", `.n = (null | setpath([range(1000000) | "a"]; 1))`},
	{"explode", `.n = ("x" * 16000000 | explode | length)`},
	{"endless", `def f: f; f`},
	{"wide", `[range(1e12)]`},
	{"large", `.n = (reduce range(40) as $i (1; [., .]) | tojson | length)`},
}

// programs are those of a stored schema. A plain run tries each of them in one kind of store.
func (m *measured) programs(t *testing.T) {
	verbs := []string{"!query entities Person --as-of 1", "log Person a", "diff 1 head", "doctor"}
	for i, p := range hostilePrograms {
		if i%2 == 0 || effort.Thorough(t) {
			m.lake(t, p.name+" in a lake", verbs, "", func(_ *testing.T, _ string, l hostiletest.Lake) string {
				l.Edit(l.Catalog(), func(c hostiletest.Document) {
					for _, v := range c["types"].([]any) {
						if up, ok := v.(map[string]any)["upgrader"].(map[string]any); ok {
							up["program"] = p.program
						}
					}
				})
				return "Person"
			})
		}
		if i%2 > 0 || effort.Thorough(t) {
			number := m.next()
			t.Run(p.name+" in SQLite", func(t *testing.T) {
				t.Parallel()
				db := filepath.Join(t.TempDir(), "x.db")
				newPersons(t, "--db", db)
				runRaw(t, db, `UPDATE schema_versions SET onto_upgrader = json_set(onto_upgrader, '$.program', '`+strings.ReplaceAll(p.program, "'", "''")+`') WHERE onto_upgrader LIKE '%program%'`)
				m.try(t, number, verbs, "Person", "", "--db", db)
			})
		}
	}
}
