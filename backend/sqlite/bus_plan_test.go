package sqlite_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// statements are those that a store prepares.
type statements struct {
	mu   sync.Mutex // guards seen
	seen map[string]bool
}

func (s *statements) add(sql string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[strings.Join(strings.Fields(sql), " ")] = true
}

// about are those that name a table, sorted.
func (s *statements) about(table *regexp.Regexp) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for sql := range s.seen {
		if table.MatchString(sql) {
			list = append(list, sql)
		}
	}
	slices.Sort(list)
	return list
}

func busTable() *regexp.Regexp {
	return regexp.MustCompile(`\b(events|event_claims|dead_letters|sessions|onto_bus|onto_event_\w+|onto_positions)\b`)
}

// Every statement of the bus finds what it needs by an index that it names, with and
// without statistics: none reads all events or claims, and those of claims and
// settlements none of the tables of what waits.
func TestPlansOfTheBus(t *testing.T) {
	path, all := recordBus(t)
	wantAllStatements(t, "internal/bus", 40, []string{"rebuild.go"}, all)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			runSQL(t, path, `ANALYZE`)
		}
		for _, sql := range all {
			if err := busPlans().judge(sql, planOf(t, path, sql)); err != nil {
				t.Errorf("with statistics: %t: %v", analyzed, err)
			}
		}
	}
	t.Logf("%d statements", len(all))
}

// A statement that names no index, or scans, is found.
func TestPlansThatScan(t *testing.T) {
	path, _ := recordBus(t)
	for _, sql := range []string{
		`SELECT id FROM events WHERE onto_seq IS NULL ORDER BY created_at, id LIMIT ?`,
		`SELECT count(*) FROM events e WHERE e.chain_depth = ?`,
		`SELECT 1 FROM event_claims c WHERE c.event_id = ? AND c.handler_id = ?`,
		`SELECT 1 FROM onto_event_ready r WHERE r.event_id = ?`,
		`UPDATE event_claims SET ack_at = ? WHERE session_id = ?`,
		`DELETE FROM onto_event_behind WHERE event_id = ?`,
	} {
		if busPlans().judge(sql, planOf(t, path, sql)) == nil {
			t.Errorf("nothing is said about: %s", sql)
		}
	}
}

// planRules say what the plans of statements may do.
type planRules struct {
	grows   []string          // tables that no statement may read as a whole
	named   []string          // tables of which statements name the index
	sorted  bool              // what has a limit is found in its order
	mayScan map[string]string // statements that may read a whole table, and why
}

func busPlans() planRules {
	return planRules{
		grows: []string{"events", "event_claims", "onto_event_ready", "onto_event_behind", "onto_event_keys"},
		named: []string{"events", "event_claims"},
		mayScan: map[string]string{
			`DELETE FROM onto_event_keys WHERE handler_id = ?`:   "a handler is forgotten in all namespaces, by hand",
			`DELETE FROM onto_event_behind WHERE handler_id = ?`: "a handler is forgotten in all namespaces, by hand",
		},
	}
}

// judge fails if a statement scans a table that grows, or does not name its index.
func (p planRules) judge(sql string, plan []string) error {
	named := map[string]string{} // tables, by their names in the statement
	for _, m := range regexp.MustCompile(`\b(?:FROM|JOIN|UPDATE|INTO) (\w+)(?: AS)?(?: ([a-z]\w*))?`).FindAllStringSubmatch(sql, -1) {
		named[m[1]] = m[1]
		if m[2] != "" {
			named[m[2]] = m[1]
		}
	}
	if _, excepted := p.mayScan[sql]; excepted {
		return nil
	}
	for _, line := range plan {
		words := strings.Fields(line)
		if len(words) < 2 || !slices.Contains(p.grows, named[words[1]]) {
			continue
		}
		if words[0] == "SCAN" || strings.Contains(line, "AUTOMATIC") {
			return fmt.Errorf("%s\nreads all of %s: %s", sql, named[words[1]], strings.Join(plan, "; "))
		}
	}
	if p.sorted && strings.Contains(sql, "LIMIT") && strings.Contains(strings.Join(plan, "; "), "TEMP B-TREE") {
		return fmt.Errorf("%s\nsorts what it finds: %s", sql, strings.Join(plan, "; "))
	}
	unnamed := regexp.MustCompile(`\b(?:FROM|JOIN|UPDATE) (?:` + strings.Join(p.named, "|") + `)(?: [a-z])?(?: (?:SET|ON|WHERE|CROSS|LEFT|ORDER|GROUP|LIMIT)\b|\)|$)`)
	if m := unnamed.FindString(sql); m != "" {
		return fmt.Errorf("%s\nnames no index at %q", sql, m)
	}
	return nil
}

