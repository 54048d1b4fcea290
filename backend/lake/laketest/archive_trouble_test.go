package laketest

import (
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/faulty"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// turning is a bucket that becomes another one.
type turning struct{ bucket.Bucket }

// Whatever the storage answers, a restoration is there or is not, and the error tells.
func TestRestoreOnBadStorage(t *testing.T) {
	source := fullLake(t, memory.New(nil), 8)
	before, after := logText(t, source, 0), []string(nil)
	for i, line := range before {
		if len(line) > 5 && line[:5] == "{ID:6" {
			before, after = before[:i], before
			break
		}
	}
	for plan, want := range map[string]onto.Code{
		"swap[head]:lost@1":                          "",
		"swap[head]:donechanged@1":                   "",
		"swap[head]:donemissing@1":                   "",
		"swap[head]:again@1":                         "",
		"swap[head]:changed@1":                       "",
		"swap[head]:late@1+2":                        "",
		"create[manifest]:lost@1":                    "",
		"create[parquet]:donechanged@1":              "",
		"swap[head]:unsynced@1":                      onto.OutcomeUnknown,
		"swap[head]:fail":                            onto.OutcomeUnknown,
		"create[manifest]:fail":                      onto.Unavailable,
		"swap[head]:lost@1,get[head]:fail@1":         "",
		"swap[head]:throttled@1,swap[head]:lost@2":   "",
		"swap[head]:conflict@1,swap[head]:changed@2": "",
	} {
		for _, streamBytes := range []int64{0, 300} {
			b := memory.New(nil)
			target := openThings(t, b, lake.Options{Target: true})
			must(t, target.Restore(t.Context(), partOf(t, source, 0, 5, true)))
			p, err := faulty.ParsePlan(plan)
			must(t, err)
			bad := &turning{kept{b}}
			l, err := lake.Open(t.Context(), bad, &lake.Options{Trusted: true, Target: true, StreamBytes: streamBytes, Patience: 300 * time.Millisecond})
			must(t, err)
			bad.Bucket = faulty.New(kept{b}, p)
			err = l.Restore(t.Context(), partOf(t, source, 5, 8, false))
			if code := onto.CodeOf(err); code != want {
				t.Errorf("%s, %d: got %v, want %q", plan, streamBytes, err, want)
			}
			_ = l.Close()
			next, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true, Target: true})
			must(t, err)
			got := logText(t, next, 0)
			state, err := next.CopyState(t.Context())
			must(t, err)
			whole := slices.Equal(got, after) && !state.Unfinished && state.Commit == 8
			none := slices.Equal(got, before) && state.Unfinished && state.Commit == 5
			if want == "" && !whole || want == onto.Unavailable && !none || !whole && !none {
				t.Errorf("%s, %d: it is left with %d entries and %+v", plan, streamBytes, len(got), state)
			}
			wantNoFindings(t, next)
			must(t, next.Close())
		}
	}
}
