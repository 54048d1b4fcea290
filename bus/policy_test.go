package bus

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/emission"
)

func testPolicy() *policy {
	rules := emission.Rules{Namespace: "n", MaxDepth: 5}
	return &policy{attempts: 3, base: 250 * time.Millisecond, max: 30 * time.Second,
		jitter: func() time.Duration { return 7 * time.Millisecond }, notice: rules.Event}
}

// The pause doubles with each failure, up to the greatest, and has its jitter on top.
func TestBackoff(t *testing.T) {
	p := testPolicy()
	for attempts, want := range map[int]time.Duration{
		0: 250 * time.Millisecond, 1: 500 * time.Millisecond, 2: time.Second, 6: 16 * time.Second, 7: 30 * time.Second, 61: 30 * time.Second, 62: 30 * time.Second, 1000: 30 * time.Second,
	} {
		if got := p.backoff(attempts); got != want+7*time.Millisecond {
			t.Errorf("after %d attempts: got %v, want %v and 7ms", attempts, got, want)
		}
	}
	b := &Bus{o: Options{BackoffBase: time.Millisecond, BackoffMax: time.Second, MaxAttempts: 10}}
	p2 := b.policy(&Handler{})
	for range 1000 {
		if j := p2.jitter(); j < 0 || j >= 100*time.Millisecond {
			t.Fatalf("jitter %v", j)
		}
	}
}

