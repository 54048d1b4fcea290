package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
)

// The original program and two handles of a store work on the same events in random
// steps. No event is lost, stuck or claimed after its ack; the check finds no fault at any
// time.
func TestEventsAtRandom(t *testing.T) {
	t.Parallel()
	const steps = 120
	total := 0
	for seed := range effort.Seeds(t, 400) {
		if total == 10*steps && !effort.Thorough(t) {
			break
		}
		total += steps
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			playRandom(t, rand.New(rand.NewPCG(seed, 15)), steps)
		})
	}
	t.Logf("%d steps", total)
}

// random is a run of random steps.
type random struct {
	*testing.T
	*rand.Rand
	clock   *busClock
	handles [2]*sqlite.Backend
	b       *sqlite.Backend // the one whose turn it is
	o       *documentedBus
	n       int
	ours    []onto.Claim
	done    map[string]bool // events that we have acked or buried
	log     []string
}

func playRandom(t *testing.T, r *rand.Rand, steps int) {
	path, clock := filepath.Join(t.TempDir(), "bus.db"), newBusClock()
	makeThings(t, path)
	p := &random{T: t, Rand: r, clock: clock, o: openDocumentedBus(t, path, clock), done: map[string]bool{}}
	for i := range p.handles {
		p.handles[i] = open(t, path, &sqlite.Options{Now: clock.Now})
	}
	b, o := p.handles[0], p.o
	for range steps {
		clock.advance(time.Millisecond)
		p.b = p.handles[p.IntN(2)]
		p.step()
		if t.Failed() {
			break
		}
		if p.IntN(8) == 0 {
			backendtest.Check(t, b)
		}
	}
	clock.advance(time.Hour)
	if !t.Failed() {
		drain(t, b, clock)
		clock.advance(time.Hour) // keys of what they have settled are free again
		drain(t, b, clock)
		if left := o.eligible("h", 99, "T", "U"); left != nil {
			t.Errorf("%v are never claimed", left)
		}
		if got := busCodes(t, b); got != nil {
			t.Errorf("got findings %v", got)
		}
	}
	if t.Failed() {
		t.Log(query(t, path, `SELECT 'in play', handler_id, ordering_key, event_id FROM onto_event_keys
			UNION ALL SELECT 'behind', seq, ordering_key, event_id FROM onto_event_behind
			UNION ALL SELECT 'ready', queue, seq, event_id FROM onto_event_ready
			UNION ALL SELECT 'claim ' || event_id, session_id, coalesce(ack_at, dead_lettered_at), onto_queued FROM event_claims`))
		t.Logf("steps:\n%s", strings.Join(p.log, "\n"))
	}
}

func (p *random) say(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }

func (p *random) step() {
	p.Helper()
	types := [][]string{{"T"}, {"U"}, {"T", "U"}}[p.IntN(3)]
	switch p.IntN(10) {
	case 0, 1:
		p.n++
		spec := fmt.Sprintf("e%d %s %s %d", p.n, types[0], []string{"-", "k", "l"}[p.IntN(3)], 100+p.IntN(2))
		p.say("emit %s", spec)
		emit(p.T, p.b, spec)
	case 2, 3:
		got, err := p.b.Claim(p.Context(), request(1+p.IntN(3), types...))
		if err != nil {
			p.Fatal(err)
		}
		p.say("claim %v: %v", types, claimedIDs(got.Claims))
		for _, c := range got.Claims {
			if p.done[c.ID] {
				p.Errorf("%s is claimed after it was acked or buried", c.ID)
			}
		}
		p.ours = append(p.ours, got.Claims...)
	case 4, 5:
		p.settle()
	case 6:
		d := time.Duration(p.IntN(3)) * 40 * time.Second
		p.say("%s pass", d)
		p.clock.advance(d)
	case 7:
		p.commit()
	case 8:
		lost, err := p.b.Beat(p.Context(), &backend.Beat{Session: onto.Session{ID: "s", Namespace: "n"}, Claims: p.ours, Lease: time.Minute})
		if err != nil {
			p.Fatal(err)
		}
		p.say("beat; lost %v", claimedIDs(lost))
	case 9:
		p.seldom()
	}
}

// commit acks one of our claims in a commit, with an event in it.
func (p *random) commit() {
	if len(p.ours) == 0 {
		return
	}
	c := p.ours[p.IntN(len(p.ours))]
	p.n++
	draft := thingDraft(fmt.Sprint("e", p.n), p.n)
	draft.Acks, draft.Events = []onto.Claim{c}, []backend.NewEvent{newEvent(fmt.Sprintf("e%d T k", p.n))}
	_, err := p.b.Append(p.Context(), draft)
	if err != nil && onto.CodeOf(err) != onto.LeaseExpired {
		p.Fatal(err)
	}
	p.say("commit e%d with the ack of %s: %v", p.n, c.ID, onto.CodeOf(err))
	p.done[c.ID] = p.done[c.ID] || err == nil
}

// seldom makes what is derived anew, or removes old events.
func (p *random) seldom() {
	switch p.IntN(12) {
	case 0:
		p.say("rebuild")
		if _, err := p.b.RebuildProjection(p.Context(), nil); err != nil {
			p.Fatal(err)
		}
	case 1:
		p.say("clean")
		c := &backend.Cleaning{Namespace: "n", Before: p.clock.Now().Add(-time.Minute), Unhandled: p.IntN(2) == 0, Apply: true}
		if _, err := p.b.Clean(p.Context(), c, nil); err != nil {
			p.Fatal(err)
		}
	}
}

// settle settles one of our claims.
func (p *random) settle() {
	if len(p.ours) == 0 {
		return
	}
	i := p.IntN(len(p.ours))
	c := p.ours[i]
	p.ours = slices.Delete(p.ours, i, i+1)
	do := []backend.Settling{backend.Ack, backend.Ack, backend.Ack, backend.Release, backend.Return, backend.Bury}[p.IntN(6)]
	codes := settle(p.T, p.b, do, c)
	p.say("settle %s by %d: %v", c.ID, do, codes)
	p.done[c.ID] = p.done[c.ID] || codes[0] == "" && (do == backend.Ack || do == backend.Bury)
}
