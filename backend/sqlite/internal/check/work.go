package check

import (
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
	"github.com/ontologia/onto/internal/audit"
)

// some is a number of items, and the first of them.
type some struct {
	n     int64
	first string
}

func (s *some) add(item string) {
	if s.n++; s.n == 1 {
		s.first = item
	}
}

// work checks that work items are what their attempts say. What another program has done
// to items meanwhile is no fault.
func (c *checker) work() error {
	if err := c.readable(layout.WorkReads()); err != nil {
		return err
	}
	var orphans, gaps some
	err := work.Explain(c.ctx, c.r.Conn, func(v *work.Verdict) error {
		switch {
		case v.Broken != "":
			return c.report(audit.AttemptDamaged, "item %s: %s", v.Item, v.Broken)
		case v.Differs != "":
			return c.report(audit.WorkDiffers, "item %s: %s", v.Item, v.Differs)
		case v.Missing:
			orphans.add(v.Item)
		case v.Gap:
			gaps.add(v.Item)
		}
		return nil
	})
	if err == nil && orphans.n > 0 {
		err = c.report(audit.AttemptsOrphaned, "%d items have attempts and do not exist, the first of them %s", orphans.n, orphans.first)
	}
	if err == nil && gaps.n > 0 {
		err = c.report(audit.AttemptsMissing, "the attempts at %d items are not all there, the first of them %s", gaps.n, gaps.first)
	}
	return err
}
