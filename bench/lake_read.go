package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/duck"
	"github.com/ontologia/onto/backend/lake/parquet"
)

const (
	rowsPerCommit = 10
	versionsEach  = 5 // of a customer
)

// customerLake is a lake with so many commits, compacted as a server does it.
type customerLake struct {
	*lake.Backend
	bucket    *slowBucket
	customers int
	schemas   []onto.SchemaVersion
}

// newCustomerLake commits customers, each several times.
func (e *env) newCustomerLake(commits int) *customerLake {
	l := &customerLake{bucket: &slowBucket{Bucket: memory.New(nil)}, customers: commits * rowsPerCommit / versionsEach}
	var err error
	l.Backend, err = lake.Open(e.ctx, l.bucket, &lake.Options{Trusted: true})
	e.must(err)
	e.cleanup(func() { l.Close() })
	schema, err := onto.TypeOf[Customer]().Schema()
	e.must(err)
	l.schemas, err = l.Register(e.ctx, &backend.Registration{Schemas: []onto.Schema{schema}})
	e.must(err)
	w := scattered()
	for c := range commits {
		d := &backend.Draft{}
		for i := range rowsPerCommit {
			n := c*rowsPerCommit + i
			one := w.customer(n%l.customers, n/l.customers)
			d.Writes = append(d.Writes, backend.Write{
				Identity: onto.EntityID("Customer", one.ID), Op: onto.Put, Fields: json.RawMessage(jsonOf(&one)), SchemaVersion: 1,
			})
		}
		slices.SortFunc(d.Writes, func(a, b backend.Write) int { return a.Identity.Compare(b.Identity) })
		_, err := l.Append(e.ctx, d)
		e.must(err)
		if c%8 == 7 {
			e.compact(l, nil)
		}
	}
	return l
}

func (e *env) compact(l *customerLake, o *backend.CompactionOptions) {
	plan, err := l.PlanCompaction(e.ctx, o)
	e.must(err)
	_, err = l.Compact(e.ctx, plan, nil)
	e.must(err)
}

// scan reads the newest version of every customer.
func (e *env) scan(l *customerLake) int {
	n := 0
	for _, err := range l.Scan(e.ctx, &backend.Query{Kind: onto.KindEntity, Type: "Customer", At: backend.Head}) {
		e.must(err)
		n++
	}
	return n
}

// oneFile is all versions of a lake in one sorted file, read by DuckDB.
func (e *env) oneFile(l *customerLake) func() int {
	var all []onto.Version
	head := int64(0)
	for v, err := range l.Scan(e.ctx, &backend.Query{Kind: onto.KindEntity, Type: "Customer", Mode: backend.History, At: backend.Head}) {
		e.must(err)
		all, head = append(all, v), max(head, v.Commit)
	}
	slices.SortFunc(all, func(a, b onto.Version) int {
		return cmp.Or(a.Identity.Compare(b.Identity), cmp.Compare(a.Commit, b.Commit))
	})
	layout := parquet.NewLayout(onto.KindEntity, "Customer", l.schemas)
	body, sum, err := parquet.Encode(layout, all)
	e.must(err)
	dir, err := os.MkdirTemp("", "bench-lake-")
	e.must(err)
	e.cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "all.parquet")
	e.must(os.WriteFile(path, body, 0o600))
	engine, err := duck.Open(&duck.Options{Directory: dir})
	e.must(err)
	e.cleanup(func() { engine.Close() })
	src := &duck.Source{Kind: onto.KindEntity, Type: "Customer", Layout: layout, Files: []string{path}, Typed: sum.Typed, Head: head}
	return func() int {
		n := 0
		for _, err := range engine.Scan(e.ctx, &backend.Query{Kind: onto.KindEntity, Type: "Customer", At: backend.Head}, src, nil, nil) {
			e.must(err)
			n++
		}
		return n
	}
}

// lakeScans is B18.
func lakeScans(e *env) []row {
	var rows []row
	for _, commits := range []int{1_000, e.pick(10_000, 2_000)} {
		l := e.newCustomerLake(commits)
		control := e.oneFile(l)
		what := fmt.Sprintf("latest scan, %s commits compacted as they come / DuckDB on one sorted file", thousands(int64(commits)))
		rows = append(rows, e.lakeScanRow(l, control, what, atMost(1.5, "x")))
		e.compact(l, &backend.CompactionOptions{All: true})
		what = fmt.Sprintf("the same after full compaction, %s commits", thousands(int64(commits)))
		rows = append(rows, e.lakeScanRow(l, control, what, atMost(1.1, "x")))
	}
	return rows
}

func (e *env) lakeScanRow(l *customerLake, control func() int, what string, g goal) row {
	taken := e.alternate(e.scanPlan(),
		e.scans("subject", 1, l.customers, func() int { return e.scan(l) }), e.scans("control", 1, l.customers, control))
	return slower(what, taken[0], taken[1], g)
}

// lakeGets is B19: the control is the same lake in one file.
func lakeGets(e *env) []row {
	commits := e.pick(10_000, 2_000)
	many, one := e.newCustomerLake(commits), e.newCustomerLake(commits)
	e.compact(one, &backend.CompactionOptions{All: true})
	gets := func(name string, l *customerLake) side {
		return side{name, func() (int, func()) {
			keys := e.randomKeys(scattered(), l.customers)
			return len(keys), func() {
				for _, key := range keys {
					v, err := l.Get(e.ctx, onto.EntityID("Customer", key), backend.Head)
					e.must(err)
					e.assert(v.Key == key, "got %s, want %s", v.Key, key)
				}
			}
		}}
	}
	taken := e.alternate(e.getPlan(), gets("subject", many), gets("control", one))
	what := fmt.Sprintf("point get, %s commits compacted as they come / in one file", thousands(int64(commits)))
	return []row{slower(what, taken[0], taken[1], atMost(2, "x"))}
}

// lakeColdOpen is B20: how many requests wait for each other until the first row.
func lakeColdOpen(e *env) []row {
	var rows []row
	for _, commits := range []int{1_000, e.pick(10_000, 2_000)} {
		l := e.newCustomerLake(commits)
		const wait = 250 * time.Millisecond
		slow := &slowBucket{Bucket: l.bucket.Bucket, read: wait}
		start := time.Now()
		cold, err := lake.Open(e.ctx, slow, &lake.Options{MustExist: true})
		e.must(err)
		for _, err := range cold.Scan(e.ctx, &backend.Query{Kind: onto.KindEntity, Type: "Customer", At: backend.Head}) {
			e.must(err)
			break
		}
		took := time.Since(start)
		waits := float64(took / wait)
		e.must(cold.Close())
		rows = append(rows, row{
			What:    fmt.Sprintf("gets that wait for each other, cold open to first row, %s commits", thousands(int64(commits))),
			Subject: figure{Value: waits, Unit: "gets", Text: fmt.Sprintf("%.0f (%d in all)", waits, slow.gets.Load())},
		}.judge(waits, atMost(4, "")))
	}
	return rows
}
