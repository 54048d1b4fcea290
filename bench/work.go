package main

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

func workBenchmarks() []benchmark {
	return []benchmark{{"B23", "dequeue and finish with many completed items kept", "work", workItems}}
}

// workItems is B23.
func workItems(e *env) []row {
	kept := e.pick(1_000_000, 100_000)
	var rows []row
	for _, size := range []int{1, 100} {
		ours, lean := e.openWork(e.copied(e.completedItems(kept)), size), e.openLean(size)
		calls := 10
		if size == 1 {
			calls = 25
		}
		taken := e.alternate(plan{rounds: e.pick(20, 10), turns: e.pick(8, 4)}, ours.turn(e, calls, "subject"), lean.turn(e, calls))
		if size == 1 {
			rows = append(rows, faster("dequeue and finish singly / raw lean queue", taken[0], taken[1], atLeast(0.6)))
		} else {
			rows = append(rows, faster("dequeue and finish by 100 / raw lean queue", taken[0], taken[1], atLeast(0.2)))
		}
	}
	many, few := e.openWork(e.copied(e.completedItems(kept)), 100), e.openWork(e.copied(e.completedItems(1000)), 100)
	taken := e.alternate(plan{rounds: e.pick(20, 10), turns: 4}, many.turn(e, 10, "subject"), few.turn(e, 10, "control"))
	rows = append(rows, slower(fmt.Sprintf("dequeue and finish by 100 with %s completed items kept / with 1,000", thousands(int64(kept))), taken[0], taken[1], atMost(1.3, "x")))
	return append(rows, e.enqueueKnown(kept))
}

// completedItems is a fixture: a store with items that are completed.
func (e *env) completedItems(n int) string {
	return e.fixture(fmt.Sprintf("completed-%d.db", n), func(path string) {
		b, err := sqlite.Open(e.ctx, path, nil)
		e.must(err)
		e.must(b.Close())
		db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=OFF&_cache_size=-262144")
		e.must(err)
		const ids = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1),
			x AS (SELECT i, printf('%08x-0000-4000-8000-%012x', i, i) AS id, strftime('%Y-%m-%dT%H:%M:%S', 1.7e9 + i, 'unixepoch') || '.000000+00:00' AS at FROM n) `
		for _, insert := range []string{
			ids + `INSERT INTO work_items (work_item_id, source_system, source_name, resource_type, resource_id, request_uri, request_method, status, attempt, created_at, updated_at, dedupe_key)
				SELECT id, 'http', 'docs', 'page', i, 'https://example.org/' || i, 'GET', 'completed', 1, at, at, 'http:docs:page:' || i FROM x`,
			ids + `INSERT INTO work_attempts (attempt_id, work_item_id, attempt_no, worker, started_at, finished_at, status) SELECT id || ':1', id, 1, 'w', at, at, 'completed' FROM x`,
		} {
			_, err = db.ExecContext(e.ctx, insert, n)
			e.must(err)
		}
		e.must(db.Close())
	})
}

// workQueue is the subject: a worker that dequeues, and finishes with the next dequeue.
type workQueue struct {
	b       *sqlite.Backend
	request backend.WorkRequest
	made    int
}

func (e *env) openWork(path string, size int) *workQueue {
	b, err := sqlite.Open(e.ctx, path, nil)
	e.must(err)
	e.cleanup(func() { b.Close() })
	return &workQueue{b: b, request: backend.WorkRequest{Worker: "w", Limit: size, Lease: time.Minute}}
}

// items makes items that are not known yet.
func (q *workQueue) items(n int) []onto.WorkItem {
	return series(n, func(int) onto.WorkItem {
		q.made++
		return workItem(q.made, "new")
	})
}

func workItem(i int, prefix string) onto.WorkItem {
	id := fmt.Sprintf("%s%d", prefix, i)
	return onto.WorkItem{ID: "ffffffff-" + id, System: "http", Source: "docs", Type: "page", Resource: id, Key: "http:docs:page:" + id,
		URI: "https://example.org/" + id, Method: "GET", Priority: onto.DefaultWorkPriority}
}

func (q *workQueue) turn(e *env, calls int, name string) side {
	return side{name, func() (int, func()) {
		_, err := q.b.Enqueue(e.ctx, q.items(calls*q.request.Limit))
		e.must(err)
		return calls * q.request.Limit, func() {
			for range calls {
				q.step(e)
			}
		}
	}}
}

// step finishes what is held and dequeues the next items.
func (q *workQueue) step(e *env) {
	got, err := q.b.Dequeue(e.ctx, &q.request)
	e.must(err)
	e.assert(len(got.Items) == q.request.Limit, "%d items instead of %d", len(got.Items), q.request.Limit)
	for _, v := range got.Verdicts {
		e.must(v.Err)
	}
	q.request.Finish = q.request.Finish[:0]
	for i := range got.Items {
		q.request.Finish = append(q.request.Finish, backend.WorkOutcome{Item: got.Items[i].ID, Attempt: got.Items[i].Attempt, Worker: "w", Do: backend.WorkComplete})
	}
}

// enqueueKnown compares the enqueueing of items that are known already with inserts by
// hand that are ignored.
func (e *env) enqueueKnown(kept int) row {
	ours := e.openWork(e.copied(e.completedItems(kept)), 1)
	r := e.openRaw(e.fresh("known"), indexed)
	_, err := r.conn.ExecContext(e.ctx, `CREATE TABLE known (id TEXT PRIMARY KEY, uri TEXT NOT NULL, key TEXT NOT NULL UNIQUE)`)
	e.must(err)
	insert, err := r.conn.PrepareContext(e.ctx, `INSERT OR IGNORE INTO known (id, uri, key) VALUES (?, ?, ?)`)
	e.must(err)
	e.cleanup(func() { insert.Close() })
	list := series(1000, func(i int) onto.WorkItem { return workItem(i+1, "") })
	write := func() {
		e.must(r.transact(e.ctx, func() error {
			for i := range list {
				if _, err := insert.ExecContext(e.ctx, list[i].ID, list[i].URI, list[i].Key); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	write()
	taken := e.alternate(plan{rounds: e.pick(20, 10), turns: 4},
		side{"subject", func() (int, func()) {
			return len(list), func() {
				fresh, err := ours.b.Enqueue(e.ctx, list)
				e.must(err)
				e.assert(!fresh[0], "an item is new")
			}
		}},
		side{"control", func() (int, func()) { return len(list), write }})
	return faster("enqueue of 1,000 known items / INSERT OR IGNORE by hand", taken[0], taken[1], atLeast(0.5))
}
