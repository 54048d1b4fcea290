package memory

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// damaged returns a store with two commits after something was done to its log.
func damaged(t *testing.T, damage func(*log)) *Backend {
	t.Helper()
	ctx := context.Background()
	s := New(&Options{Now: func() time.Time { return time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC) }})
	b := s.Open()
	person := onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	if _, err := b.Register(ctx, &backend.Registration{Schemas: []onto.Schema{person}, Reason: "initial"}); err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"first", "second"} {
		d := backend.Draft{Commit: onto.Commit{IdempotencyKey: key}, Metadata: json.RawMessage(`{"n":1}`)}
		for _, id := range []string{"ada", "bob"} {
			fields := json.RawMessage(`{"id":"` + id + `","n":` + string(rune('1'+i)) + `}`)
			d.Writes = append(d.Writes, backend.Write{Identity: onto.EntityID("Person", id), Op: onto.Put, Fields: fields, SchemaVersion: 1})
		}
		if _, err := b.Append(ctx, &d); err != nil {
			t.Fatal(err)
		}
	}
	damage(&s.log)
	return b
}

func TestCheckFindsDamage(t *testing.T) {
	tests := []struct {
		want   string // the code of the finding; none if empty
		damage func(*log)
	}{
		{"", func(*log) {}},
		{"commit_gap", func(l *log) { l.commits[1].commit.ID = 3 }},
		{"time_backwards", func(l *log) { l.commits[1].commit.Time = l.commits[0].commit.Time.Add(-time.Second) }},
		{"time_form", func(l *log) { l.commits[1].commit.Time = l.commits[1].commit.Time.Add(time.Nanosecond) }},
		{"time_form", func(l *log) { l.commits[1].commit.Time = l.commits[1].commit.Time.In(time.FixedZone("", 3600)) }},
		{"metadata_form", func(l *log) { l.commits[0].metadata = json.RawMessage(`{ }`) }},
		{"key_twice", func(l *log) { l.commits[1].commit.IdempotencyKey = "first" }},
		{"version_order", func(l *log) { l.versions[0], l.versions[1] = l.versions[1], l.versions[0] }},
		{"version_order", func(l *log) { l.versions[1] = l.versions[0] }},
		{"version_orphan", func(l *log) { l.versions[3].Commit = 3 }},
		{"fields_form", func(l *log) { l.versions[3].Fields = json.RawMessage(`{"n":1,"id":"bob"}`) }},
		{"fields_form", func(l *log) { l.versions[3].Fields = json.RawMessage(`[]`) }},
		{"schema_unknown", func(l *log) { l.versions[3].SchemaVersion = 2 }},
		{"schema_unknown", func(l *log) { l.versions[3].Type = "Nobody" }},
		{"version_unchanged", func(l *log) { l.versions[3].Fields = l.versions[1].Fields }},
		{"op_unknown", func(l *log) { l.versions[3].Op = "patch" }},
		{"delete_of_nothing", func(l *log) { l.versions[1].Op = onto.Delete }},
		{"delete_fields", func(l *log) { l.versions[3].Op = onto.Delete }},
		{"operations_count", func(l *log) { l.commits[0].commit.Operations = 3 }},
		{"operations_count", func(l *log) { l.versions = l.versions[:2] }},
		{"schema_order", func(l *log) { l.schemas = append(l.schemas, l.schemas[0]) }},
		{"schema_hash", func(l *log) { l.schemas[0].Hash = "" }},
		{"schema_hash", func(l *log) { l.schemas[0].JSON = json.RawMessage(`{}`) }},
		{"schema_hash", func(l *log) { l.schemas[0].Schema.Fields[0].Optional = true }},
		{"", func(l *log) { l.schemas[0].Schema.Fields[0].Index = true }},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			var got []string
			for f, err := range damaged(t, test.damage).Check(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, f.Code)
			}
			if test.want == "" && len(got) > 0 || test.want != "" && !slices.Contains(got, test.want) {
				t.Errorf("got findings %q, want %q", got, test.want)
			}
		})
	}
}
