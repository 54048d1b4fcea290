package work

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Why the context of an attempt ended.
var (
	errTimeout = errors.New("the attempt has used up its time")
	errLost    = errors.New("the lease on the item was lost")
	errDrained = errors.New("the run ends")
)

// job is an attempt from when its item is taken until its end is stored. It belongs to the
// loop of its run, but for what is marked.
type job struct {
	item  onto.WorkItem
	until time.Time    // when its lease ends, by the monotonic clock
	wall  atomic.Int64 // the same by the wall clock, in microseconds; read by its goroutine

	// Since it was started:
	began   time.Time
	timeout time.Duration
	cancel  context.CancelCauseFunc
	lost    bool // its lease was lost

	// Since it has ended:
	end    ending
	did    deeds
	took   time.Duration
	unsure bool // its end may have been stored
}

// deeds are what an attempt did.
type deeds struct {
	stage       stage // that it was in
	status      int
	bytes       int
	url         string
	notModified bool
	stack       string
	metadata    json.RawMessage
	discovered  []onto.WorkItem
}

// extend notes when the lease ends.
func (j *job) extend(until time.Time) {
	j.until = until
	j.wall.Store(until.UnixMicro())
}

// overdue reports whether an attempt ignores that its time is up. Its lease is not renewed.
func (j *job) overdue(now time.Time) bool { return now.Sub(j.began) > j.timeout+grace }

// start makes an attempt in a goroutine of its own, which mails how it ended.
func (r *run) start(j *job) {
	j.began, j.timeout = time.Now(), r.o.Timeout
	j.extend(j.until)
	connector := r.runner.Connectors[j.item.System]
	if connector == nil {
		j.end = unknown(&j.item, r.systems)
		r.ended = append(r.ended, j)
		return
	}
	r.jobs[j] = true
	r.observe(Observation{What: Started, Item: j.item})
	ctx, cancel := context.WithCancelCause(r.ctx)
	j.cancel = cancel
	ctx, stop := context.WithTimeoutCause(ctx, j.timeout, errTimeout)
	go func() {
		var did deeds
		// Replaced unless the attempt ends its goroutine with runtime.Goexit.
		end := r.p.failed(&j.item, fetching, errors.New("the connector, writer or discovery has ended its goroutine"))
		defer func() {
			stop()
			cancel(nil)
			r.mail.Post(func() { r.done(j, end, did) })
		}()
		end = r.attempt(ctx, j, connector, &did)
	}()
}

// done is called by the loop when the goroutine of an attempt has ended.
func (r *run) done(j *job, end ending, did deeds) {
	if !r.jobs[j] {
		return // left behind
	}
	delete(r.jobs, j)
	j.end, j.did, j.took = end, did, time.Since(j.began)
	if j.lost {
		j.end = lost(errLost)
	}
	if end.fatal != nil {
		r.stop(end.fatal)
	}
	if j.end.do == 0 {
		r.settled(j, nil)
		return
	}
	r.ended = append(r.ended, j)
}

// attempt fetches, writes and discovers. It is called by the goroutine of a job.
func (r *run) attempt(ctx context.Context, j *job, c Connector, did *deeds) ending {
	err := r.steps(ctx, j, c, did)
	if err == nil {
		return completed()
	}
	var p *panicked
	if errors.As(err, &p) {
		did.stack = p.stack
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(err, errLost), cause == errLost:
		return lost(errLost)
	case cause == errTimeout:
		err = fmt.Errorf("it took longer than %v: %w", j.timeout, err)
		return r.p.failed(&j.item, did.stage, classed(err, classTimeout))
	case cause != nil:
		return returned(err)
	}
	return r.p.failed(&j.item, did.stage, err)
}

