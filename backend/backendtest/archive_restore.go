package backendtest

import (
	"fmt"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func restoreStories() []archiveTale {
	return []archiveTale{
		{"an empty store is copied", restoreEmpty},
		{"a store is copied at once", func(s *archiveStory) { s.eventful(); s.wantCopy(s.copied()) }},
		{"a store is copied in parts", restoreInParts},
		{"a store is copied commit by commit", restoreOneByOne},
		{"a log is restored while it is read", restoreWhileReading},
		{"a copy follows its source", restoreFollows},
		{"a copy of a copy", restoreCopyOfCopy},
		{"large commits are restored", restoreLarge},
		{"many commits are restored", restoreMany},
		{"a repeated draft is known at the copy", restoreKeys},
		{"versions that change nothing are restored", restoreUnchanged},
		{"commits without versions are restored", restoreCommitsWithoutVersions},
		{"deletes of what does not exist are restored", restoreDeletesOfNothing},
		{"the count and the sum of events are restored", restoreEventCounts},
		{"causes are restored as they were", restoreCauses},
		{"keys of white space are restored", restoreBlankKeys},
		{"an old log is restored", restoreOldTimes},
		{"the state of a copy is told when its log has been read", restoreAsksForState},
		{"the state of a copy is kept", restoreKeepsState},
		{"a restoration is seen at once or not at all", restoreAtOnce},
		{"a restoration is known to every handle", restoreShared},
	}
}

// eventful fills a store with all that a log can have: twelve commits, of which a purge has
// emptied one, and changes of types between them and after the last.
func (s *archiveStory) eventful() {
	s.Helper()
	s.register(flagOf(tPerson, "t", true, true)...)
	s.commit(put(person("ada"), 1), set(person("bob"), `{"t":"Lovelace was here"}`), put(city("rome"), 1))
	s.place.clock.move(time.Second)
	s.do(rich("k1", put(person("ada"), 2), put(knows("ada", "bob"), 1), put(visit("ada", "rome", "t"), 1),
		once(set(claim("ada", "n", "1"), `{"n":1,"valid_from":"2026-01-01T00:00:00.000000+00:00"}`)), put(note("ada", "mood", "1"), 1)))
	stream := keyed("k2")
	stream.Comment, stream.Metadata = "a stream", []byte(`{}`)
	s.stream(stream, remove(person("bob")), put(city("oslo"), 1), remove(note("ada", "mood", "1")), set(claim("ada", "v", "1"), `{"v":[1,"é"]}`))
	s.place.clock.move(-time.Hour) // which stands still for commits
	s.commit(put(city("oslo"), 2))
	level := adding(grown(tPerson, levelField()))
	level.Add[0].Upgrader = &onto.StoredUpgrader{Program: ".level = 1"}
	s.evolve(level, stamped(set(person("ada"), `{"level":1,"n":2}`), 2)) // commit 5
	s.register(tagged("Tag"))
	s.commit(put(onto.EntityID("Tag", "x"), 1))
	s.do(keyed("k3", put(onto.EntityID("Tag", "x"), 2))) // commit 7, which a purge will empty
	town, schema := cities().renamed("Town")
	move := dropping(backend.EndedType{Kind: onto.KindEntity, Type: tCity, RenamedTo: "Town"})
	move.Add = []backend.NewVersion{{Schema: schema, Upgrader: &onto.StoredUpgrader{RenamedFrom: tCity, FromVersion: 1}}}
	s.evolve(move, remove(city("rome")), remove(city("oslo")), put(town.one("rome"), 1), put(town.one("oslo"), 2))
	s.place.clock.move(2 * time.Hour)
	s.commit(put(town.one("oslo"), 3), stamped(put(person("bob"), 1), 2))
	s.evolve(dropping(backend.EndedType{Kind: onto.KindEntity, Type: "Tag", Purge: true}), stamped(put(person("cy"), 1), 2)) // commit 10
	s.register(tagged("Tag"))
	s.commit(stamped(put(onto.EntityID("Tag", "y"), 1), 2))
	s.commit(stamped(remove(person("cy")), 2))
	s.evolve(adding(grown(tKnows, zipField())))
	learned := adding(grown(tPerson, levelField(), zipField()))
	learned.Learn = []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: "Tag", Version: 2, Upgrader: onto.StoredUpgrader{Func: true}}}
	s.evolve(learned)
	s.evolve(dropping(claims().end()))
	s.wantHead(12)
}

