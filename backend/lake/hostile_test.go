package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/parquet/parquettest"
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

// hostileFile puts another body in the place of the file of the newest round, and lets
// the manifest say of it what it would of its own.
func (s *sample) hostileFile(body []byte, rows int64) (path string) {
	s.Helper()
	s.editRound(0, func(m *manifest) {
		f := &m.Files[0]
		f.SHA256, f.Bytes, f.Rows = hashOf(body), int64(len(body)), rows
		path = f.Path
		s.write(path, body)
	})
	return path
}

// Lakes that came from somebody else: each ends with an error that names the object,
// and takes no more memory than there is.
func TestHostileLakes(t *testing.T) {
	healthy := makeSample(t)
	made := func(e parquettest.Entities) []byte {
		e.Type = "Person"
		data, err := e.File()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	long := `{"s":"` + strings.Repeat("x", 60<<10) + `"}`
	const large = 96 << 20
	for _, c := range []struct {
		name  string
		plant func(s *sample) string // returns what an error must name
		want  string
	}{
		{"a file that is larger than its manifest says", func(s *sample) string {
			_, m := s.round(0)
			s.write(m.Files[0].Path, append(s.read(m.Files[0].Path), make([]byte, large)...))
			return m.Files[0].Path
		}, "at most"},
		{"a head that is large", func(s *sample) string { s.write(headKey, make([]byte, large)); return headKey }, fmt.Sprint(large)},
		{"a manifest that is large", func(s *sample) string {
			path, _ := s.round(0)
			s.write(path, make([]byte, large))
			return path
		}, fmt.Sprint(large)},
		{"a catalog that is large", func(s *sample) string {
			s.write(s.tip().head.Catalog, make([]byte, large))
			return s.tip().head.Catalog
		}, fmt.Sprint(large)},
		{"a dictionary that unfolds to a gigabyte", func(s *sample) string {
			return s.hostileFile(made(parquettest.Entities{Rows: 16 << 10, Fields: long, SameKey: true, Dictionary: true}), 16<<10)
		}, "has a dictionary"},
		{"pages that unfold to a gigabyte", func(s *sample) string {
			return s.hostileFile(made(parquettest.Entities{Rows: 16 << 10, Fields: long}), 16<<10)
		}, "unfolds to more than"},
		{"few bytes that are said to hold ten million rows", func(s *sample) string {
			return s.hostileFile(made(parquettest.Entities{Rows: 1 << 20, Fields: "{}", SameKey: true}), 10_000_000)
		}, "cannot hold 10000000 rows"},
		{"another number of rows than there are", func(s *sample) string {
			return s.hostileFile(made(parquettest.Entities{Rows: 100, Fields: `{"id":"k"}`}), 101)
		}, "it has 100 rows, not 101"},
		{"a list of nothing", func(s *sample) string {
			path, m := s.round(0)
			body := bytes.Replace(encode(m), []byte(`"commits":[`), append([]byte(`"commits":[`), bytes.Repeat([]byte("{},"), 1<<20)...), 1)
			s.write(path, body)
			return path
		}, "too short to be any"},
	} {
		for engine, inProcess := range map[string]int64{"in process": 0, "with DuckDB": -1} {
			t.Run(c.name+", "+engine, func(t *testing.T) {
				s := openSample(t, copyBucket(t, healthy), time.Second)
				name := c.plant(s)
				var given atomic.Int64
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				failed := useAll(t, metered{s.bucket, &given}, 200*time.Millisecond, inProcess)
				runtime.ReadMemStats(&after)
				told := false
				for _, err := range failed {
					told = told || strings.Contains(err.Error(), name) && strings.Contains(err.Error(), c.want)
				}
				if !told {
					t.Errorf("got %v, want one that names %s and says %q", failed, name, c.want)
				}
				if n := given.Load(); n > large {
					t.Errorf("%d bytes were read", n)
				}
				if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 512<<20 {
					t.Errorf("it took %d bytes of memory", grown)
				}
			})
		}
	}
}
