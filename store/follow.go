package store

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/store/internal/fold"
)

// FollowOptions change how commits are followed. The zero value is the default.
type FollowOptions struct {
	// From is where a name begins that has no position yet: after this commit. It is
	// saved at once. 0 is the beginning of the log.
	From int64

	// Ride, if not nil, is set before each commit is yielded to the step that says that
	// it is done with, for the Advance of a draft that the loop commits. Then nothing
	// else saves the position: what the loop commits and the position are stored
	// together, once. A commit for which the step is not taken comes again in the next
	// run, unless a later step is taken.
	Ride *onto.Advance

	// Once ends the sequence after the commit that was the newest when it began.
	Once bool

	// Poll is how often to look for commits where the backend does not notice writes; 0
	// for DefaultPoll.
	Poll time.Duration
}

// DefaultPoll is how often a follower looks for commits where the backend does not
// notice writes.
const DefaultPoll = time.Second

const (
	followPage = 256                    // commits that are read at once
	saveEvery  = 100 * time.Millisecond // how often a follower saves while there is more to yield
	saveWithin = 5 * time.Second        // how long it may take to save after the context has ended
)

// Follow yields every commit, oldest first, from a named position on, and then waits for
// further ones until the context ends. A commit is done with when the loop goes on to
// the next; leaving the loop leaves the last one undone. The position is saved as the
// loop goes on, at the latest before it waits, so that the next Follow of this name, in
// any process, goes on from there. Commits that were done with shortly before a crash
// come again. Commits that rebuild states, see [Store.RebuildFold], are left out.
//
// A name is for one follower at a time: if another one moves the position, Follow fails
// with Conflict. If the store is restored meanwhile, Follow fails with Stale: commits that
// it has yielded may be gone, and others have their numbers. A backend without
// [backend.Positions] fails with UnsupportedOperation.
func (s *Store) Follow(ctx context.Context, name string) iter.Seq2[onto.Commit, error] {
	return s.FollowWith(ctx, name, nil)
}

// FollowWith is Follow with options.
func (s *Store) FollowWith(ctx context.Context, name string, opts *FollowOptions) iter.Seq2[onto.Commit, error] {
	if opts == nil {
		opts = &FollowOptions{}
	}
	return func(yield func(onto.Commit, error) bool) {
		f, err := s.follower(ctx, name, opts)
		if err != nil {
			yield(onto.Commit{}, err)
			return
		}
		left, err := f.run(ctx, yield)
		if saveErr := f.saveLast(ctx); err == nil {
			err = saveErr
		}
		if err != nil && !left {
			yield(onto.Commit{}, err)
		}
	}
}

// Positions returns the positions of followers, by name.
func (s *Store) Positions(ctx context.Context) ([]onto.Position, error) {
	p, err := s.positions()
	if err != nil {
		return nil, err
	}
	return p.Positions(ctx)
}

// RemovePosition forgets the position of a follower: the next one of this name begins
// anew, and one that is at work fails with Conflict.
func (s *Store) RemovePosition(ctx context.Context, name string) error {
	p, err := s.positions()
	if err != nil {
		return err
	}
	at, err := positionOf(ctx, p, name)
	if err != nil {
		return err
	}
	if at == 0 {
		return onto.Errorf(onto.NotFound, "there is no position %s", name)
	}
	return p.Advance(ctx, onto.Advance{Name: name, From: at})
}

// positions is the backend's keeper of positions.
func (s *Store) positions() (backend.Positions, error) {
	p, ok := backend.As[backend.Positions](s.b)
	if !ok {
		return nil, onto.Errorf(onto.UnsupportedOperation, "this storage keeps no positions of followers").
			WithHint("use one that does, such as SQLite, or read Commits since one that the program keeps itself")
	}
	return p, nil
}

// positionOf is the commit that a position is at; 0 if it does not exist.
func positionOf(ctx context.Context, p backend.Positions, name string) (int64, error) {
	if err := onto.CheckBusName("position", name); err != nil {
		return 0, err
	}
	list, err := p.Positions(ctx)
	if i := slices.IndexFunc(list, func(p onto.Position) bool { return p.Name == name }); err == nil && i >= 0 {
		return list[i].Commit, nil
	}
	return 0, err
}

// follower is one run of Follow.
type follower struct {
	s         *Store
	name      string
	opts      *FollowOptions
	positions backend.Positions
	watcher   backend.Watcher // nil if the backend does not notice writes

	lineage string // of the commits that it yields

	at     int64     // the last commit that is done with
	saved  int64     // the stored position
	savedT time.Time // when it was saved
	until  int64     // the last commit to yield; backend.Head for no end
}

