package work

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// The limits of what is stored about a failure, in bytes.
const (
	maxError = 4 << 10
	maxStack = 4 << 10
)

// MaxRetryAfter is the longest that a source can put an item off.
const MaxRetryAfter = 24 * time.Hour

// stage is what an attempt was doing.
type stage string

const (
	fetching    stage = "fetch"
	writing     stage = "write"
	discovering stage = "discover"
)

// policy decides what becomes of items.
type policy struct {
	attempts  int
	base, max time.Duration
	jitter    func(time.Duration) time.Duration // a random time up to this
}

func newPolicy(o *RunOptions) policy {
	return policy{attempts: o.MaxAttempts, base: o.BackoffBase, max: o.BackoffMax, jitter: func(d time.Duration) time.Duration { return rand.N(d + 1) }}
}

// ending is what becomes of an attempt.
type ending struct {
	what  Happening
	do    backend.WorkDo // 0 if the lease was lost
	delay time.Duration  // WorkRetry
	class string
	err   error // why
	fatal error // ends the Run; nil if it goes on
}

// The classes of failures that the runner itself finds.
const (
	classLost    = "lost"
	classPanic   = "panic"
	classSystem  = "unknown_system"
	classTimeout = "timeout"
	classStore   = "store"
	classNetwork = "network"
)

func completed() ending { return ending{what: Completed, do: backend.WorkComplete} }

// lost is the end of an attempt whose item was taken by another worker.
func lost(err error) ending { return ending{what: Lost, class: classLost, err: err} }

// returned gives an item back, and counts nothing.
func returned(err error) ending { return ending{what: Returned, do: backend.WorkReturn, err: err} }

// givenUp is the end of an item that was tried too often before this run came to it.
func givenUp(a *onto.WorkAttempt) ending {
	return ending{what: Failed, do: backend.WorkFail, class: a.Class, err: errors.New(a.Error)}
}

// unknown fails an item for whose system there is no connector.
func unknown(i *onto.WorkItem, systems []string) ending {
	err := onto.Errorf(onto.UnsupportedOperation, "there is no connector for the source system %.200q of source %.200q", i.System, i.Source).
		WithHint("the runner has connectors for: %s", strings.Join(systems, ", "))
	return ending{what: Failed, do: backend.WorkFail, class: classSystem, err: err}
}

// failed decides after an error in a stage of an attempt.
func (p *policy) failed(i *onto.WorkItem, at stage, err error) ending {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{err: err}
	}
	class := f.class
	if class == "" {
		class = classOf(at, err)
	}
	switch {
	case f.kind == skipped:
		return ending{what: Skipped, do: backend.WorkSkip, class: f.class, err: err}
	case at == writing && (hopeless(err) || onto.CodeOf(err) == onto.SchemaOutdated):
		e := returned(err)
		e.fatal = err
		return e
	case f.kind == permanent, f.kind == 0 && lasting(err):
		return ending{what: Failed, do: backend.WorkFail, class: class, err: err}
	case i.Tries() >= p.attempts:
		return ending{what: Failed, do: backend.WorkFail, class: class, err: fmt.Errorf("given up after %d attempts: %w", i.Tries(), err)}
	}
	return ending{what: Retried, do: backend.WorkRetry, delay: max(p.backoff(i.Tries()), min(f.after, MaxRetryAfter)), class: class, err: err}
}

// backoff is the pause after a number of tries: it doubles, and up to a quarter is added
// at random.
func (p *policy) backoff(tries int) time.Duration {
	d := p.max
	if n := max(0, tries-1); n < 62 && p.base <= p.max>>n {
		d = p.base << n
	}
	return d + p.jitter(d/4)
}

// hopeless reports whether a store that failed so will fail again.
func hopeless(err error) bool {
	switch onto.CodeOf(err) {
	case onto.Closed, onto.Corrupt, onto.ReadOnly, onto.Uninitialized:
		return true
	}
	return false
}

// lasting reports whether an error will be the same next time.
func lasting(err error) bool {
	switch onto.CodeOf(err) {
	case onto.Invalid, onto.TooLarge, onto.Refused, onto.Unsupported, onto.UnsupportedOperation, onto.NotFound, onto.Conflict:
		return true
	}
	return false
}

// classOf names the kind of a failure that does not name it.
func classOf(at stage, err error) string {
	var p *panicked
	var n net.Error
	switch {
	case errors.As(err, &p):
		return classPanic
	case errors.Is(err, errTimeout), errors.Is(err, context.DeadlineExceeded), errors.As(err, &n) && n.Timeout():
		return classTimeout
	case errors.As(err, &n):
		return classNetwork
	case onto.CodeOf(err) != "":
		return string(onto.CodeOf(err))
	case at == writing:
		return classStore
	}
	return string(at)
}

// text is what an error says, as it can be stored.
func text(err error, most int) string {
	if err == nil {
		return ""
	}
	return cut(err.Error(), most)
}

// cut is text of at most so many bytes that can be stored.
func cut(s string, most int) string {
	if len(s) > 2*most {
		s = s[:2*most]
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= most {
		return s
	}
	const more = " …"
	n := most - len(more)
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}
