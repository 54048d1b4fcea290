package store

import (
	"context"

	"github.com/ontologia/onto"
)

// Check reports what is wrong with a thing by itself, whatever the store holds: a commit
// of it would fail. Things are as in CommitStream; versions of facts are taken as imported.
func (s *Store) Check(thing any) error {
	one := func(yield func(any, error) bool) { yield(thing, nil) }
	for _, err := range s.catalog().Imported(context.Background(), onto.Draft{}, one) {
		if err != nil {
			return err
		}
	}
	return nil
}
