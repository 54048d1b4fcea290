package bus

import "github.com/ontologia/onto"

// DeadLetterNotice is the event that tells of a dead letter. A handler of it gets those of
// all handlers in its namespace. A dead letter of such an event is not told of, nor is one
// at the end of a chain that is as long as chains may be.
type DeadLetterNotice struct {
	Event       string `json:"event_id"`
	Type        string `json:"event_type"`
	Namespace   string `json:"namespace"`
	OrderingKey string `json:"ordering_key,omitempty"`
	Handler     string `json:"handler"` // that gave it up
	Error       string `json:"error"`   // of the last failure
	Attempts    int    `json:"attempts"`
	Deliveries  int    `json:"deliveries"`
}

// EventType implements [onto.EventTyper].
func (DeadLetterNotice) EventType() string { return onto.DeadLetterType }
