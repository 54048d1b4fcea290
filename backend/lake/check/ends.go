package check

import (
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/typelist"
)

// endBatch is how many relations or facts are checked together.
const endBatch = 4096

// endpoints warns of live relations of a type whose endpoints do not exist, and of live
// facts without their subject, which is allowed and often a mistake. It is silent where
// the entities of an endpoint cannot all be read.
func (c *checker) endpoints(h *history, damaged map[onto.TypeName]bool) error {
	i := typelist.LastOf(c.schemas, h.name)
	if i < 0 {
		return nil // which was reported
	}
	schema := &c.schemas[i].Schema
	if schema.Left == "" || damaged[onto.TypeName{Kind: onto.KindEntity, Name: schema.Left}] || damaged[onto.TypeName{Kind: onto.KindEntity, Name: schema.Right}] {
		return nil
	}
	err := c.eachLive(h, func(batch []onto.Identity) error { return c.lookUp(schema, batch) })
	if onto.CodeOf(err) == onto.Corrupt { // an object was removed since it was checked
		return c.report(audit.CheckStopped, "the endpoints of %s could not be checked to the end: %s", h.name.Name, firstLine(err))
	}
	return err
}

// eachLive goes through the live identities of a type in batches.
func (c *checker) eachLive(h *history, do func(batch []onto.Identity) error) error {
	var batch []onto.Identity
	for i := range h.read {
		file, done, err := c.lake.Files.Use(c.ctx, &h.read[i])
		if err != nil {
			return err
		}
		for v, err := range file.All(c.ctx) {
			if err == nil && h.versions.Live(&v) {
				batch = append(batch, v.Identity)
			}
			if err == nil && len(batch) == endBatch {
				err = do(batch)
				batch = batch[:0]
			}
			if err != nil {
				done()
				return err
			}
		}
		done()
	}
	return do(batch)
}

// endsOf is what an identity of a type needs to exist: the endpoints of a relation, the
// subject of a fact.
func endsOf(schema *onto.Schema, id onto.Identity) []onto.Identity {
	ends := []onto.Identity{onto.EntityID(schema.Left, id.Left)}
	if id.Kind == onto.KindRelation {
		ends = append(ends, onto.EntityID(schema.Right, id.Right))
	}
	return ends
}

// lookUp reports the identities whose ends do not exist.
func (c *checker) lookUp(schema *onto.Schema, among []onto.Identity) error {
	s := &protocol.Shelf{Tip: &protocol.Tip{Head: c.head, Catalog: c.catalog}, Types: &protocol.Types{Purged: c.purged}, Files: c.files}
	exists := map[onto.Identity]bool{}
	wanted := map[string][]onto.Identity{}
	for _, id := range among {
		for _, end := range endsOf(schema, id) {
			if _, known := exists[end]; !known {
				exists[end] = false
				wanted[end.Type] = append(wanted[end.Type], end)
			}
		}
	}
	for typ, ids := range wanted {
		slices.SortFunc(ids, onto.Identity.Compare)
		found, err := c.lake.Files.Find(c.ctx, s, onto.TypeName{Kind: onto.KindEntity, Name: typ}, ids, c.head.CommitID)
		if err != nil {
			return err
		}
		for i := range found {
			exists[found[i].Identity] = found[i].Live()
		}
	}
	for _, id := range among {
		for _, end := range endsOf(schema, id) {
			if exists[end] {
				continue
			}
			if err := c.push(audit.Endpoint(id, end)); err != nil {
				return err
			}
		}
	}
	return nil
}
