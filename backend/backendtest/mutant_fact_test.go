package backendtest_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// factMutants lists mistakes with facts, with writes once, derived writes and fences. Each
// names the story that tells the difference.
func factMutants() []mutant {
	rewriting := func(change func(b backend.Backend, w *backend.Write)) planting {
		return around(func(b backend.Backend) rewriter { return rewriter{b, change} })
	}
	return []mutant{
		{"a write once is like any other", "stories/a_write_once_makes_the_first_version_only histories concurrency handles",
			rewriting(func(_ backend.Backend, w *backend.Write) { w.Once = false })},
		{"a write once brings back what was deleted", "stories/an_identity_that_was_deleted_is_used_up histories",
			rewriting(func(b backend.Backend, w *backend.Write) { w.Once = w.Once && !deleted(b, w.Identity) })},
		{"a fact is repeated only with its place", "stories/what_is_written_once_repeats_the_newest_version histories",
			around(func(b backend.Backend) literal { return literal{b} })},
		{"a repeated fact makes a version", "stories/what_is_written_once_repeats_the_newest_version histories",
			rewriting(func(b backend.Backend, w *backend.Write) {
				v, err := b.Get(context.Background(), w.Identity, backend.Head)
				w.Once = w.Once && (err != nil || !backend.Repeats(w, &v))
			})},
		{"writes once are judged before stamps", "stories/a_write_once_is_judged_after_stamps_and_admission histories",
			around(func(b backend.Backend) precipitate { return precipitate{b} })},
		{"streams write more than once", "stories/writes_once_in_a_stream histories",
			around(func(b backend.Backend) permissive { return permissive{b} })},
		{"derived writes are part of a draft", "stories/derived_writes_are_no_part_of_a_draft",
			around(func(b backend.Backend) thorough { return thorough{b} })},
		{"a stale draft is accepted", "stories/a_fence_is_judged_after_expectations_and_before_stamps histories handles concurrency/a_fence_has_one_winner",
			around(func(b backend.Backend) unfenced { return unfenced{b} })},
		{"a stale draft is told as an expectation", "stories/a_fence_is_judged_after_expectations_and_before_stamps histories",
			around(func(b backend.Backend) expectant { return expectant{b} })},
		{"the head is looked at before other fences", "stories/the_error_tells_which_expectation_failed",
			around(func(b backend.Backend) headFirst { return headFirst{b} })},
		{"an error does not tell which expectation failed", "stories/the_error_tells_which_expectation_failed",
			around(func(b backend.Backend) silent { return silent{b} })},
		{"facts come after relations", "stories/a_draft_of_all_types histories",
			around(func(b backend.Backend) factsLast { return factsLast{b} })},
		{"facts have no subjects", "stories/filters_on_subjects_as_of_each_commit stories/aggregates_over_subjects histories corpus",
			around(func(b backend.Backend) subjectless { return subjectless{b} })},
		{"attributes are not told apart", "stories/only_these_subjects_and_attributes histories",
			around(func(b backend.Backend) broad { return broad{b} })},
	}
}

// rewriter changes the writes of drafts.
type rewriter struct {
	backend.Backend
	change func(b backend.Backend, w *backend.Write)
}

func (b rewriter) Append(ctx context.Context, d *backend.Draft) (result, error) {
	c := *d
	c.Writes = slices.Clone(d.Writes)
	for i := range c.Writes {
		b.change(b.Backend, &c.Writes[i])
	}
	return b.Backend.Append(ctx, &c)
}

func deleted(b backend.Backend, id onto.Identity) bool {
	v, err := b.Get(context.Background(), id, backend.Head)
	return err == nil && !v.Live()
}

var errKnown = onto.Errorf(onto.Conflict, "known")

// literal takes another place in the draft for another fact.
type literal struct{ backend.Backend }

