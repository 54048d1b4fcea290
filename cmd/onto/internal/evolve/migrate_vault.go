package evolve

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// migrateVault plans or applies a migration of every shard of a vault, or of a tenant of it.
func migrateVault(c *session.Session, cmd *cobra.Command, how place.Access, f *migrateFlags, m *store.Migration) error {
	if f.try || f.newerHead {
		return onto.Errorf(onto.Invalid, "--try and --newer-head are for one store").
			WithHint("leave them out, or name the store of a shard with --storage-uri; these are the shards").WithCommand("shard", "status")
	}
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	opts, done, err := f.options(cmd, c, cfg, "migrating")
	if err != nil {
		return err
	}
	defer done()
	if len(opts.Draft.Emitted()) > 0 {
		return onto.Errorf(onto.Invalid, "--emit is for one store: there would be an event for each shard").WithHint("leave it out")
	}
	ctx := object.With(cmd.Context(), opts.Draft)
	return c.WithVault(ctx, how, func(tenants []session.Tenant) error {
		vaults, vault := tenants[0].Vaults, tenants[0].Vault
		if !f.apply {
			return planVault(ctx, c, vaults, vault, f, m)
		}
		p, err := vaults.MigrateWith(ctx, vault, m, opts, func(s object.Shard, o *store.ApplyOptions) {
			patient(o, cfg, !strings.HasPrefix(s.URI, "sqlite:"))
		})
		done()
		if err != nil {
			return err
		}
		return printVaultMigrated(c, vault, p)
	})
}

// planVault shows the plan of a migration.
func planVault(ctx context.Context, c *session.Session, vaults *object.Vaults, vault string, f *migrateFlags, m *store.Migration) error {
	p, err := vaults.PlanMigration(ctx, vault, m)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := c.Document(document.NewVaultPlan(vault, p)); err != nil {
			return err
		}
		return p.Err()
	}
	missing := 0
	for i := range p.Shards {
		s := &p.Shards[i]
		if s.Err != nil {
			continue
		}
		if s.Plan.Empty() {
			c.Say("tenant %s, %s: nothing to do", s.Tenant, s.Shard)
			continue
		}
		if err := c.Out.Line("%s", c.Out.Paint(terminal.Bold, terminal.Escape("tenant "+s.Tenant+", "+s.Shard))); err != nil {
			return err
		}
		for j := range s.Plan.Types {
			if err := printTypePlan(c, &s.Plan.Types[j]); err != nil {
				return err
			}
		}
		missing += len(s.Plan.Missing())
	}
	switch err := p.Err(); {
	case err != nil || p.Empty():
		return err
	case missing > 0:
		c.Say("%s missing: give it with --upgraders FILE", terminal.Count(missing, "upgrader is", "upgraders are"))
		return nil
	}
	if err := c.Out.Line("token %s", p.Token); err != nil {
		return err
	}
	sayApply(c, f.words(), p.Token)
	return nil
}

// printVaultMigrated tells what a migration did.
func printVaultMigrated(c *session.Session, vault string, p *object.MigrationPlan) error {
	if c.JSON {
		return c.Document(document.NewVaultMigrated(vault, p))
	}
	for i := range p.Shards {
		s := &p.Shards[i]
		switch {
		case s.Plan.Empty():
			c.Say("tenant %s, %s: nothing to do", s.Tenant, s.Shard)
			continue
		case s.Result.Changed():
			c.Say("tenant %s, %s: commit %d", s.Tenant, s.Shard, s.Result.ID)
		default:
			c.Say("tenant %s, %s: no commit was needed", s.Tenant, s.Shard)
		}
		for _, t := range s.Plan.Types {
			c.Say("  %s %s is at version %d", t.Kind, t.Name, t.To)
		}
	}
	return nil
}
