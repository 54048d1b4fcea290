package backendtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// eventID is the id of an event of the tests. Ids are not in the order of numbers, since
// nothing says that events arrive in the order of their ids.
func eventID(n int) string { return fmt.Sprintf("%08x-0000-7000-8000-%012d", uint32(n)*2654435761, n) }

// eventName is the short form of an id.
func eventName(id string) string {
	if id == "" {
		return "-"
	}
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	if err != nil || eventID(n) != id {
		return id
	}
	return fmt.Sprintf("e%d", n)
}

func claimNames(claims []onto.Claim) string {
	names := make([]string, len(claims))
	for i, c := range claims {
		names[i] = eventName(c.ID)
	}
	return strings.Join(names, " ")
}

// showTime leaves out the date of the tests, and shows what is too fine to be stored.
func showTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	layout := "2006-01-02T15:04:05.000000Z"
	if t.Nanosecond()%1000 != 0 {
		layout = "2006-01-02T15:04:05.000000000Z"
	}
	return strings.TrimPrefix(t.UTC().Format(layout), "2026-02-10T")
}

func showEvent(e onto.Event) string {
	text := fmt.Sprintf("%s %s/%s %s at %s, priority %d, root %s, depth %d, parent %s", eventName(e.ID), e.Namespace, e.Type,
		e.Payload, showTime(e.Time), e.Priority, eventName(e.Root), e.Depth, eventName(e.Parent))
	if e.OrderingKey != "" {
		text += fmt.Sprintf(", key %q", e.OrderingKey)
	}
	if !e.NotBefore.IsZero() {
		text += ", not before " + showTime(e.NotBefore)
	}
	if e.ReplayOf != "" {
		text += ", replays " + eventName(e.ReplayOf)
	}
	if e.Commit != 0 {
		text += fmt.Sprintf(", in commit %d", e.Commit)
	}
	return text
}

func showEvents(list []onto.Event) string {
	text := fmt.Sprintf("%d events", len(list))
	for _, e := range list {
		text += "\n\t" + showEvent(e)
	}
	return text
}

func showClaim(c onto.Claim) string {
	return fmt.Sprintf("%s, claimed by %s of %s at %s until %s, %d attempts, %d deliveries, lost %v", showEvent(c.Event),
		c.Handler, c.Session, showTime(c.Claimed), showTime(c.Until), c.Attempts, c.Deliveries, c.Lost)
}

func showState(e backend.EventState) string {
	text := fmt.Sprintf("%s: %s", e.Status, showEvent(e.Event))
	for _, c := range e.Claims {
		text += "\n\t" + showClaimState(c)
	}
	return text
}

func showClaimState(c onto.ClaimState) string {
	return fmt.Sprintf("%s of %s at %s until %s, available %s, acked %s, dead %s, %d attempts, %d deliveries, error %q", c.Handler, c.Session,
		showTime(c.Claimed), showTime(c.Until), showTime(c.Available), showTime(c.Acked), showTime(c.Dead), c.Attempts, c.Deliveries, c.Error)
}

func showLetter(l onto.DeadLetter) string {
	text := fmt.Sprintf("letter %d: %s, given up by %s at %s after %d attempts and %d deliveries: %q", l.ID, showEvent(l.Event), l.Handler,
		showTime(l.Time), l.Attempts, l.Deliveries, l.Error)
	if r := l.Resolution; r != (onto.Resolution{}) {
		text += fmt.Sprintf(", %s at %s by %s with %s", r.Kind, showTime(r.Time), r.By, eventName(r.Replay))
	}
	return text
}

func showNamespace(n backend.Namespace) string {
	text := fmt.Sprintf("namespace %s: %d events, %d dead letters", n.Name, n.Events, n.DeadLetters)
	for _, s := range n.Sessions {
		text += fmt.Sprintf("\n\tsession %s in %s since %s, beat %s, %s", s.ID, s.Namespace, showTime(s.Started), showTime(s.Beat), s.Metadata)
	}
	for _, s := range n.Dead {
		text += fmt.Sprintf("\n\tdead session %s in %s since %s, beat %s, %s", s.ID, s.Namespace, showTime(s.Started), showTime(s.Beat), s.Metadata)
	}
	for _, h := range n.Handlers {
		text += fmt.Sprintf("\n\thandler %s of %s: %d waiting, %d claimed", h.Name, strings.Join(h.Types, " "), h.Waiting, h.Claimed)
	}
	for _, t := range n.Types {
		text += fmt.Sprintf("\n\ttype %s: %d events, handled %v", t.Name, t.Events, t.Handled)
	}
	for _, t := range n.Schedules {
		text += fmt.Sprintf("\n\tschedule %s/%s at %s", t.Namespace, t.Schedule, showTime(t.Time))
	}
	return text
}

func showPositions(list []onto.Position) string {
	text := "positions"
	for _, p := range list {
		text += fmt.Sprintf(" %s at %d", p.Name, p.Commit)
	}
	return text
}

func showPlan(p backend.CleanPlan) string {
	text := fmt.Sprintf("%d events, %d claims, %d bytes, %d kept", p.Events, p.Claims, p.Bytes, p.Kept)
	for _, t := range p.Types {
		text += fmt.Sprintf("; %s/%s: %d and %d kept", t.Namespace, t.Type, t.Events, t.Kept)
	}
	return text
}

func showSettling(do backend.Settling) string {
	return [...]string{"nothing", "start", "ack", "release", "return", "bury"}[do]
}
