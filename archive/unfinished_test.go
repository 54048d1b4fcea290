package archive_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
)

// failing ends a copy at a batch.
type failing struct {
	*memory.Backend
	after int
}

var errCut = errors.New("the line was cut")

func (f *failing) Restore(ctx context.Context, r *backend.Restoration) error {
	if f.after == 0 {
		return errCut
	}
	f.after--
	return f.Backend.Restore(ctx, r)
}

// A target that is empty is marked before anything is copied to it, so that nothing else is
// written to it if that fails.
func TestTheFirstBatchFails(t *testing.T) {
	from := newSource(t)
	from.fill(20)
	st, to := target(t)
	other := st.Open()
	defer other.Close()
	_, err := (&archive.Job{From: from.b, To: &failing{to, 1}}).Apply(t.Context())
	if !errors.Is(err, errCut) {
		t.Fatalf("got error %v, want that of the target", err)
	}
	_, err = other.Resolve(t.Context(), onto.Point{})
	wantError(t, err, onto.CopyUnfinished, "has not ended")
	job := &archive.Job{From: from.b, To: to}
	apply(t, job)
	same(t, job, 20)
}

func TestUnfinishedCopy(t *testing.T) {
	from := newSource(t)
	from.fill(20)
	from.drop("note", false) // so that there is more than one batch
	st, to := target(t)
	other := st.Open()
	defer other.Close()
	_, err := (&archive.Job{From: from.b, To: &failing{to, 2}, Flags: "a=b"}).Apply(t.Context())
	if !errors.Is(err, errCut) {
		t.Fatalf("got error %v, want that of the target", err)
	}
	_, err = other.Resolve(t.Context(), onto.Point{})
	wantError(t, err, onto.CopyUnfinished, "has not ended")

	_, err = (&archive.Job{From: from.b, To: to}).Plan(t.Context())
	wantError(t, err, onto.Conflict, "with the flags a=b")
	stranger := newSource(t)
	stranger.fill(40)
	_, err = (&archive.Job{From: stranger.b, To: to, Flags: "a=b"}).Plan(t.Context())
	wantError(t, err, onto.Conflict, "a part of a copy of")

	job := &archive.Job{From: from.b, To: to, Flags: "a=b"}
	plan, err := job.Plan(t.Context())
	if err != nil || !plan.Resumes || plan.Shared != 20 || plan.Commits != 1 {
		t.Fatalf("plan: got %+v and error %v, want one that resumes at commit 20", plan, err)
	}
	var seen []archive.Progress
	job.Progress = func(p archive.Progress) { seen = append(seen, p) }
	apply(t, job)
	if len(seen) == 0 || seen[len(seen)-1].Commit != 21 {
		t.Errorf("got the progress %v, want it to end at commit 21", seen)
	}
	same(t, job, 21)
	if _, err = other.Resolve(t.Context(), onto.Point{}); err != nil {
		t.Errorf("a complete copy: got error %v", err)
	}
}

// torn is a source with damage after its newest commit.
type torn struct{ backend.LogSource }

func (s torn) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for e, err := range s.LogSource.Log(ctx, since) {
			if !yield(e, err) {
				return
			}
		}
		yield(backend.LogEntry{}, onto.Errorf(onto.Corrupt, "versions without a commit"))
	}
}

// Damage behind the newest commit stops a copy and a comparison, unless they end before it.
func TestDamageAtTheEnd(t *testing.T) {
	from := newSource(t)
	from.fill(9)
	_, to := target(t)
	_, err := (&archive.Job{From: torn{from.b}, To: to}).Apply(t.Context())
	wantError(t, err, onto.Corrupt, "versions without a commit")
	if hint := onto.HintOf(err).Text; !strings.HasSuffix(hint, "--until 9") {
		t.Errorf("got the hint %q, want one that names --until 9", hint)
	}
	job := &archive.Job{From: torn{from.b}, To: to, Until: 8}
	apply(t, job)
	if got, err := job.Verify(t.Context()); err != nil || got.First != nil || got.Commit != 8 {
		t.Errorf("up to commit 8: got %+v and error %v, want equal logs", got, err)
	}
	job.Until = 0
	_, err = job.Apply(t.Context())
	wantError(t, err, onto.Corrupt, "versions without a commit")
	job.From = from.b
	apply(t, job)
	_, err = (&archive.Job{From: torn{from.b}, To: to}).Verify(t.Context())
	wantError(t, err, onto.Corrupt, "versions without a commit")
	if got, err := (&archive.Job{From: from.b, To: to, Until: 5}).Verify(t.Context()); err != nil || got.First != nil || got.Commit != 5 {
		t.Errorf("up to commit 5: got %+v and error %v, want equal logs", got, err)
	}
}
