package lake

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/exec"
)

// CheckOptions change a check. The zero value is the default.
type CheckOptions struct {
	Quick bool              // only the head and what it names
	Step  func(name string) // called with what is looked at next; nil for nobody
}

// CheckBucket is Check for a lake that cannot be opened since the head, or what it
// names, is missing or damaged. It tells what is wrong and what of the log can still
// be read; nothing is ever answered from there. It fails with Uninitialized if there
// is neither a head nor a commit. It closes the bucket in the end.
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
		step := how.Step
		if step == nil {
			step = func(string) {}
		}
		c := newChecker(ctx, l, push, step)
		c.quick, c.seen = how.Quick, map[string]bool{}
		return c.run()
	})
}

// newestRound looks at the newest round alone.
func (c *checker) newestRound() error {
	if c.head.ManifestPath == nil {
		return nil
	}
	w := &walk{checker: c, ahead: map[string][]byte{}}
	_, err := w.open(&link{*c.head.ManifestPath, c.head.CommitID})
	return err
}

// unseen finds objects of rounds that the check has not come upon. What is missing
// may have led there, so they are better kept.
func (c *checker) unseen() error {
	if c.seen == nil || !c.broken {
		return nil
	}
	n, bytes, first := 0, int64(0), ""
	err := c.eachListed("commits/", func(e bucket.Entry) {
		if c.seen[protocol.AttemptOf(e.Key)] {
			return
		}
		if n == 0 {
			first = e.Key
		}
		n++
		bytes += e.Size
	})
	if err != nil || n == 0 {
		return err
	}
	f := audit.ObjectsOrphaned.Finding("keep them until the other findings are mended; then: onto janitor",
		"nothing that can be read leads to %d objects of %d bytes, the first of which is %s", n, bytes, first)
	f.Explanation = "Attempts that lost or were killed may have left these objects behind. What is missing may also have led to them, so they are not to be removed yet."
	return c.push(f)
}

// eachListed calls a function with every object below a prefix.
func (c *checker) eachListed(prefix string, do func(e bucket.Entry)) error {
	if err := c.b.usable(c.ctx); err != nil {
		return err
	}
	for e, err := range c.b.log.Each(c.ctx, prefix) {
		if err == nil {
			err = c.b.usable(c.ctx)
		}
		if err != nil {
			return err
		}
		do(e)
	}
	return nil
}
