package backend

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// EventWidth is how many values an event consists of.
const EventWidth = 13

// EventValues appends what an event consists of: texts, integers, and nil for what it does
// not have.
func EventValues(list []any, e *onto.Event) []any {
	list = append(list, e.ID, e.Namespace, e.Type, string(e.Payload), codec.FormatTime(e.Time), int64(e.Priority), e.Root, int64(e.Depth))
	list = append(list, textOrNil(e.OrderingKey))
	if e.Commit == 0 {
		list = append(list, nil)
	} else {
		list = append(list, e.Commit)
	}
	return append(list, textOrNil(e.Parent), textOrNil(e.ReplayOf), timeOrNil(e.NotBefore))
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return codec.FormatTime(t)
}

// EventSum is the checksum of an event, by its [EventValues]. The sums of the events that
// ride in a commit, added up, stay with the commit when events are removed or stay behind in
// a copy: whoever has some of them can tell whether they are all, and as they were.
func EventSum(e *onto.Event) int64 {
	var values [EventWidth]any
	var scratch [512]byte
	buf := scratch[:0]
	return codec.Checksum(&buf, EventValues(values[:0], e))
}
