package backendtest

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
)

// archiveStory is a story about a store and copies of it.
type archiveStory struct {
	*story
	archive backend.Archive
}

// archiveTale is a named story about a store and copies of it.
type archiveTale struct {
	name string
	tell func(*archiveStory)
}

// archiveStories returns the contract of [backend.Archive]; nothing if the backend is none.
func archiveStories(t *testing.T, target Target) []tale {
	if !isArchive(t, target) {
		return nil
	}
	return archiving(slices.Concat(logStories(), restoreStories(), restoreTypeStories(), restoreRefusalStories(), unfinishedStories(), copyUseStories()))
}

// archiving makes stories of stories about copies.
func archiving(told []archiveTale) []tale {
	var tales []tale
	for _, t := range told {
		tales = append(tales, tale{t.name, func(s *story) { t.tell(s.asArchive()) }})
	}
	return tales
}

// isArchive reports whether a target is an archive.
func isArchive(t *testing.T, target Target) bool {
	t.Helper()
	b := target.Open(t, newPlace(t, t.TempDir()))
	_, ok := backend.As[backend.Archive](b)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return ok
}

func (s *story) asArchive() *archiveStory {
	s.Helper()
	a, ok := backend.As[backend.Archive](s.Backend)
	if !ok {
		s.Fatal("one store is an archive and the other is not")
	}
	return &archiveStory{s, a}
}

// also continues the story through another handle of the same kind.
func (s *archiveStory) also() *archiveStory {
	s.Helper()
	return s.through(s.open()).asArchive()
}

// reopen closes the handle and continues with a new one.
func (s *archiveStory) reopen() {
	s.Helper()
	s.story.reopen()
	s.archive = s.asArchive().archive
}

// empty starts a story about an empty store, opened as the target of a copy. It has the
// clock of this one.
func (s *archiveStory) empty() *archiveStory {
	s.Helper()
	return s.emptyAt(newPlace(s.T, s.TempDir()))
}

func (s *archiveStory) emptyAt(p *Place) *archiveStory {
	s.Helper()
	p.Now, p.clock, p.Target = s.place.Now, s.place.clock, true
	other := *s.story
	other.place = p
	s.finally(func() {
		b := s.target.Open(s.T, p)
		Check(s.T, b)
		s.closeHandle(b)
	})
	other.Backend = other.open()
	return other.asArchive()
}

// showEntry formats an entry of a log on one line.
func showEntry(e backend.LogEntry) string {
	c := e.Commit
	if c == nil {
		return "  " + showVersion(e.Version)
	}
	line := showCommit(c.Commit)
	if c.Commit.Metadata != nil {
		line += " DECODED METADATA"
	}
	if c.Metadata != nil {
		line += " metadata=" + string(c.Metadata)
	}
	if c.Digest != "" {
		line += " digest=" + c.Digest
	}
	if c.EventSum != 0 {
		line += fmt.Sprint(" events=", c.EventSum)
	}
	return line
}

// entries returns the log after a commit.
func (s *archiveStory) entries(since int64) []backend.LogEntry {
	s.Helper()
	var list []backend.LogEntry
	for e, err := range s.archive.Log(s.ctx, since) {
		if err != nil {
			s.Fatalf("log since %d, after %d entries: %v", since, len(list), err)
		}
		list = append(list, e)
	}
	return list
}

// logged formats the log after a commit.
func (s *archiveStory) logged(since int64) []string {
	s.Helper()
	return entryLines(s.entries(since))
}

func entryLines(entries []backend.LogEntry) []string {
	var lines []string
	for _, e := range entries {
		lines = append(lines, showEntry(e))
	}
	return lines
}

// copyState formats what a store says about the copy that filled it.
func (s *archiveStory) copyState() string {
	s.Helper()
	state, err := s.archive.CopyState(s.ctx)
	s.must(err)
	return fmt.Sprintf("%+v", state)
}

// image formats everything that an archive hands out.
func (s *archiveStory) image() []string {
	s.Helper()
	lines := append(s.logged(0), s.schemas()...)
	return append(lines, s.commits(backend.CommitQuery{Until: backend.Head})...)
}

// imageWithState is image with the state of the copy.
func (s *archiveStory) imageWithState() []string {
	s.Helper()
	return append(s.image(), s.copyState())
}

// errReadTwice ends a sequence that is read a second time.
var errReadTwice = errors.New("the sequence was read before")