func restoreEmpty(s *archiveStory) {
	s.wantCopy(s.copied()) // which has types
	other := s.empty()
	other.wantLines("an empty target", other.image(), nil)
	other.reopen()
	other.restore(&backend.Restoration{Copy: func() backend.CopyState { return backend.CopyState{Origin: "nothing"} }})
	other.wantLines("a copy of nothing", other.image(), nil)
	other.reopen()
	other.want("the state", other.copyState(), fmt.Sprintf("%+v", backend.CopyState{Origin: "nothing"}))
}

func restoreInParts(s *archiveStory) {
	s.eventful()
	for _, ends := range [][]int64{{2, 4}, {3, 6, 11}, {5, 7, 8}, {10, 12}} {
		other := s.copied(ends...)
		s.wantCopy(other)
		other.reopen()
		s.wantCopy(other)
	}
}

func restoreOneByOne(s *archiveStory) {
	s.eventful()
	other := s.empty()
	for last := int64(0); last <= 12; last++ {
		other.restore(s.part(max(0, last-1), last))
		if last%4 == 1 {
			other.reopen()
		}
		other.wantLines(fmt.Sprint("the log up to ", last), other.logged(0), entryLines(upTo(s.entries(0), last)))
		if err := check(other.Backend); err != nil {
			s.Fatalf("check after commit %d: %v", last, err)
		}
	}
	s.wantCopy(other)
}

func restoreWhileReading(s *archiveStory) {
	s.eventful()
	s.stream(draft(), numberedCities(2000)...)
	other := s.empty()
	r := s.wholePart()
	r.Log = s.archive.Log(s.ctx, 0)
	other.restore(r)
	s.wantCopy(other)
}

// numberedCities are writes of the type Town.
func numberedCities(n int) []backend.Write {
	var writes []backend.Write
	for i := range n {
		writes = append(writes, put(onto.EntityID("Town", fmt.Sprintf("t%06d", i)), i))
	}
	return writes
}

func restoreFollows(s *archiveStory) {
	other := s.empty()
	since := int64(0)
	follow := func() {
		s.Helper()
		head := s.resolve(onto.Point{}).ID
		other.restore(s.part(since, head))
		since = head
		s.wantCopy(other)
	}
	follow()
	s.lively()
	follow()
	follow() // and nothing has changed
	s.register(searchable()...)
	follow()
	s.commit(put(person("ada"), 9), remove(city("rome")))
	follow()
	s.evolve(adding(grown(tPerson, zipField())), stamped(set(person("ada"), `{"zip":"1"}`), 2))
	other.reopen()
	follow()
	s.evolve(backend.Evolution{Learn: []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: tPerson, Version: 2, Upgrader: onto.StoredUpgrader{Program: "."}}}})
	follow()
	s.evolve(purging(cities(), ""))
	follow()
	s.register(testSchemas()[1])
	s.commit(stamped(put(city("rome"), 1), 2))
	follow()
}

func restoreCopyOfCopy(s *archiveStory) {
	s.eventful()
	first := s.copied(4, 9)
	second := first.copied(7)
	s.wantCopy(second)
	origin, err := first.archive.Origin(s.ctx)
	s.must(err)
	if state, err := second.archive.CopyState(s.ctx); err != nil || state.Origin != origin {
		s.Errorf("the copy of the copy: got origin %q, error %v; want %q", state.Origin, err, origin)
	}
}

func restoreLarge(s *archiveStory) {
	const n = 1000
	for round := range 3 {
		var writes []backend.Write
		for i := range n {
			w := put(person(fmt.Sprint(i)), round)
			if (i+round)%5 == 0 {
				w = remove(w.Identity)
			}
			writes = append(writes, w, put(visit(fmt.Sprint(i%17), fmt.Sprint(i), "t"), i%(round+1)))
		}
		s.stream(draft(), writes...)
		s.commit(put(city("rome"), round))
	}
	s.wantCopy(s.copied(1))
}

