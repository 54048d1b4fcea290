package archive

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Comparison is what Verify found.
type Comparison struct {
	Commit int64 // up to which the logs were compared: the head of the one that ends first
	Source int64 // the head of the source, or Until
	Target int64 // the head of the target

	Sum   string      // of both logs up to Commit; "" if they differ
	Types string      // the sum of both lists of types; "" if they differ
	First *Difference // nil if there is none
}

// What is the kind of a [Difference].
type What string

// The kinds of differences.
const (
	Missing What = "missing" // the copy does not have it
	Extra   What = "extra"   // the source does not have it
	Differs What = "differs" // they have it otherwise
)

// Difference is the first difference between two logs.
type Difference struct {
	What     What
	Commit   int64          // 0 for a type
	Identity *onto.Identity // the version that is concerned; nil for the commit itself
	Type     onto.TypeName  // the type that is concerned, with its version
	Version  int
}

// String describes the difference.
func (d *Difference) String() string {
	thing := fmt.Sprintf("commit %d", d.Commit)
	switch {
	case d.Commit == 0:
		thing = fmt.Sprintf("version %d of %s", d.Version, d.Type)
	case d.Identity != nil:
		thing = fmt.Sprintf("%s of commit %d", d.Identity, d.Commit)
	}
	switch d.What {
	case Missing:
		return thing + " is missing in the copy"
	case Extra:
		return thing + " is not in the source"
	}
	return thing + " differs"
}

// Verify compares the target with the source: every commit with its digest, every version,
// and all versions of types. A target that ends before the source is compared up to there.
func (j *Job) Verify(ctx context.Context) (*Comparison, error) {
	types, source, err := readTypes(ctx, j.From, j.Until)
	if err != nil {
		return nil, err
	}
	copied, target, err := readTypes(ctx, j.To, 0)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Commit: min(source, target), Source: source, Target: target}
	if source != target {
		types, copied = types.at(c.Commit), copied.at(c.Commit)
	}
	sum, diff, err := compareLogs(ctx, j.From, j.To, c.Commit)
	if err != nil {
		return nil, err
	}
	if c.First = diff; diff == nil {
		c.Sum = sum.String()
		c.First = types.difference(copied)
	}
	if c.First == nil && j.Until == 0 && target > source {
		c.First = &Difference{What: Extra, Commit: source + 1}
	}
	if types.difference(copied) == nil {
		c.Types = types.sum().String()
	}
	return c, nil
}

// compareLogs compares two logs up to a commit that both have, and returns their sum.
func compareLogs(ctx context.Context, a, b backend.LogSource, until int64) (chain, *Difference, error) {
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	other := make(chan sumOrError, 1024)
	reading.Go(func() {
		defer close(other)
		for s, err := range sums(ctx, b, until) {
			select {
			case other <- sumOrError{s, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	sum := newChain()
	for s, err := range sums(ctx, a, until) {
		if err != nil {
			return sum, nil, err
		}
		o, ok := <-other
		if o.err != nil {
			return sum, nil, damagedCopy(o.err)
		}
		if !ok || o.summed != s {
			diff, err := differenceIn(ctx, a, b, s.commit)
			return sum, diff, err
		}
		sum = s.sum
	}
	if o, ok := <-other; ok {
		if o.err != nil {
			return sum, nil, damagedCopy(o.err)
		}
		return sum, &Difference{What: Extra, Commit: o.commit}, nil
	}
	return sum, nil, nil
}

// damagedCopy says which of the two logs is damaged.
func damagedCopy(err error) error {
	if onto.CodeOf(err) != onto.Corrupt {
		return err
	}
	return onto.Errorf(onto.Corrupt, "the copy is damaged: %w", err).WithHint("copy to another place")
}

type sumOrError struct {
	summed
	err error
}

// differenceIn finds the first difference within a commit of which the sums differ.
func differenceIn(ctx context.Context, a, b backend.LogSource, commit int64) (*Difference, error) {
	next, stop := iter.Pull2(oneCommit(ctx, b, commit))
	defer stop()
	for e, err := range oneCommit(ctx, a, commit) {
		if err != nil {
			return nil, err
		}
		o, err, ok := next()
		if err != nil {
			return nil, err
		}
		if diff := between(commit, &e, &o, ok); diff != nil {
			return diff, nil
		}
	}
	if o, err, ok := next(); ok {
		return &Difference{What: Extra, Commit: commit, Identity: &o.Version.Identity}, err
	}
	return &Difference{What: Differs, Commit: commit}, nil // it has changed meanwhile
}

// between compares two entries of a commit.
func between(commit int64, e, o *backend.LogEntry, ok bool) *Difference {
	if e.Commit != nil {
		if !ok || o.Commit == nil {
			return &Difference{What: Missing, Commit: commit}
		}
		var x, y encoder
		x.header(e.Commit)
		y.header(o.Commit)
		if string(x) != string(y) {
			return &Difference{What: Differs, Commit: commit}
		}
		return nil
	}
	order := -1
	if ok {
		order = e.Version.Identity.Compare(o.Version.Identity)
	}
	switch {
	case order < 0:
		return &Difference{What: Missing, Commit: commit, Identity: &e.Version.Identity}
	case order > 0:
		return &Difference{What: Extra, Commit: commit, Identity: &o.Version.Identity}
	}
	var x, y encoder
	x.version(&e.Version)
	y.version(&o.Version)
	if string(x) != string(y) {
		return &Difference{What: Differs, Commit: commit, Identity: &e.Version.Identity}
	}
	return nil
}

// oneCommit yields the entries of one commit.
func oneCommit(ctx context.Context, from backend.LogSource, commit int64) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for e, err := range from.Log(ctx, commit-1) {
			if e.Commit != nil && e.Commit.ID > commit || !yield(e, err) {
				return
			}
		}
	}
}

// without returns a log without the versions of types up to a version: as it is after
// they were purged.
func without(from backend.LogSource, gone map[onto.TypeName]int) backend.LogSource {
	if len(gone) == 0 {
		return from
	}
	return &purgedLog{from, gone}
}

type purgedLog struct {
	backend.LogSource
	gone map[onto.TypeName]int
}

// Log implements [backend.LogSource]. The counts of commits stay as they are: no sum has
// them.
func (p *purgedLog) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for e, err := range p.LogSource.Log(ctx, since) {
			if err == nil && e.Commit == nil && e.Version.SchemaVersion <= p.gone[e.Version.TypeName()] {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
