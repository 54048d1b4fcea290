package lake

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/hostiletest"
)

// metered is a bucket that counts the bytes that it gives.
type metered struct {
	bucket.Bucket
	given *atomic.Int64
}

func (m metered) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	o, err := m.Bucket.Get(ctx, key, r, ifNot)
	m.given.Add(int64(len(o.Data)))
	return o, err
}

// useAll opens a lake and asks it everything. It returns the errors and the errors
// among the findings.
func useAll(t testing.TB, b bucket.Bucket, patience time.Duration, inProcess int64) (failed []error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	note := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	set := &Options{Trusted: true, MustExist: true, Patience: patience, LockTimeout: 10 * time.Millisecond, InProcess: inProcess}
	for f, err := range CheckBucket(ctx, unclosed{b}, set, nil) {
		if note(err); err == nil && f.Severity == onto.SeverityError {
			note(errors.New(f.String()))
		}
	}
	l, err := Open(ctx, unclosed{b}, set)
	if err != nil {
		return append(failed, err)
	}
	defer func() { note(l.Close()) }()
	for f, err := range l.Survey(ctx) {
		if note(err); err == nil && f.Severity == onto.SeverityError {
			note(errors.New(f.String()))
		}
	}
	_, err = l.Resolve(ctx, onto.AtTime(time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)))
	note(err)
	_, err = l.Resolve(ctx, onto.AtCommit(3))
	note(err)
	for _, newest := range []bool{false, true} {
		n := 0
		for _, err := range l.Commits(ctx, &backend.CommitQuery{Until: backend.Head, Newest: newest}) {
			note(err)
			if n++; n == 200 {
				break
			}
		}
	}
	for _, id := range []onto.Identity{onto.EntityID("Person", "a"), onto.EntityID("Person", "p76"), onto.EntityID("Ghost", "g"), onto.RelationID("Knows", "a", "b")} {
		if _, err := l.Get(ctx, id, backend.Head); onto.CodeOf(err) != onto.NotFound {
			note(err)
		}
	}
	for _, mode := range []backend.Mode{backend.State, backend.History} {
		q := backend.Query{Kind: onto.KindEntity, Type: "Person", At: backend.Head, Mode: mode}
		for _, err := range l.Scan(ctx, &q) {
			note(err)
		}
		for _, err := range l.Aggregate(ctx, &backend.Aggregation{Query: q, Compute: []onto.Operand{onto.Count()}}) {
			note(err)
		}
	}
	for _, err := range l.Diff(ctx, &backend.DiffQuery{From: 1, To: backend.Head}) {
		note(err)
	}
	_, err = l.Leases(ctx)
	note(err)
	_, err = l.PlanJanitor(ctx, 0)
	note(err)
	_, err = l.PlanCompaction(ctx, nil)
	note(err)
	_, err = l.Append(ctx, &backend.Draft{Header: backend.Header{IdempotencyKey: "once"}, Writes: []backend.Write{entityPut("Person", "new", 2, 1)}})
	note(err)
	return failed
}

// Lakes that came from somebody else: each ends with an error that names the object,
// and takes no more memory than there is.
func TestHostileLakes(t *testing.T) {
	healthy := makeSample(t)
	for _, c := range hostiletest.Cases() {
		for engine, inProcess := range map[string]int64{"in process": 0, "with DuckDB": -1} {
			t.Run(c.Name+", "+engine, func(t *testing.T) {
				b := copyBucket(t, healthy)
				name := c.Plant(hostiletest.Lake{TB: t, Bucket: b})
				var given atomic.Int64
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				failed := useAll(t, metered{b, &given}, 200*time.Millisecond, inProcess)
				runtime.ReadMemStats(&after)
				told := false
				for _, err := range failed {
					told = told || strings.Contains(err.Error(), name) && strings.Contains(err.Error(), c.Want)
				}
				if !told {
					t.Errorf("got %v, want one that names %s and says %q", failed, name, c.Want)
				}
				most := int64(hostiletest.Large)
				if c.Fits {
					most *= 4
				}
				if n := given.Load(); n > most {
					t.Errorf("%d bytes were read", n)
				}
				if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 512<<20 {
					t.Errorf("it took %d bytes of memory", grown)
				}
			})
		}
	}
}
