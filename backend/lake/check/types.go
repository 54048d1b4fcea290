package check

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/decide"
)

// types holds the types of the catalog to the rules.
func (c *checker) types() error {
	if c.catalog == nil {
		return nil
	}
	for i := range c.catalog.Types {
		e := &c.catalog.Types[i]
		v, err := e.SchemaVersion()
		if err != nil { // its hash will not fit
			v = onto.SchemaVersion{Schema: onto.Schema{Kind: e.Kind, Name: e.Name}, Version: e.Version, JSON: e.Schema, Hash: e.Hash, Since: e.Since, Upgrader: e.Upgrader, End: e.End}
		}
		c.schemas = append(c.schemas, v)
	}
	c.purged = decide.Purged(c.schemas)
	return c.rules.At(c.head.Catalog).Types(c.schemas, c.head.CommitID, func(i int) bool { return intactSchema(&c.catalog.Types[i]) })
}

// intactSchema compares a schema with its hash. Flags may differ in index and search
// alone.
func intactSchema(e *protocol.SchemaEntry) bool {
	stored, _ := onto.ParseSchema(e.Schema) // a damaged one has another hash
	if e.Hash != stored.Hash() || stored.TypeName() != (onto.TypeName{Kind: e.Kind, Name: e.Name}) {
		return false
	}
	if e.Flags == nil {
		return true
	}
	flags, _ := onto.ParseSchema(e.Flags)
	return stored.WithFlags(flags).Hash() == flags.Hash()
}
