package lake

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/hostiletest"
	"github.com/ontologia/onto/internal/effort"
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

// visit is a use of a lake of unknown origin.
type visit struct {
	testing.TB
	ctx    context.Context
	check  func() iter.Seq2[onto.Finding, error]
	open   func() (*Backend, error)
	close  func(*Backend) error
	failed []error // with the errors among the findings
}

// useAll asks a lake everything, and writes to it. It returns the errors and the errors
// among the findings. The bucket must have a Close that does nothing.
func useAll(t testing.TB, b bucket.Bucket, set Options) []error {
	t.Helper()
	set.Trusted, set.MustExist, set.LockTimeout = true, true, 10*time.Millisecond
	v := &visit{TB: t, close: (*Backend).Close}
	v.check = func() iter.Seq2[onto.Finding, error] { return CheckBucket(v.ctx, b, &set, nil) }
	v.open = func() (*Backend, error) { return Open(v.ctx, b, &set) }
	return v.all()
}

func (v *visit) note(err error) {
	if err != nil {
		v.failed = append(v.failed, err)
	}
}

// take notes errors and the errors among findings.
func (v *visit) take(found iter.Seq2[onto.Finding, error]) {
	for f, err := range found {
		if v.note(err); err == nil && f.Severity == onto.SeverityError {
			v.note(errors.New(f.String()))
		}
	}
}

func (v *visit) all() []error {
	v.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v.ctx = ctx
	v.take(v.check())
	if l, err := v.open(); err != nil {
		v.note(err)
	} else {
		v.take(l.Survey(ctx))
		v.lease(l)
		if _, err := l.Schemas(ctx); err == nil {
			v.read(l)
			v.write(l)
			plan, err := l.PlanIndexRepair(ctx)
			if err == nil {
				_, err = l.RepairIndex(ctx, plan)
			}
			v.note(err)
		} else {
			v.note(err) // as would any other question
		}
		v.note(v.close(l))
	}
	if ctx.Err() != nil {
		v.Errorf("it does not end: %v", v.failed)
	}
	return v.failed
}

// read asks everything that changes nothing.
func (v *visit) read(l *Backend) {
	ctx := v.ctx
	_, err := l.Resolve(ctx, onto.AtTime(time.Date(2026, 2, 10, 12, 0, 8, 0, time.UTC)))
	v.note(err)
	_, err = l.Resolve(ctx, onto.AtCommit(3))
	v.note(err)
	for _, newest := range []bool{false, true} {
		n := 0
		for _, err := range l.Commits(ctx, &backend.CommitQuery{Until: backend.Head, Newest: newest}) {
			v.note(err)
			if n++; n == 200 {
				break
			}
		}
	}
	for _, id := range []onto.Identity{onto.EntityID("Person", "a"), onto.EntityID("Person", "p76"), onto.EntityID("Ghost", "g"), onto.RelationID("Knows", "a", "b"), onto.FactID("Contract", "c", "salary", "s1")} {
		if _, err := l.Get(ctx, id, backend.Head); onto.CodeOf(err) != onto.NotFound {
			v.note(err)
		}
	}
	for i, mode := range []backend.Mode{backend.State, backend.History, backend.State, backend.History} {
		q := backend.Query{Kind: onto.KindEntity, Type: "Person", At: backend.Head, Mode: mode}
		if i >= 2 {
			q.Kind, q.Type, q.LeftKeys = onto.KindFact, "Contract", []string{"b", "c"}
		}
		for _, err := range l.Scan(ctx, &q) {
			v.note(err)
		}
		for _, err := range l.Aggregate(ctx, &backend.Aggregation{Query: q, Compute: []onto.Operand{onto.Count()}}) {
			v.note(err)
		}
	}
	for _, err := range l.Diff(ctx, &backend.DiffQuery{From: 1, To: backend.Head}) {
		v.note(err)
	}
	_, err = l.Leases(ctx)
	v.note(err)
	_, err = l.PlanJanitor(ctx, 0)
	v.note(err)
	_, err = l.PlanCompaction(ctx, nil)
	v.note(err)
	_, err = l.Describe(ctx, true)
	v.note(err)
}

