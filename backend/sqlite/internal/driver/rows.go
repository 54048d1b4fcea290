package driver

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
)

// Rows is a running query.
type Rows struct {
	raw  driver.Rows
	of   *prepared
	Vals []driver.Value // of the present row
	Err  error          // what has ended the query early

	Scratch *[]byte // the connection's, see there
}

// Next reads the next row and reports whether there was one.
func (r *Rows) Next() bool {
	err := r.raw.Next(r.Vals)
	if err != nil && !errors.Is(err, io.EOF) {
		r.Err = err
	}
	return err == nil
}

// Close ends the query and returns what went wrong in it.
func (r *Rows) Close() error {
	err := r.raw.Close()
	if r.of != nil {
		if r.of.open--; r.of.apart {
			r.of.Close()
		}
		r.of = nil
	}
	if r.Err != nil {
		return r.Err
	}
	return err
}

// Null reports whether column i is NULL.
func (r *Rows) Null(i int) bool { return r.Vals[i] == nil }

// Int returns column i, or 0 if it is not an integer.
func (r *Rows) Int(i int) int64 {
	n, _ := r.Vals[i].(int64)
	return n
}

// Is reports whether column i is an integer, and this one.
func (r *Rows) Is(i int, n int64) bool {
	v, ok := r.Vals[i].(int64)
	return ok && v == n
}

// Text returns column i, or "" if it is NULL.
func (r *Rows) Text(i int) string {
	switch v := r.Vals[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// Bytes returns column i, or nil if it is NULL.
func (r *Rows) Bytes(i int) []byte {
	switch v := r.Vals[i].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// Each calls f with every row that a statement finds. Cancelling ctx interrupts it.
func (c *Conn) Each(ctx context.Context, sql string, args []any, f func(r *Rows) error) (err error) {
	r, err := c.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer func() { // also when f panics
		if closeErr := r.Close(); err == nil {
			err = closeErr
		}
	}()
	for r.Next() {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// EachMerged runs a statement once for each list of arguments, and calls f with all rows in
// one order, in which each of them already is. Cancelling ctx interrupts it.
func (c *Conn) EachMerged(ctx context.Context, sql string, args [][]any, before func(a, b *Rows) bool, f func(r *Rows) error) (err error) {
	var open, live []*Rows
	defer func() { // also when f panics
		for _, r := range open {
			if closeErr := r.Close(); err == nil {
				err = closeErr
			}
		}
	}()
	for _, a := range args {
		r, err := c.QueryApart(ctx, sql, a...)
		if err != nil {
			return err
		}
		open = append(open, r)
		if r.Next() {
			live = append(live, r)
		}
	}
	for len(live) > 0 {
		first := 0
		for i := range live {
			if before(live[i], live[first]) {
				first = i
			}
		}
		if err := f(live[first]); err != nil {
			return err
		}
		if !live[first].Next() {
			live = slices.Delete(live, first, first+1)
		}
	}
	return nil
}

// List returns what read makes of every row that a statement finds. Cancelling ctx
// interrupts it.
func List[T any](ctx context.Context, c *Conn, sql string, args []any, read func(r *Rows) (T, error)) ([]T, error) {
	var list []T
	err := c.Each(ctx, sql, args, func(r *Rows) error {
		v, err := read(r)
		list = append(list, v)
		return err
	})
	return list, err
}
