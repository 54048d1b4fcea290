package bus

import (
	"time"

	"github.com/ontologia/onto"
)

// Happening is the closed set of what is observed.
type Happening string

// What is observed.
const (
	Started   Happening = "started"   // a handler was started
	Acked     Happening = "acked"     // it has handled the event, durably
	Failed    Happening = "failed"    // it has failed, and is started again after Delay
	Buried    Happening = "buried"    // the event is a dead letter
	Snoozed   Happening = "snoozed"   // the handler has put the event off for Delay
	Returned  Happening = "returned"  // the event is handled again after Delay, and nothing was counted
	Lost      Happening = "lost"      // the claim was lost: what the handler wanted to commit was refused
	Overdue   Happening = "overdue"   // the handler has not returned at its timeout: its claim is not renewed
	Abandoned Happening = "abandoned" // the handler has not returned at the end of Run
	Ticked    Happening = "ticked"    // a schedule has fired in this process
	Cleaned   Happening = "cleaned"   // old events were removed
	Troubled  Happening = "troubled"  // the store has failed, and is tried again after Delay
)

// Observation is one thing that happened in a Run.
type Observation struct {
	What      Happening
	Namespace string
	Handler   string // "" if it is not about one
	Schedule  string // Ticked

	Event      onto.Event // without payload; zero if it is not about one
	Attempts   int        // how often the handler has failed
	Deliveries int        // how often it was started
	Commit     int64      // Acked: the commit that it has made; 0 for none

	Wait     time.Duration // Started: since the event was emitted, or could be handled
	Duration time.Duration // how long the handler took, with its commit
	Delay    time.Duration // until the next attempt
	Count    int64         // Cleaned: events
	Err      error         // Failed, Buried, Returned, Lost, Troubled
}
