package catalog

import (
	"reflect"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/lineage"
)

// Program is what the caller knows of the types. While types change compatibly it
// continues: its writes decide the fields that it knows, and no others.
type Program struct {
	types     []onto.Type // given when it opened the store
	schemas   []onto.Schema
	Upgraders lineage.Functions
	known     map[onto.TypeName]knowledge
	outdated  map[onto.TypeName]bool // types that have changed otherwise than compatibly since the program was started
}

// knowledge is what a program knows of one type.
type knowledge struct {
	version int           // the newest that was stored when it learned the type
	fields  backend.Known // those that it knows
}

// NewProgram refuses a Go type that is given twice.
func NewProgram(types []onto.Type, schemas []onto.Schema, given lineage.Functions) (Program, error) {
	names := map[reflect.Type]string{}
	for i, g := range types {
		b := g.Binding()
		if b == nil {
			continue
		}
		if other, twice := names[b.Struct]; twice {
			return Program{}, onto.Errorf(onto.Invalid, "Go type %v is given as %s and as %s", b.Struct, other, schemas[i].Name).
				WithHint("declare a Go type for each")
		}
		names[b.Struct] = schemas[i].Name
	}
	return Program{types, schemas, given, map[onto.TypeName]knowledge{}, map[onto.TypeName]bool{}}, nil
}

// Use fits a catalog to the program. A type that has changed incompatibly since the
// program learned it is learned anew by its name, and is outdated for a Go struct from
// then on.
func (p *Program) Use(c *Catalog) {
	for name, t := range c.Present {
		k, ok := p.known[name]
		if ok && !typelist.Continues(c.Stored, name, k.version) {
			p.outdated[name], ok = true, false
		}
		if !ok {
			k = knowledge{t.Version, backend.KnownOf(t.Schema.Fields)}
			i := slices.IndexFunc(p.schemas, func(s onto.Schema) bool { return s.TypeName() == name })
			if i >= 0 && !typelist.Serves(c.Stored, p.schemas[i]) { // it has changed since it was registered
				p.outdated[name] = true
			}
			if i >= 0 && !p.outdated[name] {
				k.fields = backend.KnownOf(p.schemas[i].LikeStored(t.Schema).Fields)
			}
			p.known[name] = k
		}
		if !k.fields.Covers(t.Schema.Fields) {
			t.Known = k.fields
		}
	}
	for i, g := range p.types {
		b, name := g.Binding(), p.schemas[i].TypeName()
		if b == nil {
			continue
		}
		if t, ok := c.Present[name]; ok && !p.outdated[name] {
			t.Bind(b, p.schemas[i])
			c.structs[b.Struct] = t
		} else {
			c.outdated[b.Struct] = p.schemas[i]
		}
	}
}

// outdatedStruct is the error for a Go struct whose type has changed incompatibly.
func (c *Catalog) outdatedStruct(given onto.Schema) error {
	t, exists := c.Present[given.TypeName()]
	if !exists {
		_, err := c.Get(given.Kind, given.Name)
		return onto.Errorf(onto.SchemaOutdated, "type %s has changed since this program opened the store: %w", given.Name, err).
			WithHint("open the store again with the present types")
	}
	e := onto.Errorf(onto.SchemaOutdated, "type %s has changed since this program opened the store", given.Name)
	if d := onto.DiffSchemas(t.Schema, given); !d.Empty() {
		e.Differences = []onto.Difference{d}
		e.Message += "; this program against the store: " + d.String()
	}
	return e.WithHint("open the store again with the present types")
}
