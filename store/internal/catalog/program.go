package catalog

import (
	"maps"
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
	types     []onto.Type // given when it opened the store, or later
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

// NewProgram makes a program that knows no types yet.
func NewProgram(given lineage.Functions) Program {
	return Program{Upgraders: given, known: map[onto.TypeName]knowledge{}, outdated: map[onto.TypeName]bool{}}
}

// With returns the program with more types, which it learns anew. It refuses another Go type
// for a type that has one, and another type for a Go type.
func (p Program) With(types []onto.Type, schemas []onto.Schema) (Program, error) {
	p.types, p.schemas = slices.Clone(p.types), slices.Clone(p.schemas)
	p.known, p.outdated = maps.Clone(p.known), maps.Clone(p.outdated)
	for i, t := range types {
		name, b := schemas[i].TypeName(), t.Binding()
		delete(p.known, name)
		delete(p.outdated, name)
		at := slices.IndexFunc(p.schemas, func(s onto.Schema) bool { return s.Name == name.Name })
		switch {
		case at < 0:
			p.types, p.schemas = append(p.types, t), append(p.schemas, schemas[i])
		case b == nil:
		case p.types[at].Binding() != nil && p.types[at].Binding().Struct != b.Struct:
			return Program{}, onto.Errorf(onto.Invalid, "type %s is the Go type %v in this program, and is given as the Go type %v", name.Name, p.types[at].Binding().Struct, b.Struct).
				WithHint("use one Go type for it")
		default:
			p.types[at], p.schemas[at] = t, schemas[i]
		}
	}
	return p, p.checkStructs()
}

// checkStructs refuses a Go type that is given twice.
func (p *Program) checkStructs() error {
	names := map[reflect.Type]string{}
	for i, g := range p.types {
		b := g.Binding()
		if b == nil {
			continue
		}
		if other, twice := names[b.Struct]; twice {
			return onto.Errorf(onto.Invalid, "Go type %v is given as %s and as %s", b.Struct, other, p.schemas[i].Name).
				WithHint("declare a Go type for each")
		}
		names[b.Struct] = p.schemas[i].Name
	}
	return nil
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
			if i >= 0 && !serves(c.Stored, p.types[i], &t.Schema) { // it has changed since it was registered
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
		t, ok := c.Present[name]
		switch {
		case ok && !p.outdated[name]:
			t.Bind(b, p.schemas[i])
			c.structs[b.Struct] = t
		case ok:
			c.outdated[b.Struct], _ = g.Joining(t.Schema)
		default:
			c.outdated[b.Struct] = p.schemas[i]
		}
	}
}

// serves reports whether a program with the given type can use the stored one.
func serves(all []onto.SchemaVersion, given onto.Type, stored *onto.Schema) bool {
	joining, _ := given.Joining(*stored)
	return typelist.Serves(all, joining)
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
