package backendtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func logStories() []archiveTale {
	return []archiveTale{
		{"the log of an empty store is empty", logEmpty},
		{"the log after a commit", logSince},
		{"the log has what is kept of a commit", logHeaders},
		{"versions are in order of identity", logOrder},
		{"versions of a large commit are in order of identity", logLarge},
		{"what was purged is not in the log", logPurged},
		{"types without commits leave the log alone", logTypes},
		{"a log has one origin", logOrigin},
		{"a log tells how long it is", logSize},
		{"a log tells how long a part of it is", logSizeOfParts},
		{"a log tells what stays behind", logNotes},
		{"a log that is stopped early holds nothing", logStopped},
		{"a log whose consumer panics holds nothing", logPanics},
		{"a cancelled log ends", logCancelled},
		{"a log is one snapshot while commits go on", logSnapshot},
		{"a purge while the log is read", logPurgedMeanwhile},
		{"what a log has yielded is not changed", logShared},
		{"a closed handle has no log", logClosed},
		{"a store that was not copied is no copy", logNoCopy},
	}
}

// logError is the error that a log ends with.
func (s *archiveStory) logError(ctx context.Context, since int64) (entries int, err error) {
	s.Helper()
	for _, failed := range s.archive.Log(ctx, since) {
		if err != nil {
			s.Fatalf("the log goes on after its error %v", err)
		}
		if err = failed; err == nil {
			entries++
		}
	}
	return entries, err
}

func logEmpty(s *archiveStory) {
	s.wantLines("the log", s.logged(0), nil)
	for _, since := range []int64{1, 2, -1} {
		n, err := s.logError(s.ctx, since)
		s.wantCode(fmt.Sprint("log since ", since), err, onto.NotFound)
		if n > 0 {
			s.Errorf("log since %d: got %d entries before the error", since, n)
		}
	}
	size, err := s.archive.LogSize(s.ctx, 0, backend.Head)
	s.must(err)
	if size.Head != 0 || size.Commits != 0 || size.Versions != 0 {
		s.Errorf("size: got %+v, want nothing", size)
	}
}

func logSince(s *archiveStory) {
	s.threeCommits()
	s.commit(put(person("zoe"), 1))
	all := s.logged(0)
	commits := 0
	for i, line := range all {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		s.wantLines(fmt.Sprint("the log since ", commits), s.logged(int64(commits)), all[i:])
		commits++
	}
	if commits != 4 {
		s.Errorf("the log: got %d commits, want 4: %q", commits, all)
	}
	s.wantLines("the log since the head", s.logged(4), nil)
	for _, since := range []int64{5, 6, 1 << 40, -1} {
		_, err := s.logError(s.ctx, since)
		s.wantCode(fmt.Sprint("log since ", since), err, onto.NotFound)
		_, err = s.archive.LogSize(s.ctx, since, backend.Head)
		s.wantCode(fmt.Sprint("size since ", since), err, onto.NotFound)
	}
	s.reopen()
	s.wantLines("the log after reopening", s.logged(0), all)
}

func logHeaders(s *archiveStory) {
	at := s.place.Now().UTC().Truncate(time.Microsecond)
	s.commit(put(person("ada"), 1))
	d := rich("k", put(person("bob"), 1))
	d.Metadata = []byte(`{"big":9007199254740993,"f":1.5,"é":[null,{}]}`)
	s.do(d)
	s.place.clock.move(-time.Hour)
	stream := keyed("k2")
	stream.Metadata = []byte(`{}`)
	s.stream(stream, put(person("cy"), 1), remove(person("ada")))
	s.evolve(adding(grown(tPerson, levelField())), stamped(set(person("bob"), `{"level":1,"n":1}`), 2))
	stream.Writes = []backend.Write{put(person("cy"), 1), remove(person("ada"))} // as they came
	plain := func(id int64, operations int) backend.LogEntry {
		return backend.LogEntry{Commit: &backend.LogCommit{Commit: onto.Commit{ID: id, Time: at, Operations: operations}}}
	}
	second := plain(2, 1)
	said, err := d.Header.Commit()
	s.must(err)
	said.ID, said.Time, said.Operations, said.Metadata = 2, at, 1, nil
	second.Commit.Commit, second.Commit.Metadata, second.Commit.Digest = said, d.Metadata, backend.DigestOf(d)
	third := plain(3, 2)
	third.Commit.IdempotencyKey, third.Commit.Metadata, third.Commit.Digest = "k2", stream.Metadata, backend.DigestOf(stream)
	upgraded := *made(person("bob"), 4, 1)
	upgraded.SchemaVersion, upgraded.Fields = 2, []byte(`{"id":"bob","level":1,"n":1}`)
	s.wantLines("the log", withoutIdleDigests(s.entries(0)), entryLines([]backend.LogEntry{
		plain(1, 1), {Version: *made(person("ada"), 1, 1)},
		second, {Version: *made(person("bob"), 2, 1)},
		third, {Version: *gone(person("ada"), 3)}, {Version: *made(person("cy"), 3, 1)},
		plain(4, 1), {Version: upgraded},
	}))
}

