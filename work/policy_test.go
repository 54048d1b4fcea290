package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

// What becomes of an item, for each kind of error, and why.
func TestPolicy(t *testing.T) {
	p := policy{attempts: 3, base: time.Second, max: 3 * time.Second, jitter: func(time.Duration) time.Duration { return 0 }}
	plain := errors.New("it broke")
	for _, c := range []struct {
		tries int
		at    stage
		err   error
		want  string
	}{
		{1, fetching, plain, "retried after 1s, class fetch: it broke"},
		{2, fetching, plain, "retried after 2s, class fetch: it broke"},
		{3, fetching, plain, "failed, class fetch: given up after 3 attempts: it broke"},
		{1, discovering, plain, "retried after 1s, class discover: it broke"},
		{1, writing, plain, "retried after 1s, class store: it broke"},
		{1, fetching, Temporary(plain, time.Minute), "retried after 1m0s, class fetch: it broke"},
		{1, fetching, Temporary(plain, -time.Minute), "retried after 1s, class fetch: it broke"},
		{1, fetching, Temporary(plain, 1e6*time.Hour), "retried after 24h0m0s, class fetch: it broke"},
		{3, fetching, Temporary(plain, time.Minute), "failed, class fetch: given up after 3 attempts: it broke"},
		{1, fetching, Permanent(plain), "failed, class fetch: it broke"},
		{1, fetching, fmt.Errorf("api: %w", Permanent(plain)), "failed, class fetch: api: it broke"},
		{1, fetching, classed(Temporary(plain, 0), "dns"), "retried after 1s, class dns: it broke"},
		{3, fetching, SkipItem("not wanted"), "skipped: not wanted"},
		{1, fetching, classed(SkipItem("not allowed"), "robots"), "skipped, class robots: not allowed"},
		{1, fetching, context.DeadlineExceeded, "retried after 1s, class timeout: context deadline exceeded"},
		{1, fetching, &panicked{value: "boom"}, "retried after 1s, class panic: panic: boom"},
		{1, fetching, onto.Errorf(onto.Refused, "private"), "failed, class refused: private"},
		{1, writing, onto.Errorf(onto.Invalid, "no title"), "failed, class invalid: no title"},
		{1, writing, onto.Errorf(onto.LockContention, "busy"), "retried after 1s, class lock_contention: busy"},
		{1, writing, onto.Errorf(onto.Full, "no room"), "retried after 1s, class full: no room"},
		{1, writing, onto.Errorf(onto.SchemaOutdated, "types differ"), "returned: types differ; the run ends"},
		{3, writing, onto.Errorf(onto.Closed, "closed"), "returned: closed; the run ends"},
		{1, fetching, onto.Errorf(onto.Closed, "closed"), "retried after 1s, class closed: closed"},
		{1, writing, Temporary(onto.Errorf(onto.Invalid, "too early"), 0), "retried after 1s, class invalid: too early"},
	} {
		e := p.failed(&onto.WorkItem{Attempt: c.tries + 2, Revised: 2}, c.at, c.err)
		if got := describe(e); got != c.want {
			t.Errorf("%d tries, %s, %v:\ngot  %s\nwant %s", c.tries, c.at, c.err, got, c.want)
		}
	}
}

func describe(e ending) string {
	s := string(e.what)
	if e.delay > 0 {
		s += " after " + e.delay.String()
	}
	if e.class != "" {
		s += ", class " + e.class
	}
	s += ": " + e.err.Error()
	if e.fatal != nil {
		s += "; the run ends"
	}
	return s
}

// Pauses double up to the longest, for any number of tries.
func TestBackoff(t *testing.T) {
	p := policy{base: time.Second, max: time.Minute, jitter: func(d time.Duration) time.Duration { return d }}
	for tries, want := range map[int]time.Duration{0: 1250 * time.Millisecond, 1: 1250 * time.Millisecond, 2: 2500 * time.Millisecond, 6: 40 * time.Second, 7: 75 * time.Second, 1000: 75 * time.Second} {
		if got := p.backoff(tries); got != want {
			t.Errorf("after %d tries: got %v, want %v", tries, got, want)
		}
	}
}

// What is stored about an error is text, and bounded.
func TestText(t *testing.T) {
	for _, s := range []string{strings.Repeat("é", 1000), "a\x00b", "\xff\xfe", strings.Repeat("\xff", 1000)} {
		got := text(errors.New(s), 100)
		if len(got) > 100 || strings.ContainsAny(got, "\x00") || strings.ToValidUTF8(got, "") != got || got == "" {
			t.Errorf("%.20q: got %q", s, got)
		}
	}
}
