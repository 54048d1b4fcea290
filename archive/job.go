// Package archive copies stores with their whole past: commits, versions, types and facts,
// as they are, from any [backend.LogSource] to any [backend.Archive]. It also compares a copy
// with its source.
//
//	err := archive.Copy(ctx, from, to)
//
// A copy is durable in batches. A copy that was interrupted is continued by the next one:
// its target records what it is a copy of, and cannot be used as a store before it is
// complete. A complete copy is a store of its own. Copying again from the same source adds
// what the source has committed since, unless the target has commits of its own.
package archive

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Job is a copy to be made.
type Job struct {
	From backend.LogSource
	To   backend.Archive // opened as the target of a copy

	// Until is the last commit to be copied; 0 for the newest when the copy begins.
	Until int64
	// Flags describes how From was asked to change the log. It is compared as text: a copy
	// can only be continued with the same flags.
	Flags string
	// Batch is how many commits become durable together, at most; 0 for 5,000. Large commits
	// make smaller batches.
	Batch int
	// Progress, if not nil, is called whenever a batch is durable.
	Progress func(Progress)
}

// Progress is how far a copy is.
type Progress struct {
	Commit   int64 // the last one that is durable
	Until    int64 // the last one to be copied
	Versions int64 // that have been copied so far
	Total    int64 // that are to be copied, as planned
}

// Plan is what a copy would do.
type Plan struct {
	Origin string // of the log
	Until  int64  // the last commit that the copy will have
	Shared int64  // the last one that the target has already
	Types  int    // versions of types that the copy will have

	Commits  int64 // to be copied
	Versions int64 // to be copied
	Bytes    int64 // of these versions, estimated
	Scratch  int64 // bytes of temporary files that reading the log needs

	Resumes bool              // the target is an unfinished copy
	Notes   []backend.LogNote // what the copy will not have, or will have otherwise
}

// Result is what a copy did.
type Result struct {
	Plan     Plan   // as it was when the copy began
	Until    int64  // the newest commit of the copy
	Commits  int64  // that were copied
	Versions int64  // that were copied
	Sum      string // of the log of the copy, see docs/format/copy.md
}

// Copy makes a complete copy, or completes one.
func Copy(ctx context.Context, from backend.LogSource, to backend.Archive) error {
	_, err := (&Job{From: from, To: to}).Apply(ctx)
	return err
}

// Plan finds out what Apply would do, and whether it can. It changes nothing. If the target
// has commits, it reads the source up to them, and the target as well unless the sum that it
// has recorded matches.
func (j *Job) Plan(ctx context.Context) (*Plan, error) {
	r, err := j.begin(ctx)
	if err != nil {
		return nil, err
	}
	return &r.plan, nil
}

// attempts is how often a copy begins again because types are purged at the source.
const attempts = 5

// Apply copies. After an error the target has a prefix of the log, and is marked as
// unfinished unless it was not changed; applying the same job again goes on from there.
func (j *Job) Apply(ctx context.Context) (*Result, error) {
	total := &Result{}
	for attempt := 1; ; attempt++ {
		r, err := j.begin(ctx)
		if err != nil {
			return total, err
		}
		if attempt == 1 {
			total.Plan = r.plan
		}
		err = r.copy(ctx)
		total.Until, total.Sum = r.done.Commit, r.sum.String()
		total.Commits += r.done.Commit - r.plan.Shared
		total.Versions += r.done.Versions
		if onto.CodeOf(err) != onto.Stale || attempt == attempts {
			return total, err
		}
	}
}

// run is one attempt at a copy.
type run struct {
	*Job
	plan   Plan
	types  timeline          // of the source
	stored timeline          // of the target, before the copy
	state  backend.CopyState // of the target
	head   int64             // of the target
	sum    chain             // of the commits that the target has
	done   Progress
}

