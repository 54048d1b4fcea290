package upkeep

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Options change an examination. The zero value is the default.
type Options struct {
	Quick    bool              // only the survey, which reads little; what is stored is not checked
	Progress func(step string) // called with the next step; nil for no calls

	SessionTTL time.Duration    // after how long without a sign of life a session is dead; 0 for DefaultSessionTTL
	Now        func() time.Time // the clock; nil for time.Now
}

func (o *Options) sessionTTL() time.Duration { return cmp.Or(o.SessionTTL, DefaultSessionTTL) }

func (o *Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// Examine looks for everything that is wrong or unusual about a store: first its
// circumstances, what nothing is done about on its bus and in its work queue, then, unless it is to be quick,
// what is stored. It changes nothing.
// Each finding comes with its explanation. A part that fails does not stop the other:
// its error comes last. A backend that can neither survey nor check itself fails with
// UnsupportedOperation.
func Examine(ctx context.Context, b backend.Backend, opts *Options) iter.Seq2[onto.Finding, error] {
	if opts == nil {
		opts = &Options{}
	}
	return func(yield func(onto.Finding, error) bool) {
		if !able(b) {
			yield(onto.Finding{}, onto.Errorf(onto.UnsupportedOperation, "this storage cannot examine itself").
				WithHint("use one that can, such as SQLite"))
			return
		}
		var failures []error
		for _, part := range partsOf(ctx, b, opts) {
			for f, err := range part {
				if err != nil {
					failures = append(failures, err)
				} else if !yield(Explain(f), nil) {
					return
				}
			}
		}
		if len(failures) > 0 {
			yield(onto.Finding{}, failures[0])
		}
	}
}

// able reports whether a backend has any checks.
func able(b backend.Backend) bool {
	_, surveys := backend.As[backend.Surveyor](b)
	_, checks := backend.As[backend.Checker](b)
	return surveys || checks
}

// partsOf is the checks of a backend, in order.
func partsOf(ctx context.Context, b backend.Backend, opts *Options) []iter.Seq2[onto.Finding, error] {
	step := opts.Progress
	if step == nil {
		step = func(string) {}
	}
	var parts []iter.Seq2[onto.Finding, error]
	if s, ok := backend.As[backend.Surveyor](b); ok {
		parts = append(parts, announced("circumstances", step, s.Survey(ctx)))
	}
	if bus, ok := backend.As[backend.Bus](b); ok {
		parts = append(parts, announced("events", step, busSurvey(ctx, bus, opts)))
	}
	if q, ok := backend.As[backend.WorkQueue](b); ok {
		parts = append(parts, announced("work", step, workSurvey(ctx, q, opts)))
	}
	if opts.Quick {
		return parts
	}
	if s, ok := backend.As[backend.StepChecker](b); ok {
		parts = append(parts, s.CheckSteps(ctx, step))
	} else if c, ok := backend.As[backend.Checker](b); ok {
		parts = append(parts, announced("what is stored", step, c.Check(ctx)))
	}
	// They come after the check, since a read may mend what that reports. They take little time
	// beside it, so they are not announced.
	return append(parts, fitSurvey(ctx, b), foldSurvey(ctx, b))
}

// announced is a sequence whose start is reported.
func announced(name string, step func(string), findings iter.Seq2[onto.Finding, error]) iter.Seq2[onto.Finding, error] {
	return func(yield func(onto.Finding, error) bool) {
		step(name)
		findings(yield)
	}
}

// Explain returns a finding with the explanation of its code, and with the
// code's general remedy if it has none of its own.
func Explain(f onto.Finding) onto.Finding {
	e, ok := Lookup(f.Code)
	if !ok {
		return f
	}
	f.Explanation = e.Explanation
	if f.Remedy.Text == "" {
		f.Remedy = e.Remedy
	}
	return f
}
