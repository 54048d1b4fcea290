package lineage

import (
	"testing"
	"time"

	"github.com/ontologia/onto"
)

func BenchmarkUpgrade(b *testing.B) {
	field := func(name string) onto.Field { return onto.Field{Name: name, Type: onto.String} }
	schema := func(fields ...onto.Field) onto.Schema {
		s := onto.Schema{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: append(fields, field("id"))}
		s.SortFields()
		return s
	}
	const rename = `if has("name") then .["full_name"] = .["name"] | del(.["name"]) else . end`
	all := []onto.SchemaVersion{
		{Schema: schema(field("name"), field("tier")), Version: 1, Since: 1},
		{Schema: schema(field("full_name"), field("tier")), Version: 2, Since: 2, Upgrader: &onto.StoredUpgrader{Program: rename}},
	}
	c := New(all, all[1], func(string, int) Func { return nil })
	for b.Loop() {
		v := onto.Version{
			Identity: onto.EntityID("Customer", "c1"), Op: onto.Put, Commit: 1, SchemaVersion: 1,
			Fields: []byte(`{"id":"c1","name":"Ada Lovelace","tier":"Gold"}`),
		}
		if err := c.Upgrade(b.Context(), &v, 1, time.Second); err != nil {
			b.Fatal(err)
		}
	}
}
