package work

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// Queue is the work of a store. It may be used concurrently.
type Queue struct {
	s    *store.Store
	port backend.WorkQueue
	ages backend.Ages
}

// Open returns the work queue of a store, which stays open. It fails with UnsupportedOperation if
// the store's backend keeps no work.
func Open(s *store.Store) (*Queue, error) {
	port, ok := backend.As[backend.WorkQueue](s.Backend())
	if !ok {
		return nil, onto.Errorf(onto.UnsupportedOperation, "this storage keeps no work queue").
			WithHint("keep the queue in a SQLite file; its runner can write to another store")
	}
	return &Queue{s: s, port: port, ages: backend.OpenAges(time.Now())}, nil
}

// enqueueChunk is how many items are enqueued in one transaction.
const enqueueChunk = 1000

// Enqueue adds items, and reports for each whether it is new. Items are all checked before
// the first is added; many are added in several transactions.
func (q *Queue) Enqueue(ctx context.Context, items ...Item) ([]bool, error) {
	now := time.Now()
	list := make([]onto.WorkItem, len(items))
	for n := range items {
		var err error
		if list[n], err = items[n].item(now); err != nil {
			return nil, err
		}
	}
	return q.enqueue(ctx, list)
}

func (q *Queue) enqueue(ctx context.Context, list []onto.WorkItem) ([]bool, error) {
	fresh := make([]bool, 0, len(list))
	for len(list) > 0 {
		n := min(len(list), enqueueChunk)
		some, err := q.port.Enqueue(ctx, list[:n])
		if err != nil {
			return fresh, err
		}
		fresh, list = append(fresh, some...), list[n:]
	}
	return fresh, nil
}

// Find returns the item as which a resource is known. It fails with NotFound if it is not.
func (q *Queue) Find(ctx context.Context, resource Item) (backend.WorkState, error) {
	w, err := resource.item(time.Now())
	if err != nil {
		return backend.WorkState{}, err
	}
	list, err := q.list(ctx, &backend.WorkQuery{Keys: backend.WorkKeys(&w)})
	if err != nil {
		return backend.WorkState{}, err
	}
	known := map[string]*onto.WorkItem{}
	for i := range list {
		known[list[i].Key] = &list[i].WorkItem
	}
	o := backend.KnownWork(&w, func(key string) *onto.WorkItem { return known[key] })
	for i := range list {
		if &list[i].WorkItem == o {
			return list[i], nil
		}
	}
	return backend.WorkState{}, onto.Errorf(onto.NotFound, "the queue has no item of %.200q of source %.200q", resource.ID, resource.Source)
}

// Items yields items in the order in which they are taken. A nil query asks for all.
func (q *Queue) Items(ctx context.Context, query *backend.WorkQuery) iter.Seq2[backend.WorkState, error] {
	if query == nil {
		query = &backend.WorkQuery{}
	}
	return q.port.WorkItems(ctx, query)
}

// Item returns an item and its attempts. It fails with NotFound if there is none.
func (q *Queue) Item(ctx context.Context, id string) (backend.WorkState, error) {
	for w, err := range q.port.WorkItems(ctx, &backend.WorkQuery{IDs: []string{id}, Attempts: true}) {
		return w, err
	}
	return backend.WorkState{}, onto.Errorf(onto.NotFound, "work item %.80q does not exist", id).
		WithHint("list the items").WithCommand("work", "list")
}

// Stats counts items, by system, source, run and status, in that order. A nil query asks
// for all.
func (q *Queue) Stats(ctx context.Context, query *backend.WorkQuery) ([]backend.WorkCount, error) {
	if query == nil {
		query = &backend.WorkQuery{}
	}
	return q.port.WorkStats(ctx, query)
}

// ByStatus adds counts up. Every status has a number.
func ByStatus(list []backend.WorkCount) map[onto.WorkStatus]int64 {
	sum := map[onto.WorkStatus]int64{}
	for _, s := range onto.WorkStatuses() {
		sum[s] = 0
	}
	for _, c := range list {
		sum[c.Status] += c.Items
	}
	return sum
}

// Runs returns runs, oldest first.
func (q *Queue) Runs(ctx context.Context) ([]onto.WorkRun, error) { return q.port.WorkRuns(ctx) }

// Node is an item in a tree.
type Node struct {
	backend.WorkState
	Level int // below the root of the tree, which has 0
}

// Tree yields an item and what was discovered from it, each before its own discoveries. It
// fails with NotFound if the item does not exist. An empty id asks for the trees of all
// items that were not discovered from another, which are read into memory.
func (q *Queue) Tree(ctx context.Context, id string) iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		var roots []backend.WorkState
		var children func(string) ([]backend.WorkState, error)
		var err error
		if id == "" {
			roots, children, err = q.forest(ctx)
		} else {
			roots, children, err = q.branch(ctx, id)
		}
		if err != nil {
			yield(Node{}, err)
			return
		}
		walk(roots, children, yield)
	}
}

// walk yields roots and what is below them. Imported items may lead to themselves: each is
// yielded once.
func walk(roots []backend.WorkState, children func(string) ([]backend.WorkState, error), yield func(Node, error) bool) {
	var stack []Node
	push := func(list []backend.WorkState, level int) {
		for n := len(list) - 1; n >= 0; n-- {
			stack = append(stack, Node{list[n], level})
		}
	}
	push(roots, 0)
	for seen := map[string]bool{}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[n.ID] {
			continue
		}
		seen[n.ID] = true
		if !yield(n, nil) {
			return
		}
		below, err := children(n.ID)
		if err != nil {
			yield(Node{}, err)
			return
		}
		push(below, n.Level+1)
	}
}

// branch is one item, and a way to its descendants.
func (q *Queue) branch(ctx context.Context, id string) ([]backend.WorkState, func(string) ([]backend.WorkState, error), error) {
	root, err := q.Item(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	root.Attempts = nil
	return []backend.WorkState{root}, func(id string) ([]backend.WorkState, error) {
		return q.list(ctx, &backend.WorkQuery{Parent: id})
	}, nil
}

// forest is all items without a parent that exists, and a way to their descendants.
func (q *Queue) forest(ctx context.Context) ([]backend.WorkState, func(string) ([]backend.WorkState, error), error) {
	all, err := q.list(ctx, &backend.WorkQuery{})
	if err != nil {
		return nil, nil, err
	}
	known := make(map[string]bool, len(all))
	for _, w := range all {
		known[w.ID] = true
	}
	below := map[string][]backend.WorkState{}
	for _, w := range all {
		if !known[w.Parent] {
			w.Parent = ""
		}
		below[w.Parent] = append(below[w.Parent], w)
	}
	return below[""], func(id string) ([]backend.WorkState, error) { return below[id], nil }, nil
}

func (q *Queue) list(ctx context.Context, query *backend.WorkQuery) ([]backend.WorkState, error) {
	var list []backend.WorkState
	for w, err := range q.port.WorkItems(ctx, query) {
		if err != nil {
			return nil, fmt.Errorf("reading work items: %w", err)
		}
		list = append(list, w)
	}
	return list, nil
}
