package check

import (
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/backend/sqlite/internal/work"
	"github.com/ontologia/onto/internal/audit"
)

// work checks that work items are what their attempts say.
func (c *checker) work() error {
	if err := c.readable(layout.WorkReads()); err != nil {
		return err
	}
	return work.Explain(c.ctx, c.r.Conn, func(v *work.Verdict) error {
		switch {
		case v.Broken != "":
			return c.report(audit.AttemptDamaged, "item %s: %s", v.Item, v.Broken)
		case v.Differs != "":
			return c.report(audit.WorkDiffers, "item %s: %s", v.Item, v.Differs)
		}
		return nil
	})
}
