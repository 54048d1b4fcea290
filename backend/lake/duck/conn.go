//go:build cgo

package duck

import (
	"context"
	"errors"
	"time"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"github.com/ontologia/onto"
)

// This file and rows.go are the only ones that know the driver. They use its
// bindings directly: those give an answer in pieces while it is computed, where
// the driver would hold all of it, and the columns of a piece as they lie in
// memory.

// conn is one connection. It serves one goroutine at a time.
type conn struct {
	raw duckdb.Connection
}

func (c *conn) close() { duckdb.Disconnect(&c.raw) }

// exec runs statements that take no values and have no answer.
func (c *conn) exec(statements ...string) error {
	for _, sql := range statements {
		var res duckdb.Result
		state := duckdb.Query(c.raw, sql, &res)
		text := duckdb.ResultError(&res)
		duckdb.DestroyResult(&res)
		if state == duckdb.StateError {
			return failure(text)
		}
	}
	return nil
}

// watch interrupts the connection when the context ends or the engine is
// closed, again and again, since the engine forgets it between two steps. The
// function that it returns ends the watch and waits for that.
func (c *conn) watch(ctx context.Context, closed <-chan struct{}) (stop func()) {
	finished, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
		case <-closed:
		case <-finished:
			return
		}
		again := time.NewTicker(interruptAgain)
		defer again.Stop()
		for {
			duckdb.Interrupt(c.raw)
			select {
			case <-finished:
				return
			case <-again.C:
			}
		}
	}()
	return func() {
		close(finished)
		<-ended
	}
}

const interruptAgain = 5 * time.Millisecond

// prepare prepares a statement and binds its values.
func (c *conn) prepare(sql string, args []any) (duckdb.PreparedStatement, error) {
	var stmt duckdb.PreparedStatement
	if duckdb.Prepare(c.raw, sql, &stmt) == duckdb.StateError {
		err := failure(duckdb.PrepareError(stmt))
		duckdb.DestroyPrepare(&stmt)
		return stmt, err
	}
	for i, arg := range args {
		if bind(stmt, duckdb.IdxT(i+1), arg) == duckdb.StateError {
			err := failure(duckdb.PrepareError(stmt))
			duckdb.DestroyPrepare(&stmt)
			return stmt, err
		}
	}
	return stmt, nil
}

func bind(stmt duckdb.PreparedStatement, i duckdb.IdxT, arg any) duckdb.State {
	switch v := arg.(type) {
	case nil:
		return duckdb.BindNull(stmt, i)
	case bool:
		return duckdb.BindBoolean(stmt, i, v)
	case int64:
		return duckdb.BindInt64(stmt, i, v)
	case float64:
		return duckdb.BindDouble(stmt, i, v)
	case string:
		return duckdb.BindVarcharLength(stmt, i, v, duckdb.IdxT(len(v)))
	case []string:
		return bindList(stmt, i, duckdb.TypeVarchar, v, func(s string) duckdb.Value { return duckdb.CreateVarcharLength(s, duckdb.IdxT(len(s))) })
	case []int64:
		return bindList(stmt, i, duckdb.TypeBigInt, v, duckdb.CreateInt64)
	case []float64:
		return bindList(stmt, i, duckdb.TypeDouble, v, duckdb.CreateDouble)
	}
	return duckdb.StateError
}

func bindList[T any](stmt duckdb.PreparedStatement, i duckdb.IdxT, typ duckdb.Type, list []T, create func(T) duckdb.Value) duckdb.State {
	values := make([]duckdb.Value, len(list))
	for n, v := range list {
		values[n] = create(v)
	}
	element := duckdb.CreateLogicalType(typ)
	bound := duckdb.CreateListValue(element, values)
	state := duckdb.BindValue(stmt, i, bound)
	duckdb.DestroyValue(&bound)
	duckdb.DestroyLogicalType(&element)
	for n := range values {
		duckdb.DestroyValue(&values[n])
	}
	return state
}

// query asks a question. The caller must close the rows before the next query.
func (c *conn) query(sql string, args []any) (*rows, error) {
	stmt, err := c.prepare(sql, args)
	if err != nil {
		return nil, err
	}
	defer duckdb.DestroyPrepare(&stmt)
	var pending duckdb.PendingResult
	if duckdb.PendingPreparedStreaming(stmt, &pending) == duckdb.StateError { // deprecated; the only way to an answer in pieces
		err := failure(duckdb.PendingError(pending))
		duckdb.DestroyPending(&pending)
		return nil, err
	}
	defer duckdb.DestroyPending(&pending)
	r := new(rows)
	if duckdb.ExecutePending(pending, &r.res) == duckdb.StateError {
		err := failure(duckdb.ResultError(&r.res))
		duckdb.DestroyResult(&r.res)
		return nil, err
	}
	for i := range duckdb.ColumnCount(&r.res) {
		r.columns = append(r.columns, column{typ: duckdb.ColumnType(&r.res, i)})
	}
	return r, nil
}

// instance is a database in memory.
type instance struct{ raw duckdb.Database }

// openInstance makes a database with these settings.
func openInstance(settings map[string]string) (*instance, error) {
	var config duckdb.Config
	if duckdb.CreateConfig(&config) == duckdb.StateError {
		return nil, errors.New("the configuration cannot be made")
	}
	defer duckdb.DestroyConfig(&config)
	for name, value := range settings {
		if duckdb.SetConfig(config, name, value) == duckdb.StateError {
			return nil, onto.Errorf(onto.Invalid, "DuckDB does not take the setting %s = %q", name, value)
		}
	}
	i, message := new(instance), ""
	if duckdb.OpenExt("", &i.raw, config, &message) == duckdb.StateError {
		duckdb.Close(&i.raw)
		return nil, failure(message)
	}
	return i, nil
}

func (i *instance) connect() (*conn, error) {
	c := new(conn)
	if duckdb.Connect(i.raw, &c.raw) == duckdb.StateError {
		return nil, onto.Errorf(onto.Unavailable, "DuckDB gives no further connection")
	}
	return c, nil
}

// close ends the database as soon as its last connection is closed.
func (i *instance) close() { duckdb.Close(&i.raw) }

// at returns the element of an array that lies at a place of the engine's
// memory.
func at[T any](data unsafe.Pointer, i int) T {
	var size T
	return *(*T)(unsafe.Add(data, uintptr(i)*unsafe.Sizeof(size)))
}
