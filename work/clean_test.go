package work_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

// A cleaning has to say what is to be removed and what is old; otherwise it is refused, and
// nothing is removed.
func TestCleaningsThatSayTooLittle(t *testing.T) {
	w := newWorld(t)
	w.enqueue(item("a"))
	w.run(w.connect(nothing), nil)
	for want, c := range map[string]backend.WorkCleaning{
		"nothing says what to remove":           {Keep: 1},
		"nothing says what is old":              {Items: true},
		"cannot be negative":                    {Items: true, Keep: -1},
		"items that are pending are not remov":  {Items: true, Keep: 1, Of: backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending}}},
		`the status "gone" is unknown`:          {Items: true, Keep: 1, Of: backend.WorkQuery{Status: []onto.WorkStatus{"gone"}}},
		"items that are in_progress are not re": {Attempts: true, Keep: 1, Of: backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkFailed, onto.WorkInProgress}}},
	} {
		c.Apply = true
		_, err := w.q.Clean(t.Context(), &c, nil)
		if onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%s: got %v", want, err)
			continue
		}
		w.says(err.Error(), want)
	}
	w.expect("a", onto.WorkCompleted, "completed")
}

// Runs leave something of each kind, and what is old of it can be removed. The resource is
// new then.
func TestCleaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("a"), item("b"))
		w.run(w.connect(nothing), nil)
		time.Sleep(100 * 24 * time.Hour)
		if _, err := w.q.Recrawl(t.Context(), work.Revision{All: true}); err != nil {
			t.Fatal(err)
		}
		w.run(w.connect(nothing), nil)
		today, err := w.q.Today(t.Context())
		if err != nil || !today.Equal(time.Now()) {
			t.Errorf("today is %v, error %v", today, err)
		}
		old := today.Add(-90 * 24 * time.Hour)
		c := &backend.WorkCleaning{Items: true, Attempts: true, Runs: true, Before: old, Apply: true}
		if got, err := w.q.Clean(t.Context(), c, nil); err != nil || got.Items != 0 || got.Attempts != 2 || got.Runs != 1 {
			t.Errorf("removed %+v, error %v", got, err)
		}
		w.expect("a", onto.WorkCompleted, "revised completed")
		c = &backend.WorkCleaning{Items: true, Keep: 1, Apply: true}
		if got, err := w.q.Clean(t.Context(), c, nil); err != nil || got.Items != 1 || got.Attempts != 2 {
			t.Errorf("removed %+v, error %v", got, err)
		}
		known := 0
		for _, isNew := range mustEnqueue(t, w, item("a"), item("b")) {
			if !isNew {
				known++
			}
		}
		if known != 1 {
			t.Errorf("%d resources are known, want 1", known)
		}
	})
}

func mustEnqueue(t *testing.T, w *world, items ...work.Item) []bool {
	t.Helper()
	fresh, err := w.q.Enqueue(t.Context(), items...)
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

// A clock that is ahead makes nothing old: today is the newest time that was stored, also by
// an attempt.
func TestTodayOfAClockThatIsAhead(t *testing.T) {
	ctx, path, now := t.Context(), filepath.Join(t.TempDir(), "q.db"), time.Now().AddDate(-1, 0, 0)
	open := func() (*sqlite.Backend, *work.Queue) {
		b, err := sqlite.Open(ctx, path, &sqlite.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.OpenWith(ctx, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		q, err := work.Open(s)
		if err != nil {
			t.Fatal(err)
		}
		return b, q
	}
	b, q := open()
	if _, err := q.Enqueue(ctx, item("a")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(24 * time.Hour)
	if got, err := b.Dequeue(ctx, &backend.WorkRequest{Worker: "w", Limit: 1, Lease: time.Minute}); err != nil || len(got.Items) != 1 {
		t.Fatalf("got %+v, error %v", got, err)
	}
	_, q = open()
	if today, err := q.Today(ctx); err != nil || today.Before(now.Truncate(time.Microsecond)) || today.After(now.Add(time.Hour)) {
		t.Errorf("today is %v, error %v, want %v", today, err, now)
	}
}

// nothing is a connector whose resources are empty.
func nothing(context.Context, *onto.WorkItem) (*work.Record, error) { return &work.Record{}, nil }
