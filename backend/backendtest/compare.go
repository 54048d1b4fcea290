package backendtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// compare asks the backend and the reference every question as of every commit.
func (h *history) compare() {
	var all []int64
	for at := range h.head() + 2 { // one before the first and one after the last
		all = append(all, at)
	}
	h.compareAt(all)
}

// compareAt asks the backend and the reference every question as of some commits and of the
// head.
func (h *history) compareAt(ats []int64) {
	h.counts.histories++
	head := h.head()
	h.counts.commits += int(head)
	h.askLog(head)
	for _, at := range ats {
		h.askVersions(at)
		h.askChanges(at, head)
		h.askTimes(at)
		for i := range 3 {
			h.askInquiry(h.inquiries[(3*int(at)+i)%len(h.inquiries)], at)
		}
	}
	h.askVersions(backend.Head)
	for _, i := range h.inquiries {
		h.askInquiry(i, backend.Head)
	}
	h.askMarked()
	if err := check(h.handles[1]); err != nil {
		h.Fatalf("check: %v", err)
	}
}

// same asks a question of both and compares the answers.
func (h *history) same(what string, at int64, ask func(context.Context, backend.Backend) string) {
	h.counts.questions++
	got, want := h.both(h.handles[h.counts.questions%2], ask)
	if got != want {
		h.Fatalf("%s as of %d\n got: %s\nwant: %s", what, at, got, want)
	}
}

// askInquiry asks a random question.
func (h *history) askInquiry(i inquiry, at int64) {
	h.counts.questions++
	got, want := h.inquire(h.handles[h.counts.questions%2], i, at)
	if got != want {
		h.Fatalf("%s as of %d\n got: %s\nwant: %s", i, at, got, want)
	}
}

// askMarked marks the texts for search and searches them once more.
func (h *history) askMarked() {
	types := h.comeback()
	for _, t := range types {
		for i, f := range t.Fields {
			t.Fields[i].Search = f.Name == "t"
		}
	}
	if got, want := h.register(h.handles[0], types); got != want {
		h.Fatalf("register with other flags\n got: %s\nwant: %s", got, want)
	}
	for _, i := range h.inquiries {
		if i.Search != nil {
			h.askInquiry(i, backend.Head)
		}
	}
}

// lines formats a sequence and its error.
func lines[T any](seq iter.Seq2[T, error], show func(T) string) string {
	list, err := collect(seq, show)
	return outcome(strings.Join(list, "\n      "), err)
}

// askLog asks about commits and schemas.
func (h *history) askLog(head int64) {
	for _, q := range []backend.CommitQuery{
		{Until: backend.Head},
		{Until: backend.Head, Newest: true, Limit: 7},
		{Since: head / 2, Until: head - 1},
		{Since: head / 3, Until: head * 2 / 3, Newest: true},
		{Since: head / 4, Until: head, Limit: 3},
		{Until: backend.Head, IDs: []int64{head, 1, head / 2, head + 1, 1}},
		{Since: 1, Until: head, IDs: []int64{head / 3, 1, head}, Newest: true, Limit: 1},
	} {
		h.same("commits", q.Until, func(ctx context.Context, b backend.Backend) string {
			return lines(b.Commits(ctx, &q), showCommit)
		})
	}
	h.same("schemas", 0, showTypes)
}

// showTypes formats all versions of all types.
func showTypes(ctx context.Context, b backend.Backend) string {
	list, err := b.Schemas(ctx)
	var text []string
	for _, v := range list {
		text = append(text, showSchema(v))
	}
	return outcome(strings.Join(text, "\n"), err)
}

