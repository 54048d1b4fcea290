package ask

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/object"
)

// queryTenant asks the shards of a tenant for entities.
func queryTenant(ctx context.Context, c *session.Session, a *asked, groups bool) error {
	if err := a.checkTenant(groups); err != nil {
		return err
	}
	return c.WithTenant(ctx, place.Reading, func(t session.Tenant) error {
		versions, err := t.Versions(ctx, t.Vault, t.Name, a.name)
		if err != nil {
			return err
		}
		schema := versions.Schema()
		if schema.Kind != onto.KindEntity {
			return onto.Errorf(onto.Invalid, "%s is of kind %s, not entity: of a tenant, only entities can be asked for", a.name, schema.Kind).
				WithHint("ask the stores of the shards by themselves; these are they").WithCommand("shard", "status")
		}
		scope := &filter.Scope{Schema: &schema}
		if err := a.checkTexts(scope, nil); err != nil {
			return err
		}
		shape := schemaShape(schema, false)
		if err := shape.choose(a.selected, scope); err != nil {
			return err
		}
		if at, ok := a.point.Time(); ok {
			versions = versions.AsOf(at)
		}
		if a.count {
			n, err := versions.Count(ctx, a.clause())
			return count(c, n, err, a.format)
		}
		return listTenant(ctx, c, versions, shape, a)
	})
}

// checkTenant refuses what only one store can answer.
func (a *asked) checkTenant(groups bool) error {
	refuse := func(what string) error {
		return onto.Errorf(onto.Invalid, "%s: a tenant cannot be asked for that, since each shard has its own commits and groups", what).
			WithHint("ask the stores of the shards by themselves, with --storage-uri; these are they").WithCommand("shard", "status")
	}
	id, commit := a.point.Commit()
	switch {
	case groups:
		return refuse("--group-by, --agg and --having")
	case a.history:
		return refuse("--with-history and --history-since")
	case a.explain:
		return refuse("--explain")
	case a.asStored:
		return refuse("--as-stored")
	case commit:
		return onto.Errorf(onto.Invalid, "--as-of %d is a commit, and each shard has its own commits", id).WithHint("give a time, such as 2026-02-10T12:34:56Z")
	}
	return nil
}

// clause is the question as the shards are asked.
func (a *asked) clause() object.Clause {
	clause := object.All()
	switch {
	case len(a.where) > 0 && a.search != "":
		clause = object.Where().Search(a.search).And().Filter(onto.And(a.where)).Selection
	case len(a.where) > 0:
		clause = object.Where().Filter(onto.And(a.where)).Selection
	case a.search != "":
		clause = object.Where().Search(a.search).Selection
	}
	return clause.Order(a.order...).Limit(a.limit).Offset(a.offset).Cursor(a.cursor)
}

// listTenant prints entities of a tenant: all, or a page of them.
func listTenant(ctx context.Context, c *session.Session, versions object.Versions, shape *shape, a *asked) error {
	out := terminal.NewList(c.Printer, a.format, shape.columns, shape.document, shape.cells)
	if a.end != nil {
		out.Paged(a.end)
	}
	next := ""
	if a.limit > 0 {
		page, err := versions.Page(ctx, a.clause())
		if err != nil {
			return err
		}
		for _, v := range page.Objects {
			if err := out.Add(present(v)); err != nil {
				return err
			}
		}
		next = page.Next
	} else if err := session.Each(versions.Each(ctx, a.clause()), func(v onto.Version) error { return out.Add(present(v)) }); err != nil {
		return err
	}
	return a.endWith(c, next, func() error { return out.Close("no " + a.name) })
}
