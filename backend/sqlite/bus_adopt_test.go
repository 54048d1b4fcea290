package sqlite_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// originalFile makes a file as the original program, version 0.4.0, has left it: the six
// payments o0 to o5, of which the handler invoice has acked o0, claimed o1, buried o2, o3
// and o4, and not seen o5.
func originalFile(t *testing.T) string {
	t.Helper()
	return makeFile(t, string(read(t, filepath.Join("testdata", "original-v1.sql"))))
}

// afterwards is a time after all leases of that file.
func afterwards() time.Time { return time.Date(2026, 11, 15, 20, 0, 0, 0, time.UTC) }

// payments asks for the events of that file.
func payments(limit int) *backend.ClaimRequest {
	return &backend.ClaimRequest{Namespace: "billing", Handler: "invoice", Types: []string{"order.paid"}, Session: "s-two", Limit: limit, Lease: time.Minute}
}

func orders(claims []onto.Claim) string {
	var list []string
	for _, c := range claims {
		list = append(list, strings.Split(string(c.Payload), `"`)[5])
	}
	return strings.Join(list, " ")
}

// The events of the original program's file go on from where they were: its claims,
// acks and dead letters count.
func TestOriginalEventsGoOn(t *testing.T) {
	clock := &busClock{now: time.Date(2026, 11, 15, 19, 25, 30, 0, time.UTC)} // o1 is claimed
	b := open(t, originalFile(t), &sqlite.Options{Now: clock.Now})
	var listed []string
	for e, err := range b.Events(t.Context(), &backend.EventQuery{Namespace: "billing", Types: []string{"order.paid"}}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, string(e.Status))
	}
	if got := strings.Join(listed, " "); got != "acked claimed dead_lettered dead_lettered dead_lettered pending" {
		t.Errorf("got %s", got)
	}
	got, err := b.Claim(t.Context(), payments(9))
	if err != nil || orders(got.Claims) != "o5" || got.Next.Format(time.TimeOnly) != "19:26:25" {
		t.Errorf("claimed %s, next at %s, error %v; want o5, and o1 when its lease ends", orders(got.Claims), got.Next, err)
	}
	mustSettle(t, b, backend.Ack, got.Claims...)
	clock.advance(time.Hour)
	got, err = b.Claim(t.Context(), payments(9))
	if err != nil || orders(got.Claims) != "o1" || !got.Claims[0].Lost {
		t.Errorf("claimed %s, error %v; want o1, which was lost", orders(got.Claims), err)
	}
	mustSettle(t, b, backend.Ack, got.Claims...)
	if got, err = b.Claim(t.Context(), payments(9)); err != nil || len(got.Claims) > 0 || !got.Next.IsZero() {
		t.Errorf("claimed %s, next at %s, error %v; want nothing", orders(got.Claims), got.Next, err)
	}
	other := payments(9)
	other.Handler = "mail"
	if got, err = b.Claim(t.Context(), other); err != nil || orders(got.Claims) != "o0 o1 o2 o3 o4 o5" {
		t.Errorf("another handler claimed %s, error %v; want all", orders(got.Claims), err)
	}
	other.Types = []string{onto.DeadLetterType}
	if got, err = b.Claim(t.Context(), other); err != nil || len(got.Claims) != 3 || got.Claims[0].Depth != 1 {
		t.Errorf("claimed %d that tell of dead letters, error %v; want 3", len(got.Claims), err)
	}
	if got := busCodes(t, b); slices.Contains(got, "queues_behind") {
		t.Errorf("got findings %v", got)
	}
}