func restoreMany(s *archiveStory) {
	n := s.times(400)
	for i := range n {
		d := draft(put(person(fmt.Sprint(i%13)), i), put(claim(fmt.Sprint(i%5), "n", "1"), i/2))
		if i%3 == 0 {
			d.IdempotencyKey = fmt.Sprint("key ", i)
		}
		s.do(d)
	}
	s.wantCopy(s.copied(int64(n/3), int64(n/2)))
}

func restoreKeys(s *archiveStory) {
	s.commit(put(person("bob"), 1))
	d := rich("k", put(person("ada"), 1), put(claim("ada", "n", "1"), 1))
	first := s.do(d).Commit
	writes := []backend.Write{put(person("cy"), 1), put(city("rome"), 1)}
	second := s.stream(keyed("k2"), writes...).Commit
	evolve := s.evolving(adding(grown(tCity, zipField())))
	evolve.IdempotencyKey = "k3"
	row := stamped(put(city("oslo"), 1), 2)
	third := s.stream(evolve, row).Commit
	other := s.copied(2)
	for range 2 {
		other.repeats(d, first)
		other.refused(onto.IdempotencyConflict, rich("k", put(person("ada"), 2)))
		other.refused(onto.IdempotencyConflict, keyed("k2", put(person("ada"), 2)))
		other.wantRepeat(other.stream(keyed("k2"), writes...), second)
		other.wantRepeat(other.stream(evolve, row), third)
		other.refusedStream(onto.IdempotencyConflict, keyed("k3"), writes...)
		other.reopen()
	}
	if r := other.do(keyed("k4", put(person("ada"), 2))); r.ID != 5 || r.Repeated {
		s.Errorf("another key: got %s, repeated %v; want commit 5", showCommit(r.Commit), r.Repeated)
	}
}

// handmade makes the entries of a commit.
func (s *archiveStory) handmade(id int64, versions ...*onto.Version) []backend.LogEntry {
	list := []backend.LogEntry{{Commit: &backend.LogCommit{Commit: onto.Commit{
		ID: id, Time: s.place.Now().UTC().Truncate(time.Microsecond), Operations: len(versions), Comment: "by hand",
	}}}}
	for _, v := range versions {
		list = append(list, backend.LogEntry{Version: *v})
	}
	return list
}

// handmadePart makes a restoration of entries, with the types of this store.
func (s *archiveStory) handmadePart(since int64, parts ...[]backend.LogEntry) *backend.Restoration {
	s.Helper()
	return &backend.Restoration{
		Since: since, Log: feed(joined(parts...), nil), Types: s.schemaVersions(),
		Copy: func() backend.CopyState {
			return backend.CopyState{Origin: "by hand", Commit: since + int64(len(parts))}
		},
	}
}

func joined(parts ...[]backend.LogEntry) (list []backend.LogEntry) {
	for _, p := range parts {
		list = append(list, p...)
	}
	return list
}

// wantHandmade restores commits at once and one by one, and requires that both stores have
// them. It returns them.
func (s *archiveStory) wantHandmade(commits ...[]backend.LogEntry) []*archiveStory {
	s.Helper()
	atOnce, oneByOne := s.empty(), s.empty()
	atOnce.restore(s.handmadePart(0, commits...))
	for i, c := range commits {
		oneByOne.restore(s.handmadePart(int64(i), c))
	}
	both := []*archiveStory{atOnce, oneByOne}
	for _, o := range both {
		o.wantLines("the log", o.logged(0), entryLines(joined(commits...)))
		o.reopen()
		o.wantLines("the log after reopening", o.logged(0), entryLines(joined(commits...)))
		Check(s.T, o.Backend)
	}
	return both
}

func restoreUnchanged(s *archiveStory) {
	ada, fact := person("ada"), claim("ada", "n", "1")
	for _, o := range s.wantHandmade(
		s.handmade(1, made(ada, 1, 1), made(fact, 1, 1)),
		s.handmade(2, made(ada, 2, 1), made(fact, 2, 1)),
		s.handmade(3, made(ada, 3, 2)),
		s.handmade(4, made(person("bob"), 4, 1), made(fact, 4, 1)),
	) {
		q := historyOf(onto.KindEntity, tPerson, backend.Head)
		o.wantLines("history", o.scan(q), []string{row(ada, 1, 1), row(ada, 2, 1), row(ada, 3, 2), row(person("bob"), 4, 1)})
		o.wantState(onto.KindFact, tClaim, row(fact, 4, 1))
		o.want("as of 2", o.get(ada, 2), row(ada, 2, 1))
		o.want("operations", o.operations(), "2 2 1 2")
		o.refused(onto.VersionMismatch, expecting([]onto.Expectation{isAt(fact, 1)}, put(ada, 3)))
		o.do(expecting([]onto.Expectation{isAt(fact, 4)}, put(ada, 3)))
		o.nothing(draft(put(ada, 3)))
	}
}