func (r *run) steps(ctx context.Context, j *job, c Connector, did *deeds) error {
	did.stage = fetching
	if err := checkItem(&j.item); err != nil {
		return err
	}
	item := copyItem(&j.item)
	rec, err := guarded(func() (*Record, error) { return c.Fetch(ctx, item) })
	if err != nil {
		return err
	}
	if rec == nil {
		return Permanent(fmt.Errorf("the connector of %s has returned no record", j.item.System))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rec.Item = copyItem(&j.item)
	rec.URL = cmp.Or(rec.URL, j.item.URI)
	if rec.Fetched.IsZero() {
		rec.Fetched = time.Now().UTC()
	}
	did.status, did.bytes, did.notModified = rec.Status, len(rec.Body), rec.NotModified
	if rec.URL != j.item.URI {
		did.url = cut(rec.URL, MaxURI)
	}
	if !rec.NotModified {
		if err := r.use(ctx, j, rec, did); err != nil {
			return err
		}
	}
	did.metadata, err = merged(j.item.Metadata, rec.Metadata)
	return err
}

// checkItem refuses an item that was written without checks.
func checkItem(i *onto.WorkItem) error {
	for _, m := range []struct {
		what string
		text json.RawMessage
	}{{"headers", i.Headers}, {"metadata", i.Metadata}} {
		if len(m.text) == 0 {
			continue
		}
		if _, err := codec.DecodeObject(m.text); err != nil {
			return onto.Errorf(onto.Invalid, "the %s of item %.200q of source %.200q are not a JSON object: %w", m.what, i.Resource, i.Source, err)
		}
	}
	return checkURI(i.URI)
}

// use writes a record, and discovers what it leads to.
func (r *run) use(ctx context.Context, j *job, rec *Record, did *deeds) error {
	did.stage = writing
	if err := r.held(ctx, j); err != nil {
		return err
	}
	for _, w := range r.runner.Writers {
		if _, err := guarded(func() (struct{}, error) { return struct{}{}, w.Write(ctx, rec) }); err != nil {
			return err
		}
	}
	did.stage = discovering
	if r.o.MaxDepth > 0 && j.item.Depth >= r.o.MaxDepth {
		return nil
	}
	for _, d := range r.runner.Discover {
		items, err := guarded(func() ([]Item, error) { return d.Discover(ctx, rec) })
		if err != nil {
			return err
		}
		for n := range items {
			w, err := r.below(&j.item, items[n])
			if err != nil {
				return Permanent(fmt.Errorf("discovery: %w", err))
			}
			did.discovered = append(did.discovered, w)
		}
	}
	return nil
}

// held makes sure of the lease before anything is written, if its time is over: the
// machine may have slept, and another worker have fetched something newer.
func (r *run) held(ctx context.Context, j *job) error {
	if time.Now().UnixMicro() < j.wall.Load() {
		return nil
	}
	v, err := r.q.port.Finish(ctx, []backend.WorkOutcome{r.extension(j)})
	if err != nil {
		return Temporary(err, 0)
	}
	if v[0].Err != nil {
		return errLost
	}
	return nil
}

// below is an item that was discovered from another.
func (r *run) below(parent *onto.WorkItem, i Item) (onto.WorkItem, error) {
	i.System, i.Source, i.Type = cmp.Or(i.System, parent.System), cmp.Or(i.Source, parent.Source), cmp.Or(i.Type, parent.Type)
	i.ID, i.Priority, i.Run = cmp.Or(i.ID, i.URI), cmp.Or(i.Priority, &parent.Priority), cmp.Or(i.Run, parent.Run, r.id)
	i.Scope = cmp.Or(i.Scope, scopeOf(parent.Key))
	w, err := i.item(time.Now())
	w.Parent, w.Depth = parent.ID, parent.Depth+1
	return w, err
}

// merged is metadata with what a connector sets; nil if nothing changes.
func merged(old json.RawMessage, set map[string]any) (json.RawMessage, error) {
	if len(set) == 0 {
		return nil, nil
	}
	m := map[string]any{}
	if len(old) > 0 {
		var err error
		if m, err = codec.DecodeObject(old); err != nil {
			return nil, Permanent(fmt.Errorf("the metadata of the item is not JSON: %w", err))
		}
	}
	before := maps.Clone(m)
	for name, value := range set {
		if value == nil {
			delete(m, name)
		} else {
			m[name] = value
		}
	}
	if reflect.DeepEqual(before, m) {
		return nil, nil
	}
	text, err := object("metadata of the item", m)
	if err != nil {
		return nil, Permanent(err)
	}
	if text == nil {
		text = json.RawMessage("{}")
	}
	return text, nil
}

// copyItem is an item that a connector or writer may keep and change.
func copyItem(i *onto.WorkItem) *onto.WorkItem {
	c := *i
	c.Headers, c.Metadata = bytes.Clone(i.Headers), bytes.Clone(i.Metadata)
	return &c
}

// panicked is a panic as an error.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// guarded calls a function. A panic is an error.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{p, cut(string(debug.Stack()), maxStack)}
		}
	}()
	return f()
}
