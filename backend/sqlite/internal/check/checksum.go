package check

import (
	"math"

	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/audit"
)

// checksum compares history as of the commit of the checksum with it, and then
// the projection, if that is of the same commit. A rebuild cannot mend history,
// so the projection is not blamed while history differs.
func (c *checker) checksum() error {
	kept, commit, err := c.r.Checksum()
	if err != nil || kept == "" {
		return err
	}
	was, err := layout.RowsSum(c.ctx, c.r.Conn, c.of.Tables, (*layout.Table).StateSQL, commit, commit)
	if err != nil {
		return err
	}
	if was != kept {
		return c.report(audit.HistoryChanged, "history up to commit %d has the checksum %.12s…, and had %.12s… when the projection was rebuilt", commit, was, kept)
	}
	if commit != c.r.Head || !c.r.Foreign.Covers() {
		return nil
	}
	is, err := layout.RowsSum(c.ctx, c.r.Conn, c.of.Tables, (*layout.Table).ProjectedSQL)
	if err != nil || is == kept {
		return err
	}
	return c.stale(audit.ProjectionChecksum, "the projection has the checksum %.12s…, and had %.12s… when it was rebuilt at commit %d", is, kept, commit)
}

// lastPossible stands for the newest commit in stateSQL.
const lastPossible int64 = math.MaxInt64
