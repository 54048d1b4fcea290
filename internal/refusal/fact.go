package refusal

import (
	"errors"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Stale is the error for a fence that does not hold, with why not: the code of the reason
// does not count.
func Stale(why error) error {
	err := onto.Errorf(onto.Stale, "what the draft was computed from has changed: %v", why)
	if e := (*onto.Error)(nil); errors.As(why, &e) {
		err.Expectation = e.Expectation
	}
	return err.WithHint("nothing was written: compute it again")
}

// Outdated reports whether an error says that what the store has computed for a draft is
// stale, and not what the caller says that the draft was computed from: then it is computed
// again.
func Outdated(err error, given []onto.Expectation) bool {
	var e *onto.Error
	return errors.As(err, &e) && e.Code == onto.Stale && (e.Expectation == nil || !slices.Contains(given, *e.Expectation))
}

// FactKnown is the error for a fact whose id was used for another one.
func FactKnown(w *backend.Write, newest *onto.Version) error {
	if !newest.Live() {
		return onto.Errorf(onto.Conflict, "%s was retracted by commit %d, so its id is used up", w.Identity, newest.Commit).
			WithHint("assert it with another id, or none")
	}
	known, _ := onto.FactOf(newest) // a damaged one is known from its newest version
	return onto.Errorf(onto.Conflict, "%s is known from commit %d, and says something else", w.Identity, known.Asserted).
		WithHint("a fact cannot be changed: revoke or retract it, and assert another one with another id, or none")
}

// NoFact is the error for a fact that never was.
func NoFact(id onto.Identity) error {
	return onto.Errorf(onto.NotFound, "%s was never asserted", id).
		WithHint("see the facts about %q", id.Left).WithCommand("query", "facts", id.Type, "--subject="+id.Left, "--every")
}

// FactRetracted is the error for the end of a fact that is not believed any more.
func FactRetracted(v *onto.Version) error {
	return onto.Errorf(onto.NotFound, "%s was retracted by commit %d", v.Identity, v.Commit).
		WithHint("to believe it again, revert that commit")
}
