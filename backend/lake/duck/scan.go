package duck

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Scan yields the versions a query asks for. It means what Scan of
// backend.Backend means. Left and right are the sources of a relation's
// endpoints, left that of a fact's subject; nil if the query does not look at them.
func (e *Engine) Scan(ctx context.Context, q *backend.Query, own, left, right *Source) iter.Seq2[onto.Version, error] {
	return exec.Pushed(func(push func(onto.Version) error) error {
		return answer(ctx, e, func(c *conn, push func(onto.Version) error) error {
			a := newQuestion(q, q.Ends(), own, left, right)
			a.engine = e
			if a.Whole() {
				return a.versions(ctx, c, nil, push)
			}
			return exec.PushAll(ctx, exec.Select(a.Rest(), a.rows(ctx, c), a.endpoints()), push)
		}, push)
	})
}

// ended is the fields of the endpoints of the last version that was read.
type ended struct{ left, right json.RawMessage }

// rows is the versions that the statement finds.
func (a *question) rows(ctx context.Context, c *conn) iter.Seq2[onto.Version, error] {
	return exec.Pushed(func(push func(onto.Version) error) error { return a.versions(ctx, c, &a.last, push) })
}

// endpoints is the endpoints of the last version that rows has yielded, which is
// the one that is asked about.
func (a *question) endpoints() exec.Endpoints {
	return func(*onto.Version) (left, right json.RawMessage, err error) { return a.last.left, a.last.right, nil }
}

// ask asks the statement.
func (a *question) ask(ctx context.Context, c *conn, ends *ended, push func(onto.Version) error) error {
	return c.each(ctx, a.statement(), func(r *rows) error {
		v := readVersion(r, 0, a.Query.Kind, a.Query.Type)
		if ends != nil {
			i := len(sqlgen.KeyColumns(a.Query.Kind)) + versionWidth
			*ends = ended{fieldsOf(r, i), fieldsOf(r, i+1)}
		}
		return push(v)
	})
}

// each calls f for every row of an answer.
func (c *conn) each(ctx context.Context, sql sqlgen.Part, f func(r *rows) error) error {
	r, err := c.query(sql.SQL, sql.Args)
	if err != nil {
		return err
	}
	defer r.close() // also when f panics
	for {
		ok, err := r.next()
		if err == nil {
			err = ctx.Err()
		}
		if !ok || err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
}

// versionWidth is how many columns a version has after those of its keys.
const versionWidth = 4

// readVersion reads a version from column i on.
func readVersion(r *rows, i int, kind onto.Kind, typ string) onto.Version {
	v := onto.Version{Identity: readIdentity(r, i, kind, typ)}
	readState(r, i+len(sqlgen.KeyColumns(kind)), &v)
	return v
}

// readIdentity reads the keys from column i on.
func readIdentity(r *rows, i int, kind onto.Kind, typ string) onto.Identity {
	if kind == onto.KindEntity {
		return onto.EntityID(typ, r.text(i))
	}
	return onto.Identity{Kind: kind, Type: typ, Left: r.text(i), Right: r.text(i + 1), Instance: r.text(i + 2)}
}

// readState reads what follows the keys.
func readState(r *rows, i int, v *onto.Version) {
	v.Commit, v.SchemaVersion, v.Op = r.int(i), int(r.int(i+2)), onto.Put
	if string(r.bytes(i+1)) == string(onto.Delete) {
		v.Op = onto.Delete
	}
	v.Fields = fieldsOf(r, i+3)
}

// fieldsOf is a copy of the fields in a column; nil if there are none.
func fieldsOf(r *rows, i int) json.RawMessage {
	if r.null(i) {
		return nil
	}
	return bytes.Clone(r.bytes(i))
}
