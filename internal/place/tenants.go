package place

import (
	"context"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// Tenants is what the settings say about the tenants that a command is about. A name that is ""
// was not given.
type Tenants struct{ File, Vault, Tenant string }

// Tenants returns the tenants that a command is about, if the strongest layer that names a
// place names a file of vaults.
func (cfg Settings) Tenants() (t Tenants, named bool, err error) {
	for _, l := range cfg {
		file, ok := l.values["vaults"]
		other := l.otherPlace()
		switch {
		case ok && other != "":
			return t, false, onto.Errorf(onto.Invalid, "vaults and %s, both from %s, name different places", other, l.origin).WithHint("give one of them")
		case ok:
			return Tenants{file, cfg.Text("vault"), cfg.Text("tenant")}, true, nil
		case other != "":
			return t, false, cfg.noTenants()
		}
	}
	return t, false, cfg.noTenants()
}

// otherPlace is the setting of a layer that names a store; "" if there is none.
func (l layer) otherPlace() string {
	for _, name := range []string{"db", "storage_uri"} {
		if _, ok := l.values[name]; ok {
			return name
		}
	}
	return ""
}

// noTenants refuses a command line that names a vault or a tenant, where none are meant.
func (cfg Settings) noTenants() error {
	for _, name := range []string{"vault", "tenant"} {
		if _, given := cfg[0].values[name]; given { // of the command line
			return onto.Errorf(onto.Invalid, "--%s goes with --vaults", name).
				WithHint("name the file that lists the shards of tenants with --vaults, and no store")
		}
	}
	return nil
}

// oneStore refuses settings that name tenants, for a command that is about one store.
func (cfg Settings) oneStore() error {
	t, named, err := cfg.Tenants()
	if err != nil || !named {
		return err
	}
	return onto.Errorf(onto.Invalid, "this is about one store, and the settings name the vaults of %s", t.File).
		WithHint("name the store of a shard with --storage-uri; these are the shards").WithCommand("shard", "status")
}

// NameIn completes the command of a hint with the flags that name the tenants. A hint for a verb
// that is about one store has no command then.
func (t Tenants) NameIn(h onto.Hint) onto.Hint {
	has := func(flag string) bool {
		return slices.ContainsFunc(h.Command, func(word string) bool { name, _, _ := strings.Cut(word, "="); return name == flag })
	}
	if len(h.Command) == 0 || h.Command[0] == "copy" || has("--help") || has("--db") || has("--storage-uri") {
		return h
	}
	if !slices.Contains([]string{"init", "query", "get", "log", "export", "doctor", "migrate", "shard"}, h.Command[0]) {
		h.Command = nil
		return h
	}
	at := len(h.Command)
	if i := slices.Index(h.Command, "--"); i >= 0 {
		at = i
	}
	var words []string
	for _, f := range []flag{{"--vaults", t.File}, {"--vault", t.Vault}, {"--tenant", t.Tenant}} {
		if f.value != "" && !has(f.name) {
			words = append(words, f.name, f.value)
		}
	}
	h.Command = slices.Insert(slices.Clone(h.Command), at, words...)
	return h
}

// identity is the form of the place that all names of it share.
func (l Location) identity() (string, error) {
	switch {
	case l.InMemory():
		return "", onto.Errorf(onto.Invalid, "a store in memory is gone when the command ends").WithHint("name a file or a lake")
	case l.Lake.Dir != "":
		dir, err := backend.CanonicalPath(l.Lake.Dir)
		return lakeIn(dir).String(), err
	case l.IsLake():
		return l.Lake.String(), nil
	}
	return sqlite.Opener.Identity("sqlite:///" + l.Path)
}

// ShardOpener opens the stores of shards, with a function that opens what is kept somewhere. It
// is given whether the store is to be made.
func ShardOpener(open func(ctx context.Context, loc Location, create bool) (backend.Backend, error)) backend.Opener {
	return backend.Opener{
		Schemes: schemes(), Forms: []string{"sqlite:///rel.db", "sqlite:////abs.db", "file:///directory", "s3://bucket/prefix"},
		Open: func(ctx context.Context, uri string, create bool) (backend.Backend, error) {
			loc, err := ParseURI(uri)
			if err != nil {
				return nil, err
			}
			return open(ctx, loc, create)
		},
		Identity: func(uri string) (string, error) {
			loc, err := ParseURI(uri)
			if err != nil {
				return "", err
			}
			return loc.identity()
		},
	}
}

// schemes are those of storage URIs.
func schemes() []string { return []string{"sqlite", "file", "s3"} }
