package file

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/flock"
)

// lineName is the file of the line in which processes wait for their turns.
const lineName = "~line"

var _ bucket.Local = (*Bucket)(nil)

// Turn implements [bucket.Local].
func (b *Bucket) Turn(ctx context.Context, patience time.Duration, meanwhile func()) (done func(), err error) {
	line := &flock.Line{Path: filepath.Join(b.root.Name(), lineName), Keep: true}
	place, err := line.Join(time.Now().Add(patience), patience)
	if err != nil {
		return func() {}, nil // such as in a directory that cannot be written
	}
	if !place.First() {
		meanwhile()
		err = place.Wait(ctx)
	}
	if err != nil {
		place.Leave()
		return nil, err
	}
	return func() {
		if place.Followed() {
			place.Served()
		}
		place.Leave()
	}, nil
}
