package object

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ontologia/onto"
)

// Config lists the shards of each tenant of each vault, as the URIs of their stores:
//
//	Config{"chat": {"acme": {"sqlite:///acme-1.db", "sqlite:///acme-2.db"}}}
//
// The order of a list means nothing: each store knows which shard it is.
type Config map[string]map[string][]string

// ReadConfig reads a configuration from a YAML or JSON file. A shard is the URI of its store,
// or a connection: an object with engine, host, port, in_memory, database, username and
// password. Everything may stand below a key named database. ${NAME} in a text stands for
// an environment variable, and $$ for a dollar sign.
func ReadConfig(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "the file of vaults cannot be read: %w", err)
	}
	config, err := ParseConfig(text)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "%s: %w", filepath.Base(path), err)
	}
	return config, nil
}

// ParseConfig is ReadConfig for a text.
func ParseConfig(text []byte) (Config, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, onto.Errorf(onto.Invalid, "the configuration of vaults is neither YAML nor JSON: %w", err)
	}
	if len(root.Content) == 0 {
		return nil, onto.Errorf(onto.Invalid, "the configuration of vaults is empty").WithHint(configForm)
	}
	config := Config{}
	err := eachMember(belowDatabase(root.Content[0]), "the configuration", func(vault string, tenants *yaml.Node) error {
		config[vault] = map[string][]string{}
		return eachMember(tenants, "vault "+vault, func(tenant string, list *yaml.Node) error {
			shards, err := readShards(vault, tenant, list)
			config[vault][tenant] = shards
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return config, config.check()
}

const configForm = "write vault: {tenant: [sqlite:///shard-1.db, sqlite:///shard-2.db]}"

// belowDatabase is what stands below the key database, if that is the only key and no vault.
func belowDatabase(root *yaml.Node) *yaml.Node {
	if root.Kind != yaml.MappingNode || len(root.Content) != 2 || root.Content[0].Value != "database" {
		return root
	}
	below := resolved(root.Content[1])
	for i := 1; i < len(below.Content); i += 2 {
		if resolved(below.Content[i]).Kind == yaml.SequenceNode { // a vault named database
			return root
		}
	}
	return below
}

// eachMember calls f for each member of a mapping.
func eachMember(n *yaml.Node, what string, f func(name string, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return onto.Errorf(onto.Invalid, "line %d: %s is not a mapping", n.Line, what).WithHint(configForm)
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if seen[name] {
			return onto.Errorf(onto.Invalid, "line %d: %s has %s twice", n.Content[i].Line, what, name)
		}
		seen[name] = true
		if err := f(name, resolved(n.Content[i+1])); err != nil {
			return err
		}
	}
	return nil
}

// resolved is a node, or the one that it is an alias of.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func readShards(vault, tenant string, list *yaml.Node) ([]string, error) {
	if list.Kind != yaml.SequenceNode {
		return nil, onto.Errorf(onto.Invalid, "line %d: tenant %s of vault %s is not a list of shards", list.Line, tenant, vault).WithHint(configForm)
	}
	var shards []string
	for _, n := range list.Content {
		uri, err := readShard(resolved(n))
		if err != nil {
			return nil, onto.Errorf(onto.Invalid, "line %d: a shard of tenant %s of vault %s: %w", n.Line, tenant, vault, err)
		}
		shards = append(shards, uri)
	}
	return shards, nil
}

func readShard(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return expand(n.Value)
	}
	var c connection
	err := eachMember(n, "the shard", func(name string, value *yaml.Node) error { return c.set(name, value) })
	if err != nil {
		return "", err
	}
	return c.uri()
}

// connection is a shard in the form of a database connection.
type connection struct {
	engine, database string
	inMemory         bool
}

// set sets a member. Those of servers are read, so that a configuration can be
// complete before the engine is.
func (c *connection) set(name string, value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode {
		return onto.Errorf(onto.Invalid, "%s is not a plain value", name)
	}
	text, err := expand(value.Value)
	if err != nil {
		return err
	}
	switch name {
	case "engine":
		c.engine = text
	case "database":
		c.database = text
	case "in_memory":
		if err := value.Decode(&c.inMemory); err != nil {
			return onto.Errorf(onto.Invalid, "in_memory is true or false")
		}
	case "host", "port", "username", "password":
	default:
		return onto.Errorf(onto.Invalid, "a connection has no %s", name).
			WithHint("it has engine, host, port, in_memory, database, username and password")
	}
	return nil
}

// uri is the URI of the store that the connection leads to.
func (c *connection) uri() (string, error) {
	switch {
	case c.engine == "postgres":
		return "postgres://", nil // which no opener understands yet
	case c.engine != "sqlite3" && c.engine != "sqlite":
		return "", onto.Errorf(onto.Invalid, "engine %q is unknown", c.engine).WithHint("use sqlite3, or the URI of a store")
	case c.inMemory:
		return memoryURI, nil
	case c.database == "":
		return "", onto.Errorf(onto.Invalid, "the connection names no database").WithHint("give the path of a file, or in_memory: true")
	}
	return "sqlite:///" + c.database, nil
}

// memoryURI is the URI of a store in memory: each time another one.
const memoryURI = "sqlite:///:memory:"

var variable = regexp.MustCompile(`\$\$|\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// expand replaces ${NAME} by environment variables.
func expand(text string) (string, error) {
	var missing string
	expanded := variable.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		name := found[2 : len(found)-1]
		value, ok := os.LookupEnv(name)
		if !ok {
			missing = name
		}
		return value
	})
	if missing != "" {
		return "", onto.Errorf(onto.Invalid, "the environment variable %s is not set", missing)
	}
	return expanded, nil
}

// check refuses names that are none, and tenants without shards.
func (c Config) check() error {
	for _, vault := range sortedKeys(c) {
		if err := onto.CheckBusName("vault", vault); err != nil {
			return err
		}
		for _, tenant := range sortedKeys(c[vault]) {
			if err := onto.CheckBusName("tenant", tenant); err != nil {
				return err
			}
			if n := len(c[vault][tenant]); n == 0 || n > Buckets {
				return onto.Errorf(onto.Invalid, "tenant %s of vault %s has %d shards", tenant, vault, n).
					WithHint("give it between 1 and %d", Buckets)
			}
		}
	}
	return nil
}

// tenant returns the shards of a tenant.
func (c Config) tenant(vault, tenant string) ([]string, error) {
	tenants, ok := c[vault]
	if !ok {
		return nil, unknown(fmt.Sprintf("vault %s does not exist", vault), "vaults", sortedKeys(c))
	}
	shards, ok := tenants[tenant]
	if !ok {
		return nil, unknown(fmt.Sprintf("vault %s has no tenant %s", vault, tenant), "tenants", sortedKeys(tenants))
	}
	return shards, nil
}

// Only returns the part of the configuration that is about one vault, or about the tenants of
// one name; "" stands for all.
func (c Config) Only(vault, tenant string) (Config, error) {
	vaults := sortedKeys(c)
	if vault != "" {
		if _, ok := c[vault]; !ok {
			return nil, unknown(fmt.Sprintf("vault %s does not exist", vault), "vaults", vaults)
		}
		vaults = []string{vault}
	}
	only := Config{}
	for _, v := range vaults {
		switch shards, ok := c[v][tenant]; {
		case tenant == "":
			only[v] = c[v]
		case ok:
			only[v] = map[string][]string{tenant: shards}
		}
	}
	if len(only) > 0 || tenant == "" {
		return only, nil
	}
	if len(vaults) == 1 {
		_, err := c.tenant(vaults[0], tenant)
		return nil, err
	}
	return nil, unknown(fmt.Sprintf("no vault has a tenant %s", tenant), "vaults", vaults)
}

// unknown is the error for a name that the configuration does not have.
func unknown(what, plural string, known []string) error {
	err := onto.Errorf(onto.NotFound, "%s", what)
	if len(known) == 0 {
		return err.WithHint("the configuration has no %s", plural)
	}
	return err.WithHint("the %s are %s", plural, strings.Join(known, ", "))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