// withoutIdleDigests formats entries without the digests of commits that have no
// idempotency key: they may be kept, and say nothing.
func withoutIdleDigests(entries []backend.LogEntry) []string {
	var lines []string
	for _, e := range entries {
		if c := e.Commit; c != nil && c.IdempotencyKey == "" {
			idle := *c
			idle.Digest = ""
			e.Commit = &idle
		}
		lines = append(lines, showEntry(e))
	}
	return lines
}

// identities are some of every kind, in order.
func identities() []onto.Identity {
	return []onto.Identity{
		city("a"), city("z"), person("B"), person("a"), person("a b"), person("aa"), person("é"), person("日"), person("😀"),
		claim("a", "n", "1"), claim("a", "n", "10"), claim("a", "n", "2"), claim("a", "v", "0"), claim("b", "n", "1"), note("a", "mood", "1"),
		knows("a", "a"), knows("a", "b"), knows("b", "a"), visit("a", "b", ""), visit("a", "b", "1"), visit("a", "b1", "0"), visit("a'", "b", "1"),
	}
}

func logOrder(s *archiveStory) {
	ids := identities()
	if !slices.IsSortedFunc(ids, onto.Identity.Compare) {
		s.Fatal("the identities of the story are not in order")
	}
	var writes, removals []backend.Write
	for i, id := range ids {
		writes = append(writes, put(id, i))
		if i%2 == 0 {
			removals = append(removals, remove(id))
		}
	}
	slices.Reverse(writes)
	s.commit(writes...)
	s.stream(draft(), removals...)
	var got []onto.Identity
	for _, e := range s.entries(0) {
		if e.Commit == nil && e.Version.Commit == 1 {
			got = append(got, e.Version.Identity)
		}
	}
	if !slices.Equal(got, ids) {
		s.Errorf("versions of commit 1\n got: %v\nwant: %v", got, ids)
	}
	got = nil
	for _, e := range s.entries(1) {
		if e.Commit == nil && !e.Version.Live() {
			got = append(got, e.Version.Identity)
		}
	}
	if want := slices.DeleteFunc(ids, func(id onto.Identity) bool { return slices.Index(identities(), id)%2 == 1 }); !slices.Equal(got, want) {
		s.Errorf("deletes of commit 2\n got: %v\nwant: %v", got, want)
	}
}

// logLarge has more versions of several types in one commit than are sorted at once.
func logLarge(s *archiveStory) {
	const n = 1500
	var writes []backend.Write
	for i := range n {
		key := fmt.Sprint(i * 7919 % n) // in no order
		writes = append(writes, put(person(key), i), put(visit(key, "rome", "1"), i), put(claim(key, "n", "1"), i))
	}
	s.stream(draft(), writes...)
	s.commit(put(person("0"), -1))
	var last onto.Identity
	count := 0
	for _, e := range upTo(s.entries(0), 1)[1:] {
		if count > 0 && last.Compare(e.Version.Identity) >= 0 {
			s.Fatalf("%s comes after %s", e.Version.Identity, last)
		}
		last = e.Version.Identity
		count++
	}
	if count != 3*n {
		s.Errorf("versions of commit 1: got %d, want %d", count, 3*n)
	}
}