// follower finds out where to begin.
func (s *Store) follower(ctx context.Context, name string, opts *FollowOptions) (*follower, error) {
	p, err := s.positions()
	if err != nil {
		return nil, err
	}
	f := &follower{s: s, name: name, opts: opts, positions: p, until: backend.Head}
	f.watcher, _ = backend.As[backend.Watcher](s.b)
	if f.lineage, err = s.readOrigin(ctx); err != nil {
		return nil, err
	}
	if f.saved, err = positionOf(ctx, p, name); err != nil {
		return nil, err
	}
	f.at = f.saved
	known := f.saved != 0
	if !known {
		f.at = opts.From
	}
	if _, err := s.At(f.at).Commit(ctx); err != nil {
		if known && onto.CodeOf(err) == onto.NotFound {
			err = onto.Errorf(onto.NotFound, "position %s is at commit %d, which does not exist", name, f.at).
				WithHint("remove the position, and follow from a commit that exists")
		}
		return nil, err
	}
	if opts.Once {
		head, err := s.Head(ctx)
		if err != nil {
			return nil, err
		}
		f.until = head.ID
	}
	return f, f.store(ctx)
}

// run yields commits until the context or the loop ends. Left says that the loop was
// left.
func (f *follower) run(ctx context.Context, yield func(onto.Commit, error) bool) (left bool, err error) {
	var mark int64
	for {
		// The mark is from before the log is read, so no commit is missed.
		if mark, err = f.await(ctx, mark); err != nil {
			return false, err
		}
		for {
			page, err := f.page(ctx)
			if err != nil {
				return false, err
			}
			if len(page) == 0 {
				break
			}
			for _, c := range page {
				if _, skipped := c.Metadata[fold.Rebuild]; skipped { // it says nothing new
					f.at = c.ID
					continue
				}
				if f.opts.Ride != nil {
					*f.opts.Ride = onto.Advance{Name: f.name, From: f.saved, To: c.ID}
				}
				if !yield(c, nil) {
					return true, nil
				}
				if err := f.done(ctx, c.ID); err != nil {
					return false, err
				}
			}
		}
		if err := f.save(ctx); err != nil || f.until != backend.Head {
			return false, err
		}
	}
}

// await returns when there may be more commits than before; at once the first time.
func (f *follower) await(ctx context.Context, mark int64) (int64, error) {
	if f.watcher != nil {
		return f.watcher.Await(ctx, mark)
	}
	if mark == 0 {
		return 1, ctx.Err()
	}
	return mark, backoff.Sleep(ctx, cmp.Or(f.opts.Poll, DefaultPoll))
}

// page reads the next commits. No snapshot stays open while the loop runs.
func (f *follower) page(ctx context.Context) ([]onto.Commit, error) {
	if f.until == f.at {
		return nil, nil
	}
	var list []onto.Commit
	for c, err := range f.s.b.Commits(ctx, &backend.CommitQuery{Since: f.at, Until: f.until, Limit: followPage}) {
		if err != nil {
			return nil, err
		}
		f.s.seen(c.ID)
		list = append(list, c)
	}
	if now, err := f.s.origin(ctx); err != nil || now == f.lineage {
		return list, err
	}
	f.at = f.saved // nothing is to be saved
	return nil, onto.Errorf(onto.Stale, "the store was restored while %s followed it: the commits after the backup are others now", f.name).
		WithHint("follow again: it goes on from the position that the restored store has")
}

// done notes that the loop has gone on. The first commit is saved at once, so that a
// second follower of the name is noticed early.
func (f *follower) done(ctx context.Context, commit int64) error {
	f.at = commit
	if f.opts.Ride != nil {
		return f.ridden(ctx)
	}
	if time.Since(f.savedT) < saveEvery {
		return nil
	}
	return f.save(ctx)
}

// ridden finds out whether the loop has taken the step.
func (f *follower) ridden(ctx context.Context) error {
	at, err := positionOf(ctx, f.positions, f.name)
	if err != nil {
		return err
	}
	if at != f.saved && at != f.at {
		return refusal.PositionMoved(*f.opts.Ride, at)
	}
	f.saved = at
	return nil
}

// save saves how far the follower has come, unless the position rides in commits.
func (f *follower) save(ctx context.Context) error {
	if f.opts.Ride != nil {
		return nil
	}
	return f.store(ctx)
}

// store makes the stored position that of the follower. Where another follower has moved
// it, it is not tried again.
func (f *follower) store(ctx context.Context) error {
	if f.at == f.saved {
		return nil
	}
	err := f.positions.Advance(ctx, onto.Advance{Name: f.name, From: f.saved, To: f.at})
	switch {
	case err == nil:
		f.saved, f.savedT = f.at, time.Now()
	case onto.CodeOf(err) == onto.Conflict:
		f.at = f.saved
	}
	return err
}

// saveLast saves when the follower ends, also if its context has ended.
func (f *follower) saveLast(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveWithin)
	defer cancel()
	return f.save(ctx)
}
