package store

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/fold"
)

// MadeByFold reports whether a type is that of states: a fold writes them, and nothing
// else.
func MadeByFold(t onto.Schema) bool { return fold.Keeps(&t) }

// FoldStatus tells of one fold of a store.
type FoldStatus struct {
	Name    string
	Facts   string // the type of the facts
	State   string // the type of the states
	Version int    // that the store has
	Program string // the jq program; "" for Go

	// Behind is the commit up to which all facts are folded; 0 if all are. Facts are not
	// folded in their commit where they come in a stream, by a revert or a migration, or
	// from a program that cannot carry out the fold.
	Behind int64
	Lag    int64 // how many commits there are since

	Rebuilding bool  // states of another version may remain
	Rebuilt    int64 // how many subjects the rebuild has done

	Unable string // why this program cannot carry it out; "" if it can
	Err    error  // why it could not be brought up to date in the background; nil if nothing failed
}

// UpToDate reports whether every state is what the fold makes of the facts.
func (s FoldStatus) UpToDate() bool { return s.Behind == 0 && !s.Rebuilding }

// Folds tells of all folds of the store, by type of facts and name.
func (s *Store) Folds(ctx context.Context) ([]FoldStatus, error) {
	all, err := s.folds.All(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]FoldStatus, len(all))
	for i, f := range all {
		list[i] = FoldStatus{
			Name: f.Name, Facts: f.Facts, State: f.State, Version: f.Version, Program: f.Program, Behind: f.Behind, Lag: f.Lag,
			Rebuilding: f.Rebuilding, Rebuilt: f.Rebuilt, Unable: f.Unable, Err: f.Err,
		}
	}
	return list, nil
}

// VerifyFolds folds the facts about every subject from the beginning, and compares what
// comes out with the states, row by row. The error counts the differences and shows the
// first. Folds that are behind catch up first. Without names it verifies all folds that
// this program can carry out.
func (s *Store) VerifyFolds(ctx context.Context, names ...string) error {
	return s.folds.Verify(ctx, names)
}

// RebuildFold folds the facts about every subject from the beginning, and writes the
// states that differ, in commits that followers do not see. It goes on where it ended if
// it is interrupted, also in the background of any program that has the fold. Progress, if
// not nil, is called now and then with the number of subjects done, and how many states
// there were when it began.
func (s *Store) RebuildFold(ctx context.Context, name string, progress func(done, of int64)) error {
	if progress == nil {
		return s.folds.RebuildFold(ctx, name, nil)
	}
	list, err := s.folds.Named(ctx, []string{name})
	if err != nil {
		return err
	}
	of, err := tally(ctx, s.b, &backend.Query{Kind: onto.KindEntity, Type: list[0].State, At: backend.Head})
	if err != nil {
		return err
	}
	return s.folds.RebuildFold(ctx, name, func(done int64) { progress(done, max(done, of)) })
}

// CatchUp brings folds that are behind up to date, as far as this program can carry them
// out, and finishes rebuilds. The store does the same in the background: after it was
// opened, and after its own commits that could not fold.
func (s *Store) CatchUp(ctx context.Context) error {
	all, err := s.folds.All(ctx)
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Unable != "" {
			continue
		}
		if err := s.folds.CatchUp(ctx, f.Facts, f.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// exclusively runs a function while other writers wait for it.
func (s *Store) exclusively(ctx context.Context, f func(*onto.Lease) error) error {
	if _, ok := backend.As[backend.Leaser](s.b); !ok {
		return f(nil)
	}
	lease, err := s.Lease(ctx, onto.WriteLease, &LeaseOptions{TTL: foldLease, Wait: foldLease})
	if err != nil {
		return err
	}
	defer func() { _ = lease.Release(context.WithoutCancel(ctx)) }() // it ends by itself, too
	return keeping(ctx, lease, func(context.Context) error {
		held := lease.Current()
		return f(&held)
	})
}

// foldLease is how long a step of a fold may hold up other writers.
const foldLease = 3 * time.Second
