package backendtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/child"
)

// putOne puts one entity of the type Thing as soon as its standard input ends, and
// prints its commit.
func (c Children) putOne(args []string) error {
	place, key := args[0], args[1]
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until all are
	b, err := c.Open(context.Background(), place)
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := b.Append(context.Background(), &backend.Draft{Writes: []backend.Write{{
		Identity: onto.EntityID("Thing", key), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":%q,"n":1}`, key), SchemaVersion: 1,
	}}})
	if err != nil {
		return err
	}
	_, err = fmt.Println(r.ID)
	return err
}

// Putter is a process that puts one entity.
type Putter struct {
	Key     string
	Process *os.Process
	Commit  int64  // 0 if it was not acknowledged; known after [Putters.Wait]
	Failure string // its stderr

	cmd    *exec.Cmd
	lines  *bufio.Reader
	errors bytes.Buffer
}

// Putters are processes that put one entity each, all at the same moment.
type Putters struct {
	All   []*Putter
	begin *os.File // closed when they may begin
}

// StartPutters starts processes that are ready to put. Their keys begin with a name.
func StartPutters(t *testing.T, place, name string, n int) *Putters {
	t.Helper()
	wait, begin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer wait.Close()
	all := &Putters{begin: begin}
	t.Cleanup(func() { begin.Close() })
	for i := range n {
		key := fmt.Sprintf("%s%d", name, i)
		p := &Putter{Key: key, cmd: child.Command("put one", place, key)}
		p.cmd.Stdin, p.cmd.Stderr = wait, &p.errors
		stdout, err := p.cmd.StdoutPipe()
		if err == nil {
			err = p.cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Process, p.lines = p.cmd.Process, bufio.NewReader(stdout)
		all.All = append(all.All, p)
		t.Cleanup(func() { _ = p.Process.Kill() })
	}
	for _, p := range all.All {
		if line, err := p.lines.ReadString('\n'); line != "ready\n" {
			t.Fatalf("process %s: got %q, %v, %s", p.Key, line, err, p.errors.String())
		}
	}
	return all
}

// Begin lets them put.
func (p *Putters) Begin() { p.begin.Close() }

// Wait waits until all have ended, and returns how many were acknowledged.
func (p *Putters) Wait() (acknowledged int) {
	var wg sync.WaitGroup
	for _, o := range p.All {
		wg.Go(func() {
			_, _ = fmt.Fscan(o.lines, &o.Commit)
			_ = o.cmd.Wait() // its stderr says more
			o.Failure = o.errors.String()
		})
	}
	wg.Wait()
	for _, o := range p.All {
		if o.Commit > 0 {
			acknowledged++
		}
	}
	return acknowledged
}

// WantPut fails unless each of the acknowledged entities is there under its commit,
// and there are no other commits than theirs. The check of the store is clean.
func WantPut(t *testing.T, b backend.Backend, all *Putters) {
	t.Helper()
	acknowledged := int64(0)
	for _, p := range all.All {
		if p.Commit == 0 {
			continue
		}
		acknowledged++
		if v, err := b.Get(t.Context(), onto.EntityID("Thing", p.Key), backend.Head); err != nil || v.Commit != p.Commit {
			t.Errorf("%s was acknowledged as commit %d: got %d, %v", p.Key, p.Commit, v.Commit, err)
		}
	}
	if head, err := b.Resolve(t.Context(), onto.Point{}); err != nil || head.ID != acknowledged {
		t.Errorf("the head: got commit %d, %v; want %d, one for each acknowledgement", head.ID, err, acknowledged)
	}
	Check(t, b)
}