func (b literal) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if err != nil || r.Changed() {
		return r, err
	}
	for _, w := range d.Writes {
		v, err := b.Get(ctx, w.Identity, backend.Head)
		if w.Once && err == nil && w.Known == nil && !bytes.Equal(v.Fields, w.Fields) {
			return result{}, errKnown
		}
	}
	return r, nil
}

// precipitate does not wait for the other verdicts.
type precipitate struct{ backend.Backend }

func (b precipitate) Append(ctx context.Context, d *backend.Draft) (result, error) {
	for _, w := range d.Writes {
		v, err := b.Get(ctx, w.Identity, backend.Head)
		if w.Once && err == nil && d.IdempotencyKey == "" && w.Known == nil && !backend.Repeats(&w, &v) {
			return result{}, errKnown
		}
	}
	return b.Backend.Append(ctx, d)
}

// permissive forgets what is once in streams.
type permissive struct{ backend.Backend }

func (b permissive) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	return b.Backend.AppendStream(ctx, d, edit(w, func(w *backend.Write) { w.Once = false }))
}

// thorough counts everything in the digest.
type thorough struct{ backend.Backend }

func (b thorough) Append(ctx context.Context, d *backend.Draft) (result, error) {
	c := *d
	c.Writes = slices.Clone(d.Writes)
	for i := range c.Writes {
		c.Writes[i].Derived = false
	}
	if d.Digest != "" {
		c.Digest = backend.DigestOf(&c)
	}
	return b.Backend.Append(ctx, &c)
}

type unfenced struct{ backend.Backend }

func (b unfenced) Append(ctx context.Context, d *backend.Draft) (result, error) {
	c := *d
	c.Fence = nil
	return b.Backend.Append(ctx, &c)
}

// expectant has one code for expectations and fences.
type expectant struct{ backend.Backend }

func (b expectant) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if errors.Is(err, onto.Stale) {
		return r, onto.Errorf(onto.VersionMismatch, "stale")
	}
	return r, err
}

// headFirst judges fences in the order of expectations.
type headFirst struct{ backend.Backend }

func (b headFirst) Append(ctx context.Context, d *backend.Draft) (result, error) {
	c := *d
	c.Fence = slices.Clone(d.Fence)
	slices.SortStableFunc(c.Fence, func(a, b onto.Expectation) int {
		switch {
		case a.Head == b.Head:
			return 0
		case a.Head:
			return -1
		}
		return 1
	})
	return b.Backend.Append(ctx, &c)
}

// silent leaves out which expectation failed.
type silent struct{ backend.Backend }

func (b silent) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if e := (*onto.Error)(nil); errors.As(err, &e) {
		e.Expectation = nil
	}
	return r, err
}

// factsLast has an order of kinds of its own.
type factsLast struct{ backend.Backend }

func (b factsLast) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	list, err := all(b.Backend.Diff(ctx, q))
	slices.SortStableFunc(list, func(a, b onto.Change) int {
		last := func(c onto.Change) int {
			if c.Kind == onto.KindFact {
				return 1
			}
			return 0
		}
		return last(a) - last(b)
	})
	return replay(list, err)
}

// subjectless looks for subjects among entities that there are not.
type subjectless struct{ backend.Backend }

func lost(q backend.Query) backend.Query {
	if q.Kind == onto.KindFact {
		q.Left = &onto.Schema{Kind: onto.KindEntity, Name: "Nobody"}
	}
	return q
}

func (b subjectless) Scan(ctx context.Context, q *backend.Query) versions {
	other := lost(*q)
	return b.Backend.Scan(ctx, &other)
}

func (b subjectless) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	other := *a
	other.Query = lost(a.Query)
	return b.Backend.Aggregate(ctx, &other)
}

// broad answers with all attributes of a subject.
type broad struct{ backend.Backend }

func (b broad) Scan(ctx context.Context, q *backend.Query) versions {
	other := *q
	if q.Kind == onto.KindFact {
		other.RightKeys = nil
	}
	return b.Backend.Scan(ctx, &other)
}