// lease takes the write lease and releases it. Others must see that it is held.
func (v *visit) lease(l *Backend) {
	v.Helper()
	lease, err := l.Acquire(v.ctx, &backend.LeaseRequest{Name: onto.WriteLease, Owner: "you", TTL: time.Minute})
	if err != nil {
		v.note(err)
		return
	}
	other, err := v.open()
	if err != nil {
		v.Errorf("after the lease with the epoch %d was taken: %v", lease.Epoch, err)
		return
	}
	held, err := other.Leases(v.ctx)
	if err == nil && !slices.ContainsFunc(held, func(h onto.Lease) bool { return h.Name == lease.Name && h.Epoch == lease.Epoch }) {
		v.Errorf("got %+v, want %+v among them", held, lease)
	}
	v.note(errors.Join(err, v.close(other), l.Release(v.ctx, lease)))
}

// write commits to the lake. What was acknowledged must be there for others.
func (v *visit) write(l *Backend) {
	v.Helper()
	w := entityPut("Person", "new", 2, 1)
	made, err := l.Append(v.ctx, &backend.Draft{Header: backend.Header{IdempotencyKey: "once"}, Writes: []backend.Write{w}})
	if err != nil {
		v.note(err)
		return
	}
	other, err := v.open()
	if err != nil {
		v.Errorf("after commit %d was acknowledged: %v", made.Commit.ID, err)
		return
	}
	got, err := other.Get(v.ctx, w.Identity, backend.Head)
	if err != nil || got.Commit != made.Commit.ID || string(got.Fields) != string(w.Fields) {
		v.Errorf("commit %d was acknowledged: got %+v, %v", made.Commit.ID, got, err)
	}
	v.note(v.close(other))
}

// A file of facts that holds entities is refused, whatever its manifest says.
func TestFactsThatAreEntities(t *testing.T) {
	b := copyBucket(t, makeSample(t))
	l := hostiletest.Lake{TB: t, Bucket: b}
	was := l.File()
	path := strings.Replace(was, "/entities/Person", "/facts/Contract", 1)
	l.Write(path, l.Read(was))
	l.Edit(l.Manifest(), func(m hostiletest.Document) {
		for _, e := range []hostiletest.Document{m.First("files"), m.First("commits").First("touched")} {
			e["kind"], e["type_name"] = "fact", "Contract"
		}
		m.First("files")["path"] = path
	})
	for engine, inProcess := range map[string]int64{"in process": 0, "with DuckDB": -1} {
		failed := useAll(t, unclosed{b}, Options{Patience: 200 * time.Millisecond, InProcess: inProcess})
		const damage = ": a file of fact Contract is damaged: column 2 is entity_type, not fact_type"
		for what, begin := range map[string]string{"the check": "error file_differs: ", "a question": ""} {
			if !slices.ContainsFunc(failed, func(err error) bool { return strings.HasPrefix(err.Error(), begin+path+damage) }) {
				t.Errorf("%s, %s: got %v, want %q", engine, what, failed, begin+path+damage)
			}
		}
	}
}

// Lakes of unknown origin: each use ends with an error that names the object, and stays
// within the memory limit. A plain run asks about most with one of the engines.
func TestHostileLakes(t *testing.T) {
	healthy := makeSample(t)
	for i, c := range hostiletest.Cases() {
		for j, engine := range []string{"in process", "with DuckDB"} {
			if i%2 != j && !effort.Includes(t, i) {
				continue
			}
			inProcess := -int64(j)
			t.Run(c.Name+", "+engine, func(t *testing.T) {
				b := copyBucket(t, healthy)
				name := c.Plant(hostiletest.Lake{TB: t, Bucket: b})
				var given atomic.Int64
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				failed := useAll(t, unclosed{metered{b, &given}}, Options{Patience: 200 * time.Millisecond, InProcess: inProcess})
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