// feed yields items once, then an error if there is one.
func feed[T any](items []T, end error) iter.Seq2[T, error] {
	read := false
	return func(yield func(T, error) bool) {
		var none T
		if read {
			yield(none, errReadTwice)
			return
		}
		read = true
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
		if end != nil {
			yield(none, end)
		}
	}
}

// upTo returns the entries of the commits up to one.
func upTo(entries []backend.LogEntry, last int64) []backend.LogEntry {
	i := slices.IndexFunc(entries, func(e backend.LogEntry) bool { return e.Commit != nil && e.Commit.ID > last })
	if i < 0 {
		return entries
	}
	return entries[:i]
}

// typesAt returns the types as a part of a log that ends at a commit brings them: without
// what begins or ends after the next commit.
func typesAt(all []onto.SchemaVersion, last int64) []onto.SchemaVersion {
	list := slices.DeleteFunc(typelist.Copy(all), func(v onto.SchemaVersion) bool { return v.Since > last+1 })
	for i := range list {
		if e := list[i].End; e != nil && e.Commit > last+1 {
			list[i].End = nil
		}
	}
	return list
}

// part makes a restoration of the commits after one up to another one of this store.
func (s *archiveStory) part(since, last int64) *backend.Restoration {
	s.Helper()
	origin, err := s.archive.Origin(s.ctx)
	s.must(err)
	all, entries := s.schemaVersions(), s.entries(since)
	ends := len(upTo(entries, last)) == len(entries)
	if !ends {
		all, entries = typesAt(all, last), upTo(entries, last)
	}
	return &backend.Restoration{
		Since: since, Log: feed(entries, nil), Types: all,
		Copy: func() backend.CopyState {
			return backend.CopyState{Origin: origin, Flags: "as=is", Commit: last, Sum: fmt.Sprint("sum of ", last), Unfinished: !ends}
		},
	}
}

// wholePart makes a restoration of the whole store.
func (s *archiveStory) wholePart() *backend.Restoration {
	s.Helper()
	return s.part(0, s.resolve(onto.Point{}).ID)
}

// restore appends a part of a log, which must be accepted.
func (s *archiveStory) restore(r *backend.Restoration) {
	s.Helper()
	if err := s.archive.Restore(s.ctx, r); err != nil {
		s.Fatalf("restore since %d: %v", r.Since, err)
	}
}

// copied makes a copy of the store in several parts, which end at certain commits and at
// the head.
func (s *archiveStory) copied(ends ...int64) *archiveStory {
	s.Helper()
	other := s.empty()
	since := int64(0)
	for _, last := range append(ends, s.resolve(onto.Point{}).ID) {
		other.restore(s.part(since, last))
		since = last
	}
	return other
}

// wantCopy requires that another store is a copy of this one.
func (s *archiveStory) wantCopy(other *archiveStory) {
	s.Helper()
	other.wantLines("the log of the copy", other.logged(0), s.logged(0))
	other.wantLines("the types of the copy", other.schemas(), s.schemas())
	other.wantLines("everything in the copy", other.everyType(), s.everyType())
	Check(s.T, other.Backend)
}

// everyType formats the commits, and state and history of each type that there is.
func (s *archiveStory) everyType() []string {
	s.Helper()
	lines := s.commits(backend.CommitQuery{Until: backend.Head})
	for _, v := range typelist.Last(s.schemaVersions()) {
		lines = append(lines, s.scan(historyOf(v.Schema.Kind, v.Schema.Name, backend.Head))...)
		lines = append(lines, s.scan(stateOf(v.Schema.Kind, v.Schema.Name, backend.Head))...)
	}
	return lines
}

// opens opens the store at a place, and returns the error if that fails.
func (s *story) opens(p *Place) (b backend.Backend, err error) {
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		b = s.target.Open(&opening{TB: s.T, failed: &err}, p)
	}()
	<-opened
	if b == nil && err == nil {
		err = errors.New("the store was not opened, without an error")
	}
	return b, err
}

// opening is a test that a store which cannot be opened does not fail.
type opening struct {
	testing.TB
	failed *error
}

func (o *opening) Fatal(args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			*o.failed = errors.Join(*o.failed, err)
		}
	}
	if *o.failed == nil {
		*o.failed = errors.New(strings.TrimSpace(fmt.Sprintln(args...)))
	}
	runtime.Goexit()
}

func (o *opening) Fatalf(format string, args ...any) {
	*o.failed = fmt.Errorf(format, args...)
	runtime.Goexit()
}
