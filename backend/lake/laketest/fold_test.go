package laketest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Step is what happens to a job.
type Step struct {
	onto.About[string]
	Taken string `json:"taken"`
	Ended bool   `json:"ended"`
}

// Job is how far a job has come.
type Job struct {
	ID    string `json:"id" onto:"key"`
	Trail string `json:"trail"`
}

func jobs(version int) store.Fold[Step, Job] {
	return store.Fold[Step, Job]{Name: "jobs", Version: version, Apply: func(j *Job, f onto.Fact, _ onto.Draft) error {
		j.Trail += fmt.Sprintf("%d%v ", version, f.Value)
		return nil
	}}
}

func step(job, attribute, id string, value any) onto.Fact {
	return onto.Fact{Type: "Step", Subject: job, Attribute: attribute, ID: id, Value: value}
}

// Folds on a lake: two programs with a fold write facts about the same subjects, one
// without it writes others, then comes a new version.
func TestFoldsOnALake(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	opened := func(folds ...store.Folding) *store.Store {
		s, err := store.OpenWith(ctx, openFiles(t, dir, 0), &store.Options{Folds: folds}, onto.TypeOf[Step]())
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	other, a, b := opened(), opened(jobs(1)), opened(jobs(1))
	var wait sync.WaitGroup
	for n, s := range []*store.Store{a, b} {
		wait.Go(func() {
			for i := range 10 {
				_, err := s.Commit(ctx, onto.Draft{}.Assert(step(fmt.Sprintf("j%d", i%2), "taken", fmt.Sprintf("%d-%d", n, i), "x")))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	_, err := other.Commit(ctx, onto.Draft{}.Assert(step("j0", "ended", "e", true)))
	must(t, err)
	_, err = other.CommitStream(ctx, onto.Draft{}, func(yield func(any, error) bool) {
		for i := range 300 {
			if !yield(step(fmt.Sprintf("k%03d", i), "taken", "s", "y"), nil) {
				return
			}
		}
	})
	must(t, err)
	_, err = a.Commit(ctx, onto.Draft{}.Retract(step("j1", "taken", "0-1", nil).Identity()))
	must(t, err)
	must(t, a.VerifyFolds(ctx))

	// What is repeated with its key gets the first result, whatever has happened since.
	taken := step("j0", "taken", "0-0", nil).Identity()
	keyed := onto.Draft{IdempotencyKey: "once"}.Revoke(taken, time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), "late").
		Assert(step("j0", "taken", "", "z"), step("j9", "taken", "", "z"))
	first, err := a.Commit(ctx, keyed)
	must(t, err)
	_, err = b.Commit(ctx, onto.Draft{}.Assert(step("j0", "ended", "", true)).Retract(taken))
	must(t, err)
	for _, s := range []*store.Store{a, b, other} {
		again, err := s.Commit(ctx, keyed)
		if err != nil || !again.Repeated || again.ID != first.ID {
			t.Errorf("the draft again: got %+v, %v; want commit %d", again, err, first.ID)
		}
	}
	must(t, a.VerifyFolds(ctx))
	for version, s := range []*store.Store{a, opened(jobs(2))} {
		must(t, s.CatchUp(ctx))
		must(t, s.VerifyFolds(ctx))
		got, err := store.Get[Job](ctx, s.Now(), "k299")
		if want := fmt.Sprintf("%dy ", version+1); err != nil || got.Trail != want {
			t.Errorf("got %+v, %v; want the trail %q", got, err, want)
		}
	}
}
