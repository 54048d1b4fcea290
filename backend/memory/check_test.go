package memory

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
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
		d := backend.Draft{Header: backend.Header{IdempotencyKey: key, Metadata: json.RawMessage(`{"n":1}`)}}
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

// evolved does something to a log whose type has a second version, with one row
// of it, and another type that was renamed and purged.
func evolved(damage func(*log)) func(*log) {
	return func(l *log) {
		now := l.commits[1].commit.Time
		second := typelist.Copy(l.schemas)[0]
		second.Version, second.Since, second.Upgrader = 2, 3, &onto.StoredUpgrader{Program: "."}
		town := second
		town.Schema.Name = "Town"
		town.JSON, town.Hash = town.Schema.JSON(), town.Schema.Hash()
		town.Version, town.Since, town.Upgrader = 1, 1, nil
		town.End = &onto.End{Commit: 3, RenamedTo: "Person", Purged: true, Versions: 2, Time: now}
		l.schemas = append(l.schemas, second, town)
		v := l.versions[2]
		v.Commit, v.SchemaVersion, v.Fields = 3, 2, json.RawMessage(`{"id":"ada","n":3}`)
		l.versions = append(l.versions, v)
		l.commits = append(l.commits, record{commit: onto.Commit{ID: 3, Time: now, Operations: 1}})
		damage(l)
	}
}

// damage is something that is done to a log.
type damage struct {
	want string // the code of the finding; none if empty
	do   func(*log)
}

func damages() []damage {
	return []damage{
		{"", func(*log) {}},
		{"commit_gap", func(l *log) { l.commits[1].commit.ID = 3 }},
		{"commit_time_back", func(l *log) { l.commits[1].commit.Time = l.commits[0].commit.Time.Add(-time.Second) }},
		{"time_form", func(l *log) { l.commits[1].commit.Time = l.commits[1].commit.Time.Add(time.Nanosecond) }},
		{"time_form", func(l *log) { l.commits[1].commit.Time = l.commits[1].commit.Time.In(time.FixedZone("", 3600)) }},
		{"metadata_form", func(l *log) { l.commits[0].metadata = json.RawMessage(`{ }`) }},
		{"key_twice", func(l *log) { l.commits[1].commit.IdempotencyKey = "first" }},
		{"version_order", func(l *log) { l.versions[0], l.versions[1] = l.versions[1], l.versions[0] }},
		{"version_twice", func(l *log) { l.versions[1] = l.versions[0] }},
		{"version_without_commit", func(l *log) { l.versions[3].Commit = 3 }},
		{"fields_not_canonical", func(l *log) { l.versions[3].Fields = json.RawMessage(`{"n":1,"id":"bob"}`) }},
		{"fields_not_canonical", func(l *log) { l.versions[3].Fields = json.RawMessage(`[]`) }},
		{"schema_unknown", func(l *log) { l.versions[3].SchemaVersion = 2 }},
		{"schema_unknown", func(l *log) { l.versions[3].Type = "Nobody" }},
		{"version_unchanged", func(l *log) { l.versions[3].Fields = l.versions[1].Fields }},
		{"op_unknown", func(l *log) { l.versions[3].Op = "patch" }},
		{"delete_of_nothing", func(l *log) { l.versions[1].Op = onto.Delete }},
		{"delete_fields", func(l *log) { l.versions[3].Op = onto.Delete }},
		{"commit_incomplete", func(l *log) { l.commits[0].commit.Operations = 3 }},
		{"commit_incomplete", func(l *log) { l.versions = l.versions[:2] }},
		{"schema_order", func(l *log) { l.schemas = append(l.schemas, l.schemas[0]) }},
		{"schema_hash", func(l *log) { l.schemas[0].Hash = "" }},
		{"schema_hash", func(l *log) { l.schemas[0].JSON = json.RawMessage(`{}`) }},
		{"schema_hash", func(l *log) { l.schemas[0].Schema.Fields[0].Optional = true }},
		{"", func(l *log) { l.schemas[0].Schema.Fields[0].Index = true }},
		{"", evolved(func(*log) {})},
		{"", evolved(func(l *log) { l.versions, l.commits[0].commit.Operations = l.versions[2:], 0 })},
		{"commit_incomplete", evolved(func(l *log) {
			l.versions, l.commits[0].commit.Operations = l.versions[2:], 0
			l.schemas[2].End.Purged, l.schemas[2].End.Versions = false, 0
		})},
		{"commit_incomplete", evolved(func(l *log) { l.versions, l.commits[2].commit.Operations = l.versions[:4], 0 })},
		{"schema_since", evolved(func(l *log) { l.versions[4].SchemaVersion = 1 })},
		{"schema_since", evolved(func(l *log) { l.versions[3].SchemaVersion = 2 })},
		{"schema_since", evolved(func(l *log) { l.schemas[1].Since = 4 })},
		{"schema_since", evolved(func(l *log) { l.schemas[1].Since = 5 })},
		{"schema_since", evolved(func(l *log) { l.schemas[2].Since = 0 })},
		{"schema_since", evolved(func(l *log) { l.schemas[0].Since = 4 })},
		{"schema_purged", evolved(func(l *log) { l.versions[0].Type = "Town" })},
		{"schema_ended", evolved(func(l *log) { l.versions[4].Type, l.versions[4].SchemaVersion = "Town", 1 })},
		{"schema_ended", evolved(func(l *log) { l.schemas[1].End = &onto.End{Commit: 3, Time: l.commits[0].commit.Time} })},
		{"schema_end", evolved(func(l *log) { l.schemas[2].End.Commit = 5 })},
		{"schema_end", evolved(func(l *log) { l.schemas[2].End.Commit = 0 })},
		{"schema_end", evolved(func(l *log) { l.schemas[2].End.Purged = false })},
		{"schema_end", evolved(func(l *log) { l.schemas[0].End = &onto.End{Commit: 4, Time: l.commits[0].commit.Time} })},
		{"time_form", evolved(func(l *log) { l.schemas[2].End.Time = l.schemas[2].End.Time.Add(1) })},
		{"upgrader_form", evolved(func(l *log) { l.schemas[1].Upgrader.Func = true })},
		{"upgrader_unknown", evolved(func(l *log) { l.schemas[1].Upgrader = &onto.StoredUpgrader{RenamedFrom: "Town", FromVersion: 2} })},
		{"", evolved(func(l *log) { l.schemas[1].Upgrader = &onto.StoredUpgrader{RenamedFrom: "Town", FromVersion: 1} })},
	}
}

func TestCheckFindsDamage(t *testing.T) {
	for _, test := range damages() {
		t.Run(test.want, func(t *testing.T) {
			var got []string
			for f, err := range damaged(t, test.do).Check(context.Background()) {
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