// planOf is what SQLite would do, with all arguments NULL.
func planOf(t *testing.T, path, statement string) []string {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	explain, n := "EXPLAIN QUERY PLAN "+statement, 0
	err = c.Raw(func(raw any) error {
		s, err := raw.(driver.Conn).Prepare(explain)
		if err != nil {
			return err
		}
		n = s.NumInput()
		return s.Close()
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	rows, err := c.QueryContext(t.Context(), explain, make([]any, n)...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	return plan
}

// wantAllStatements fails if a statement in the source of a package, which has at least so
// many, was never run. Files that read everything are left out.
func wantAllStatements(t *testing.T, folder string, least int, without, all []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, error %v", files, err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || slices.Contains(without, filepath.Base(name)) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			text = strings.Join(strings.Fields(text), " ")
			if !regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE) `).MatchString(text) {
				return true
			}
			found++
			if !slices.ContainsFunc(all, func(sql string) bool { return strings.Contains(sql, text) }) {
				t.Errorf("%s: never run: %s", name, text)
			}
			return true
		})
	}
	if found < least {
		t.Errorf("found only %d statements; does the search still know how they are written?", found)
	}
}

// recordBus does everything that a bus can do on a file with many acked events, and
// returns the statements that this took.
func recordBus(t *testing.T) (string, []string) {
	t.Helper()
	path, clock := filepath.Join(t.TempDir(), "bus.db"), newBusClock()
	makeThings(t, path)
	b := open(t, path, &sqlite.Options{Now: clock.Now})
	seen := &statements{seen: map[string]bool{}}
	b.OnPrepare(seen.add)
	workAll(t, b, clock)
	clock.advance(time.Hour)
	drain(t, b, clock)
	emit(t, b, "ahead T")
	clock.advance(48 * time.Hour) // which is wrong
	claim(t, b, request(1), "ahead")
	clock.advance(-48 * time.Hour)
	mustSettle(t, b, backend.Ack, claim(t, b, request(1), "ahead")...)
	readAll(t, b)
	cleanAll(t, b, clock)
	manyAcked(t, b, 12_000)
	return path, seen.about(busTable())
}

// manyAcked emits events, more than one transaction brings into place, and acks them.
func manyAcked(t *testing.T, b *sqlite.Backend, n int) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		e := &backend.Emission{}
		for i := range 1000 {
			e.Events = append(e.Events, newEvent(fmt.Sprintf("m%d T", from+i)))
		}
		if _, err := b.Emit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	r := request(1000)
	for {
		got, err := b.Claim(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Claims) == 0 {
			return
		}
		r.Settle = nil
		for _, c := range got.Claims {
			r.Settle = append(r.Settle, backend.Settlement{Claim: c, Do: backend.Ack})
		}
	}
}

// workAll emits, claims and settles in every way.
func workAll(t *testing.T, b *sqlite.Backend, clock *busClock) {
	t.Helper()
	delayed := newEvent("delayed T")
	delayed.Delay = time.Minute
	draft := thingDraft("ride", 1)
	draft.Events = []backend.NewEvent{newEvent("ride T"), delayed}
	draft.Advance = &onto.Advance{Name: "p", To: 1}
	if _, err := b.Append(t.Context(), draft); err != nil {
		t.Fatal(err)
	}
	emit(t, b, "a T", "b T", "c T", "d T", "e T", "f U", "g U", "k1 T k", "k2 U k", "k3 T k")
	claims := claim(t, b, request(20), "ride", "a", "b", "c", "d", "e", "f", "g", "k1")
	mustSettle(t, b, backend.Start, claims[0])
	mustSettle(t, b, backend.Release, claims[1])
	mustSettle(t, b, backend.Return, claims[2])
	notice := newEvent("notice event.dead_letter")
	for _, list := range [][]backend.Settlement{{{Claim: claims[3], Do: backend.Bury, Error: "planted", Notice: &notice}}, {{Claim: claims[4], Do: backend.Bury, Error: "planted"}}} {
		if _, err := b.Settle(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	beat := &backend.Beat{Session: onto.Session{ID: "s", Namespace: "n"}, Claims: claims[:2], Lease: time.Minute}
	if lost, err := b.Beat(t.Context(), beat); err != nil || len(lost) != 1 {
		t.Errorf("got %v, error %v; want one that is lost", lost, err)
	}
	draft = thingDraft("ack", 1)
	draft.Acks = claims[5:6]
	draft.Advance = &onto.Advance{Name: "p", From: 1, To: 0}
	if _, err := b.Append(t.Context(), draft); err != nil {
		t.Fatal(err)
	}
	clock.advance(time.Hour) // what is claimed is queued, and still held
	claim(t, b, request(0))
	beat.Claims = claims[6:7]
	if lost, err := b.Beat(t.Context(), beat); err != nil || lost != nil {
		t.Errorf("got %v, error %v; want none lost", lost, err)
	}
	mustSettle(t, b, backend.Ack, claims[7], claims[8])
	if err := b.Advance(t.Context(), onto.Advance{Name: "q", To: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Emit(t.Context(), &backend.Emission{Tick: &backend.Tick{Namespace: "n", Schedule: "daily", Time: clock.Now()},
		Resolve: []backend.DeadLetterEnd{{ID: 1, Kind: onto.Dropped, By: onto.Operator("ana")}}})
	if err != nil {
		t.Fatal(err)
	}
	beat.End = true
	if _, err := b.Beat(t.Context(), beat); err != nil {
		t.Fatal(err)
	}
}

// readAll asks every question.
func readAll(t *testing.T, b *sqlite.Backend) {
	t.Helper()
	for _, q := range []backend.EventQuery{{ID: "a"}, {Commit: 1}, {}, {Namespace: "n"}, {Types: []string{"T", "U"}}, {Status: onto.EventDead}, {Limit: 2}} {
		status(t, b, q)
	}
	for _, q := range []backend.DeadLetterQuery{{}, {Namespace: "n", IDs: []int64{1}, EventID: "c", Handler: "h", Type: "T", Error: "p", Resolved: true, Limit: 3}} {
		for _, err := range b.DeadLetters(t.Context(), &q) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := b.Namespaces(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Types(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Positions(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// cleanAll cleans in every way.
func cleanAll(t *testing.T, b *sqlite.Backend, clock *busClock) {
	t.Helper()
	emit(t, b, "o1 T o", "o2 T o")
	claim(t, b, request(1), "o1")
	clock.advance(time.Hour)
	for _, c := range []backend.Cleaning{
		{Before: clock.Now()},
		{Before: clock.Now().Add(-24 * time.Hour), Namespace: "n", Forget: []string{"other"}, Apply: true},
		{Before: clock.Now(), Unhandled: true, Forget: []string{"h"}, Apply: true},
	} {
		if _, err := b.Clean(t.Context(), &c, nil); err != nil {
			t.Fatal(err)
		}
	}
}