func logPurged(s *archiveStory) {
	s.commit(put(city("rome"), 1), put(person("ada"), 1))
	s.commit(put(city("rome"), 2))
	s.do(keyed("k", put(city("oslo"), 1), put(visit("ada", "oslo", "1"), 1)))
	s.evolve(purging(cities(), ""))
	want := []string{"#1 1", "  Person ada", "#2 0", "#3 1", "  Visit ada"}
	got := func() (lines []string) {
		for _, e := range s.entries(0) {
			if c := e.Commit; c != nil {
				lines = append(lines, fmt.Sprintf("#%d %d", c.ID, c.Operations))
			} else {
				lines = append(lines, "  "+e.Version.Type+" "+e.Version.Key+e.Version.Left)
			}
		}
		return lines
	}
	s.wantLines("after a purge", got(), want)
	s.register(testSchemas()...)
	s.commit(stamped(put(city("rome"), 3), 2))
	s.wantLines("after the type began again", got(), append(want, "#4 1", "  City rome"))
	size, err := s.archive.LogSize(s.ctx, 0, backend.Head)
	s.must(err)
	if size.Versions != 3 || size.Commits != 4 {
		s.Errorf("size: got %+v, want 4 commits with 3 versions", size)
	}
}

func logTypes(s *archiveStory) {
	s.commit(put(person("ada"), 1))
	before := s.logged(0)
	s.register(tagged("Tag"))
	s.register(flagOf(tPerson, "t", true, true)...)
	s.evolve(adding(grown(tCity, zipField())))
	s.evolve(ending(tCity))
	s.wantLines("the log", s.logged(0), before)
}

func logOrigin(s *archiveStory) {
	origin := func(s *archiveStory) string {
		s.Helper()
		id, err := s.archive.Origin(s.ctx)
		s.must(err)
		return id
	}
	first := origin(s)
	if first == "" {
		s.Error("the origin is empty")
	}
	if d, ok := backend.As[backend.Describer](s.Backend); ok {
		info, err := d.Describe(s.ctx, false)
		s.must(err)
		s.want("the id of the store", info.StoreID, first)
	}
	s.commit(put(person("ada"), 1))
	s.want("after a commit", origin(s), first)
	s.want("through another handle", origin(s.also()), first)
	s.reopen()
	s.want("after reopening", origin(s), first)
	if other := s.another().asArchive(); origin(other) == first {
		s.Errorf("another store has the same origin %s", first)
	}
	if other := s.copied(); origin(other) == first {
		s.Errorf("a copy has the origin of its source, %s", first)
	}
}

// logs are the ways to begin to read a log.
func (s *archiveStory) logs() map[string]func(context.Context) iter.Seq2[backend.LogEntry, error] {
	return map[string]func(context.Context) iter.Seq2[backend.LogEntry, error]{
		"from the beginning": func(ctx context.Context) iter.Seq2[backend.LogEntry, error] { return s.archive.Log(ctx, 0) },
		"from a commit on":   func(ctx context.Context) iter.Seq2[backend.LogEntry, error] { return s.archive.Log(ctx, 1) },
	}
}

func logStopped(s *archiveStory) {
	s.stream(draft(), rows(2000, 1)...)
	s.commit(put(person("ada"), 0))
	s.stream(draft(), rows(2000, 2)...)
	for _, log := range s.logs() {
		_ = log(s.ctx) // and not read
		for _, stop := range []int{1, 2, 1500} {
			n := 0
			for _, err := range log(s.ctx) {
				s.must(err)
				if n++; n == stop {
					break
				}
			}
			s.commit(put(person("ada"), int(s.resolve(onto.Point{}).ID)))
		}
	}
	for range s.archive.Log(s.ctx, 0) {
		break
	}
	s.must(s.Close())
}

func logPanics(s *archiveStory) {
	s.manyCommits(3)
	for name, exit := range exits() {
		survive(func() {
			for range s.archive.Log(s.ctx, 0) {
				exit()
			}
		})
		n := len(s.logged(0))
		s.commit(put(person("zoe"), n))
		if after := len(s.logged(0)); after != n+2 {
			s.Errorf("after a %s and one more commit: got %d entries, want %d", name, after, n+2)
		}
	}
}

func logCancelled(s *archiveStory) {
	s.stream(draft(), rows(2000, 1)...)
	s.commit(put(person("ada"), 1))
	s.stream(draft(), rows(2000, 2)...)
	cancelled, cancel := context.WithCancel(s.ctx)
	seq := s.archive.Log(cancelled, 0)
	cancel()
	if lines, err := collect(seq, showEntry); !errors.Is(err, context.Canceled) || len(lines) > 0 {
		s.Errorf("cancelled before it is read: got %d entries and error %v, want %v at once", len(lines), err, context.Canceled)
	}
	_, err := s.archive.Origin(cancelled)
	_, err2 := s.archive.LogSize(cancelled, 0, backend.Head)
	_, err3 := s.archive.CopyState(cancelled)
	for name, err := range map[string]error{"origin": err, "size": err2, "copy state": err3} {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s with a cancelled context: got error %v, want %v", name, err, context.Canceled)
		}
	}
	for _, after := range []int{1, 2, 700} {
		ctx, cancel := context.WithCancel(s.ctx)
		n, failed := 0, error(nil)
		for _, err := range s.archive.Log(ctx, 0) {
			if failed != nil {
				s.Fatal("the log goes on after its error")
			}
			if failed = err; err == nil {
				if n++; n == after {
					cancel()
				}
			}
		}
		cancel()
		if !errors.Is(failed, context.Canceled) {
			s.Errorf("cancelled after %d entries: got %d entries and error %v, want %v", after, n, failed, context.Canceled)
		}
	}
	s.commit(put(person("ada"), 2))
}

