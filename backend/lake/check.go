package lake

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/check"
	"github.com/ontologia/onto/internal/exec"
)

// Check implements [backend.Checker]: see [check.Run].
func (b *Backend) Check(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return b.CheckSteps(ctx, nil)
}

// CheckSteps implements [backend.StepChecker].
func (b *Backend) CheckSteps(ctx context.Context, step func(name string)) iter.Seq2[onto.Finding, error] {
	return check.Run(ctx, b.examined(), &check.Options{Step: step})
}

// examined is the lake as a check reads it.
func (b *Backend) examined() *check.Lake {
	return &check.Lake{Bucket: b.bucket, Log: b.log, Files: b.files, Usable: b.usable, Newest: b.newestShelf}
}

// Survey implements [backend.Surveyor]: see [check.Survey].
func (b *Backend) Survey(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return check.Survey(ctx, &check.Circumstances{
		Lake: b.examined(), Leases: b.leases, Now: b.opts.Now,
		Orphans: func(ctx context.Context) (*backend.OrphanPlan, error) { return b.janitor.Plan(ctx, b.grace()) },
		Derived: func(ctx context.Context) ([]onto.Finding, error) {
			if err := b.deriver.Rest(ctx); err != nil { // what this handle has committed is about to be derived
				return nil, err
			}
			return b.VerifyIndex(ctx)
		},
	})
}

// CheckOptions change a check. The zero value is the default.
type CheckOptions struct {
	Quick bool              // only the head and what it names
	Step  func(name string) // called with the next step; nil for no calls
}

// CheckBucket is Check for a lake that cannot be opened since the head, or what it
// names, is missing or damaged. It reports what is wrong and what of the log can still
// be read; no question is answered from that. It fails with Uninitialized if there is
// neither a head nor a commit. It closes the bucket in the end.
func CheckBucket(ctx context.Context, b bucket.Bucket, opts *Options, how *CheckOptions) iter.Seq2[onto.Finding, error] {
	set := Options{}
	if opts != nil {
		set = *opts
	}
	set.unread = true
	if how == nil {
		how = &CheckOptions{}
	}
	return exec.Pushed(func(push func(onto.Finding) error) (err error) {
		l, err := Open(ctx, b, &set)
		if err != nil {
			return err
		}
		defer func() {
			if closed := l.Close(); err == nil {
				err = closed
			}
		}()
		return exec.PushAll(ctx, check.Run(ctx, l.examined(), &check.Options{Quick: how.Quick, Strays: true, Step: how.Step}), push)
	})
}
