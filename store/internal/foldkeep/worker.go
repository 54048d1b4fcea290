package foldkeep

import (
	"context"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/store/internal/fold"
)

// worker catches up in the background: one goroutine, while there is something to do.
type worker struct {
	mu     sync.Mutex // guards the following
	ctx    context.Context
	cancel context.CancelFunc  // nil if the worker was not started, or was stopped
	todo   map[string]bool     // types of facts to look at
	done   chan struct{}       // closed when the goroutine has ended; nil if there is none
	failed map[[2]string]error // why a fold, by type of facts and name, could not catch up
}

// Start lets the keeper work in the background until Stop, beginning with what is behind.
func (k *Keeper) Start(ctx context.Context) error {
	w := &k.worker
	w.mu.Lock()
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.mu.Unlock()
	return k.Wake(ctx)
}

// Wake has the folds looked at in the background that are behind.
func (k *Keeper) Wake(ctx context.Context) error {
	if k.Types().Present[onto.TypeName{Kind: onto.KindEntity, Name: fold.Guards}] == nil {
		return nil // the store has no folds yet
	}
	guards, err := k.all(ctx, backend.Head)
	if err != nil {
		return err
	}
	for _, g := range guards {
		for _, c := range g.folds {
			if c.due() {
				k.kick(g.Facts)
			}
		}
	}
	return nil
}

// Stop ends the work in the background and waits for its end.
func (k *Keeper) Stop() {
	w := &k.worker
	w.mu.Lock()
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
	done := w.done
	w.mu.Unlock()
	if done != nil {
		<-done
	}
}

// kick has the folds of types of facts looked at in the background.
func (k *Keeper) kick(facts ...string) {
	w := &k.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel == nil {
		return
	}
	if w.todo == nil {
		w.todo = map[string]bool{}
	}
	for _, name := range facts {
		w.todo[name] = true
	}
	if w.done == nil && len(w.todo) > 0 {
		w.done = make(chan struct{})
		go k.work(w.ctx, w.done)
	}
}

// next takes what is to be done; nil ends the goroutine.
func (w *worker) next() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := sortedNames(w.todo)
	clear(w.todo)
	if len(list) == 0 || w.cancel == nil {
		w.done = nil
		return nil
	}
	return list
}

// work catches up until nothing is behind. What fails is tried again after a pause.
func (k *Keeper) work(ctx context.Context, done chan struct{}) {
	defer close(done)
	pause := backoff.Backoff{First: 100 * time.Millisecond, Longest: time.Minute}
	for list := k.worker.next(); list != nil; list = k.worker.next() {
		var again []string
		for _, facts := range list {
			if !k.catchUpAll(ctx, facts) {
				again = append(again, facts)
			}
		}
		if len(again) == 0 {
			pause.Tries = 0
			continue
		}
		_ = pause.Pause(ctx, nil) // the end of the context shows next
		k.kick(again...)
	}
}

// catchUpAll catches up with the folds of a type of facts, and notes what fails.
func (k *Keeper) catchUpAll(ctx context.Context, facts string) bool {
	g, err := k.readGuard(ctx, facts, backend.Head)
	if err != nil {
		k.note(facts, "", err)
		return false
	}
	k.note(facts, "", nil)
	ok := true
	for _, c := range g.folds {
		if c.f == nil {
			continue
		}
		err := k.CatchUp(ctx, facts, c.name, nil)
		k.note(facts, c.name, err)
		ok = ok && err == nil
	}
	return ok
}

func (k *Keeper) note(facts, name string, err error) {
	w := &k.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = map[[2]string]error{}
	}
	if delete(w.failed, [2]string{facts, name}); err != nil {
		w.failed[[2]string{facts, name}] = err
	}
}

// failure is why the work in the background last failed; nil if it did not.
func (k *Keeper) failure(facts, name string) error {
	w := &k.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.failed[[2]string{facts, name}]; err != nil {
		return err
	}
	return w.failed[[2]string{facts, ""}]
}

// Status tells of one fold.
type Status struct {
	Name, Facts, State, Program string
	Version                     int
	Behind, Lag                 int64
	Rebuilding                  bool
	Rebuilt                     int64
	Unable                      string
	Err                         error
}

// All tells of all folds, by type of facts and name.
func (k *Keeper) All(ctx context.Context) ([]Status, error) {
	head, err := k.head(ctx)
	if err != nil {
		return nil, err
	}
	guards, err := k.all(ctx, head)
	if err != nil {
		return nil, err
	}
	var list []Status
	for _, g := range guards {
		for _, c := range g.folds {
			s := Status{
				Name: c.name, Facts: g.Facts, State: c.kept.State, Program: c.kept.Program, Version: c.kept.Version,
				Behind: c.Behind, Unable: c.why, Err: k.failure(g.Facts, c.name),
			}
			if c.Behind != 0 {
				s.Lag = head - c.Behind
			}
			if c.Rebuild != nil {
				s.Rebuilding, s.Rebuilt = true, c.Rebuild.Done
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// Named returns the statuses of some folds; of all if none is named.
func (k *Keeper) Named(ctx context.Context, names []string) ([]Status, error) {
	all, err := k.All(ctx)
	if err != nil || len(names) == 0 {
		return all, err
	}
	var list []Status
	for _, name := range names {
		found := false
		for _, s := range all {
			if s.Name == name {
				list, found = append(list, s), true
			}
		}
		if !found {
			return nil, onto.Errorf(onto.NotFound, "there is no fold %s in this store", name).WithHint("see the folds").WithCommand("fold", "list")
		}
	}
	return list, nil
}