func logSnapshot(s *archiveStory) {
	other := s.also()
	for n := range 20 {
		s.commit(put(person(fmt.Sprint("p", n%7)), n), put(visit("a", fmt.Sprint(n%3), "1"), n))
	}
	s.stream(draft(), rows(1500, 1)...)
	for _, since := range []int64{0, 7, 20} {
		want := s.logged(since)
		var got []string
		for e, err := range s.archive.Log(s.ctx, since) {
			s.must(err)
			got = append(got, showEntry(e))
			if n := len(got); n < 10 || n%500 == 0 {
				s.commit(put(person("p1"), 100+n), remove(person("p000007")))
				other.commit(put(person("zoe"), n), put(person("p000007"), n), put(visit("a", "0", "1"), 1000+n))
				other.register(tagged(fmt.Sprint("Tag", since, n)))
			}
		}
		s.wantLines(fmt.Sprintf("the log since %d, read while writing", since), got, want)
	}
}

// logPurgedMeanwhile purges a type while the log is read: the log goes on as it was, or
// ends with Stale.
func logPurgedMeanwhile(s *archiveStory) {
	for _, after := range []int{1, 4, 1200} {
		s := s.another().asArchive()
		for n := range 5 {
			s.commit(put(city("rome"), n), put(person("ada"), n))
		}
		s.stream(draft(), append(rows(1500, 1), put(city("oslo"), 1))...)
		s.commit(put(city("rome"), 9), put(visit("a", "b", "1"), 1))
		want := s.logged(0)
		var got []string
		var failed error
		for e, err := range s.archive.Log(s.ctx, 0) {
			if failed = err; err != nil {
				break
			}
			if got = append(got, showEntry(e)); len(got) == after {
				s.also().evolve(purging(cities(), ""))
			}
		}
		if failed != nil {
			s.wantCode("a log of a type that was purged", failed, onto.Stale)
			want = want[:min(len(got), len(want))]
		}
		s.wantLines(fmt.Sprintf("purged after %d entries", after), got, want)
		for _, line := range s.logged(0) {
			if strings.HasPrefix(line, "  City") {
				s.Errorf("afterwards: the log has %s", line)
			}
		}
	}
}

func logShared(s *archiveStory) {
	s.lively()
	before := s.logged(0)
	kept := s.entries(0)
	s.wantLines("entries that were kept", entryLines(kept), before)
	for _, e := range kept {
		fill(e.Version.Fields, 'x')
		if e.Commit != nil {
			fill(e.Commit.Metadata, 'x')
			e.Commit.Comment = "overwritten"
		}
	}
	s.wantLines("the log after its entries were overwritten", s.logged(0), before)
}

func logClosed(s *archiveStory) {
	s.commit(put(person("ada"), 1))
	s.must(s.Close())
	_, errs := s.archive.Origin(s.ctx)
	_, size := s.archive.LogSize(s.ctx, 0, backend.Head)
	_, log := s.logError(s.ctx, 0)
	_, state := s.archive.CopyState(s.ctx)
	restore := s.archive.Restore(s.ctx, &backend.Restoration{Since: 1, Copy: func() backend.CopyState { return backend.CopyState{} }})
	for name, err := range map[string]error{"origin": errs, "size": size, "log": log, "copy state": state, "restore": restore} {
		if onto.CodeOf(err) != onto.Closed {
			s.Errorf("%s: got error %v, want code %q", name, err, onto.Closed)
		}
	}
}

func logNoCopy(s *archiveStory) {
	want := fmt.Sprintf("%+v", backend.CopyState{})
	s.want("an empty store", s.copyState(), want)
	s.lively()
	s.reopen()
	s.want("a store with commits", s.copyState(), want)
}
