package terminal

import (
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
)

// Events is a list of events.
func Events(p *Printer) *List[backend.EventState] {
	columns := append(WholeColumns("id", "type", "status", "priority", "time"), Columns("key", "payload")...)
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

// DeadLetters is a list of dead letters, with what was done about them if that is wanted.
func DeadLetters(p *Printer, resolution bool) *List[onto.DeadLetter] {
	columns := WholeColumns("id", "event", "type", "handler", "attempts", "time")
	if resolution {
		columns = append(columns, Columns("resolution")...)
	}
	return Rows(p, append(columns, Columns("error")...), document.NewDeadLetter, func(l onto.DeadLetter) ([]string, error) {
		cells := []string{strconv.FormatInt(l.ID, 10), l.Event.ID, l.Event.Type, l.Handler, strconv.Itoa(l.Attempts), Time(l.Time)}
		if resolution {
			cells = append(cells, showResolution(l.Resolution))
		}
		return append(cells, l.Error), nil
	})
}

func showResolution(r onto.Resolution) string {
	if by := r.By.String(); by != "" {
		return string(r.Kind) + " by " + by
	}
	return string(r.Kind)
}

// Namespaces is a list of namespaces.
func Namespaces(p *Printer) *List[backend.Namespace] {
	return Rows(p, WholeColumns("namespace", "events", "sessions", "dead letters"), document.NewNamespace, namespaceCells)
}

func namespaceCells(n backend.Namespace) ([]string, error) {
	return []string{
		n.Name, strconv.FormatInt(n.Events, 10), strconv.Itoa(len(n.Sessions)), strconv.FormatInt(n.DeadLetters, 10),
	}, nil
}
