package store

import (
	"context"
	"errors"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/store/internal/lineage"
)

// Lenient is the same view, which answers as far as it can and reports what it could not
// do as asked. Other programs that write to a file can leave such things behind:
//
//   - A version that cannot be read is left out of every answer; the error has the code
//     Unreadable. Getting that version still fails, and the history of one identity has the
//     error in the place of the version.
//   - Things of before a change of their type for which no upgrader was kept are shown as
//     stored, and filters are about that; the error has the code UpgraderMissing. Go structs
//     of such things still fail.
//
// Without it both are errors of the read. Report may be called several times for the same,
// while an answer is read, and by one goroutine at a time.
func (v View) Lenient(report func(error)) View {
	v.report = report
	return v
}

// lenient leaves what cannot be read out of a sequence if the view is lenient.
func lenient[T any](v View, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	if v.report == nil || v.inPlace {
		return seq
	}
	return func(yield func(T, error) bool) {
		for value, err := range seq {
			if errors.Is(err, onto.Unreadable) {
				v.report(err)
				continue
			}
			if !yield(value, err) {
				return
			}
		}
	}
}

// unkept reports whether a lenient view shows what was read as of a commit, of the type of
// a chain, as stored, and tells so.
func (v View) unkept(c *lineage.Chain, at int64) bool {
	if v.report == nil || v.stored || v.structs || c == nil {
		return false
	}
	missing := c.Unkept(at)
	if missing != nil {
		v.report(missing)
	}
	return missing != nil
}

// know finds the type of the question in a view, or as stored if it has to be.
func (q *question) know(v View) {
	q.v = v
	q.t, q.err = q.find(v)
	at, ok := v.point.Commit()
	if !ok || q.err != nil || !v.unkept(q.t.Chain, at) {
		return
	}
	q.v = v.AsStored()
	q.t, q.err = q.find(q.v)
}

// knowHistory is know for a history, whose versions are older than the view's moment.
func (q *question) knowHistory(ctx context.Context) error {
	if !q.history || q.v.report == nil || q.v.stored || q.t.Chain == nil {
		return nil
	}
	first := q.since + 1
	if q.identity != nil {
		commits, err := q.reader().commitsOf(ctx, *q.identity, q.since, backend.Head)
		if err != nil || len(commits) == 0 {
			return err
		}
		first = commits[0]
	}
	if !q.v.unkept(q.t.Chain, first) {
		return nil
	}
	v, err := q.v.AsStored().pin(ctx)
	if err != nil {
		return err
	}
	q.v = v
	q.t, q.err = q.find(v)
	return q.err
}

// leftOut reports an error that a lenient read goes on after.
func (v View) leftOut(err error) bool {
	if v.report == nil || v.inPlace || err == nil || exec.Ends(err) {
		return false
	}
	v.report(err)
	return true
}
