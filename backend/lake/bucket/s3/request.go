package s3

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto/internal/backoff"
)

// Reads, listings and deletions are tried this often.
const maxAttempts = 4

// A body may take the time of its bytes at this rate, in addition to the request's
// timeout.
const bytesPerSecond = 1 << 20

// request is one exchange with the service.
type request struct {
	bucket *Bucket
	ctx    context.Context // of this exchange alone
	caller context.Context
	sent   atomic.Bool // the request was given to the network
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

type requestKey struct{}

var (
	errNoAnswer = errors.New("no answer")
	errClosed   = errors.New("the bucket was closed")
)

// begin starts the clock for one exchange that sends size bytes.
func (b *Bucket) begin(ctx context.Context, size int) *request {
	r := &request{bucket: b, caller: ctx, limit: b.timeout + transferTime(int64(size))}
	inner, cancel := context.WithCancelCause(ctx)
	r.cancel = cancel
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls++; b.closed {
		cancel(errClosed)
	}
	r.ctx = context.WithValue(inner, requestKey{}, r)
	r.timer = time.AfterFunc(r.limit, func() { cancel(errNoAnswer) })
	return r
}

// expect starts the clock again for a body of size bytes that is yet to come.
func (r *request) expect(size int64) {
	if r.timer.Stop() {
		r.timer.Reset(r.limit + transferTime(size))
	}
}

func (r *request) end() {
	r.timer.Stop()
	r.cancel(nil)
	b := r.bucket
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls--; b.closed && b.calls == 0 {
		b.dropIdle() // it may have begun between Close and its last connection
	}
}

// timedOut returns the error of an exchange that took too long, or nil. It is
// not the error of the context, since the caller's deadline has not passed.
func (r *request) timedOut() error {
	if r.caller.Err() == nil && errors.Is(context.Cause(r.ctx), errNoAnswer) {
		return fmt.Errorf("%w within %s", errNoAnswer, r.limit)
	}
	return nil
}

func transferTime(size int64) time.Duration {
	return time.Duration(max(size, 0)/bytesPerSecond) * time.Second
}

// sender notes that a request is about to leave. What fails before that, such as
// finding credentials, cannot have changed anything.
type sender struct{ web *http.Client }

func (s sender) Do(req *http.Request) (*http.Response, error) {
	if r, ok := req.Context().Value(requestKey{}).(*request); ok {
		r.sent.Store(true)
	}
	return s.web.Do(req)
}

// repeat calls try until it succeeds, fails for good, or was tried often enough.
func (b *Bucket) repeat(ctx context.Context, try func() error) error {
	for attempt := 1; ; attempt++ {
		err := try()
		var again *transient
		if !errors.As(err, &again) {
			return err
		}
		if attempt == maxAttempts {
			return again.err
		}
		if b.pause(ctx, attempt) != nil {
			return fmt.Errorf("%w, after %w", ctx.Err(), again.err)
		}
	}
}

// transient marks errors that a retry may cure.
type transient struct{ err error }

func (t *transient) Error() string { return t.err.Error() }
func (t *transient) Unwrap() error { return t.err }

// wait waits up to 100 ms after the first attempt and up to twice as long after each
// further one. The time is random (jitter), so that clients that were throttled
// together do not retry together.
func wait(ctx context.Context, attempt int) error {
	ceiling := 100 * time.Millisecond << min(attempt-1, 6)
	return backoff.Sleep(ctx, ceiling/4+rand.N(ceiling*3/4))
}
