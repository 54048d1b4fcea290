package work

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// settlement is one call to the backend: it stores ends, renews leases and takes items.
type settlement struct {
	ended, renewed []*job
	want           int  // items
	idle           bool // nothing runs that could end

	at       time.Time             // before the call
	verdicts []backend.WorkVerdict // of those that ended, then of those renewed
	got      backend.WorkTaken
	asked    bool  // items were asked for
	err      error // of the whole call: nothing was stored, or that is unknown
}

// renewals are the attempts whose lease is half over.
func (r *run) renewals(now time.Time) []*job {
	var list []*job
	for j := range r.jobs {
		if !j.lost && !j.overdue(now) && now.After(j.until.Add(-r.o.Lease/2)) {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		return nil
	}
	list = list[:0]
	for j := range r.jobs { // one call for all of them
		if !j.lost && !j.overdue(now) {
			list = append(list, j)
		}
	}
	return list
}

// settle makes the call. It is called outside the loop.
func (r *run) settle(s *settlement) {
	s.at = time.Now()
	var list []backend.WorkOutcome
	for _, j := range s.ended {
		list = append(list, r.outcome(j))
	}
	for _, j := range s.renewed {
		list = append(list, r.extension(j))
	}
	if s.want > 0 {
		req := r.request
		req.Limit, req.Finish = s.want, list
		s.got, s.err = r.q.port.Dequeue(r.ctx, &req)
		s.verdicts, s.asked = s.got.Verdicts, true
	} else {
		s.verdicts, s.err = r.q.port.Finish(r.ctx, list)
	}
	switch {
	case s.err != nil && lasting(s.err) && len(list) > 0:
		s.asked = false
		s.verdicts, s.err = r.singly(s.ended, list)
	case s.err == nil && s.asked && s.idle && len(s.got.Items) == 0 && !s.got.Next.IsZero():
		r.lookAround(s)
	}
}

// lookAround finds out whether the run has anything to wait for: a lease of other work may
// be all that ends.
func (r *run) lookAround(s *settlement) {
	req := &r.request
	if !req.OnlyRun && req.Systems == nil {
		return
	}
	systems := req.Systems
	if systems == nil {
		systems = []string{""}
	}
	for _, system := range systems {
		q := backend.WorkQuery{Status: []onto.WorkStatus{onto.WorkPending, onto.WorkInProgress}, System: system, Limit: 1}
		if req.OnlyRun {
			q.Run = req.Run
		}
		for range r.q.port.WorkItems(r.ctx, &q) {
			return // also for an error, which the next call meets again
		}
	}
	s.got.Next = time.Time{}
}

// extension renews the lease of an attempt.
func (r *run) extension(j *job) backend.WorkOutcome {
	return backend.WorkOutcome{Item: j.item.ID, Attempt: j.item.Attempt, Worker: r.request.Worker, Do: backend.WorkExtend, Lease: r.o.Lease}
}

// singly stores outcomes one after the other, after the backend has refused something in
// them all together. What it refuses fails its item.
func (r *run) singly(ended []*job, list []backend.WorkOutcome) ([]backend.WorkVerdict, error) {
	var verdicts []backend.WorkVerdict
	for n := range list {
		v, err := r.q.port.Finish(r.ctx, list[n:n+1])
		if err != nil && lasting(err) && n < len(ended) {
			j := ended[n]
			j.end = ending{what: Failed, do: backend.WorkFail, class: string(onto.CodeOf(err)), err: err}
			j.did = deeds{bytes: j.did.bytes}
			v, err = r.q.port.Finish(r.ctx, []backend.WorkOutcome{r.outcome(j)})
		}
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v...)
	}
	return verdicts, nil
}

// outcome is an end as the backend takes it.
func (r *run) outcome(j *job) backend.WorkOutcome {
	e := &j.end
	o := backend.WorkOutcome{Item: j.item.ID, Attempt: j.item.Attempt, Worker: r.request.Worker, Do: e.do, Class: e.class, Diagnostic: j.diagnostic()}
	switch e.do {
	case backend.WorkComplete:
		o.Metadata, o.Discovered = j.did.metadata, j.did.discovered
	case backend.WorkRetry:
		o.Delay, o.Error = e.delay, text(e.err, maxError)
	case backend.WorkFail, backend.WorkSkip:
		o.Error = text(e.err, maxError)
	}
	return o
}

// diagnostic tells about an attempt, for people.
func (j *job) diagnostic() json.RawMessage {
	d := map[string]any{"milliseconds": j.took.Milliseconds()}
	set := func(name string, value any, zero bool) {
		if !zero {
			d[name] = value
		}
	}
	set("stage", j.did.stage, j.did.stage == "" || j.end.err == nil)
	set("error", text(j.end.err, maxError), j.end.err == nil)
	set("stack", j.did.stack, j.did.stack == "")
	set("status", j.did.status, j.did.status == 0)
	set("bytes", j.did.bytes, j.did.bytes == 0)
	set("url", j.did.url, j.did.url == "")
	set("not_modified", true, !j.did.notModified)
	set("discovered", len(j.did.discovered), len(j.did.discovered) == 0)
	set("retry_seconds", j.end.delay.Seconds(), j.end.delay == 0)
	text, err := json.Marshal(d)
	if err != nil { // numbers and valid text always have a JSON form
		panic(err)
	}
	return text
}

// stored is called by the loop after settle.
func (r *run) stored(s *settlement) {
	if s.err != nil {
		for _, j := range s.ended {
			j.unsure = true
		}
		r.ended = append(s.ended, r.ended...)
		r.trouble(s.err)
		return
	}
	for n, j := range s.ended {
		v := s.verdicts[n]
		if v.Err != nil && !(j.unsure && r.settledBefore(j)) {
			j.end = lost(v.Err)
		}
		r.settled(j, v.Fresh)
		r.due = true
	}
	for n, j := range s.renewed {
		if v := s.verdicts[len(s.ended)+n]; v.Err == nil {
			j.extend(s.at.Add(r.o.Lease))
		} else if r.jobs[j] {
			j.lost = true
			j.cancel(errLost)
		}
	}
}

// settledBefore reports whether the end of an attempt was stored by a call whose outcome
// was unknown.
func (r *run) settledBefore(j *job) bool {
	for w, err := range r.q.port.WorkItems(r.ctx, &backend.WorkQuery{IDs: []string{j.item.ID}, Attempts: true}) {
		if err != nil {
			return false
		}
		return slices.ContainsFunc(w.Attempts, func(a onto.WorkAttempt) bool {
			return a.Number == j.item.Attempt && a.Worker == r.request.Worker && a.Status != onto.AttemptRunning && a.Status != onto.AttemptLost
		})
	}
	return false
}
