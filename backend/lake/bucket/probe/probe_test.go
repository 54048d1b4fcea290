package probe_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/faulty"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/bucket/probe"
)

// run probes a bucket.
func run(t *testing.T, b bucket.Bucket) probe.Report {
	t.Helper()
	r, err := probe.Probe(t.Context(), b, "some/folder")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verdicts returns the names of the checks with a verdict.
func verdicts(r probe.Report, v probe.Verdict) []string {
	var names []string
	for _, c := range r.Checks {
		if c.Verdict == v {
			names = append(names, c.Name)
		}
	}
	return names
}

// wantEmpty fails if anything but the given object is left.
func wantEmpty(t *testing.T, b bucket.Bucket, but string) {
	t.Helper()
	list, err := b.List(t.Context(), "", "", 10)
	if err != nil || len(list) != 1 || list[0].Key != but {
		t.Errorf("after the probe there are %v, error %v, want %s alone", list, err, but)
	}
}

func planned(t *testing.T, b bucket.Bucket, text string) bucket.Bucket {
	t.Helper()
	plan, err := faulty.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	return faulty.New(b, plan)
}

// Buckets that keep the contract are trusted, also busy ones.
func TestTrusted(t *testing.T) {
	for name, open := range map[string]func(*testing.T) bucket.Bucket{
		"memory":          func(*testing.T) bucket.Bucket { return memory.New(nil) },
		"memory, as S3":   func(*testing.T) bucket.Bucket { return memory.New(&memory.Options{SameTag: true}) },
		"memory, wrapped": func(t *testing.T) bucket.Bucket { return planned(t, memory.New(nil), "") },
		"file": func(t *testing.T) bucket.Bucket {
			b, err := file.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.Close() })
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			if _, err := b.Create(t.Context(), "some/folder/kept", nil); err != nil {
				t.Fatal(err)
			}
			r := run(t, b)
			if got := verdicts(r, probe.OK); r.Err() != nil || len(got) != len(r.Checks) || len(got) < 13 {
				t.Errorf("got error %v, and in detail\n%s", r.Err(), r)
			}
			wantEmpty(t, b, "some/folder/kept")
		})
	}
}

func TestBusyIsTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, planned(t, memory.New(nil), "seed=5,any:throttled%15,write:conflict%15"))
		if r.Err() != nil {
			t.Errorf("got error %v, and in detail\n%s", r.Err(), r)
		}
	})
}

// Mistakes on which no lake depends are reported, and the bucket is trusted.
func TestReported(t *testing.T) {
	for check, b := range map[string]bucket.Bucket{
		"list after write":         planned(t, memory.New(nil), "list:old"),
		"conditional get":          ignoresConditionalGet{memory.New(nil)},
		"swap of a missing object": missingIsChanged{memory.New(nil)},
		"clean up":                 planned(t, memory.New(nil), "delete[read-]:fail"),
	} {
		r := run(t, b)
		if got := verdicts(r, probe.Reported); r.Err() != nil || !slices.Equal(got, []string{check}) {
			t.Errorf("%s: got error %v, reported %q, and in detail\n%s", check, r.Err(), got, r)
		}
	}
}

// Each broken bucket is refused, by the check for its mistake.
func TestRefused(t *testing.T) {
	for _, c := range brokenBuckets() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in which all racers meet a pause between two steps
				r := run(t, c.open(t))
				if r.Err() == nil {
					t.Fatalf("the bucket is trusted:\n%s", r)
				}
				failed := verdicts(r, probe.Failed)
				if !slices.Contains(failed, c.check) {
					t.Errorf("%q failed, want %q to be among them:\n%s", failed, c.check, r)
				}
				if !strings.Contains(r.Err().Error(), c.check) {
					t.Errorf("the error does not name the check %q: %v", c.check, r.Err())
				}
			})
		})
	}
	t.Logf("%d broken buckets", len(brokenBuckets()))
}

func TestCannotAsk(t *testing.T) {
	for _, prefix := range []string{"/", "../x", "a b", "a//"} {
		if r, err := probe.Probe(t.Context(), memory.New(nil), prefix); err == nil || r.Err() == nil {
			t.Errorf("the prefix %q: got errors %v and %v, want both", prefix, err, r.Err())
		}
	}
	if (probe.Report{}).Err() == nil {
		t.Error("a report without checks trusts the bucket")
	}
}

// An interrupted probe says so and cleans up.
func TestInterrupted(t *testing.T) {
	for _, after := range []int{1, 5, 20, 60} {
		inner := memory.New(nil)
		if _, err := inner.Create(t.Context(), "kept", nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r, err := probe.Probe(ctx, &interrupting{Bucket: inner, left: after, cancel: cancel}, "")
		if !errors.Is(err, context.Canceled) || r.Err() == nil {
			t.Errorf("interrupted after %d calls: got errors %v and %v", after, err, r.Err())
		}
		wantEmpty(t, inner, "kept")
	}
}
