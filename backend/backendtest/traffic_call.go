package backendtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// trafficCall makes a call and formats its answer. It is made twice: the second time on
// the reference, when it counts what happened.
type trafficCall func(ctx context.Context, b backend.Backend, count bool) string

// call returns the call of a step, or nil if there is none to make.
func (r *traffic) call(m *move) trafficCall {
	switch m.Do {
	case emit:
		return r.emission(&backend.Emission{Events: r.newEvents(m.Events)})
	case tickDeed:
		t := r.place.Now().Truncate(time.Hour).Add(time.Duration(m.To) * time.Minute)
		return r.emission(&backend.Emission{
			Events: r.newEvents(m.Events),
			Tick:   &backend.Tick{Namespace: busNamespaces()[m.Namespace], Schedule: []string{"daily", "hourly"}[m.Which], Time: t},
		})
	case resolve:
		return r.resolution(m)
	case claimDeed:
		return r.claiming(m)
	case settleDeed:
		list := r.settlements(m.Settle)
		return func(ctx context.Context, b backend.Backend, count bool) string {
			verdicts, err := busOf(b).Settle(ctx, list)
			return outcome(r.verdicts(list, verdicts, count), err)
		}
	case beatDeed:
		return r.beating(m)
	case commitDeed, streamDeed, again:
		return r.appending(m)
	case advance:
		return r.advancing(m)
	case cleanDeed:
		c := m.cleaning(r.place.Now())
		return func(ctx context.Context, b backend.Backend, count bool) string {
			plan, err := busOf(b).Clean(ctx, c, nil)
			if count && c.Apply && err == nil {
				r.counts["events removed"] += int(plan.Events)
				r.counts["events kept"] += int(plan.Kept)
				r.counts["handlers forgotten"] += len(c.Forget)
			}
			return outcome(showPlan(plan), err)
		}
	case inspect:
		return r.inspection(m)
	}
	return nil
}

func (r *traffic) emission(e *backend.Emission) trafficCall {
	return func(ctx context.Context, b backend.Backend, count bool) string {
		list, err := busOf(b).Emit(ctx, e)
		if count {
			r.counts["emitted"] += len(list)
			if err == nil && e.Tick != nil {
				r.counts[map[bool]string{true: "ticks", false: "ticks not fired"}[len(list) == len(e.Events) && len(list) > 0]]++
			}
		}
		return outcome(showEvents(list), err)
	}
}

// resolution resolves dead letters among those there are, and one more.
func (r *traffic) resolution(m *move) trafficCall {
	letters := int64(0)
	for _, err := range busOf(r.reference).DeadLetters(r.Context(), &backend.DeadLetterQuery{Resolved: true}) {
		if err != nil {
			r.Fatal(err)
		}
		letters++
	}
	e := &backend.Emission{Events: r.newEvents([]sketch{{Depth: 1}})}
	for _, n := range m.Acks {
		end := backend.DeadLetterEnd{ID: max(1, letters+1-int64(n)), Kind: onto.Replayed, By: onto.Operator("ana"), Replay: e.Events[0].ID}
		if m.Flag {
			end.Kind, end.Replay = onto.Dropped, ""
		}
		e.Resolve = append(e.Resolve, end)
	}
	if m.Apply {
		e.Tick = &backend.Tick{Namespace: "a", Schedule: "replays", Time: r.place.Now().Truncate(time.Minute)}
	}
	send := r.emission(e)
	return func(ctx context.Context, b backend.Backend, count bool) string {
		text := send(ctx, b, count)
		if count {
			first, _, _ := strings.Cut(text, "\n")
			r.counts["resolution: "+first]++
		}
		return text
	}
}

func (r *traffic) claiming(m *move) trafficCall {
	q := &backend.ClaimRequest{
		Namespace: busNamespaces()[m.Namespace], Handler: busHandlers()[m.Handler], Types: names(busTypes(), m.Types),
		Session: busSessions()[m.Session], Limit: m.Limit, Lease: m.Lease, Settle: r.settlements(m.Settle),
	}
	return func(ctx context.Context, b backend.Backend, count bool) string {
		got, err := busOf(b).Claim(ctx, q)
		if r.place.Now().Before(r.latest) { // claims that fell due before may be claimed by now, or not again yet
			got.Next = time.Time{}
		}
		text := fmt.Sprintf("verdicts %s, next %s", r.verdicts(q.Settle, got.Verdicts, count), showTime(got.Next))
		for _, c := range got.Claims {
			text += "\n      " + showClaim(c)
			if !count {
				continue
			}
			r.counts["claimed"]++
			if c.Lost {
				r.counts["claimed after a loss"]++
			}
			if c.OrderingKey != "" {
				r.counts["claimed with a key"]++
			}
		}
		if count {
			r.claims = append(r.claims, got.Claims...)
		}
		return outcome(text, err)
	}
}

func (r *traffic) beating(m *move) trafficCall {
	beat := &backend.Beat{
		Session: onto.Session{ID: busSessions()[m.Session], Namespace: busNamespaces()[m.Namespace]},
		Claims:  r.someClaims(m.Acks), Lease: m.Lease, End: m.Flag,
	}
	if m.Which > 0 {
		beat.Metadata = fmt.Appendf(nil, `{"pid":%d}`, m.Which)
	}
	return func(ctx context.Context, b backend.Backend, count bool) string {
		lost, err := busOf(b).Beat(ctx, beat)
		text := fmt.Sprintf("%d lost", len(lost))
		for _, c := range lost {
			text += "\n      " + showClaim(c)
		}
		if count && err == nil && !beat.End {
			r.counts["beats for claims lost"] += len(lost)
			r.counts["beats for claims held"] += len(beat.Claims) - len(lost)
		}
		return outcome(text, err)
	}
}

