package check

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/exec"
)

// Lake is what a check reads.
type Lake struct {
	Bucket bucket.Bucket
	Log    *protocol.Log
	Files  *datafile.Reader
	Usable func(context.Context) error                    // fails once the lake is closed
	Newest func(context.Context) (*protocol.Shelf, error) // the shelf of the newest head
}

// Options change a check. The zero value is the default.
type Options struct {
	Quick  bool              // only the head and what it names
	Strays bool              // if a part of the log cannot be read, tell also of objects that the rest does not lead to
	Step   func(name string) // called with the next step; nil for no calls
}

// Run examines a lake: the log, the checkpoints and the catalog against it, and every
// data file. It reads the objects themselves, not local copies, as one head leads to
// them. It keeps a few bytes in memory for each commit and for each identity of one
// type.
//
// Damage and missing objects are findings and do not end the check; storage that does
// not answer ends it.
func Run(ctx context.Context, l *Lake, o *Options) iter.Seq2[onto.Finding, error] {
	return exec.Pushed(func(push func(onto.Finding) error) error {
		return newChecker(ctx, l, o, push).run()
	})
}

// checker is a check under way.
type checker struct {
	ctx  context.Context
	lake *Lake
	push func(onto.Finding) error
	step func(name string)

	head    *protocol.Head
	catalog *protocol.Catalog // nil if it cannot be read
	schemas []onto.SchemaVersion
	purged  map[onto.TypeName]int
	rules   audit.Log // that the log is held to

	files  map[onto.TypeName][]protocol.FileEntry // those that readers use, oldest first
	left   audit.Tally                            // versions that were not found yet
	broken bool                                   // a part of the log cannot be read, so that versions may be missing
	lists  *listing                               // what checkpoints say of the rounds
	listed []protocol.RoundEntry                  // all manifests, newest first; nil until they are needed

	oversized sync.Map // by key: what the error said of an object that is larger than it can be

	quick bool            // only the head and what it names
	seen  map[string]bool // attempts of rounds that the log leads to; nil unless strays are looked for
}

func newChecker(ctx context.Context, l *Lake, o *Options, push func(onto.Finding) error) *checker {
	c := &checker{ctx: ctx, lake: l, push: push, step: o.Step, quick: o.Quick}
	if c.step == nil {
		c.step = func(string) {}
	}
	if o.Strays {
		c.seen = map[string]bool{}
	}
	c.rules = audit.New(push)
	return c
}

func (c *checker) run() error { return c.stopped(c.look()) }

func (c *checker) look() error {
	c.step("the head")
	if ok, err := c.root(); err != nil || !ok {
		return err
	}
	if c.quick {
		return c.newestRound()
	}
	if err := c.engine(); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		run  func() error
	}{
		{"types", c.types}, {"checkpoints", c.checkpoints}, {"the log", c.log}, {"files", c.tables},
		{"versions", c.versions}, {"the commits of versions", func() error { return c.rules.Tally(&c.left) }},
		{"what was left behind", c.unseen},
	} {
		c.step(s.name)
		if err := s.run(); err != nil {
			return err
		}
	}
	return nil
}

// stopped turns an object that cannot even be read, such as a named pipe, into a
// finding. What depends on it is not checked.
func (c *checker) stopped(err error) error {
	if onto.CodeOf(err) != onto.Corrupt || !errors.Is(err, bucket.ErrRefused) {
		return err
	}
	return c.push(checkStopped(err))
}

// checkStopped is the finding for an object that cannot even be read.
func checkStopped(err error) onto.Finding {
	f := audit.CheckStopped.Finding("%s", firstLine(err))
	f.Remedy = onto.HintOf(err)
	return f
}

// copied reports whether a commit was made in another store, whose rules allowed it to
// change nothing.
func (c *checker) copied(commit int64) bool {
	return c.head.Copy != nil && commit <= c.head.Copy.Commit
}

// report reports a finding that makes answers wrong.
func (c *checker) report(code audit.Fault, format string, args ...any) error {
	return c.push(code.Finding(format, args...))
}

// secondLooks is how often an object that is missing or damaged is read again: the
// transport may be at fault.
const secondLooks = 2

// read reads a document that should be there. Nil means that it is missing. Fit, if
// not nil, tells whether it is as it was written; if not it is read again.
func (c *checker) read(key string, fit func(body []byte) bool) ([]byte, error) {
	return c.readAtMost(key, protocol.MaxDocument, fit)
}

// readAtMost is read for objects of a size. A larger one is returned empty, and why
// explains it.
func (c *checker) readAtMost(key string, size int64, fit func(body []byte) bool) ([]byte, error) {
	var object bucket.Object
	there, err := c.settle(key, func() (done bool, err error) {
		object, err = c.lake.Bucket.Get(c.ctx, key, bucket.Range{Max: max(1, size)}, "")
		if err != nil || fit == nil {
			return true, err
		}
		hash := protocol.HashOf(object.Data)
		if !c.lake.Log.KnowsDamaged(key, hash) && fit(object.Data) {
			return true, nil
		}
		if int64(len(object.Data)) < object.Size {
			return false, nil // it has come in part
		}
		return c.lake.Log.BelievesDamage(key, hash, nil), nil
	})
	switch {
	case err != nil || !there:
		return nil, err
	case object.Data == nil:
		return []byte{}, nil
	}
	return object.Data, nil
}

// settle reads an object, and reads it again if it is missing or once reports that this
// is worth trying. It reports false if it is missing. One that is too large counts as
// present; why explains it.
func (c *checker) settle(key string, once func() (done bool, err error)) (there bool, err error) {
	if bucket.CheckKey(key) != nil {
		return false, nil // no object can have that name
	}
	wait, looks := c.lake.Log.Waiter(), 0
	for {
		if err := c.lake.Usable(c.ctx); err != nil {
			return false, err
		}
		done, err := once()
		if errors.Is(err, bucket.ErrTooLarge) {
			c.oversized.Store(key, firstLine(err))
			return true, nil
		}
		missing := errors.Is(err, bucket.ErrNotFound)
		seen := err == nil || missing
		switch {
		case err == nil && done:
			return true, nil
		case seen:
			looks++
		case errors.Is(err, bucket.ErrRefused):
			return false, err // it names the object
		case protocol.Definite(err):
			return false, fmt.Errorf("%s: %w", key, err)
		}
		late := error(nil)
		if looks <= secondLooks {
			late = wait.Wait(c.ctx)
		}
		switch {
		case seen && c.ctx.Err() == nil && (late != nil || looks > secondLooks):
			return !missing, nil
		case late != nil:
			return false, fmt.Errorf("%s: %w", key, errors.Join(err, late))
		}
	}
}

// firstLine is the first line of an error, without the further failures that are joined
// to it.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// missing reports an object that is not there.
func (c *checker) missing(key string) error {
	return c.report(audit.ObjectMissing, "%s: it is missing", shown(key))
}

// shown is a key as messages show it: quoted if it is not valid.
func shown(key string) string {
	if bucket.CheckKey(key) != nil {
		return strconv.Quote(key)
	}
	return key
}

// flawed reports an object that cannot be what was written.
func (c *checker) flawed(key string, err error) error {
	return c.report(audit.ObjectDamaged, "%s: %s", key, c.why(key, firstLine(protocol.WithoutKey(err))))
}

// why tells that an object was not read since it is too large; otherwise it is the
// given flaw.
func (c *checker) why(key, otherwise string) string {
	if text, ok := c.oversized.Load(key); ok {
		return text.(string)
	}
	return otherwise
}