// Its dead letters are listed and can be replayed, and its sessions are seen.
func TestOriginalDeadLetters(t *testing.T) {
	b := open(t, originalFile(t), &sqlite.Options{Now: afterwards})
	var ids []int64
	for d, err := range b.DeadLetters(t.Context(), &backend.DeadLetterQuery{Namespace: "billing", Handler: "invoice", Type: "order.paid", Error: "boom"}) {
		if err != nil || d.Attempts != 2 || d.Event.Root != d.Event.ID || d.Event.Priority != onto.DefaultPriority || !strings.HasPrefix(string(d.Event.Payload), `{"amount":`) {
			t.Errorf("got %+v, error %v", d, err)
		}
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, []int64{1, 2, 3}) {
		t.Errorf("got dead letters %v", ids)
	}
	e := backend.NewEvent{Event: onto.Event{ID: "again", Namespace: "billing", Type: "order.paid", Payload: []byte(`{"amount":2,"order":"o2"}`), Priority: 100}}
	_, err := b.Emit(t.Context(), &backend.Emission{Events: []backend.NewEvent{e}, Resolve: []backend.DeadLetterEnd{{ID: 1, Kind: onto.Replayed, By: onto.Operator("ana"), Replay: "again"}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Claim(t.Context(), payments(9))
	if err != nil || orders(got.Claims) != "o1 o5 o2" {
		t.Errorf("claimed %s, error %v; want what is left, then what is repeated", orders(got.Claims), err)
	}
	spaces, err := b.Namespaces(t.Context())
	if err != nil || len(spaces) != 1 {
		t.Fatalf("got %v, error %v", spaces, err)
	}
	if n := spaces[0]; n.Name != "billing" || n.Events != 10 || n.DeadLetters != 2 || len(n.Sessions) != 1 || n.Sessions[0].ID != "s-one" {
		t.Errorf("got %+v", n)
	}
}

// The events of such a file are those that its statements show before and after, and
// none of its columns has moved.
func TestAdoptedEventsStayAsTheyAre(t *testing.T) {
	path := originalFile(t)
	const show = `SELECT * FROM (SELECT 'e', id, namespace, type, payload, created_at, priority, root_event_id, chain_depth, '', '' FROM events
		UNION ALL SELECT 'c', * FROM (SELECT event_id, handler_id, session_id, claimed_at, lease_until, ack_at, attempts, available_at, last_error, dead_lettered_at FROM event_claims)
		UNION ALL SELECT 'd', event_id, handler_id, namespace, failed_at, attempts, last_error, event_type, event_payload, root_event_id, chain_depth FROM dead_letters
		UNION ALL SELECT 's', *, '', '', '', '', '' FROM sessions)`
	before := query(t, path, show)
	adopt(t, open(t, path, &sqlite.Options{Now: afterwards}))
	if after := query(t, path, show); after != before {
		t.Errorf("got\n%s\nwant\n%s", after, before)
	}
	for table, want := range map[string]string{
		"events":       "id,namespace,type,payload,created_at,priority,root_event_id,chain_depth,onto_seq",
		"event_claims": "event_id,handler_id,session_id,claimed_at,lease_until,ack_at,attempts,available_at,last_error,dead_lettered_at",
		"dead_letters": "id,event_id,handler_id,namespace,failed_at,attempts,last_error,event_type,event_payload,root_event_id,chain_depth",
	} {
		if got := query(t, path, `SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info('`+table+`') ORDER BY cid)`); !strings.HasPrefix(got, want+",") {
			t.Errorf("%s has the columns %s", table, got)
		}
	}
}

// makeFormat3 makes a file as format 3 was, with two commits.
func makeFormat3(t *testing.T) string {
	t.Helper()
	path := makeDocumentedFile(t)
	var drop []string
	for _, table := range []string{"events", "event_claims", "dead_letters", "sessions", "onto_bus", "onto_event_queues", "onto_event_ready",
		"onto_event_keys", "onto_event_behind", "onto_event_schedules", "onto_positions"} {
		drop = append(drop, "DROP TABLE "+table)
	}
	runSQL(t, path, strings.Join(append(drop, "UPDATE onto_meta SET format = 3"), ";"))
	return path
}

// A file of format 3 can be read as it is, without events, and has them once it was
// opened for writing. Also if the original program has made its tables in it.
func TestUpgradeFromFormat3(t *testing.T) {
	for _, theirs := range []bool{false, true} {
		path, clock := makeFormat3(t), newBusClock()
		if theirs {
			dump := string(read(t, filepath.Join("testdata", "original-v1.sql")))
			from, to := strings.Index(dump, "CREATE TABLE events"), strings.Index(dump, "DELETE FROM sqlite_sequence")
			runSQL(t, path, dump[from:to])
		}
		reader, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if info, err := reader.Describe(t.Context(), true); err != nil || info.Format != 3 {
			t.Errorf("opened for reading: got format %d, error %v; want 3", info.Format, err)
		}
		wantFields(t, reader, onto.EntityID("Thing", "a"), 1, `{"id":"a","n":1}`)
		wantScan(t, reader, "Thing", "a")
		if got := busCodes(t, reader); !slices.Equal(got, []string{"endpoint_missing"}) {
			t.Errorf("opened for reading: got findings %v", got)
		}
		wantNoBus(t, reader)

		b := open(t, path, &sqlite.Options{Now: clock.Now})
		if info, err := b.Describe(t.Context(), true); err != nil || info.Format != sqlite.Format {
			t.Errorf("opened for writing: got format %d, error %v; want %d", info.Format, err, sqlite.Format)
		}
		wantFields(t, b, onto.EntityID("Thing", "a"), 1, `{"id":"a","n":1}`)
		if got := query(t, path, `SELECT derived FROM onto_meta`); got != "1" {
			t.Errorf("got %s changes of what is derived, want only the first", got)
		}
		draft := thingDraft("new", 1)
		draft.Events = []backend.NewEvent{newEvent("e1 T"), newEvent("e2 T k")}
		if _, err := b.Append(t.Context(), draft); err != nil {
			t.Fatal(err)
		}
		mustSettle(t, b, backend.Ack, claim(t, b, request(9), "e1", "e2")...)
		if theirs {
			got, err := b.Claim(t.Context(), payments(9))
			if err != nil || orders(got.Claims) != "o5" {
				t.Errorf("claimed %s, error %v", orders(got.Claims), err)
			}
		}
	}
}

// wantNoBus asks a store that has no events everything about them.
func wantNoBus(t *testing.T, b *sqlite.Backend) {
	t.Helper()
	errs := map[string]error{}
	for _, err := range b.Events(t.Context(), &backend.EventQuery{}) {
		errs["events"] = err
	}
	for _, err := range b.DeadLetters(t.Context(), &backend.DeadLetterQuery{}) {
		errs["dead letters"] = err
	}
	_, errs["namespaces"] = b.Namespaces(t.Context())
	_, errs["positions"] = b.Positions(t.Context())
	_, errs["clean"] = b.Clean(t.Context(), &backend.Cleaning{}, nil)
	if len(errs) != 5 {
		t.Errorf("got %v, want 5 errors", errs)
	}
	for what, err := range errs {
		if onto.CodeOf(err) != onto.Unsupported || onto.HintOf(err).Text == "" {
			t.Errorf("%s: got %v, want Unsupported with a hint", what, err)
		}
	}
	_, err := b.Emit(t.Context(), &backend.Emission{})
	if onto.CodeOf(err) != onto.ReadOnly {
		t.Errorf("emit: got %v, want ReadOnly", err)
	}
}

// A check of such a file finds nothing wrong with its types, whatever their names, and
// finds an edit.
func TestOriginalTypesAreIntact(t *testing.T) {
	path := originalFile(t)
	const odd = `{"entity_name": "Gr\u00f6\u00dfe", "fields": {"id\ud83d\ude00": {"index": false, "primary_key": true, "type": "<class ''str''>"}}}`
	runSQL(t, path, `INSERT INTO schema_registry VALUES ('entity', 'Größe', '`+odd+`');
		INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, reason) VALUES
		('entity', 'Größe', 1, '`+odd+`', '130da5bcb507b0931a1b789fd56505671331513fe84adf36a2a6400b7a011444', '2026-11-15T19:25:25.883880+00:00', 'initial')`)
	if got := findings(t, path); slices.Contains(got, "schema_hash") {
		t.Errorf("got findings %v", got)
	}
	runSQL(t, path, `UPDATE schema_versions SET schema_json = replace(schema_json, '"nick"', '"nock"')`)
	if got := findings(t, path); !slices.Contains(got, "schema_hash") {
		t.Errorf("after an edit: got findings %v", got)
	}
}

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

// Events that handlers of the original have claimed wait for these, before the file is
// adopted and after.
func TestClaimedTypesHaveHandlers(t *testing.T) {
	b := opened(t, originalFile(t), nil)
	for range 2 {
		for _, f := range examined(t, b, true) {
			if f.Code == "events_unhandled" {
				t.Errorf("got %s", f.Message)
			}
		}
		adopt(t, b)
	}
}
