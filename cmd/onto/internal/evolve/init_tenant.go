package evolve

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/schemafile"
)

// newShard is a shard with what init has to do there.
type newShard struct {
	loc place.Location
	doc document.ShardInit
}

// initialiseTenants makes the shards of tenants, and registers the types of a schema file on each.
// Everything that could be refused is found out first.
func initialiseTenants(ctx context.Context, c *session.Session, schema string, dryRun bool, by store.Options) error {
	file, err := readFile(ctx, c, schema)
	if err != nil {
		return err
	}
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	var list []*newShard
	plan := func(tenants []session.Tenant) error {
		list, err = planShards(ctx, c, cfg, file, tenants)
		return err
	}
	if err := c.WithTenants(ctx, place.Reading, plan); err != nil {
		return err
	}
	if !dryRun {
		if err := makeShards(ctx, c, by); err != nil {
			return err
		}
		for _, s := range list {
			if len(file.Types)+len(file.Folds) == 0 {
				break
			}
			if err := applyInit(ctx, c, s.loc, cfg, file, by); err != nil {
				return onto.Errorf(onto.CodeOf(err), "%s: %w", s.loc, err)
			}
		}
		if err := nameShards(ctx, c, list); err != nil {
			return err
		}
	}
	return printShards(c, list, dryRun)
}

// planShards finds out what is to be done on each shard, and changes nothing.
func planShards(ctx context.Context, c *session.Session, cfg place.Settings, file schemafile.File, tenants []session.Tenant) ([]*newShard, error) {
	var list []*newShard
	for _, t := range tenants {
		found, err := surveyed(ctx, t)
		if err != nil {
			return nil, err
		}
		for i, s := range found {
			if s.Err != nil && s.State != object.ShardNotMade {
				return nil, s.Err
			}
			loc, err := place.ParseURI(t.URIs[i])
			if err != nil {
				return nil, err
			}
			doc, err := planInit(ctx, c, loc, cfg, file)
			if err != nil {
				return nil, onto.Errorf(onto.CodeOf(err), "%s: %w", s.Shard, err)
			}
			doc.Location, doc.Created = s.URI, s.State == object.ShardNotMade
			list = append(list, &newShard{loc, document.ShardInit{ShardName: document.ShardName{Vault: t.Vault, Tenant: t.Name, Shard: document.OrNull(s.Name)}, Init: doc}})
		}
	}
	return list, nil
}

// surveyed is the shards of a tenant, whose stores are closed.
func surveyed(ctx context.Context, t session.Tenant) ([]object.SurveyedShard, error) {
	y, err := t.Survey(ctx, t.Vault, t.Name)
	if err != nil {
		return nil, err
	}
	if err := y.Close(); err != nil {
		return nil, err
	}
	return y.Shards, y.Err
}

// makeShards makes the tenants.
func makeShards(ctx context.Context, c *session.Session, by store.Options) error {
	ctx = object.With(ctx, onto.Draft{Actor: by.Actor, Comment: by.Comment})
	return c.WithTenants(ctx, place.Writing, func(tenants []session.Tenant) error {
		for _, t := range tenants {
			if err := t.Init(ctx, t.Vault, t.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// nameShards fills in the names that shards were given.
func nameShards(ctx context.Context, c *session.Session, list []*newShard) error {
	return c.WithTenants(ctx, place.Reading, func(tenants []session.Tenant) error {
		i := 0
		for _, t := range tenants {
			found, err := surveyed(ctx, t)
			if err != nil {
				return err
			}
			for _, s := range found {
				list[i].doc.Shard = document.OrNull(s.Name)
				i++
			}
		}
		return nil
	})
}

func printShards(c *session.Session, list []*newShard, dryRun bool) error {
	docs := []document.ShardInit{}
	for _, s := range list {
		s.doc.DryRun = dryRun
		docs = append(docs, s.doc)
	}
	if c.JSON {
		return c.Document(docs)
	}
	for _, d := range docs {
		name := "a shard"
		if d.Shard != nil {
			name = *d.Shard
		}
		what := name + " of tenant " + d.Tenant + " of vault " + d.Vault
		text := "kept " + what
		if d.Created {
			text = "made " + what
			if dryRun {
				text = "would make " + what
			}
		}
		if err := c.Out.Line("%s: %s", terminal.Escape(text), terminal.Escape(d.Location)); err != nil {
			return err
		}
		if err := printChanges(c, d.Init); err != nil {
			return err
		}
	}
	return nil
}
