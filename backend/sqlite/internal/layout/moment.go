package layout

import (
	"context"
	"strings"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// Moment is a read transaction: all its statements see one moment.
type Moment struct {
	*driver.Conn
	Ctx     context.Context // of the read: its end interrupts every statement
	Head    int64           // the newest commit
	Foreign Foreign
	Ordered bool  // commit times never go back
	Format  int64 // of the file
}

// QueryRow is that of the connection. The end of the read interrupts it.
func (m *Moment) QueryRow(sql string, args ...any) (*driver.Rows, bool, error) {
	return m.QueryRowContext(m.Ctx, sql, args...)
}

// QueryInt is that of the connection. The end of the read interrupts it.
func (m *Moment) QueryInt(sql string, args ...any) (int64, error) {
	return m.QueryIntContext(m.Ctx, sql, args...)
}

// QueryPlan is what SQLite will do, indented by depth.
func (m *Moment) QueryPlan(ctx context.Context, sql string, args ...any) ([]string, error) {
	rows, err := m.Query(ctx, "EXPLAIN QUERY PLAN "+sql, args...)
	if err != nil {
		return nil, err
	}
	var lines []string
	depth := map[int64]int{}
	err = driver.Each(rows, func() error {
		depth[rows.Int(0)] = depth[rows.Int(1)] + 1
		lines = append(lines, strings.Repeat("  ", depth[rows.Int(0)]-1)+rows.Text(3))
		return nil
	})
	return lines, err
}
