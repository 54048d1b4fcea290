package session

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// Tenant is a tenant that a verb is about, with the vaults that it is one of.
type Tenant struct {
	*object.Vaults
	Vault, Name string
	URIs        []string // of its shards, as the configuration lists them
}

// RegisterVaults adds the flags that name tenants.
func (c *Session) RegisterVaults(flags *pflag.FlagSet) {
	flags.StringVar(&c.Flags.Vaults, "vaults", "", "in place of a store: the `FILE` that lists the shards of tenants")
	flags.StringVar(&c.Flags.Vault, "vault", "", "with --vaults: the `VAULT`, if there are several")
	flags.StringVar(&c.Flags.Tenant, "tenant", "", "with --vaults: the `TENANT`, if there are several")
}

// Sharded reports whether the verb is about tenants, as its flags and the settings say.
func (c *Session) Sharded() (bool, error) {
	cfg, err := c.Configure()
	if err != nil {
		return false, err
	}
	_, sharded, err := cfg.Tenants()
	return sharded, err
}

// NameIn completes a hint with the flags that name what the verb is about.
func (c *Session) NameIn(h onto.Hint) onto.Hint {
	if c.here == nil {
		if cfg, err := c.Configure(); err == nil {
			if t, sharded, err := cfg.Tenants(); err == nil && sharded {
				return t.NameIn(h)
			}
		}
	}
	return c.Place().NameIn(h)
}

// WithTenants opens the vaults of the settings, runs f with those of their tenants that the
// settings name, and closes them. Shards are opened as they are used, as access says.
func (c *Session) WithTenants(ctx context.Context, how place.Access, f func([]Tenant) error) error {
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	of, sharded, err := cfg.Tenants()
	if err == nil && !sharded {
		err = onto.Errorf(onto.Invalid, "--vaults is missing").WithHint("name the file that lists the shards of tenants")
	}
	if err != nil {
		return err
	}
	config, err := object.ReadConfig(of.File)
	if err == nil {
		config, err = config.Only(of.Vault, of.Tenant)
	}
	if err != nil {
		return err
	}
	opener := place.ShardOpener(func(ctx context.Context, loc place.Location, create bool) (backend.Backend, error) {
		if create {
			return c.OpenAt(ctx, place.Creating, loc, cfg)
		}
		return c.OpenAt(ctx, how, loc, cfg)
	})
	vaults, err := object.OpenWith(ctx, config, c.StoreOptions(cfg), opener)
	if err != nil {
		return err
	}
	defer c.Shut(vaults)
	var list []Tenant
	for _, vault := range slices.Sorted(maps.Keys(config)) {
		for _, name := range slices.Sorted(maps.Keys(config[vault])) {
			list = append(list, Tenant{vaults, vault, name, config[vault][name]})
		}
	}
	return f(list)
}

// WithVault is WithTenants for a verb that is about tenants of one vault.
func (c *Session) WithVault(ctx context.Context, how place.Access, f func([]Tenant) error) error {
	return c.WithTenants(ctx, how, func(list []Tenant) error {
		if err := only("vault", list, func(t Tenant) string { return t.Vault }); err != nil {
			return err
		}
		return f(list)
	})
}

// WithTenant is WithTenants for a verb that is about one tenant.
func (c *Session) WithTenant(ctx context.Context, how place.Access, f func(Tenant) error) error {
	return c.WithVault(ctx, how, func(list []Tenant) error {
		if err := only("tenant", list, func(t Tenant) string { return t.Name }); err != nil {
			return err
		}
		return f(list[0])
	})
}

// only refuses tenants that differ in a name, of which the verb takes one.
func only(flag string, list []Tenant, name func(Tenant) string) error {
	var names []string
	for _, t := range list {
		names = append(names, name(t))
	}
	slices.Sort(names)
	switch names = slices.Compact(names); len(names) {
	case 0:
		return onto.Errorf(onto.Invalid, "the file of vaults names no %s", flag).WithHint("add one to the file")
	case 1:
		return nil
	}
	return onto.Errorf(onto.Invalid, "--%s is missing: there are %d", flag, len(names)).WithHint("name one: %s", strings.Join(names, ", "))
}

// WithStoreOf opens the store that has a thing, runs f with it and closes it. If the verb is
// about a tenant, that is one of its shards, which errors name.
func (c *Session) WithStoreOf(ctx context.Context, thing Thing, f func(*store.Store) error) error {
	sharded, err := c.Sharded()
	if err != nil {
		return err
	}
	if !sharded {
		return c.WithStore(ctx, place.Reading, f)
	}
	return c.WithTenant(ctx, place.Reading, func(t Tenant) error {
		id, err := t.identity(ctx, thing)
		if err != nil {
			return err
		}
		shard, err := t.ShardOf(ctx, t.Vault, t.Name, id)
		if err != nil {
			return err
		}
		err = f(shard.Store)
		if code := onto.CodeOf(err); code != "" {
			return onto.Errorf(code, "%s: %w", shard, err)
		}
		return err
	})
}

// identity reads the arguments as the type asks for that the shards have.
func (t Tenant) identity(ctx context.Context, thing Thing) (onto.Identity, error) {
	name, _, _ := strings.Cut(thing.Args[0], "/") // a reference to a fact begins with its type
	if _, err := t.Versions(ctx, t.Vault, t.Name, name); err != nil {
		return onto.Identity{}, err
	}
	shards, err := t.Shards(ctx, t.Vault, t.Name)
	if err != nil {
		return onto.Identity{}, err
	}
	for _, s := range shards {
		if s.Store == nil {
			continue
		}
		if _, err := s.Store.Type(name); err == nil {
			return thing.Identity(s.Store)
		}
	}
	return onto.Identity{}, onto.Errorf(onto.Unavailable, "the shard that has the type %s was closed", name).WithHint("try again")
}

// withSomeStore calls f with the store that the verb is about, or with each shard that is open.
func (c *Session) withSomeStore(ctx context.Context, f func(*store.Store)) error {
	sharded, err := c.Sharded()
	if err != nil {
		return err
	}
	if !sharded {
		return c.WithStore(ctx, place.Reading, func(s *store.Store) error { f(s); return nil })
	}
	return c.WithTenant(ctx, place.Reading, func(t Tenant) error {
		shards, err := t.Shards(ctx, t.Vault, t.Name)
		for _, s := range shards {
			if s.Store != nil {
				f(s.Store)
			}
		}
		return err
	})
}

// CompleteVaults completes a flag with the names of vaults, or of their tenants.
func CompleteVaults(c *Session, tenants bool) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		cfg, err := c.Configure()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		config, err := object.ReadConfig(cfg.Text("vaults"))
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for vault, list := range config {
			if !tenants {
				names = append(names, vault)
				continue
			}
			if of := cfg.Text("vault"); of == "" || of == vault {
				names = slices.AppendSeq(names, maps.Keys(list))
			}
		}
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	}
}
