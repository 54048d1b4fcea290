package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Schemas implements [backend.Backend].
func (b *Backend) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return nil, err
	}
	return schemasOut(now.schemas), nil
}

// Register implements [backend.Backend]. Types that are there as given need no
// turn to write.
func (b *Backend) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	now, err := b.moment(ctx)
	if err != nil {
		return nil, err
	}
	if now.registered(r) {
		return now.named(r), nil
	}
	if err := b.lockWrite(ctx, nil); err != nil {
		return nil, err
	}
	s := b.store
	defer s.mu.Unlock()
	all, err := s.withSchemas(r)
	if err != nil {
		return nil, err
	}
	s.log.schemas = all
	return s.log.named(r), nil
}

// registered reports whether all types of a registration are there as given.
func (l log) registered(r *backend.Registration) bool {
	newest := backend.Newest(l.schemas)
	missing, err := backend.Missing(newest, r.Schemas)
	return err == nil && len(missing)+len(backend.Retuned(newest, r.Schemas)) == 0
}

// named returns the newest versions of the types of a registration.
func (l log) named(r *backend.Registration) []onto.SchemaVersion {
	list := make([]onto.SchemaVersion, len(r.Schemas))
	for i, given := range r.Schemas {
		list[i] = l.schemas[lastOf(l.schemas, given.Kind, given.Name)]
	}
	return schemasOut(list)
}

// withSchemas returns the stored schemas together with what is missing of a
// registration.
func (s *Store) withSchemas(r *backend.Registration) ([]onto.SchemaVersion, error) {
	all := slices.Clone(s.log.schemas)
	if _, err := backend.Missing(backend.Newest(all), r.Schemas); err != nil {
		return nil, err // names everything that differs
	}
	for _, given := range r.Schemas {
		missing, err := backend.Missing(backend.Newest(all), []onto.Schema{given})
		if err != nil {
			return nil, err // two schemas of the registration differ
		}
		for _, schema := range missing {
			all = append(all, onto.SchemaVersion{
				Schema: schemaOut(schema), Version: backend.NextVersion(all, schema.Kind, schema.Name),
				JSON: schema.JSON(), Hash: schema.Hash(),
				Created: s.stamp(), Runtime: r.Runtime, Reason: r.Reason, Since: s.log.head() + 1,
			})
		}
		slices.SortFunc(all, compareSchemas)
		for _, schema := range backend.Retuned(backend.Newest(all), []onto.Schema{given}) {
			i := lastOf(all, schema.Kind, schema.Name)
			all[i].Schema = all[i].Schema.WithFlags(schema) // its JSON and Hash stay as stored
		}
	}
	return all, nil
}

// lastOf returns where the last version of a type is, or -1.
func lastOf(all []onto.SchemaVersion, kind onto.Kind, name string) int {
	last := -1
	for i, v := range all {
		if v.Schema.Kind == kind && v.Schema.Name == name {
			last = i
		}
	}
	return last
}

func compareSchemas(a, b onto.SchemaVersion) int {
	return cmp.Or(
		cmp.Compare(a.Schema.Kind, b.Schema.Kind),
		cmp.Compare(a.Schema.Name, b.Schema.Name),
		cmp.Compare(a.Version, b.Version),
	)
}

// newestSchema returns the newest version of a type, or 0 if it does not exist
// or has ended.
func (l log) newestSchema(kind onto.Kind, name string) int {
	if i := lastOf(l.schemas, kind, name); i >= 0 && l.schemas[i].End == nil {
		return l.schemas[i].Version
	}
	return 0
}

// schemasOut returns copies that share nothing with the list.
func schemasOut(list []onto.SchemaVersion) []onto.SchemaVersion {
	list = slices.Clone(list)
	for i := range list {
		list[i].Schema = schemaOut(list[i].Schema)
		list[i].JSON = bytes.Clone(list[i].JSON)
		list[i].Upgrader, list[i].End = copied(list[i].Upgrader), copied(list[i].End)
	}
	return list
}

func schemaOut(s onto.Schema) onto.Schema {
	s.Fields = slices.Clone(s.Fields)
	for i := range s.Fields {
		s.Fields[i].Default = bytes.Clone(s.Fields[i].Default)
	}
	return s
}
