package audit

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Unhandled reports events of a type that no handler has asked for. It reports false for
// events that tell of dead letters, which need no handler.
func Unhandled(namespace, typ string, events int64) (onto.Finding, bool) {
	if events == 0 || typ == onto.DeadLetterType {
		return onto.Finding{}, false
	}
	f := EventsUnhandled.Finding("%s of type %s in namespace %s, and no handler has asked for the type", count(events, "event waits", "events wait"), typ, namespace)
	if fit(namespace, typ) {
		f.Remedy = onto.NewHint("start a program that handles the type, or find out why it is emitted",
			"events", "show", "--namespace", namespace, "--type", typ)
	}
	return f, true
}

// DeadLetters reports the unresolved dead letters of a namespace, by the oldest of them.
func DeadLetters(namespace string, letters int64, oldest onto.DeadLetter) onto.Finding {
	f := DeadLettersOpen.Finding("namespace %s has %s: the oldest is of handler %s for an event of type %s, with the error %.200q",
		namespace, count(letters, "unresolved dead letter", "unresolved dead letters"), oldest.Handler, oldest.Event.Type, oldest.Error)
	if fit(namespace) {
		f.Remedy = onto.NewHint("mend the cause and replay them, or drop them; list them", "events", "dead-letters", "--namespace", namespace)
	}
	return f
}

// Session reports a dead session, if it has claims on events.
func Session(s onto.Session, claims int64) (onto.Finding, bool) {
	if claims == 0 {
		return onto.Finding{}, false
	}
	f := SessionDead.Finding("session %s in namespace %s gave its last sign of life at %s, and %s claimed by it",
		s.ID, s.Namespace, codec.FormatTime(s.Beat), count(claims, "event is", "events are"))
	if fit(s.Namespace) {
		f.Remedy = onto.NewHint("start its handlers again, which take the events over; list the sessions", "events", "sessions", "--namespace", s.Namespace)
	}
	return f, true
}

// fit reports whether names can stand on a command line: a file that was tampered with may
// have any.
func fit(names ...string) bool {
	for _, name := range names {
		if onto.CheckBusName("", name) != nil {
			return false
		}
	}
	return true
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
