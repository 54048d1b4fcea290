package store

import (
	"testing"

	"github.com/ontologia/onto"
)

func BenchmarkUpgrade(b *testing.B) {
	field := func(name string) onto.Field { return onto.Field{Name: name, Type: onto.String} }
	schema := func(fields ...onto.Field) onto.Schema {
		s := onto.Schema{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: append(fields, field("id"))}
		s.SortFields()
		return s
	}
	rename := RenameField("Customer", 1, "name", "full_name")
	all := []onto.SchemaVersion{
		{Schema: schema(field("name"), field("tier")), Version: 1, Since: 1},
		{Schema: schema(field("full_name"), field("tier")), Version: 2, Since: 2, Upgrader: &onto.Upgrader{Program: rename.Program}},
	}
	c := newChain(all, all[1], nil)
	for b.Loop() {
		v := onto.Version{
			Identity: onto.EntityID("Customer", "c1"), Op: onto.Put, Commit: 1, SchemaVersion: 1,
			Fields: []byte(`{"id":"c1","name":"Ada Lovelace","tier":"Gold"}`),
		}
		if err := c.upgrade(b.Context(), &v, 0, DefaultUpgradeTimeout); err != nil {
			b.Fatal(err)
		}
	}
}