func restoreCommitsWithoutVersions(s *archiveStory) {
	ada := person("ada")
	empty := s.handmade(1)
	empty[0].Commit.IdempotencyKey, empty[0].Commit.Digest = "k", backend.DigestOf(keyed("k", put(ada, 9)))
	empty[0].Commit.Metadata = []byte(`{"why":"nothing changed"}`)
	for _, o := range s.wantHandmade(empty, s.handmade(2), s.handmade(3, made(ada, 3, 1)), s.handmade(4), s.handmade(5)) {
		o.wantHead(5)
		o.want("operations", o.operations(), "0 0 1 0 0")
		o.wantState(onto.KindEntity, tPerson, row(ada, 3, 1))
		r := o.do(keyed("k", put(ada, 9)))
		if r.ID != 1 || !r.Repeated {
			o.Errorf("its draft again: got commit %d, repeated %v; want commit 1 repeated", r.ID, r.Repeated)
		}
		o.wantLines("diff of the last", o.diff(3, 5), nil)
		if c := o.commit(put(ada, 2)); c.ID != 6 {
			o.Errorf("the next commit: got %d, want 6", c.ID)
		}
	}
}

// restoreEventCounts restores commits whose events stayed behind.
func restoreEventCounts(s *archiveStory) {
	ada := person("ada")
	emitting := func(id int64, events int, sum int64, versions ...*onto.Version) []backend.LogEntry {
		c := s.handmade(id, versions...)
		c[0].Commit.Events, c[0].Commit.EventSum = events, sum
		return c
	}
	large := make([]*onto.Version, 5000) // which is not written at once
	for i := range large {
		large[i] = made(person(fmt.Sprintf("%05d", i)), 2, 1)
	}
	for _, o := range s.wantHandmade(emitting(1, 2, 7_000_000_000, made(ada, 1, 1)), emitting(2, 1, 5, large...), emitting(3, 4, 0), s.handmade(4, made(ada, 4, 2))) {
		var counts []int
		for c, err := range o.Commits(o.ctx, &backend.CommitQuery{Until: backend.Head}) {
			o.must(err)
			counts = append(counts, c.Events)
		}
		o.want("events of commits", fmt.Sprint(counts), "[2 1 4 0]")
		other := s.empty()
		other.restore(o.part(0, 4))
		other.wantLines("the log of a copy", other.logged(0), o.logged(0))
	}
}

func restoreDeletesOfNothing(s *archiveStory) {
	ada, bob := person("ada"), person("bob")
	for _, o := range s.wantHandmade(
		s.handmade(1, gone(ada, 1), made(bob, 1, 1)),
		s.handmade(2, gone(bob, 2)),
		s.handmade(3, gone(bob, 3)),
	) {
		o.wantState(onto.KindEntity, tPerson)
		o.want("bob", o.get(bob, backend.Head), bob.String()+" @3 deleted")
		o.want("ada", o.get(ada, 1), ada.String()+" @1 deleted")
		o.nothing(draft(remove(ada), remove(bob)))
		o.commit(put(ada, 1))
	}
}

// restoreOldTimes restores commits of other times than the clock's.
func restoreOldTimes(s *archiveStory) {
	var commits [][]backend.LogEntry
	for i, at := range []time.Time{
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC), time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC),
		time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC), time.Date(2099, 1, 1, 0, 0, 0, 1000, time.UTC),
	} {
		c := s.handmade(int64(i+1), made(person("ada"), int64(i+1), i))
		c[0].Commit.Time = at
		commits = append(commits, c)
	}
	for _, o := range s.wantHandmade(commits...) {
		for at, want := range map[time.Time]int64{
			time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC): 2, time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC): 4, time.Date(2001, 2, 3, 4, 5, 6, 6999, time.UTC): 2, s.place.Now(): 4,
		} {
			if c := o.resolve(onto.AtTime(at)); c.ID != want {
				o.Errorf("as of %s: got commit %d, want %d", at, c.ID, want)
			}
		}
		if c := o.commit(put(person("ada"), 9)); !c.Time.Equal(commits[4][0].Commit.Time) {
			o.Errorf("the next commit: got %s, want the time of the one before, which is later than the clock", c.Time)
		}
	}
}