// begin finds out where the copy stands.
func (j *Job) begin(ctx context.Context) (*run, error) {
	r := &run{Job: j}
	if err := r.readSource(ctx); err != nil {
		return nil, err
	}
	if err := r.readTarget(ctx); err != nil {
		return nil, err
	}
	if err := r.checkPrefix(ctx); err != nil {
		return nil, err
	}
	size, err := j.From.LogSize(ctx, r.head, r.plan.Until)
	if err != nil {
		return nil, err
	}
	r.plan.Shared, r.plan.Commits = r.head, r.plan.Until-r.head
	r.plan.Versions, r.plan.Bytes, r.plan.Scratch, r.plan.Notes = size.Versions, size.Bytes, size.Scratch, size.Notes
	r.done = Progress{Commit: r.head, Until: r.plan.Until, Total: size.Versions}
	return r, nil
}

// readSource finds the end of the copy, and the types as they are there.
func (r *run) readSource(ctx context.Context) (err error) {
	if r.plan.Origin, err = r.From.Origin(ctx); err != nil {
		return err
	}
	if r.types, r.plan.Until, err = readTypes(ctx, r.From, r.Until); err != nil {
		return err
	}
	r.plan.Types = len(r.types)
	return nil
}

// readTarget reads what the target has, and refuses one that the copy cannot continue.
func (r *run) readTarget(ctx context.Context) error {
	own, err := r.To.Origin(ctx)
	if err != nil {
		return err
	}
	if own == r.plan.Origin {
		return onto.Errorf(onto.Invalid, "the target is the store that is to be copied, %s", own).WithHint("copy to another place")
	}
	if r.state, err = r.To.CopyState(ctx); err != nil {
		return err
	}
	if r.stored, r.head, err = readTypes(ctx, r.To, 0); err != nil {
		return err
	}
	switch s := r.state; {
	case s.Unfinished && s.Origin != r.plan.Origin:
		return onto.Errorf(onto.Conflict, "the target has a part of a copy of %s, and the source is %s", s.Origin, r.plan.Origin).
			WithHint("complete that copy, or copy to another place")
	case s.Origin == r.plan.Origin && s.Flags != r.Flags:
		return onto.Errorf(onto.Conflict, "the copy at the target was made with %s, and this one has %s", flagText(s.Flags), flagText(r.Flags)).
			WithHint("give the same flags, or copy to another place")
	case r.head > r.plan.Until:
		return onto.Errorf(onto.Conflict, "the target has commits up to %d, and the copy would end at commit %d", r.head, r.plan.Until).
			WithHint("copy to another place")
	}
	r.plan.Resumes = r.state.Unfinished
	return nil
}

func flagText(flags string) string {
	if flags == "" {
		return "no flags"
	}
	return "the flags " + flags
}

// checkPrefix makes sure that the commits of the target are those of the source. The sum
// that the target has recorded spares reading it, unless types were purged since.
func (r *run) checkPrefix(ctx context.Context) error {
	r.sum = newChain()
	if r.head == 0 {
		return nil
	}
	if r.state.Origin == r.plan.Origin && r.state.Commit == r.head {
		sum, err := sumUntil(ctx, r.From, r.head)
		if err != nil {
			return err
		}
		if sum.String() == r.state.Sum {
			r.sum = sum
			return nil
		}
	}
	sum, diff, err := compareLogs(ctx, r.From, without(r.To, r.purges()), r.head)
	if err != nil {
		return err
	}
	if diff != nil {
		return onto.Errorf(onto.Conflict, "the target is no copy of the source: %s", diff).
			WithHint("copy to another place")
	}
	r.sum = sum
	return nil
}

// purges returns the types that the source has purged and the target has not, with the last
// version whose rows are gone. The copy repeats that when it comes to it.
func (r *run) purges() map[onto.TypeName]int {
	gone := map[onto.TypeName]int{}
	for i := range r.types {
		if v := &r.types[i]; purged(v) && !r.stored.purged(v) {
			gone[v.Schema.TypeName()] = v.Version
		}
	}
	return gone
}
