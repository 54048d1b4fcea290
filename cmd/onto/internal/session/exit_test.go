package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	want := map[onto.Code]int{
		onto.Invalid: 2, onto.TooLarge: 2, onto.UnsupportedOperation: 2,
		onto.SchemaOutdated: 3, onto.MigrationToken: 3, document.CheckFailed: 3,
		document.Interrupted: 4, document.CommandFailed: 4, onto.UpgraderMissing: 4, onto.UpgraderFailed: 4, onto.EventLoopLimit: 4,
		onto.Uninitialized: 5, onto.CopyUnfinished: 5, onto.Unsupported: 5, onto.Corrupt: 5, onto.ReadOnly: 5,
		onto.Full: 5, onto.LockContention: 5, onto.LeaseExpired: 5, onto.Unavailable: 5, onto.Closed: 5,
		onto.Conflict: 6, onto.Stale: 6, onto.HeadMismatch: 6, onto.VersionMismatch: 6, onto.IdempotencyConflict: 6,
		onto.Refused:        7,
		onto.OutcomeUnknown: 8,
		onto.NotFound:       9,
	}
	for code, status := range want {
		if got := exitOf(code); got != status {
			t.Errorf("%s: got %d, want %d", code, got, status)
		}
	}
	for _, code := range onto.Codes() {
		if _, ok := want[code]; !ok {
			t.Errorf("%s has no status in this test", code)
		}
	}
}

func manyErrors(n int) error {
	var list []error
	for i := range n {
		list = append(list, onto.Errorf(onto.Full, "error %d", i+1))
	}
	return errors.Join(list...)
}

func TestReport(t *testing.T) {
	outdated := onto.Errorf(onto.SchemaOutdated, "differ: all on one line").WithHint("look")
	outdated.Differences = []onto.Difference{{Type: "T", Added: []string{"a"}, Removed: []string{"b"}, Changed: []string{"c: int → bool"}}}
	for _, c := range []struct {
		name   string
		err    error
		json   bool
		status int
		want   string
	}{
		{"nothing", nil, false, 0, ""},
		{"plain", errors.New("disk on fire"), false, 1, "onto: disk on fire\n"},
		{"plain as JSON", errors.New("disk on fire"), true, 1,
			`{"error":{"code":"general","message":"disk on fire","hint":""}}` + "\n"},
		{"hint", onto.Errorf(onto.NotFound, "no such thing").WithHint("look again"), false, 9,
			"onto: no such thing\nhint: look again\n"},
		{"wrapped", fmt.Errorf("outer: %w", onto.Errorf(onto.Full, "no room")), false, 5, "onto: outer: no room\n"},
		{"interrupted", fmt.Errorf("read: %w", context.Canceled), false, 4, "onto: interrupted\n"},
		{"late", context.DeadlineExceeded, false, 1, "onto: context deadline exceeded\n"},
		{"control characters", onto.Errorf(onto.Invalid, "type \x1b[31m\u202e\n"), false, 2, `onto: type \u001b[31m\u202e\n` + "\n"},
		{"two errors", errors.Join(onto.Errorf(onto.Corrupt, "the one"), errors.New("the other")), false, 5, "onto: the one; the other\n"},
		{"six errors", manyErrors(6), false, 5, "onto: error 1; error 2; error 3; error 4; error 5; error 6\n"},
		{"many errors", manyErrors(5000), false, 5, "onto: error 1; error 2; error 3; error 4; error 5; and 4995 more\n"},
		{"a comparison as JSON", onto.Errorf(onto.Invalid, "a < b"), true, 2, `{"error":{"code":"invalid","message":"a < b","hint":""}}` + "\n"},
		{"differences", outdated, false, 3,
			"onto: types are stored differently\n  T: + a\n  T: - b\n  T: ~ c: int → bool\nhint: look\n"},
		{"differences as JSON", outdated, true, 3,
			`{"error":{"code":"schema_outdated","message":"types are stored differently","hint":"look","differences":["T: + a","T: - b","T: ~ c: int → bool"]}}` + "\n"},
	} {
		var stderr bytes.Buffer
		cmd := New(nil, io.Discard, &stderr)
		if got := cmd.finish(c.err, c.json); got != c.status {
			t.Errorf("%s: got status %d, want %d", c.name, got, c.status)
		}
		if got := stderr.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