// askVersions asks for every identity, state and history as of a commit.
func (h *history) askVersions(at int64) {
	for _, id := range pool() {
		h.same("get "+id.String(), at, func(ctx context.Context, b backend.Backend) string {
			v, err := b.Get(ctx, id, at)
			return outcome(showVersion(v), err)
		})
	}
	for _, ids := range byType(pool()) {
		h.same("find "+ids[0].Type, at, func(ctx context.Context, b backend.Backend) string {
			list, err := backend.Find(ctx, b, ids, at)
			var text []string
			for _, v := range list {
				text = append(text, showVersion(v))
			}
			return outcome(strings.Join(text, "\n"), err)
		})
	}
	for _, ids := range byType(pool()) {
		h.askFirsts(ids, at)
	}
	turn := int(at + 1) // of what is too much to ask as of each commit
	for i, t := range changing() {
		size := 0
		if turn%len(changing()) == i {
			size = 1 + turn%3
		}
		h.same("state of "+t.Name, at, func(ctx context.Context, b backend.Backend) string {
			return lines(pages(ctx, b, *stateOf(t.Kind, t.Name, at), size), showVersion)
		})
	}
	id := pool()[turn%len(pool())]
	all := historyOf(id.Kind, id.Type, at)
	recent, limited, one := *all, *all, *all
	recent.Since = max(0, at-5)
	limited.Limit = 4
	one.Identity = &id
	for _, q := range []*backend.Query{&one, []*backend.Query{all, &recent, &limited}[turn%3]} {
		h.same("history of "+id.String(), at, func(ctx context.Context, b backend.Backend) string {
			return lines(b.Scan(ctx, q), showVersion)
		})
	}
}

// askFirsts asks when the lives of identities of a type began.
func (h *history) askFirsts(ids []onto.Identity, at int64) {
	h.same("firsts of "+ids[0].Type, at, func(ctx context.Context, b backend.Backend) string {
		text, err := firsts(ctx, b, at, ids...)
		return outcome(text, err)
	})
}

// askLives asks it about one type after another, as of the head and of any commit.
func (h *history) askLives(turn int) {
	types := byType(pool())
	h.askFirsts(types[turn%len(types)], backend.Head)
	h.askFirsts(types[(turn+1)%len(types)], int64(turn*7)%(h.head()+1))
}

// byType splits identities by their type, each part in order.
func byType(ids []onto.Identity) [][]onto.Identity {
	ids = slices.SortedFunc(slices.Values(ids), onto.Identity.Compare)
	var parts [][]onto.Identity
	for i, id := range ids {
		if i == 0 || id.TypeName() != ids[i-1].TypeName() {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], id)
	}
	return parts
}

// pages reads a state in pages of a size; 0 for all at once.
func pages(ctx context.Context, b backend.Backend, q backend.Query, size int) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		q.Limit = size
		for n := size; n == size; {
			n = 0
			for v, err := range b.Scan(ctx, &q) {
				if err == nil && q.After != nil && v.Identity.Compare(q.After.Identity) <= 0 {
					err = fmt.Errorf("%s comes after %s", v.Identity, q.After.Identity)
				}
				if !yield(v, err) || err != nil {
					return
				}
				n++
				q.After = &backend.Place{Identity: v.Identity}
			}
			if size == 0 {
				return
			}
		}
	}
}

// askChanges asks what a commit changed, and what changed between it and others.
func (h *history) askChanges(at, head int64) {
	t := testSchemas()[at%int64(len(testSchemas()))]
	further := []backend.DiffQuery{
		{From: at / 2, To: at},
		{From: at, To: at + (head-at)/3, Kind: t.Kind, Type: t.Name},
		{From: at, To: backend.Head},
	}
	for _, q := range []backend.DiffQuery{{From: max(0, at-1), To: at}, further[at%3]} {
		h.same("changes", q.From, func(ctx context.Context, b backend.Backend) string {
			return lines(b.Diff(ctx, &q), showChange)
		})
	}
}

// askTimes resolves a commit by its id, its time and the times around it.
func (h *history) askTimes(at int64) {
	c, err := h.reference.Resolve(h.Context(), onto.AtCommit(at))
	if err != nil && !errors.Is(err, onto.NotFound) {
		h.Fatal(err)
	}
	for _, p := range []onto.Point{
		onto.AtCommit(at), onto.AtTime(c.Time), onto.AtTime(c.Time.Add(-time.Microsecond)), onto.AtTime(c.Time.Add(time.Microsecond)),
	} {
		h.same("resolve "+p.String(), at, func(ctx context.Context, b backend.Backend) string {
			c, err := b.Resolve(ctx, p)
			return outcome(showCommit(c), err)
		})
	}
}
