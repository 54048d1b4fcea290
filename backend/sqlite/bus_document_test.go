package sqlite_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// documentedAnswers runs the statements of a page after a sentence, and returns the first
// column of each answer.
func documentedAnswers(t *testing.T, page, after, path string) []string {
	t.Helper()
	_, block, _ := strings.Cut(page, after)
	_, block, _ = strings.Cut(block, "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	var first []string
	for _, sql := range strings.Split(strings.TrimSuffix(block, ";\n"), ";\n") {
		var column []string
		for line := range strings.SplitSeq(query(t, path, sql), "\n") {
			value, _, _ := strings.Cut(line, "|")
			column = append(column, value)
		}
		first = append(first, strings.Join(column, " "))
	}
	return first
}

// The statements of the page about the format work as printed, and its tables have
// every column of the file.
func TestDocumentedEvents(t *testing.T) {
	page := string(read(t, filepath.Join("..", "..", "docs", "format", "sqlite.md")))
	path, clock := makeBus(t)
	b := open(t, path, &sqlite.Options{Now: clock.Now})
	draft := thingDraft("ride", 1)
	_, err := b.Register(t.Context(), &backend.Registration{Reason: "initial", Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}, {Name: "n", Type: onto.Int}, {Name: "last", Type: onto.String, Optional: true}}},
		{Kind: onto.KindRelation, Name: "Touches", Left: "Thing", Right: "Thing"}}})
	if err != nil {
		t.Fatal(err)
	}
	draft.Events = []backend.NewEvent{newEvent("riding Other")}
	if _, err := b.Append(t.Context(), draft); err != nil {
		t.Fatal(err)
	}
	runSQL(t, path, `UPDATE event_claims SET lease_until = '2099-01-01T00:00:00.000000+00:00' WHERE event_id = 'held'`)
	first := documentedAnswers(t, page, "These statements look at events.", path)
	want := []string{"r2 late held k1 r1 k2 k3 k4 new", "n n", "s", "late", "k other", "1", "n", "riding"}
	if !slices.Equal(first, want) {
		t.Errorf("got\n%q\nwant\n%q", first, want)
	}
	_, part, _ := strings.Cut(page, "\n## Events\n")
	part, _, _ = strings.Cut(part, "\n## Work\n")
	for _, name := range strings.Fields(query(t, path, `SELECT group_concat(x.name, ' ') FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x
		WHERE m.type = 'table' AND m.name IN ('events', 'event_claims', 'dead_letters', 'sessions', 'onto_bus', 'onto_event_queues', 'onto_event_ready',
		'onto_event_keys', 'onto_event_behind', 'onto_event_schedules', 'onto_positions') AND NOT (m.name = 'onto_bus' AND x.name = 'id')
		AND NOT (m.name = 'onto_positions')`) + " " + query(t, path, `SELECT group_concat(name, ' ') FROM sqlite_master WHERE tbl_name GLOB '*event*' AND type = 'index' AND name NOT GLOB 'sqlite_*'`)) {
		if name != "session_id" && !strings.Contains(part, "`"+name+"`") {
			t.Errorf("the page does not mention %s", name)
		}
	}
}
