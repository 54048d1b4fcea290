package backendtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/child"
)

// Children are the jobs of child processes on one kind of backend, for the TestMain of
// a package that uses [StartPutters] or [StartWriter].
type Children struct {
	Open  func(ctx context.Context, place string) (backend.Backend, error)
	Draft func(key string, n int) *backend.Draft // what a writer commits

	// Prepare is called with a writer's backend before it begins, and with what else
	// it was started with. It may be nil.
	Prepare func(b backend.Backend, args []string)
}

// Jobs returns the jobs for [child.Main].
func (c Children) Jobs() map[string]child.Job {
	return map[string]child.Job{"put one": c.putOne, "write": c.write}
}

// write commits new entities through a number of callers, and prints a line for each
// commit that was acknowledged, until its standard input ends or it is killed.
func (c Children) write(args []string) error {
	place, name := args[0], args[1]
	callers, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	b, err := c.Open(ctx, place)
	if err != nil {
		return err
	}
	defer b.Close()
	if c.Prepare != nil {
		c.Prepare(b, args[3:])
	}
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { errs[i] = c.writeUntil(ctx, b, fmt.Sprintf("%s-%d", name, i)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c Children) writeUntil(ctx context.Context, b backend.Backend, name string) error {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("%s-%d", name, n)
		r, err := b.Append(context.WithoutCancel(ctx), c.Draft(key, n))
		if err != nil {
			return err
		}
		if _, err := fmt.Println(r.ID, key); err != nil {
			return err
		}
	}
	return nil
}

// Writer is a process that commits until it is stopped or killed.
type Writer struct {
	*child.Process
	First <-chan struct{} // closed at the first acknowledgement
	Ended <-chan struct{} // closed when it has printed all that was acknowledged
	acks  map[string]int64
}

// StartWriter starts a process with a number of callers that commit. Args are for
// Prepare.
func StartWriter(t testing.TB, place, name string, callers int, args ...string) *Writer {
	t.Helper()
	first, ended := make(chan struct{}), make(chan struct{})
	w := &Writer{
		Process: child.Start(t, "write", append([]string{place, name, strconv.Itoa(callers)}, args...)...),
		First:   first, Ended: ended, acks: map[string]int64{},
	}
	go func() {
		defer close(ended)
		for line := range w.Lines() {
			var id int64
			var key string
			if n, _ := fmt.Sscan(line, &id, &key); n < 2 {
				continue
			}
			if len(w.acks) == 0 {
				close(first)
			}
			w.acks[key] = id
		}
	}()
	return w
}

// Wait waits until the process ends, and returns the commits that were acknowledged,
// by key.
func (w *Writer) Wait() (map[string]int64, error) {
	<-w.Ended
	return w.acks, w.Process.Wait()
}

// Stop lets the process finish its commit, and waits for it.
func (w *Writer) Stop() (map[string]int64, error) {
	w.Stdin.Close()
	return w.Wait()
}

// Kill ends the process at once.
func (w *Writer) Kill() map[string]int64 {
	_ = w.Process.Process.Kill()
	acks, _ := w.Wait()
	return acks
}
