package backendtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/effort"
)

// Copies copies random histories from one backend to another, full of them in all (see
// package effort). A copy must answer every question as its source, and give the next drafts
// the same verdicts. Both must be a [backend.Archive]. Those that Run copies are from a
// backend to itself.
func Copies(t *testing.T, from, to Target, full int) {
	from, to = from.called(), to.called()
	if !isArchive(t, from) || !isArchive(t, to) {
		t.Fatal("both backends must be archives")
	}
	copyHistories(t, from, to, full)
}

// runCopies is Copies from a backend to itself, if it is an archive.
func runCopies(t *testing.T, target Target) {
	if isArchive(t, target) {
		copyHistories(t, target, target, max(1, cmp.Or(target.Operations, 10_000)/100))
	}
}

func copyHistories(t *testing.T, from, to Target, full int) {
	dir := t.TempDir()
	counts, parts := tally{}, 0
	effort.Check(t, full, func(rt *rapid.T) {
		c := newCopying(t, rt, from, to, dir)
		defer c.end()
		c.counts = &counts
		c.inquiries = rapid.SliceOfN(rapid.Custom(drawInquiry), 3, 6).Draw(rt, "inquiries")
		for i, s := range copyPlans(70).Draw(rt, "source") {
			if !slices.Contains([]action{look, ask, reopen, restart}, s.Do) { // which change nothing
				c.take(i, s.step)
			}
			c.copySome(&s)
		}
		c.finish()
		c.sameLogs(c.since)
		for i, s := range copyPlans(20).Draw(rt, "both") {
			c.take(i, s.step)
		}
		c.compareAt(rapid.SliceOfN(rapid.Int64Range(0, c.head()+1), 2, 4).Draw(rt, "ats"))
		c.sameLogs(c.head())
		parts += c.parts
	}, copiesThatFailed()...)
	t.Logf("%d histories with %d commits were copied in %d parts; %d questions were answered alike", counts.histories, counts.commits, parts, counts.questions)
}

// copiesThatFailed is the seeds of copies that once failed.
func copiesThatFailed() []uint64 {
	return []uint64{
		4194880416838653992, // a stream that breaks had a second reason to fail: a merge into nothing
	}
}

// copyStep is a step of a history, and what is copied after it.
type copyStep struct {
	step
	Commits int  // how many commits are copied, or all that there are; 0 for none and -1 for no part
	Ends    bool // the copy counts as finished if it has all commits
	Breaks  int  // after how many entries the log fails at first; 0 for not at all
	Reopens bool // the target is closed and opened again before
	Direct  bool // the log of the source is read while it is restored
}

// copyPlan is a random history, and how it is copied.
type copyPlan []copyStep

// GoString lists the steps that matter, one on each line.
func (p copyPlan) GoString() string {
	var text strings.Builder
	for i, s := range p {
		if s.Do != look || s.Clock != 0 {
			fmt.Fprintf(&text, "\n%4d: %s", i, s.step)
		}
		if s.Commits >= 0 {
			fmt.Fprintf(&text, "\n%4d: copy %d commits, ends %v, breaks %d, reopens %v, direct %v", i, s.Commits, s.Ends, s.Breaks, s.Reopens, s.Direct)
		}
	}
	return text.String()
}

// copyPlans generates histories of so many steps.
func copyPlans(most int) *rapid.Generator[copyPlan] {
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) copyStep {
		s := copyStep{step: drawStep(t), Commits: -1}
		if s.Do == evolve && oneOf(t, "purging", false, true, false) {
			s.Change.What, s.Change.Spoil = purgeType, ""
		}
		if oneOf(t, "copying", false, false, false, false, true, false, false, false, false) {
			s.Commits = oneOf(t, "commits", 1, 2, 3, 0, 5, 999)
			s.Ends = oneOf(t, "ends", false, false, true)
			s.Breaks = oneOf(t, "breaks", 0, 0, 1, 4, 0)
			s.Reopens = oneOf(t, "reopens", false, false, true)
			s.Direct = oneOf(t, "direct", false, true)
		}
		return s
	}), most/5, most)
	return rapid.Map(steps, func(list []copyStep) copyPlan { return list })
}

// copying is a history that is copied while it is made. Until it is finished, the source is
// the reference and there is no other backend; then the copy is compared with it.
type copying struct {
	*history
	from      *Place
	to        Target
	targetAt  *Place // where the copy is
	source    backend.Archive
	handle    backend.Backend // on the copy
	since     int64           // the last commit that was copied
	lastState backend.CopyState
	parts     int
}

func newCopying(t *testing.T, rt *rapid.T, from, to Target, dir string) *copying {
	p, q := newPlace(t, dir), newPlace(t, dir)
	q.Now, q.clock, q.Target = p.Now, p.clock, true
	h := &history{T: rt, outer: t, target: from, place: p, counts: &tally{}}
	h.reference = from.Open(t, p).(caller)
	c := &copying{history: h, from: p, to: to, targetAt: q, handle: to.Open(t, q)}
	var ok bool
	if c.source, ok = backend.As[backend.Archive](h.reference); !ok {
		h.Fatal("the source is no archive")
	}
	c.register(nil, testSchemas())
	return c
}

// end closes what is open and removes the places.
func (c *copying) end() {
	for _, b := range []backend.Backend{c.reference, c.handle, c.handles[0], c.handles[1]} {
		if b == nil {
			continue
		}
		if err := b.Close(); err != nil && !errors.Is(err, onto.Closed) {
			c.Errorf("close: %v", err)
		}
	}
	discard(c.outer, c.from)
	discard(c.outer, c.targetAt)
}

