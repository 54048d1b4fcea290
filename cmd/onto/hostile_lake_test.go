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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/hostiletest"
	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// measured runs the command on hostile stores and keeps what it took.
type measured struct {
	lakes, runs int
	time        time.Duration // the longest
	rss         int64         // the largest, in MB
}

// run runs a verb with its defaults, in a process of its own. It has to end by itself
// with little memory; how long it took is printed.
func (m *measured) run(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), boundedTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "weigh", args...)
	cmd.Dir = t.TempDir()
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
	m.runs, m.time, m.rss = m.runs+1, max(m.time, took), max(m.rss, rss)
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
// and need what is hostile; of the others some are tried with each lake.
var lakeVerbs = []string{
	"!query entities Person", "!doctor", "query entities Person --as-of 2", `query entities Person --where $.id=="new"`, "log Person new",
	"diff 1 head", "commits", "doctor --quick", "info --stats", `put Person {"id":"more","n":1}`, "export --output -", "janitor", "compact",
}

// longVerbs are enough where a case takes long.
var longVerbs = []string{"!query entities Person", "doctor"}

// useLake runs verbs on a hostile lake.
func (m *measured) useLake(t *testing.T, dir string, verbs []string, name, want string) {
	t.Helper()
	if !thorough() && m.lakes%2 > 0 {
		verbs = verbs[:0] // every other lake; .ci/run has all
	}
	for i, verb := range verbs {
		verb, must := strings.CutPrefix(verb, "!")
		if !must && (m.lakes+i)%5 > 0 && !*soak {
			continue // other lakes are tried with this one
		}
		status, said := m.run(t, append(strings.Fields(verb), "--storage-uri", "file://"+dir)...)
		told(t, verb, must, status, said, name, want)
	}
	m.lakes++
}

// thorough reports whether more is tried than in a plain run.
func thorough() bool { return *soak || *sweepStep < sparseSweep }

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
	healthy := newPersonLake(t)
	m := &measured{}
	for _, c := range hostiletest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			dir, l := copyLake(t, healthy)
			m.useLake(t, dir, lakeVerbs, c.Plant(l), c.Want)
		})
	}
	t.Run("sparse", func(t *testing.T) { m.sparse(t, healthy) })
	t.Run("kinds", func(t *testing.T) { m.kinds(t, healthy) })
	t.Run("jq", func(t *testing.T) { m.programs(t, healthy) })
	t.Logf("%d runs, at most %.2f s and %d MB", m.runs, m.time.Seconds(), m.rss)
}

// sparse are objects of gigabytes that take no room on disk.
func (m *measured) sparse(t *testing.T, healthy string) {
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
	vouch := func(sum string, size int64) func(t *testing.T, dir string, l hostiletest.Lake) string {
		return func(t *testing.T, dir string, l hostiletest.Lake) string {
			path := l.Vouch(sum, size, 1)
			if err := os.Truncate(filepath.Join(dir, path), size); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	zeros := func(size int64) string {
		h := sha256.New()
		_, _ = io.CopyN(h, zeroes{}, size) // it never fails
		return fmt.Sprintf("%x", h.Sum(nil))
	}
	wrong := strings.Repeat("0", 64)
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
		{"640 MB listed as such, with its hash", vouch(zeros(honest), honest), longVerbs, ""},
		{"640 MB listed as such, with another hash", vouch(wrong, honest), longVerbs, "bytes that are not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, l := copyLake(t, healthy)
			m.useLake(t, dir, c.verbs, c.plant(t, dir, l), c.want)
		})
	}
}

// zeroes is a file without end, of zeros.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// kinds are objects that are not regular files.
func (m *measured) kinds(t *testing.T, healthy string) {
	for kind, place := range map[string]func(path string) error{
		"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"a device": func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }, // /dev/zero
	} {
		for name, key := range map[string]func(hostiletest.Lake) string{
			"head": func(hostiletest.Lake) string { return hostiletest.HeadKey }, "catalog": hostiletest.Lake.Catalog,
			"manifest": hostiletest.Lake.Manifest, "file": hostiletest.Lake.File,
		} {
			t.Run(kind+" as "+name, func(t *testing.T) {
				dir, l := copyLake(t, healthy)
				path := key(l)
				t.Chdir(filepath.Join(dir, filepath.Dir(path))) // names of sockets are short
				err := errors.Join(os.Remove(filepath.Base(path)), place(filepath.Base(path)))
				if errors.Is(err, syscall.EPERM) && os.Getuid() != 0 {
					t.Skip("only root can make a device")
				}
				if err != nil {
					t.Fatal(err)
				}
				m.useLake(t, dir, lakeVerbs, path, kind)
			})
		}
	}
}

// hostilePrograms are programs that a stored schema may make readers of the past run.
var hostilePrograms = map[string]string{
	"stack":   `.n = (null | setpath([range(1000000) | "a"]; 1))`,
	"explode": `.n = ("x" * 16000000 | explode | length)`,
	"endless": `def f: f; f`,
	"wide":    `[range(1e12)]`,
	"large":   `.n = (reduce range(40) as $i (1; [., .]) | tojson | length)`,
}

// programs are those of a stored schema.
func (m *measured) programs(t *testing.T, healthy string) {
	const past = "query entities Person --as-of 1"
	for name, program := range hostilePrograms {
		t.Run(name+" in a lake", func(t *testing.T) {
			dir, l := copyLake(t, healthy)
			l.Edit(l.Catalog(), func(c hostiletest.Document) {
				for _, v := range c["types"].([]any) {
					if up, ok := v.(map[string]any)["upgrader"].(map[string]any); ok {
						up["program"] = program
					}
				}
			})
			m.useLake(t, dir, []string{"!" + past, "log Person a", "diff 1 head", "doctor"}, "Person", "")
		})
		t.Run(name+" in SQLite", func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "x.db")
			newPersons(t, "--db", db)
			runRaw(t, db, `UPDATE schema_versions SET onto_upgrader = json_set(onto_upgrader, '$.program', '`+strings.ReplaceAll(program, "'", "''")+`') WHERE onto_upgrader LIKE '%program%'`)
			verbs := []string{past, "log Person a", "diff 1 head", "doctor"}
			if !thorough() {
				verbs = verbs[:1]
			}
			for _, verb := range verbs {
				status, said := m.run(t, append(strings.Fields(verb), "--db", db)...)
				told(t, verb, verb == past, status, said, "Person", "")
			}
		})
	}
}
