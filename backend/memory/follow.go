package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/refusal"
)

// Positions implements [backend.Positions].
func (b *Backend) Positions(ctx context.Context) ([]onto.Position, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	var list []onto.Position
	for name, commit := range s.bus.positions {
		list = append(list, onto.Position{Name: name, Commit: commit})
	}
	slices.SortFunc(list, func(x, y onto.Position) int { return cmp.Compare(x.Name, y.Name) })
	return list, nil
}

// Advance implements [backend.Positions].
func (b *Backend) Advance(ctx context.Context, a onto.Advance) error {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(b.writable(ctx), s.bus.checkPosition(&a)); err != nil {
		return err
	}
	s.bus.advance(&a)
	s.wrote()
	return nil
}

// checkPosition fails if a position is not where it is expected.
func (b *bus) checkPosition(a *onto.Advance) error {
	if a != nil && b.positions[a.Name] != a.From {
		return refusal.PositionMoved(*a, b.positions[a.Name])
	}
	return nil
}

// advance moves a position.
func (b *bus) advance(a *onto.Advance) {
	b.positions[a.Name] = a.To
	if a.To == 0 {
		delete(b.positions, a.Name)
	}
}

// Await implements [backend.Watcher].
func (b *Backend) Await(ctx context.Context, mark int64) (int64, error) {
	for {
		b.store.mu.Lock()
		err, now, next := b.usable(ctx), b.store.mark, b.store.next
		b.store.mu.Unlock()
		if err != nil {
			return 0, err
		}
		if now != mark {
			return now, nil
		}
		select {
		case <-ctx.Done():
		case <-b.done:
		case <-next:
		}
	}
}

// wrote tells of a write. The store is locked.
func (s *Store) wrote() {
	s.mark++
	close(s.next)
	s.next = make(chan struct{})
}