// archive is the copy.
func (c *copying) archive() backend.Archive {
	a, ok := backend.As[backend.Archive](c.handle)
	if !ok {
		c.Fatal("the copy is no archive")
	}
	return a
}

// entries returns the log of the source after what has been copied.
func (c *copying) entries() []backend.LogEntry {
	var list []backend.LogEntry
	for e, err := range c.source.Log(c.Context(), c.since) {
		if err != nil {
			c.Fatalf("log since %d: %v", c.since, err)
		}
		list = append(list, e)
	}
	return list
}

// copySome copies a part, as a step says.
func (c *copying) copySome(s *copyStep) {
	if s.Commits < 0 {
		return
	}
	if s.Reopens {
		if err := c.handle.Close(); err != nil {
			c.Fatalf("close: %v", err)
		}
		c.handle = c.to.Open(c.outer, c.targetAt)
	}
	entries, head := c.entries(), c.head()
	last := min(head, c.since+int64(s.Commits))
	part := upTo(entries, last)
	r := c.restoration(last, s.Ends && last == head)
	if s.Breaks > 0 && len(part) > 0 {
		c.breaks(*r, part[:min(len(part), s.Breaks)])
	}
	if r.Log = feed(part, nil); s.Direct && last == head {
		r.Log = c.source.Log(c.Context(), c.since)
	}
	c.restore(r, last)
	if !c.purgesWait(r.Types) {
		c.sameLogs(last)
	}
	if s.Reopens {
		if err := check(c.handle); err != nil {
			c.Fatalf("check with the commits up to %d: %v", last, err)
		}
	}
}

// restoration is a part without its log.
func (c *copying) restoration(last int64, ends bool) *backend.Restoration {
	types := c.schemas()
	if last < c.head() {
		types = typesAt(types, last)
	}
	state := backend.CopyState{Origin: "source", Commit: last, Sum: fmt.Sprint("sum of ", last), Unfinished: !ends}
	return &backend.Restoration{Since: c.since, Types: types, Copy: func() backend.CopyState { return state }}
}

func (c *copying) restore(r *backend.Restoration, last int64) {
	if err := c.archive().Restore(c.Context(), r); err != nil {
		c.Fatalf("restore commits %d to %d: %v", c.since+1, last, err)
	}
	c.since, c.lastState = last, r.Copy()
	c.parts++
	c.sameState()
}

// breaks restores a log that fails, which must change nothing.
func (c *copying) breaks(r backend.Restoration, part []backend.LogEntry) {
	before := c.logOf(c.archive()) + showTypes(c.Context(), c.handle)
	r.Log = feed(part, errBroken)
	if err := c.archive().Restore(c.Context(), &r); err != errBroken {
		c.Fatalf("restore a log that fails after %d entries: got error %v, want its own", len(part), err)
	}
	if after := c.logOf(c.archive()) + showTypes(c.Context(), c.handle); after != before {
		c.Fatalf("after a log that failed\n got: %s\nwant: %s", after, before)
	}
	c.sameState()
}

// sameState requires that the copy says what it was told last.
func (c *copying) sameState() {
	state, err := c.archive().CopyState(c.Context())
	if err != nil || state != c.lastState {
		c.Fatalf("the state of the copy: got %+v, error %v; want %+v", state, err, c.lastState)
	}
}

// purgesWait reports whether the source has been purged of a type, and the copy will be with
// a later part.
func (c *copying) purgesWait(types []onto.SchemaVersion) bool {
	purges := func(list []onto.SchemaVersion) (n int) {
		for _, v := range list {
			if v.End != nil && v.End.Purged {
				n++
			}
		}
		return n
	}
	return purges(types) < purges(c.schemas())
}

// finish copies what is left, and from then on compares the copy with its source.
func (c *copying) finish() {
	entries, last := c.entries(), c.head()
	r := c.restoration(last, true)
	r.Log = feed(entries, nil)
	c.restore(r, last)
	used := *c.targetAt
	used.Target = false
	c.target, c.place = c.to, &used
	for i := range c.handles {
		c.handles[i] = c.to.Open(c.outer, c.place)
	}
}

// logOf formats the log of a store.
func (c *copying) logOf(a backend.Archive) string {
	return lines(a.Log(c.Context(), 0), showEntry)
}

// sameLogs requires that the logs are the same up to a commit, with which that of the copy
// ends.
func (c *copying) sameLogs(last int64) {
	collected := func(a backend.Archive) []backend.LogEntry {
		var list []backend.LogEntry
		for e, err := range a.Log(c.Context(), 0) {
			if err != nil {
				c.Fatalf("log: %v", err)
			}
			list = append(list, e)
		}
		return list
	}
	got, want := entryLines(collected(c.archive())), entryLines(upTo(collected(c.source), last))
	if !slices.Equal(got, want) {
		c.Fatalf("the log up to commit %d\n got: %s\nwant: %s", last, strings.Join(got, "\n      "), strings.Join(want, "\n      "))
	}
	size, err := c.archive().LogSize(context.WithoutCancel(c.Context()), 0, backend.Head)
	versions := int64(0)
	for _, line := range got {
		if strings.HasPrefix(line, " ") {
			versions++
		}
	}
	if err != nil || size.Head != last || size.Commits != last || size.Versions != versions {
		c.Fatalf("the size of the copy: got %+v, error %v; want %d commits with %d versions", size, err, last, versions)
	}
}
