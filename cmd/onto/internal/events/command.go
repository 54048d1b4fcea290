package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

// The limits of a command.
const (
	endWithin = 5 * time.Second // from SIGTERM to SIGKILL
	tailLines = 10              // of stderr that become the error
	tailBytes = 2 << 10
)

// runner runs a command for events.
type runner struct {
	argv     []string
	out, err func([]byte) error // what commands print
	stop     func()             // ends the run
	started  atomic.Int64
	broken   atomic.Pointer[error] // why stdout cannot be written
}

// handle runs the command for one event.
func (r *runner) handle(ctx context.Context, c *bus.Claim[json.RawMessage]) error {
	event, err := document.Encode(document.NewEvent(c.Event))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, r.argv[0], r.argv[1:]...)
	cmd.Stdin = bytes.NewReader(append(event, '\n'))
	tail := &tail{}
	out := &lines{to: r.out}
	errs := &lines{to: func(line []byte) error {
		tail.add(line)
		_ = r.err(line) // there is no other place to tell of it
		return nil
	}}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.Env = append(os.Environ(), environment(c.Claim)...)
	ownGroup(cmd)
	cmd.WaitDelay = endWithin
	err = cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		killGroup(cmd.Process.Pid) // what is left of it
	}
	out.close()
	errs.close()
	if out.err != nil {
		r.broken.Store(&out.err)
		r.stop()
		return bus.Snooze(0) // its output is lost, which is not its fault
	}
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil: // a background process of it holds stdout
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the command was ended%s", tail)
	}
	return fmt.Errorf("%w%s", err, tail)
}

// environment is what a command learns of its event besides stdin.
func environment(c onto.Claim) []string {
	var list []string
	for _, v := range [][2]string{
		{place.EnvEvent, c.ID}, {place.EnvType, c.Type}, {place.EnvNamespace, c.Namespace}, {place.EnvAttempt, strconv.Itoa(c.Attempts + 1)},
		{place.EnvRoot, c.Root}, {place.EnvDepth, strconv.Itoa(c.Depth)},
	} {
		list = append(list, v[0]+"="+v[1])
	}
	return list
}

// only handles one event, and then stops the run. An event that was claimed besides is
// given back.
func (r *runner) only(ctx context.Context, c *bus.Claim[json.RawMessage]) error {
	if r.started.Add(1) > 1 {
		return bus.Snooze(0)
	}
	defer r.stop()
	return r.handle(ctx, c)
}

// lines is an output of a command: whole lines go on, one after the other.
type lines struct {
	to   func(line []byte) error
	rest []byte
	err  error // why they do not go on any more
}

// maxLine is how much of a line waits for its end.
const maxLine = 64 << 10

// Write passes on the lines that are whole.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) > maxLine {
		end = len(l.rest)
	}
	if end > 0 && l.err == nil {
		l.err = l.to(l.rest[:end])
		l.rest = append(l.rest[:0], l.rest[end:]...)
	}
	if l.err != nil { // the command learns of it by a closed pipe
		return 0, l.err
	}
	return len(p), nil
}

// close passes on what has no end of line.
func (l *lines) close() {
	if len(l.rest) > 0 && l.err == nil {
		l.err = l.to(append(l.rest, '\n'))
	}
	l.rest = nil
}

// tail is the last lines of an output.
type tail struct{ text []byte }

func (t *tail) add(p []byte) {
	t.text = append(t.text, p...)
	if more := len(t.text) - tailBytes; more > 0 {
		t.text = append(t.text[:0], t.text[more:]...)
	}
}

// String is what follows the error of a command.
func (t *tail) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\uFFFD"))
	if text == "" {
		return ""
	}
	list := strings.Split(text, "\n")
	return ": " + strings.Join(list[max(0, len(list)-tailLines):], "\n")
}

// tally is what has become of events in one run, and where commands print.
type tally struct {
	*session.Session
	mu            sync.Mutex // guards the outputs of the session and what follows
	acked, buried int
	failed        map[string]bool // by event
}

// pass prints what a command has printed.
func (t *tally) pass(to *terminal.Output) func([]byte) error {
	return func(line []byte) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		if _, err := to.Write(line); err != nil {
			return err
		}
		return to.Flush()
	}
}
