package duck

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Diff yields, in order of identity, each identity of a type whose state as of
// commit to differs from its state as of commit from.
func (e *Engine) Diff(ctx context.Context, from, to int64, s *Source) iter.Seq2[onto.Change, error] {
	return exec.Pushed(func(push func(onto.Change) error) error {
		return answer(ctx, e, func(c *conn, push func(onto.Change) error) error {
			if len(s.Files) == 0 {
				return nil
			}
			d := difference{Source: s, from: s.reach(from), to: s.reach(to)}
			return d.changes(ctx, c, push)
		}, push)
	})
}

// difference is what lies between two commits.
type difference struct {
	*Source
	from, to  int64
	within    []sqlgen.Part // conditions on the keys
	divisions int           // how often it was split to be asked for in parts
}

// changes pushes what differs.
func (d *difference) changes(ctx context.Context, c *conn, push func(onto.Change) error) error {
	read := false
	err := c.each(ctx, d.statement(), func(r *rows) error {
		read = true
		if change, differs := d.change(r); differs {
			return push(change)
		}
		return nil
	})
	if read || !errors.Is(err, onto.TooLarge) || d.divisions == maxDivisions {
		return err
	}
	return d.divided(ctx, c, push)
}

// divided asks for the parts in order.
func (d *difference) divided(ctx context.Context, c *conn, push func(onto.Change) error) error {
	touched := view{Source: d.Source, since: d.from, at: d.to, keys: d.within}
	parts, err := c.divide(ctx, sqlgen.KeyColumns(d.Kind)[0], touched.history())
	if err != nil {
		return err
	}
	for _, within := range parts {
		part := *d
		part.divisions++
		part.within = append([]sqlgen.Part{within}, d.within...)
		if err := part.changes(ctx, c, push); err != nil {
			return err
		}
	}
	return nil
}

// change reads a row.
func (d *difference) change(r *rows) (onto.Change, bool) {
	after := readVersion(r, 0, d.Kind, d.Type)
	i := len(sqlgen.KeyColumns(d.Kind)) + versionWidth
	if r.null(i) {
		return exec.Difference(nil, &after)
	}
	before := onto.Version{Identity: after.Identity}
	readState(r, i, &before)
	return exec.Difference(&before, &after)
}

// statement selects the identities that were touched in between, with their
// newest version at either end.
func (d *difference) statement() sqlgen.Part {
	before := view{Source: d.Source, at: d.from, keys: d.within}
	after := view{Source: d.Source, since: d.from, at: d.to, keys: d.within}
	keys := sqlgen.KeyColumns(d.Kind)
	state := []string{"commit_id", "op", "schema_version_id", "fields_json"}
	return sqlgen.SQL("SELECT ?, ?, ? FROM (?) z LEFT JOIN (?) a USING (?) ORDER BY ?",
		raw(prefixed("z.", keys)), raw(prefixed("z.", state)), raw(prefixed("a.", state)),
		after.newest(), before.newest(), raw(strings.Join(keys, ", ")), raw(prefixed("z.", keys)))
}
