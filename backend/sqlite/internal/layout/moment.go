package layout

import (
	"context"
	"strings"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// Moment is a read transaction: all its statements see one snapshot.
type Moment struct {
	*driver.Conn
	Ctx    context.Context // of the read: its end interrupts every statement
	Head   int64           // the newest commit
	Format int64           // of the file
}

// QueryRow is that of the connection. The end of the read interrupts it.
func (m *Moment) QueryRow(sql string, args ...any) (*driver.Rows, bool, error) {
	return m.QueryRowContext(m.Ctx, sql, args...)
}

// QueryInt is that of the connection. The end of the read interrupts it.
func (m *Moment) QueryInt(sql string, args ...any) (int64, error) {
	return m.QueryIntContext(m.Ctx, sql, args...)
}

// Each is that of the connection. The end of the read interrupts it.
func (m *Moment) Each(sql string, args []any, f func(r *driver.Rows) error) error {
	return m.Conn.Each(m.Ctx, sql, args, f)
}

// QueryPlan is what SQLite will do, indented by depth.
func (m *Moment) QueryPlan(sql string, args ...any) ([]string, error) {
	depth := map[int64]int{}
	return driver.List(m.Ctx, m.Conn, "EXPLAIN QUERY PLAN "+sql, args, func(r *driver.Rows) (string, error) {
		depth[r.Int(0)] = depth[r.Int(1)] + 1
		return strings.Repeat("  ", depth[r.Int(0)]-1) + r.Text(3), nil
	})
}