// draft makes the draft of a step.
func (r *traffic) draft(m *move) trafficDraft {
	d := draft()
	if m.Write > 0 {
		d = draft(put(person("ada"), m.Write))
	}
	if m.Key > 0 {
		d.IdempotencyKey = fmt.Sprint("key ", m.Key)
	}
	head, err := r.reference.Resolve(r.Context(), onto.Point{})
	if err != nil {
		r.Fatal(err)
	}
	if m.Expect > 0 {
		d.Expect = []onto.Expectation{headIs(head.ID + int64(m.Expect) - 1)}
	}
	d.Events = r.newEvents(m.Events)
	d.Acks = r.someClaims(m.Acks)
	for i := range d.Acks {
		d.Acks[i].Attempts = r.attempts(&d.Acks[i])
	}
	if m.From < 2 {
		a := r.advance(m)
		d.Advance = &a
	}
	return trafficDraft{d, m.Do == streamDeed}
}

// attempts is how often a handler has failed at an event, as the reference has it: acks
// in drafts do not change it.
func (r *traffic) attempts(c *onto.Claim) int {
	for e, err := range busOf(r.reference).Events(r.Context(), &backend.EventQuery{ID: c.ID}) {
		if err != nil {
			r.Fatal(err)
		}
		for _, state := range e.Claims {
			if state.Handler == c.Handler {
				return state.Attempts
			}
		}
	}
	return c.Attempts
}

func (r *traffic) appending(m *move) trafficCall {
	d := r.draft(m)
	if m.Do == again {
		if len(r.sent) == 0 {
			return nil
		}
		first := r.sent[len(r.sent)-1-m.Which%len(r.sent)]
		repeated := *first.draft
		repeated.Acks, repeated.Advance = d.draft.Acks, d.draft.Advance
		repeated.Events = nil
		for _, e := range first.draft.Events {
			r.events++
			e.ID = eventID(r.events) // a caller that tries again makes new ids
			repeated.Events = append(repeated.Events, e)
		}
		d = trafficDraft{&repeated, first.stream}
	} else {
		r.sent = append(r.sent, d)
	}
	return func(ctx context.Context, b backend.Backend, count bool) string {
		var res onto.Result
		var err error
		if header := *d.draft; d.stream {
			header.Writes = nil
			res, err = b.AppendStream(ctx, &header, sequence(d.draft.Writes, nil))
		} else {
			res, err = b.Append(ctx, d.draft)
		}
		if count {
			r.countDraft(d.draft, res, err)
		}
		return outcome(fmt.Sprintf("%s, repeated %v, holds at %d", showCommit(res.Commit), res.Repeated, res.At), err)
	}
}

func (r *traffic) countDraft(d *backend.Draft, res onto.Result, err error) {
	kind := "draft that changes nothing"
	switch {
	case err != nil:
		kind = "draft: " + outcome("", err)
	case res.Repeated:
		kind = "draft repeated"
	case res.Changed():
		kind = "draft"
	}
	if len(d.Acks) > 0 {
		kind += " with acks"
	}
	if len(d.Events) > 0 {
		kind += " with events"
	}
	r.counts[kind]++
	if err == nil && d.Advance != nil {
		r.counts["drafts with a position"]++
	}
}

// advance is where the position of a step moves.
func (r *traffic) advance(m *move) onto.Advance {
	a := onto.Advance{Name: busPositions()[m.Which%2], To: int64(m.To)}
	p, ok := backend.As[backend.Positions](r.reference)
	if !ok {
		r.Fatal("the reference keeps no positions")
	}
	list, err := p.Positions(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	for _, at := range list {
		if at.Name == a.Name {
			a.From = at.Commit
		}
	}
	a.From += int64(m.From)
	return a
}

func (r *traffic) advancing(m *move) trafficCall {
	a := r.advance(m)
	return func(ctx context.Context, b backend.Backend, count bool) string {
		p, ok := backend.As[backend.Positions](b)
		if !ok {
			return "a bus without positions"
		}
		err := p.Advance(ctx, a)
		if count {
			r.counts["advance: "+outcome("moved", err)]++
		}
		return outcome("moved", err)
	}
}

// inspection asks for some events and dead letters.
func (r *traffic) inspection(m *move) trafficCall {
	q := &backend.EventQuery{Limit: m.Limit}
	letters := &backend.DeadLetterQuery{Limit: m.Limit, Resolved: m.Which%2 == 0}
	if m.Which%3 > 0 {
		q.Types, letters.Type = names(busTypes(), m.Types), busTypes()[m.Types[0]]
	}
	if m.Which%5 > 2 {
		q.Namespace, letters.Namespace = busNamespaces()[m.Namespace], busNamespaces()[m.Namespace]
	}
	if m.Which%7 > 3 {
		q.Status = []onto.EventStatus{onto.EventDead, onto.EventAcked, onto.EventClaimed, onto.EventPending}[m.Which%4]
		letters.Handler = busHandlers()[m.Handler]
	}
	if m.Which%11 == 0 {
		q.Commit, letters.Error = int64(m.Limit), fmt.Sprint(m.Limit)
	}
	if c, ok := r.claim(m.Which); ok && m.Which%13 == 0 {
		q.ID, letters.EventID = c.ID, c.ID
	}
	if m.Which%17 == 0 {
		letters.IDs = []int64{3, 1, int64(m.Which % 9)}
	}
	return func(ctx context.Context, b backend.Backend, _ bool) string {
		return lines(busOf(b).Events(ctx, q), showState) + "\n" + lines(busOf(b).DeadLetters(ctx, letters), showLetter)
	}
}
