package sqlite_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

// A process that emits, claims, settles, or acks in commits is killed, at random moments
// and at each point of a transaction. What it acknowledged is there, nothing is half
// there, the check is clean, and what is left can be claimed.
func TestKilledOnTheBus(t *testing.T) {
	t.Parallel()
	kills := effort.Count(t, 200)
	for _, op := range []string{"emit", "claim", "settle", "commit with ack"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			random := effort.Rand(t)
			path := filepath.Join(t.TempDir(), "killed.db")
			makeThings(t, path)
			got := &acknowledged{counts: map[string]int{}, done: map[string]bool{}}
			for i := range kills {
				points := []string{"begin", "events", "commit", "committed"}
				if op == "commit with ack" {
					points = append(points, "versions")
				}
				killWorker(t, random, "bus", []string{path, op, fmt.Sprint("w", i), "20ms"}, i, points, got.note)
				if t.Failed() {
					return
				}
				if i%10 == 9 || i == kills-1 {
					got.verify(t, path)
				}
			}
			left := drainLater(t, path)
			t.Logf("%d kills; acknowledged: %v; %d events claimed after that", kills, got.counts, left)
		})
	}
}

// killWorker starts a worker and kills it: every other one at a random moment, the others
// at a point.
func killWorker(t *testing.T, random *rand.Rand, job string, args []string, i int, points []string, note func(line string) error) {
	t.Helper()
	atPoint := i%2 == 1
	if atPoint {
		args = append(args, points[i/2%len(points)], fmt.Sprint(random.IntN(40)))
	}
	p := child.Start(t, job, args...)
	first, ended := make(chan struct{}), make(chan struct{})
	var lines []string
	go func() {
		defer close(ended)
		for line := range p.Lines() {
			if len(lines) == 0 {
				close(first)
			}
			lines = append(lines, line)
		}
	}()
	if !atPoint {
		select {
		case <-first:
		case <-ended:
		}
		timer := time.NewTimer(time.Duration(random.IntN(40_000)) * time.Microsecond) // the moment is the point of the test
		<-timer.C
		_ = p.Process.Kill()
	}
	<-ended
	if err := p.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the worker ended with %v, want it killed", err)
	}
	for _, line := range lines {
		if err := note(line); err != nil {
			t.Error(err)
		}
	}
}

// acknowledged is what workers have printed.
type acknowledged struct {
	counts map[string]int
	lines  []string
	done   map[string]bool // events that were acked or buried
}

// note takes a line. An event is never claimed after it was acked.
func (a *acknowledged) note(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	id, _, _ := strings.Cut(rest, " ")
	a.counts[word]++
	a.lines = append(a.lines, line)
	switch word {
	case "claimed":
		if a.done[id] {
			return fmt.Errorf("%s was claimed after it was acked or buried", id)
		}
	case "acked", "buried", "committed":
		if a.done[id] {
			return fmt.Errorf("%s was acked or buried twice", id)
		}
		a.done[id] = true
	}
	return nil
}

// verify fails for what was acknowledged and is not there, and for what is half there.
func (a *acknowledged) verify(t *testing.T, path string) {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() // so that the next one recovers the file
	if got := busCodes(t, b); got != nil {
		t.Errorf("got findings %v", got)
	}
	ask, end := asker(t, path)
	defer end()
	wants := map[string]string{
		"claimed":   `SELECT count(*) FROM event_claims WHERE event_id = '%[1]s'`,
		"acked":     `SELECT count(*) FROM event_claims WHERE event_id = '%s' AND session_id = '%s' AND ack_at IS NOT NULL`,
		"released":  `SELECT count(*) FROM event_claims WHERE event_id = '%[1]s' AND last_error = 'planted'`,
		"returned":  `SELECT count(*) FROM event_claims WHERE event_id = '%[1]s'`,
		"buried":    `SELECT count(*) FROM event_claims c JOIN dead_letters d USING (event_id, handler_id) WHERE event_id = '%s' AND session_id = '%s' AND dead_lettered_at IS NOT NULL`,
		"committed": `SELECT count(*) FROM event_claims c JOIN entity_history h ON h.entity_key = c.event_id AND h.commit_id = %[3]s WHERE c.event_id = '%[1]s' AND c.session_id = '%[2]s' AND c.ack_at IS NOT NULL`,
	}
	for _, line := range a.lines {
		words := strings.Fields(line)
		if words[0] == "emitted" {
			if got := ask(fmt.Sprintf(`SELECT count(*) FROM events WHERE id GLOB '%s*'`, words[1])); got != words[2] {
				t.Errorf("%s: %s of its events are there", line, got)
			}
			continue
		}
		args := []any{words[1], words[2]} // the event, and the session, which had the claim
		if words[0] == "committed" {
			args = append(args, words[3])
		}
		if got := ask(fmt.Sprintf(wants[words[0]], args...)); got != "1" {
			t.Errorf("%s: %s are there", line, got)
		}
	}
	a.lines = a.lines[:0]
	wantNothingHalf(t, ask)
}

// asker returns a function that asks a file for one value, and one that closes it.
func asker(t *testing.T, path string) (func(string) string, func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(statement string) (value string) {
		t.Helper()
		if err := db.QueryRow(statement).Scan(&value); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		return value
	}
	return ask, func() { db.Close() }
}

