// Package queue puts the updates of one identity in order.
package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ontologia/onto"
)

// Queues lets the updates of one identity through this store follow each other in the
// order in which they came. Without it they would race: a commit under way makes stale
// what the others have read, and a caller that pauses loses to one that does not.
//
// A queue is a matter of speed, not of correctness: the version that an update expects
// is checked under the write lock.
type Queues struct {
	mu   sync.Mutex // guards byID and the number of users of each queue
	byID map[onto.Identity]*queue
}

type queue struct {
	front chan struct{} // holds a token while an update is at the front
	users int           // updates that wait or are at the front
}

// queueWait is how long an update waits for the front before it tries from behind. It is
// bounded since the function of an update may itself update the same thing.
const queueWait = 5 * time.Second

// Place is the place of an update in a queue.
type Place struct {
	*queue
	Leave func() // must be called once
	first bool
}

// Join joins the queue of an identity.
func (q *Queues) Join(id onto.Identity) *Place {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byID == nil {
		q.byID = map[onto.Identity]*queue{}
	}
	joined := q.byID[id]
	if joined == nil {
		joined = &queue{front: make(chan struct{}, 1)}
		q.byID[id] = joined
	}
	joined.users++
	p := &Place{queue: joined}
	p.Leave = func() {
		if p.first {
			<-p.front
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if joined.users--; joined.users == 0 {
			delete(q.byID, id)
		}
	}
	return p
}

// Advance waits for the front, but not for ever.
func (p *Place) Advance(ctx context.Context) error {
	if p.first {
		return nil
	}
	select {
	case p.front <- struct{}{}:
		p.first = true
		return nil
	default: // others are there
	}
	timer := time.NewTimer(queueWait)
	defer timer.Stop()
	select {
	case p.front <- struct{}{}:
		p.first = true
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Line is the places of one caller in the queues of several identities.
type Line struct {
	Queues *Queues
	ids    []onto.Identity
	places []*Place
}

// Advance leaves the queues of other identities, joins those of these, and waits for the
// front of each, but not for ever. The identities are in order, each once: so callers do not
// wait for each other in a circle.
func (l *Line) Advance(ctx context.Context, ids []onto.Identity) error {
	if !slices.Equal(ids, l.ids) {
		l.Leave()
		l.ids = ids
		for _, id := range ids {
			l.places = append(l.places, l.Queues.Join(id))
		}
	}
	for _, p := range l.places {
		if err := p.Advance(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Leave leaves all queues.
func (l *Line) Leave() {
	for _, p := range l.places {
		p.Leave()
	}
	l.ids, l.places = nil, nil
}
