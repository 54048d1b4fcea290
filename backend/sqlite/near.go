package sqlite

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

// A question for what is at one left key, such as the facts about a subject, is one
// statement without a transaction around it: beginning and ending one costs more than
// the few rows.

// near is such a question.
type near struct {
	t         *layout.Table
	shape     layout.NearShape
	statement string
	args      []any
}

// near returns the question in that form, and whether it has one: it has no conditions
// and no order, or only the condition that facts hold at a time.
func (s *store) near(q *backend.Query) (n near, ok bool) {
	if q.Kind == onto.KindEntity || q.Mode != backend.State || len(q.LeftKeys) != 1 || len(q.RightKeys) > 1 || q.RightKeys != nil && len(q.RightKeys) == 0 ||
		q.Keys != nil || q.Identity != nil || len(q.Order) > 0 || len(q.Search) > 0 || q.After != nil || q.Limit != 0 || q.Offset != 0 {
		return n, false
	}
	var from, until string
	if q.Where != nil {
		if from, until, ok = holding(q); !ok {
			return n, false
		}
	}
	n = near{t: s.table(q.Kind), shape: layout.NearShape{Right: len(q.RightKeys) > 0, Past: q.At != backend.Head, Held: q.Where != nil}}
	n.statement = n.t.Near[n.shape]
	n.args = append(make([]any, 0, 8), q.Type, q.LeftKeys[0])
	if n.shape.Right {
		n.args = append(n.args, q.RightKeys[0])
	}
	if n.shape.Past {
		n.args = append(n.args, q.At, q.At, q.At)
	}
	if n.shape.Held {
		n.args = append(n.args, from, until)
	}
	return n, true
}

// holding takes the times out of the condition that facts hold from one on and until
// after another. It reports false for any other condition.
func holding(q *backend.Query) (from, until string, ok bool) {
	both, ok := q.Where.(onto.And)
	if !ok || len(both) != 2 || q.Kind != onto.KindFact {
		return "", "", false
	}
	from, starts := bound(both[0], onto.FactFrom, onto.AtMost)
	until, ends := bound(both[1], onto.FactUntil, onto.Greater)
	return from, until, starts && ends
}

// bound takes the text out of the condition that a field is null or compares with it.
func bound(f onto.Filter, field string, test onto.Test) (string, bool) {
	either, ok := f.(onto.Or)
	if !ok || len(either) != 2 {
		return "", false
	}
	null, ok := either[0].(onto.Condition)
	if !ok || null.Test != onto.IsNull || !isField(null.Operand, field) {
		return "", false
	}
	other, ok := either[1].(onto.Condition)
	if !ok || other.Test != test || len(other.Values) != 1 || !isField(other.Operand, field) {
		return "", false
	}
	text, ok := other.Values[0].(string)
	return text, ok
}

func isField(o onto.Operand, name string) bool {
	return o.Side == onto.OwnSide && !o.Any && o.Func == "" && len(o.Path) == 1 && o.Path[0] == name
}

// scanNear answers such a question. It reports false if it has to be asked in the usual
// way, and has pushed nothing then.
func (rd *reader) scanNear(ctx context.Context, q *backend.Query, n *near, push func(onto.Version) error) (answered bool, err error) {
	if err := ctx.Err(); err != nil {
		return true, err
	}
	c, err := rd.readers.Get()
	if err != nil {
		return true, driver.Wrap(rd.at.Path, err)
	}
	clean := false
	defer func() { rd.give(c, clean) }() // the consumer may panic in the middle
	answered, err = rd.pushNear(ctx, c, q, n, push)
	clean = true
	if c.IsStale() {
		answered, err = true, rd.changedError()
	}
	return answered, driver.Wrap(rd.at.Path, err)
}

func (rd *reader) pushNear(ctx context.Context, c *driver.Conn, q *backend.Query, n *near, push func(onto.Version) error) (answered bool, err error) {
	var head int64
	var right, instance string // of the version before
	first := true
	err = c.Each(ctx, n.statement, n.args, func(rows *driver.Rows) error {
		if !answered {
			if err := rd.notice(c, rows.Int(layout.NearChanges)); err != nil {
				return err
			}
			answered, head = true, rows.Int(layout.NearHead)
		}
		v, ok := n.t.NearVersion(rows, q)
		if !ok {
			return nil
		}
		err := layout.CheckSound(&v, head)
		if err == nil {
			err = layout.HasFields(&v)
		}
		if err == nil && n.shape.Past {
			err = layout.CheckIntact(rows, layout.NearSum, &v)
		}
		if err == nil && !first && (v.Right < right || v.Right == right && v.Instance <= instance) {
			err = layout.DamagedRow(&v, "it is not in its place") // see sequence
		}
		if err != nil {
			return err
		}
		first, right, instance = false, v.Right, v.Instance
		return push(v)
	})
	return answered || err != nil, err
}
