package work

import (
	"context"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Ensure is a writer that ensures in a store what a function makes of a record: one commit
// for each record, by the actor daemon:work, with the item's id as its correlation. What
// is so already makes no commit. The things are as in [onto.Draft].Ensure; times of
// fetching do not belong in them, or each fetch would make a commit.
func Ensure(s *store.Store, things func(*Record) ([]any, error)) Writer {
	return WriterFunc(func(ctx context.Context, r *Record) error {
		list, err := things(r)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return nil
		}
		d := onto.Draft{Actor: onto.Daemon("work"), Correlation: r.Item.ID}
		if _, err := s.Commit(ctx, d.Ensure(list...)); err != nil {
			return fmt.Errorf("writing item %.200q of source %.200q: %w", r.Item.Resource, r.Item.Source, err)
		}
		return nil
	})
}