// What becomes of an attempt, by its error and by what came before.
func TestEndings(t *testing.T) {
	p := testPolicy()
	failure := errors.New("no")
	code := func(c onto.Code) error { return fmt.Errorf("outer: %w", onto.Errorf(c, "planted")) }
	claim := func(attempts, deliveries int) onto.Claim {
		return onto.Claim{Attempts: attempts, Deliveries: deliveries}
	}
	for name, c := range map[string]struct {
		end  ending
		want string // what, do, attempts/deliveries, delay
	}{
		"acked":                 {acked(claim(1, 1)), "acked 2 1/2 0s"},
		"first failure":         {p.handled(claim(0, 0), failure), "failed 3 1/1 507ms"},
		"second failure":        {p.handled(claim(1, 1), failure), "failed 3 2/2 1.007s"},
		"last failure":          {p.handled(claim(2, 2), failure), "buried 5 3/3 0s"},
		"failure after crashes": {p.handled(claim(0, 2), failure), "buried 5 1/3 0s"},
		"rejected":              {p.handled(claim(0, 0), Reject(failure)), "buried 5 1/1 0s"},
		"loop":                  {p.handled(claim(0, 0), code(onto.EventLoopLimit)), "buried 5 1/1 0s"},
		"snoozed":               {p.handled(claim(1, 2), fmt.Errorf("outer: %w", Snooze(time.Minute))), "snoozed 4 1/2 1m0s"},
		"snoozed backwards":     {p.handled(claim(1, 2), Snooze(-time.Minute)), "snoozed 4 1/2 10ms"},
		"commit: invalid":       {p.committed(claim(0, 0), code(onto.Invalid), false), "failed 3 1/1 507ms"},
		"commit: mismatch":      {p.committed(claim(0, 0), code(onto.VersionMismatch), false), "failed 3 1/1 507ms"},
		"stale":                 {p.handled(claim(1, 1), code(onto.Stale)), "outdated 4 1/2 507ms"},
		"stale to the end":      {p.handled(claim(0, 2), code(onto.Stale)), "buried 5 0/3 0s"},
		"stale within another":  {p.handled(claim(0, 0), onto.Errorf(onto.VersionMismatch, "%w", code(onto.Stale))), "failed 3 1/1 507ms"},
		"commit: stale":         {p.committed(claim(0, 0), code(onto.Stale), true), "outdated 4 0/1 257ms"},
		"commit: stale, last":   {p.committed(claim(0, 2), code(onto.Stale), false), "buried 5 0/3 0s"},
		"commit: no code":       {p.committed(claim(0, 0), failure, false), "failed 3 1/1 507ms"},
		"commit: loop":          {p.committed(claim(0, 0), code(onto.EventLoopLimit), false), "buried 5 1/1 0s"},
		"commit: locked":        {p.committed(claim(1, 1), code(onto.LockContention), false), "returned 4 1/1 1s"},
		"commit: full":          {p.committed(claim(1, 1), code(onto.Full), false), "returned 4 1/1 1s"},
		"commit: unavailable":   {p.committed(claim(1, 1), code(onto.Unavailable), false), "returned 4 1/1 1s"},
		"commit: unknown":       {p.committed(claim(1, 1), code(onto.OutcomeUnknown), false), "returned 4 1/1 1s"},
		"commit: lost":          {p.committed(claim(1, 1), code(onto.LeaseExpired), false), "lost 0 1/1 0s"},
		"commit: its own lease": {p.committed(claim(0, 0), code(onto.LeaseExpired), true), "failed 3 1/1 507ms"},
		"commit: outdated":      {p.committed(claim(1, 1), code(onto.SchemaOutdated), false), "returned 4 1/1 0s, ends the run"},
		"commit: closed":        {p.committed(claim(1, 1), code(onto.Closed), false), "returned 4 1/1 0s, ends the run"},
		"commit: read-only":     {p.committed(claim(1, 1), code(onto.ReadOnly), false), "returned 4 1/1 0s, ends the run"},
	} {
		got := fmt.Sprintf("%s %d %d/%d %v", c.end.what, c.end.do, c.end.claim.Attempts, c.end.claim.Deliveries, c.end.delay)
		if c.end.fatal != nil {
			got += ", ends the run"
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	for _, c := range []struct {
		lost       bool
		deliveries int
		want       bool
	}{{false, 3, false}, {true, 2, false}, {true, 3, true}} {
		if end, got := p.poisoned(onto.Claim{Lost: c.lost, Deliveries: c.deliveries}); got != c.want || got && (end.do != backend.Bury || end.claim.Deliveries != c.deliveries) {
			t.Errorf("lost %v after %d deliveries: got %v, %+v", c.lost, c.deliveries, got, end)
		}
	}
}

// A dead letter is told of, unless that would go on for ever.
func TestNotice(t *testing.T) {
	p := testPolicy()
	c := onto.Claim{Event: onto.Event{ID: "e", Namespace: "n", Type: "T", Root: "r", Depth: 4}, Handler: "h", Attempts: 3, Deliveries: 4}
	end := ending{do: backend.Bury, claim: c, err: errors.New("no")}
	n := p.settlement(&end).Notice
	if n == nil || n.Type != onto.DeadLetterType || n.Root != "r" || n.Depth != 5 || n.Parent != "e" || n.Namespace != "n" {
		t.Fatalf("got %+v", n)
	}
	if want := `{"attempts":3,"deliveries":4,"error":"no","event_id":"e","event_type":"T","handler":"h","namespace":"n"}`; string(n.Payload) != want {
		t.Errorf("got %s, want %s", n.Payload, want)
	}
	end.claim.Depth = 5
	if n := p.settlement(&end).Notice; n != nil {
		t.Errorf("at the end of a chain: %+v", n)
	}
	end.claim.Depth, end.claim.Type = 0, onto.DeadLetterType
	if n := p.settlement(&end).Notice; n != nil {
		t.Errorf("of a notice: %+v", n)
	}
	for _, do := range []backend.Settling{backend.Start, backend.Ack, backend.Release, backend.Return} {
		if s := p.settlement(&ending{do: do, claim: c, err: errors.New("no")}); s.Notice != nil || (s.Error != "") != (do == backend.Release) {
			t.Errorf("%d: %+v", do, s)
		}
	}
}

// Texts of errors are bounded and can be stored.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		"a\x00b\xffc":      "a\uFFFDb\uFFFDc",
		"abcdefghijkl":     "abcdefghijkl",
		"abcdefghijklm":    "abcdefgh …",
		"abcdefgäöüäöü":    "abcdefg …",
		"\xff\xff\xff\xff": "\uFFFD",
	} {
		got := text(errors.New(in), 12)
		if got != want || len(got) > 12 || !utf8.ValidString(got) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := text(nil, 12); got != "" {
		t.Errorf("got %q", got)
	}
	if got := text(errors.New(strings.Repeat("x", 1<<20)), maxError); len(got) != maxError {
		t.Errorf("got %d bytes", len(got))
	}
}

// Namespaces with names as long as names may be have a lease of their own.
func TestRetentionLease(t *testing.T) {
	long := strings.Repeat("n", 64)
	for _, ns := range []string{"default", long, long[:63] + "m"} {
		if err := onto.CheckLeaseName(retentionLease(ns)); err != nil {
			t.Error(err)
		}
	}
	if retentionLease(long) == retentionLease(long[:63]+"m") {
		t.Error("two namespaces share a lease")
	}
}

// Whatever a file says about attempts, there is a pause.
func TestBackoffOfAnything(t *testing.T) {
	p := policy{base: time.Second, max: time.Minute, jitter: func() time.Duration { return 0 }}
	for attempts, want := range map[int]time.Duration{math.MinInt: time.Second, -5: time.Second, 0: time.Second, 5: 32 * time.Second, 64: time.Minute, math.MaxInt: time.Minute} {
		if got := p.backoff(attempts); got != want {
			t.Errorf("%d attempts: got %v, want %v", attempts, got, want)
		}
	}
}
