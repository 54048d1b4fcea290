package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// begin stores that the run has started, or goes on with it. A run with a name is under a
// lease, which release ends.
func (r *run) begin(ctx context.Context) (release func(), err error) {
	release = func() {}
	if r.o.Run != "" {
		if release, err = r.exclude(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.enter(ctx); err != nil {
		release()
		return nil, err
	}
	r.saved = time.Now()
	return release, nil
}

func (r *run) enter(ctx context.Context) error {
	options, err := r.o.kept()
	if err != nil {
		return err
	}
	r.record = onto.WorkRun{ID: r.id, Started: time.Now().UTC().Truncate(time.Microsecond), Status: RunRunning, Options: options}
	r.sum = Summary{Sources: map[string]Counts{}}
	if r.o.Resume {
		runs, err := r.q.port.WorkRuns(ctx)
		if err != nil {
			return err
		}
		n := slices.IndexFunc(runs, func(w onto.WorkRun) bool { return w.ID == r.id })
		if n < 0 {
			return onto.Errorf(onto.NotFound, "run %.200q does not exist, so it cannot be resumed", r.id).
				WithHint("list the runs, or start it without Resume").WithCommand("work", "runs")
		}
		r.record.Started = runs[n].Started
		r.sum.resume(runs[n].Counts)
	}
	r.sum.Run, r.sum.Status, r.sum.Started = r.id, RunRunning, r.record.Started
	err = r.q.port.SaveRun(ctx, r.record, !r.o.Resume)
	if errors.Is(err, onto.Conflict) {
		return onto.Errorf(onto.Conflict, "run %.200q exists already", r.id).WithHint("resume it, or leave the name out for a new run")
	}
	return err
}

// exclude takes the lease of the run's name, for as long as the run takes.
func (r *run) exclude(ctx context.Context) (func(), error) {
	o := &store.LeaseOptions{TTL: r.o.Lease, Wait: -1, Owner: r.request.Worker}
	if r.o.Resume {
		o.Wait = r.o.Lease + time.Second // a run that was killed leaves its lease behind
	}
	l, err := r.q.s.Lease(ctx, leaseName(r.id), o)
	if errors.Is(err, onto.LockContention) {
		return nil, onto.Errorf(onto.Conflict, "run %.200q is under way: %w", r.id, err).
			WithHint("wait for it to end, or leave the name out for a new run: several runs share a queue")
	}
	if err != nil {
		return nil, err
	}
	kept := make(chan struct{})
	keep, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(kept)
		if err := l.Keep(keep); err != nil {
			r.mail.Post(func() { r.stop(err) })
		}
	}()
	return func() {
		stop()
		<-kept
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		_ = l.Release(end) // it expires all the same
	}, nil
}

// leaseName is the name of the lease of a run.
func leaseName(run string) string {
	const prefix = "work-run-"
	if onto.CheckLeaseName(prefix+run) == nil {
		return prefix + run
	}
	sum := sha256.Sum256([]byte(run))
	return prefix + "." + hex.EncodeToString(sum[:16])
}

// kept are the options that are stored with the run.
func (o *RunOptions) kept() (json.RawMessage, error) {
	return json.Marshal(map[string]any{
		"workers": o.Workers, "limits": o.Limits, "max_items": o.MaxItems, "max_depth": o.MaxDepth, "max_attempts": o.MaxAttempts,
		"only_run": o.OnlyRun, "systems": o.Systems, "lease_seconds": o.Lease.Seconds(),
	})
}

// figures is the run with its counts as they are now.
func (r *run) figures() onto.WorkRun {
	w := r.record
	if counts, err := r.sum.figures(); err == nil { // it has only numbers and text
		w.Counts = counts
	}
	return w
}

// finish stores how the run has ended, and returns the error that ended it.
func (r *run) finish(ctx context.Context) error {
	r.record.Status = RunFinished
	switch {
	case r.err != nil:
		r.record.Status = RunFailed
	case r.stopped:
		r.record.Status = RunStopped
	}
	r.record.Finished = time.Now().UTC().Truncate(time.Microsecond)
	r.sum.Status, r.sum.Finished, r.sum.Active = r.record.Status, r.record.Finished, 0
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := r.q.port.SaveRun(ctx, r.figures(), false)
	if r.err != nil {
		return r.err
	}
	return err
}