// wantNothingHalf fails for emissions, burials and commits with an ack of which only a
// part is there.
func wantNothingHalf(t *testing.T, ask func(string) string) {
	t.Helper()
	for what, sql := range map[string]string{
		"emissions that lack an event": `SELECT count(*) FROM events e WHERE e.id GLOB 'w*-*-[1-9]' AND NOT EXISTS (
			SELECT 1 FROM events f WHERE f.id = substr(e.id, 1, length(e.id) - 1) || (substr(e.id, -1) - 1))`,
		"emissions of one event":             `SELECT count(*) FROM events e WHERE e.id GLOB 'w*-*-0' AND NOT EXISTS (SELECT 1 FROM events f WHERE f.id = substr(e.id, 1, length(e.id) - 1) || '1')`,
		"dead claims without a dead letter":  `SELECT count(*) FROM event_claims c WHERE c.dead_lettered_at IS NOT NULL AND (SELECT count(*) FROM dead_letters d WHERE d.event_id = c.event_id) <> 1`,
		"dead letters without a dead claim":  `SELECT count(*) FROM dead_letters d WHERE NOT EXISTS (SELECT 1 FROM event_claims c WHERE c.event_id = d.event_id AND c.dead_lettered_at IS NOT NULL)`,
		"dead letters without their event":   `SELECT count(*) FROM dead_letters d WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = 'notice-' || d.event_id)`,
		"entities whose event was not acked": `SELECT count(*) FROM entity_history h WHERE h.entity_key GLOB 'w*' AND NOT EXISTS (SELECT 1 FROM event_claims c WHERE c.event_id = h.entity_key AND c.ack_at IS NOT NULL)`,
		"entities without the event in the commit": `SELECT count(*) FROM entity_history h WHERE h.entity_key GLOB 'w*' AND NOT EXISTS (
			SELECT 1 FROM events e WHERE e.id = 'after-' || h.entity_key AND e.commit_id = h.commit_id)`,
		"events in a commit without the entity": `SELECT count(*) FROM events e WHERE e.commit_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entity_history h WHERE 'after-' || h.entity_key = e.id)`,
		"events handled by two commits":         `SELECT count(*) FROM (SELECT 1 FROM entity_history WHERE entity_key GLOB 'w*' GROUP BY entity_key HAVING count(*) > 1)`,
		"commits out of the order of a key": `SELECT count(*) FROM (SELECT h.commit_id < lag(h.commit_id) OVER (PARTITION BY e.ordering_key ORDER BY e.onto_seq) AS back
			FROM events e JOIN entity_history h ON h.entity_key = e.id WHERE e.ordering_key IS NOT NULL) WHERE back`,
	} {
		if got := ask(sql); got != "0" {
			t.Errorf("%s %s", got, what)
		}
	}
}

// drainLater claims and acks everything an hour from now, when all leases have ended, and
// returns how many events that were.
func drainLater(t *testing.T, path string) int {
	t.Helper()
	b := open(t, path, &sqlite.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	ask, end := asker(t, path)
	defer end()
	for n := 0; ; {
		got, err := b.Claim(t.Context(), request(500, "T"))
		if err != nil {
			t.Fatal(err)
		}
		mustSettle(t, b, backend.Ack, got.Claims...)
		if n += len(got.Claims); len(got.Claims) > 0 {
			continue
		}
		if left := ask(`SELECT count(*) FROM events e WHERE e.type = 'T' AND NOT EXISTS (
			SELECT 1 FROM event_claims c WHERE c.event_id = e.id AND c.handler_id = 'h' AND (c.ack_at IS NOT NULL OR c.dead_lettered_at IS NOT NULL))`); left != "0" {
			t.Errorf("%s events are never claimed", left)
		}
		if got := busCodes(t, b); got != nil {
			t.Errorf("at the end: got findings %v", got)
		}
		return n
	}
}

// Two processes claim, settle and commit on the same events, with leases so short that
// they often lose them. No event is handled twice in effect, and those of a key in order.
func TestTwoProcessesOnTheBus(t *testing.T) {
	t.Parallel()
	for _, ops := range [][2]string{{"commit with ack", "commit with ack"}, {"settle", "settle"}, {"commit with ack", "claim"}} {
		t.Run(ops[0]+" and "+ops[1], func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "shared.db")
			makeThings(t, path)
			lines := workTogether(t, path, ops, effort.Count(t, 30_000))
			got := &acknowledged{counts: map[string]int{}, done: map[string]bool{}}
			for _, line := range append(lines[0], lines[1]...) {
				if strings.HasPrefix(line, "claimed") { // their order is not known
					got.counts["claimed"]++
					continue
				}
				if err := got.note(line); err != nil {
					t.Error(err)
				}
			}
			for i := range lines {
				if len(lines[i]) == 0 {
					t.Errorf("worker %d never came to its turn", i)
				}
			}
			got.verify(t, path)
			left := drainLater(t, path)
			t.Logf("acknowledged: %v; %d events claimed after that", got.counts, left)
		})
	}
}

// workTogether runs two workers until they have printed so many lines, and each of them
// one. It returns the lines of each.
func workTogether(t *testing.T, path string, ops [2]string, enough int) (lines [2][]string) {
	t.Helper()
	type printed struct {
		worker int
		line   string // "" at the end
	}
	all := make(chan printed)
	var workers []*child.Process
	for i, op := range ops {
		p := child.Start(t, "bus", path, op, fmt.Sprint("w", i), "3ms")
		workers = append(workers, p)
		go func() {
			for line := range p.Lines() {
				all <- printed{i, line}
			}
			all <- printed{i, ""}
		}()
	}
	for n, left := 0, len(workers); left > 0; n++ {
		p := <-all
		if p.line != "" {
			lines[p.worker] = append(lines[p.worker], p.line)
		} else {
			left--
			if err := workers[p.worker].Wait(); err != nil {
				t.Errorf("worker %d: %v", p.worker, err)
			}
		}
		if n >= enough && len(lines[0]) > 0 && len(lines[1]) > 0 || p.line == "" {
			for _, w := range workers {
				w.Stdin.Close()
			}
		}
	}
	return lines
}