func restoreAsksForState(s *archiveStory) {
	s.lively()
	other := s.empty()
	r := s.wholePart()
	entries, done, asked := s.entries(0), false, 0
	r.Log = func(yield func(backend.LogEntry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		done = true
	}
	state := r.Copy
	r.Copy = func() backend.CopyState {
		if asked++; !done {
			s.Error("the state is asked for before the log has been read")
		}
		return state()
	}
	other.restore(r)
	if asked == 0 {
		s.Error("the state was not asked for")
	}
	s.wantCopy(other)
}

func restoreKeepsState(s *archiveStory) {
	s.threeCommits()
	other := s.empty()
	for i, want := range []backend.CopyState{
		{Origin: "a", Flags: "rename=x", Commit: 1, Sum: "s1", Unfinished: true},
		{Origin: "é \"'", Flags: "", Commit: 2, Sum: "", Unfinished: true},
		{Origin: "a", Flags: "rename=x,until=3", Commit: 3, Sum: "s3"},
		{Origin: "a", Flags: "rename=x,until=3", Commit: 3, Sum: "s4"},
	} {
		r := s.part(min(3, int64(i)), min(3, int64(i+1)))
		r.Copy = func() backend.CopyState { return want }
		other.restore(r)
		for range 2 {
			other.want("the state", other.copyState(), fmt.Sprintf("%+v", want))
			other.want("the state through another handle", other.also().copyState(), fmt.Sprintf("%+v", want))
			other.reopen()
		}
	}
	other.commit(put(person("ada"), 9))
	other.want("the state after a commit", other.copyState(), fmt.Sprintf("%+v", backend.CopyState{Origin: "a", Flags: "rename=x,until=3", Commit: 3, Sum: "s4"}))
}

// restoreAtOnce reads through other handles while the log is on its way.
func restoreAtOnce(s *archiveStory) {
	s.lively()
	s.stream(draft(), rows(3000, 1)...)
	other := s.empty()
	other.restore(s.part(0, 2))
	reader := other.also()
	before := reader.imageWithState()
	r := s.part(2, s.resolve(onto.Point{}).ID)
	entries := s.entries(2)
	waiting, goOn, restored := make(chan struct{}), make(chan struct{}), make(chan error)
	r.Log = pausing(entries, []int{1, 2000, len(entries)}, waiting, goOn)
	go func() { restored <- other.archive.Restore(s.ctx, r) }()
	for ended := false; !ended; {
		select {
		case <-waiting:
			reader.wantLines("while the log is read", reader.imageWithState(), before)
			goOn <- struct{}{}
		case err := <-restored:
			s.must(err)
			ended = true
		}
	}
	s.wantCopy(reader)
	s.wantCopy(other)
}

// pausing yields entries, and waits after some of them.
func pausing(entries []backend.LogEntry, after []int, waiting chan<- struct{}, goOn <-chan struct{}) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for i, e := range entries {
			if !yield(e, nil) {
				return
			}
			for _, n := range after {
				if n == i+1 {
					waiting <- struct{}{}
					<-goOn
				}
			}
		}
	}
}

func restoreShared(s *archiveStory) {
	s.eventful()
	other := s.empty()
	reader := other.also()
	reader.wantLines("before", reader.image(), nil)
	for _, part := range [][2]int64{{0, 5}, {5, 9}, {9, 12}} {
		other.restore(s.part(part[0], part[1]))
		reader.wantLines("through another handle", reader.imageWithState(), other.imageWithState())
		other, reader = reader, other
	}
	s.wantCopy(other)
	s.wantCopy(reader)
	reader.commit(put(onto.EntityID("Town", "new"), 1))
	other.want("a commit through another handle", other.get(onto.EntityID("Town", "new"), backend.Head), row(onto.EntityID("Town", "new"), 13, 1))
}
