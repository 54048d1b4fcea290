package terminal

import (
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
)

// Events is a list of events.
func Events(p *Printer) *List[backend.EventState] {
	columns := append(WholeColumns("id", "type", "status", "priority", "time"), Columns("ordering_key", "payload")...)
	columns[5].Label = "key"
	return Rows(p, columns, document.NewEventState, eventCells)
}

func eventCells(e backend.EventState) ([]string, error) {
	return []string{
		e.ID, e.Type, string(e.Status), strconv.Itoa(e.Priority), Time(e.Time), e.OrderingKey, string(e.Payload),
	}, nil
}

// Claims is a list of the claims on an event.
func Claims(p *Printer) *List[onto.ClaimState] {
	columns := append(WholeColumns("handler", "state", "attempts", "deliveries", "claimed", "until"), Columns("session", "error")...)
	return Rows(p, columns, document.NewClaim, claimCells)
}

func claimCells(c onto.ClaimState) ([]string, error) {
	state, until := "claimed", c.Until
	switch {
	case !c.Dead.IsZero():
		state, until = "dead_lettered", c.Dead
	case !c.Acked.IsZero():
		state, until = "acked", c.Acked
	case c.Available.After(c.Until):
		state, until = "waits", c.Available
	}
	return []string{
		c.Handler, state, strconv.Itoa(c.Attempts), strconv.Itoa(c.Deliveries), Time(c.Claimed), Time(until), c.Session, c.Error,
	}, nil
}

// DeadLetters is a list of dead letters.
func DeadLetters(p *Printer) *List[onto.DeadLetter] {
	columns := append(WholeColumns("id", "event_id", "event_type", "handler", "attempts", "time"), Columns("resolution", "error")...)
	return Rows(p, columns, document.NewDeadLetter, deadLetterCells)
}

func deadLetterCells(l onto.DeadLetter) ([]string, error) {
	resolution := string(l.Resolution.Kind)
	if by := l.Resolution.By.String(); by != "" {
		resolution += " by " + by
	}
	return []string{
		strconv.FormatInt(l.ID, 10), l.Event.ID, l.Event.Type, l.Handler, strconv.Itoa(l.Attempts), Time(l.Time), resolution, l.Error,
	}, nil
}

// Namespaces is a list of namespaces.
func Namespaces(p *Printer) *List[backend.Namespace] {
	return Rows(p, WholeColumns("namespace", "events", "sessions", "dead_letters"), document.NewNamespace, namespaceCells)
}

func namespaceCells(n backend.Namespace) ([]string, error) {
	return []string{
		n.Name, strconv.FormatInt(n.Events, 10), strconv.Itoa(len(n.Sessions)), strconv.FormatInt(n.DeadLetters, 10),
	}, nil
}
