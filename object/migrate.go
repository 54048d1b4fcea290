package object

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// MigrationPlan is what a migration would do with the shards of a vault.
type MigrationPlan struct {
	Shards []ShardMigration // by tenant and shard
	Token  string           // identifies this plan, at these heads
}

// ShardMigration is a migration of one shard.
type ShardMigration struct {
	Tenant, Shard string
	Plan          *store.MigrationPlan // nil if there is an error
	Err           error                // why the shard cannot be planned, or was not migrated
	Result        onto.Result          // of the shard's migration; zero if there was none

	shard *shard
}

// Empty reports whether there is nothing to do.
func (p *MigrationPlan) Empty() bool {
	for _, s := range p.Shards {
		if s.Err != nil || !s.Plan.Empty() {
			return false
		}
	}
	return true
}

// Err joins the errors of the shards that cannot be planned.
func (p *MigrationPlan) Err() error {
	var errs []error
	for _, s := range p.Shards {
		if s.Err != nil {
			errs = append(errs, onto.Errorf(onto.CodeOf(s.Err), "tenant %s, %s: %w", s.Tenant, s.Shard, s.Err))
		}
	}
	return errors.Join(errs...)
}

// PlanMigration returns what bringing all shards of a vault to other types would do, and
// changes nothing. Without types in the migration, those of the sets that are ready are meant.
// Shards that are down, or that cannot be migrated, are listed with their errors.
func (v *Vaults) PlanMigration(ctx context.Context, vault string, m *store.Migration) (*MigrationPlan, error) {
	tenants, err := v.Tenants(vault)
	if err != nil {
		return nil, err
	}
	m = v.migration(vault, m)
	p := &MigrationPlan{}
	for _, name := range tenants {
		t, err := v.tenant(vault, name)
		if err != nil {
			return nil, err
		}
		l, err := t.all(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range l.down {
			p.Shards = append(p.Shards, ShardMigration{Tenant: name, Shard: s.String(), Err: s.err})
		}
		for _, s := range l.shards {
			sm := ShardMigration{Tenant: name, Shard: s.placement.Name, shard: s}
			sm.Plan, sm.Err = store.PlanMigration(ctx, s.store.Backend(), m)
			p.Shards = append(p.Shards, sm)
		}
	}
	p.Token = p.token()
	return p, ctx.Err()
}

// migration fills in the types.
func (v *Vaults) migration(vault string, m *store.Migration) *store.Migration {
	filled := store.Migration{}
	if m != nil {
		filled = *m
	}
	if len(filled.Types) == 0 {
		for _, k := range v.kinds(vault) {
			filled.Types = append(filled.Types, k.typ)
		}
	}
	return &filled
}

// token identifies the plan.
func (p *MigrationPlan) token() string {
	h := sha256.New()
	for _, s := range p.Shards {
		if s.Err == nil && !s.Plan.Empty() {
			fmt.Fprintf(h, "%q %q %q\n", s.Tenant, s.Shard, s.Plan.Token)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Migrate brings all shards of a vault to other types, one after the other, provided that the
// plan is still that of the token, which [Vaults.PlanMigration] gave. Nothing is changed if a
// shard is down or cannot be migrated. If a shard fails later, the error names it and those that are
// left behind: plan again and migrate again to go on with these. Commits say who and why as
// [With] has put it into the context.
func (v *Vaults) Migrate(ctx context.Context, vault string, m *store.Migration, token string) (*MigrationPlan, error) {
	return v.MigrateWith(ctx, vault, m, &store.ApplyOptions{Token: token}, nil)
}

// MigrateWith is Migrate with options, of which Token is that of the plan; with Force, any plan
// will do. The commit is as [With] says, not as the options do. The options of each shard are
// changed by tune, unless that is nil.
func (v *Vaults) MigrateWith(ctx context.Context, vault string, m *store.Migration, o *store.ApplyOptions, tune func(Shard, *store.ApplyOptions)) (*MigrationPlan, error) {
	d, err := header(ctx)
	if err != nil {
		return nil, err
	}
	p, err := v.PlanMigration(ctx, vault, m)
	if err == nil {
		err = p.Err()
	}
	if err != nil {
		return p, err
	}
	if p.Token != o.Token && !o.Force {
		return p, onto.Errorf(onto.MigrationToken, "the token %q is not that of the plan as it is now", o.Token).WithHint("plan again, and migrate with the token of that plan")
	}
	m = v.migration(vault, m)
	for i := range p.Shards {
		s := &p.Shards[i]
		if s.Plan.Empty() {
			continue
		}
		apply := *o
		apply.Token, apply.Force, apply.Draft = s.Plan.Token, false, d
		if tune != nil {
			tune(s.shard.shown(), &apply)
		}
		if s.Result, _, err = store.Migrate(ctx, s.shard.store.Backend(), m, &apply); err != nil {
			s.Err = err
			return p, p.leftBehind(i)
		}
	}
	return p, nil
}

// leftBehind is the error for a migration that ended with a shard.
func (p *MigrationPlan) leftBehind(i int) error {
	var rest []string
	for _, s := range p.Shards[i:] {
		if !s.Plan.Empty() {
			rest = append(rest, "tenant "+s.Tenant+" "+s.Shard)
		}
	}
	return onto.Errorf(onto.CodeOf(p.Shards[i].Err), "tenant %s, %s: %w", p.Shards[i].Tenant, p.Shards[i].Shard, p.Shards[i].Err).
		WithHint("left behind are %s: plan again, and migrate with the new token", strings.Join(rest, ", "))
}
