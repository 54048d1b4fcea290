package bus

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// DeadLetterNotice is the event that tells of a dead letter. A handler of it gets those of
// all handlers in its namespace. A dead letter of such an event is not told of, nor is one
// at the end of a chain that is as long as chains may be.
type DeadLetterNotice struct {
	Event       string `json:"event_id"`
	Type        string `json:"event_type"`
	Namespace   string `json:"namespace"`
	OrderingKey string `json:"ordering_key,omitempty"`
	Handler     string `json:"handler"` // that gave it up
	Error       string `json:"error"`   // of the last failure
	Attempts    int    `json:"attempts"`
	Deliveries  int    `json:"deliveries"`
}

// EventType implements [onto.EventTyper].
func (DeadLetterNotice) EventType() string { return onto.DeadLetterType }

// The limits of what is stored about a failure.
const (
	maxError = 4 << 10 // bytes
	maxStack = 2 << 10
)

// returnDelay is how long an event waits after the store has failed its commit.
const returnDelay = time.Second

// maxJitter is added to a backoff, at random.
const maxJitter = 100 * time.Millisecond

// policy decides what becomes of events for one handler.
type policy struct {
	attempts  int // and deliveries, before an event is a dead letter
	base, max time.Duration
	jitter    func() time.Duration // up to maxJitter
	notice    func(any) (backend.NewEvent, error)
}

// policy is that of a handler.
func (b *Bus) policy(h *Handler) policy {
	return policy{
		attempts: cmp.Or(h.attempts, b.o.MaxAttempts), base: b.o.BackoffBase, max: b.o.BackoffMax,
		jitter: func() time.Duration { return rand.N(maxJitter) }, notice: b.rules.Event,
	}
}

// ending is what becomes of a claim.
type ending struct {
	what  Happening
	do    backend.Settling // 0 if the claim is settled already, or lost
	claim onto.Claim       // with the new counts
	delay time.Duration
	err   error // why
	fatal error // ends the Run; nil if it goes on
}

// backoff is the pause after a number of failures.
func (p *policy) backoff(attempts int) time.Duration {
	d := p.max
	if attempts = max(attempts, 0); attempts < 62 && p.base <= p.max>>attempts {
		d = p.base << attempts
	}
	return d + p.jitter()
}

// started is the claim after one more start of the handler.
func started(c onto.Claim) onto.Claim {
	c.Deliveries++
	return c
}

// acked ends a claim whose event was handled.
func acked(c onto.Claim) ending { return ending{what: Acked, do: backend.Ack, claim: started(c)} }

// returned gives a claim back and counts nothing.
func returned(c onto.Claim, delay time.Duration, err error) ending {
	return ending{what: Returned, do: backend.Return, claim: c, delay: delay, err: err}
}

// lost is the end of a claim that another one has replaced.
func lost(c onto.Claim, err error) ending { return ending{what: Lost, claim: c, err: err} }

// failed ends an attempt that failed: by a repetition, or at the limit by a dead letter.
func (p *policy) failed(c onto.Claim, err error) ending {
	c = started(c)
	c.Attempts++
	if p.spent(c) {
		return ending{what: Buried, do: backend.Bury, claim: c, err: err}
	}
	return ending{what: Failed, do: backend.Release, claim: c, delay: p.backoff(c.Attempts), err: err}
}

// outdated ends an attempt that was computed from what has changed since: it did not fail,
// and is repeated. Its start counts, so that it does not go on for ever.
func (p *policy) outdated(c onto.Claim, err error) ending {
	c = started(c)
	if p.spent(c) {
		return ending{what: Buried, do: backend.Bury, claim: c, err: err}
	}
	return ending{what: Outdated, do: backend.Return, claim: c, delay: p.backoff(c.Deliveries - 1), err: err}
}

// rejected gives an event up after an attempt.
func (p *policy) rejected(c onto.Claim, err error) ending {
	c = started(c)
	c.Attempts++
	return ending{what: Buried, do: backend.Bury, claim: c, err: err}
}

// spent reports whether a claim has reached the limit.
func (p *policy) spent(c onto.Claim) bool {
	return c.Attempts >= p.attempts || c.Deliveries >= p.attempts
}

// poisoned gives up, without starting the handler, an event that has ended its process
// too often. The second result is false for all other events.
func (p *policy) poisoned(c onto.Claim) (ending, bool) {
	if !c.Lost || c.Deliveries < p.attempts {
		return ending{}, false
	}
	err := fmt.Errorf("the handler was started %d times, and its claim ran out the last time: the process may have ended while it ran", c.Deliveries)
	return ending{what: Buried, do: backend.Bury, claim: c, err: err}, true
}

// handled ends an attempt by what the handler returned, if that is an error.
func (p *policy) handled(c onto.Claim, err error) ending {
	var s *snooze
	var r *rejection
	switch {
	case errors.As(err, &s):
		e := returned(c, s.d, nil)
		e.what = Snoozed
		return e
	case errors.As(err, &r), errors.Is(err, onto.EventLoopLimit):
		return p.rejected(c, err)
	case onto.CodeOf(err) == onto.Stale:
		return p.outdated(c, err)
	}
	return p.failed(c, err)
}

// committed ends an attempt by the error of its commit. Leased says that the commit
// carried a lease of the handler's own.
func (p *policy) committed(c onto.Claim, err error, leased bool) ending {
	switch code := onto.CodeOf(err); {
	case code == onto.SchemaOutdated || hopeless(err):
		e := returned(c, 0, err)
		e.fatal = err
		return e
	case code == onto.LockContention, code == onto.Unavailable, code == onto.Full, code == onto.OutcomeUnknown:
		return returned(c, returnDelay, err)
	case code == onto.LeaseExpired && !leased:
		return lost(c, err)
	case code == onto.EventLoopLimit:
		return p.rejected(c, err)
	case code == onto.Stale:
		return p.outdated(c, err)
	}
	return p.failed(c, err)
}

// hopeless reports whether a store that failed so will fail again.
func hopeless(err error) bool {
	switch onto.CodeOf(err) {
	case onto.Closed, onto.Corrupt, onto.ReadOnly, onto.Uninitialized:
		return true
	}
	return errors.Is(err, backend.ErrReopen)
}

// settlement is an ending as the backend takes it.
func (p *policy) settlement(e *ending) backend.Settlement {
	s := backend.Settlement{Claim: e.claim, Do: e.do, Delay: e.delay}
	switch e.do {
	case backend.Release, backend.Bury:
		s.Error = text(e.err, maxError)
	}
	if e.do == backend.Bury {
		s.Notice = p.noticeOf(e.claim, s.Error)
	}
	return s
}

// noticeOf is the event that tells of a dead letter; nil for none.
func (p *policy) noticeOf(c onto.Claim, why string) *backend.NewEvent {
	if c.Type == onto.DeadLetterType {
		return nil
	}
	e, err := p.notice(follow(&c.Event, DeadLetterNotice{
		Event: c.ID, Type: c.Type, Namespace: c.Namespace, OrderingKey: c.OrderingKey,
		Handler: c.Handler, Error: why, Attempts: c.Attempts, Deliveries: c.Deliveries,
	}))
	if err != nil {
		return nil // the chain is as long as it may be
	}
	return &e
}

// text is what an error says, as it can be stored.
func text(err error, most int) string {
	if err == nil {
		return ""
	}
	s := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= most {
		return s
	}
	const more = " …"
	cut := most - len(more)
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}
