package work_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/work"
)

// Troubles of the queue's store are waited for, and an outcome that was stored without
// being acknowledged counts once.
func TestTroubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for n := range 20 {
			w.enqueue(item(fmt.Sprint(n)))
		}
		calls, takes := 0, 0
		w.m.finish = func(_ []backend.WorkOutcome, call func() ([]backend.WorkVerdict, error)) ([]backend.WorkVerdict, error) {
			switch calls++; calls % 3 {
			case 1:
				return nil, onto.Errorf(onto.LockContention, "busy")
			case 2:
				if _, err := call(); err != nil {
					return nil, err
				}
				return nil, onto.Errorf(onto.OutcomeUnknown, "the connection ended")
			}
			return call()
		}
		w.m.dequeue = func(*backend.WorkRequest) error {
			if takes++; takes%2 == 1 {
				return onto.Errorf(onto.Unavailable, "no connection")
			}
			return nil
		}
		r := w.connect(fetched)
		sum := w.run(r, nil)
		if sum.Completed != 20 || sum.Lost != 0 || w.count(work.Troubled) == 0 {
			t.Errorf("got %+v after %d troubles", sum, w.count(work.Troubled))
		}
		for n := range 20 { // a call that took items and was not acknowledged lets their leases run out
			if s := w.state(fmt.Sprint(n)); s.Status != onto.WorkCompleted || strings.TrimPrefix(attempts(s), "lost ") != "completed" {
				t.Errorf("item %d is %s after %q", n, s.Status, attempts(s))
			}
		}
	})
}

// An outcome that the backend refuses fails its own item.
func TestARefusedOutcome(t *testing.T) {
	w := newWorld(t)
	w.enqueue(item("a"), item("bad"), item("c"))
	bad := w.state("bad").ID
	w.m.finish = func(list []backend.WorkOutcome, call func() ([]backend.WorkVerdict, error)) ([]backend.WorkVerdict, error) {
		for _, o := range list {
			if o.Item == bad && o.Do == backend.WorkComplete {
				return nil, onto.Errorf(onto.TooLarge, "too much was discovered")
			}
		}
		return call()
	}
	sum := w.run(w.connect(fetched), nil)
	w.says(w.expect("bad", onto.WorkFailed, "failed").Error, "too much was discovered")
	if sum.Completed != 2 || sum.Failed != 1 {
		t.Errorf("got %+v", sum)
	}
}

// What no retry can mend ends the run; the items are returned if that is possible.
func TestErrorsThatEndARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enqueue(item("a"))
		r := w.connect(fetched)
		r.Writers = []work.Writer{work.WriterFunc(func(context.Context, *work.Record) error {
			return onto.Errorf(onto.SchemaOutdated, "the types differ")
		})}
		sum, err := r.Run(t.Context(), w.options(nil))
		code(t, err, onto.SchemaOutdated)
		if sum.Status != work.RunFailed || sum.Returned != 1 {
			t.Errorf("got %+v", sum)
		}
		w.expect("a", onto.WorkPending, "returned")

		w.m.dequeue = func(*backend.WorkRequest) error { return onto.Errorf(onto.Corrupt, "damaged") }
		_, err = r.Run(t.Context(), w.options(nil))
		code(t, err, onto.Corrupt)
		w.m.dequeue = nil
		w.m.finish = func([]backend.WorkOutcome, func() ([]backend.WorkVerdict, error)) ([]backend.WorkVerdict, error) {
			return nil, onto.Errorf(onto.Closed, "closed")
		}
		sum, err = w.connect(fetched).Run(t.Context(), w.options(nil))
		code(t, err, onto.Closed)
		if sum.Lost != 1 || sum.Completed != 0 {
			t.Errorf("got %+v", sum)
		}
	})
}
