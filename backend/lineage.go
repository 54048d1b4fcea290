package backend

import (
	"context"
	"time"

	"github.com/ontologia/onto"
)

// Restorable is a backend that a backup can take the place of. A restore takes commits away
// whose ids come again, so that a commit id alone does not say which commit is meant.
type Restorable interface {
	// Lineage identifies the commits that ids stand for. It is that of the store, and another
	// one after each restore.
	Lineage(ctx context.Context) (string, error)

	// Restores returns what is known of the restores of the store, oldest first.
	Restores(ctx context.Context) ([]Restore, error)
}

// Restore is one restore of a store.
type Restore struct {
	Lineage string // since then
	Time    time.Time
	Actor   onto.Actor
	Comment string
	Before  int64  // the newest commit before; 0 if there was no store
	Head    int64  // the newest commit after
	Lost    int64  // how many commits were taken away
	Kept    string // the file with what was there before; "" for none
}
