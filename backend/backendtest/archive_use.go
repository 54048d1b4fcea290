package backendtest

import (
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func unfinishedStories() []archiveTale {
	return []archiveTale{
		{"an unfinished copy can be used only to go on", unfinishedRefuses},
		{"a copy can be unfinished without commits", unfinishedEmpty},
		{"the last part of a copy finishes it", unfinishedEnds},
		{"a finished copy can be unfinished again", unfinishedAgain},
	}
}

func copyUseStories() []archiveTale {
	return []archiveTale{
		{"words are found in a copy", useSearch},
		{"a copy answers about its past", usePast},
		{"filters and orders of a copy", useFilters},
		{"groups of a copy", useGroups},
		{"a copy tells what it holds", useDescribed},
		{"a projection of a copy made anew says the same", useRebuilt},
		{"drafts at a copy have the verdicts that they have at its source", useDrafts},
		{"types evolve at a copy", useEvolves},
	}
}

// wantUnfinished requires that a store cannot be used but as the target of a copy.
func (s *archiveStory) wantUnfinished(what string, b backend.Backend) {
	s.Helper()
	plain := s.through(b).asArchive()
	errs := plain.attempts()
	_, errs["LogSize"] = plain.archive.LogSize(s.ctx, 0, backend.Head)
	_, errs["Log"] = plain.logError(s.ctx, 0)
	_, errs["CopyState"] = plain.archive.CopyState(s.ctx)
	if l, ok := backend.As[backend.Leaser](b); ok {
		_, errs["Acquire"] = l.Acquire(s.ctx, &backend.LeaseRequest{Name: onto.WriteLease, Owner: "one", TTL: 1e9})
	}
	if e, ok := backend.As[backend.Bus](b); ok {
		_, errs["Emit"] = e.Emit(s.ctx, &backend.Emission{Events: []backend.NewEvent{event(1, "paid")}})
	}
	for name, err := range errs {
		if onto.CodeOf(err) != onto.CopyUnfinished {
			s.Errorf("%s, %s: got error %v, want code %q", what, name, err, onto.CopyUnfinished)
		}
	}
}

// wantNotOpened requires that the store cannot be opened but as the target of a copy, or
// that nothing can be done with it.
func (s *archiveStory) wantNotOpened() {
	s.Helper()
	p := *s.place
	p.Target = false
	b, err := s.opens(&p)
	if err != nil {
		if onto.CodeOf(err) != onto.CopyUnfinished {
			s.Errorf("opening an unfinished copy: got error %v, want code %q", err, onto.CopyUnfinished)
		}
		return
	}
	s.wantUnfinished("an unfinished copy that was opened", b)
	s.closeHandle(b)
}

// plain opens the store as it is opened for use.
func (s *archiveStory) plain() *archiveStory {
	s.Helper()
	other := *s.story
	p := *s.place
	p.Target = false
	other.place = &p
	return other.through(other.open()).asArchive()
}

func unfinishedRefuses(s *archiveStory) {
	s.eventful()
	other := s.empty()
	early := other.plain()
	early.wantLines("a target that is still empty", early.image(), nil)
	other.restore(s.part(0, 4))
	early.wantUnfinished("a handle that was opened before", early.Backend)
	for _, last := range []int64{7, 9} {
		other.wantNotOpened()
		other.reopen()
		other.wantLines("the log so far", other.logged(0), entryLines(upTo(s.entries(0), other.resolve(onto.Point{}).ID)))
		other.restore(s.part(other.resolve(onto.Point{}).ID, last))
	}
	other.wantNotOpened()
	other.restore(s.part(9, 12))
	s.wantCopy(early)
	s.wantCopy(other.plain())
}

func unfinishedEmpty(s *archiveStory) {
	other := s.empty()
	state := backend.CopyState{Origin: "a", Flags: "f", Unfinished: true}
	other.restore(&backend.Restoration{Copy: func() backend.CopyState { return state }})
	other.wantNotOpened()
	other.reopen()
	other.want("the state", other.copyState(), fmt.Sprintf("%+v", state))
	other.wantNotOpened()
	s.lively()
	other.restore(s.wholePart())
	s.wantCopy(other.plain())
}

func unfinishedEnds(s *archiveStory) {
	s.lively()
	other := s.empty()
	other.restore(s.part(0, 3))
	all := s.wholePart().Copy
	part := s.part(3, s.resolve(onto.Point{}).ID)
	part.Copy = func() backend.CopyState {
		state := all()
		state.Unfinished = true
		return state
	}
	other.restore(part)
	other.wantNotOpened()
	last := s.typesOnly()
	other.restore(last) // which is there already
	plain := other.plain()
	s.wantCopy(plain)
	plain.commit(put(person("new"), 1))
	other.want("a commit, through the handle of the copy", other.get(person("new"), backend.Head), row(person("new"), 7, 1))
}

func unfinishedAgain(s *archiveStory) {
	s.threeCommits()
	other := s.copied()
	plain := other.plain()
	plain.wantHead(3)
	s.lively()
	head := s.resolve(onto.Point{}).ID
	other.restore(s.part(3, 5))
	plain.wantUnfinished("a handle that was opened while the copy was finished", plain.Backend)
	other.wantNotOpened()
	other.restore(s.part(5, head))
	s.wantCopy(plain)
}

func useSearch(s *archiveStory) {
	s.register(searchable()...)
	s.texts()
	copies := []*archiveStory{s.copied(), s.copied(0)}
	for _, o := range copies {
		o.reopen()
		o.tellSearch()
	}
	s.commit(set(person("a"), `{"t":"Ada again"}`), remove(person("b")), set(visit("a", "b", "1"), `{"t":"a long trip"}`), set(claim("a", "t", "1"), `{"t":"trip"}`))
	s.register(flagged(func(_ string, f *onto.Field) { f.Search = f.Name == "t" || f.Name == "id" })...)
	for _, o := range copies {
		o.restore(s.part(1, 2))
		o.want("again", o.search(searchable(), persons(backend.Head), "again"), "a")
		o.want("ada", o.search(searchable(), persons(backend.Head), "ada"), "a d")
		o.want("ada before", o.search(searchable(), persons(1), "ada"), "a b d")
		o.want("trips", o.search(searchable(), *stateOf(onto.KindRelation, tVisit, backend.Head), "trip"), "a>b/1")
		o.want("claims", o.search(searchable(), *stateOf(onto.KindFact, tClaim, backend.Head), "trip"), "a>t/1")
		marked := flagged(func(_ string, f *onto.Field) { f.Search = f.Name == "t" || f.Name == "id" })
		o.want("keys", o.search(marked, persons(backend.Head), "c"), "c")
		o.plain().commit(set(person("z"), `{"t":"ada at last"}`))
		o.want("a commit after the copy", o.search(searchable(), persons(backend.Head), "ada"), "a d z")
	}
}

// pastOf formats what a store answers about each commit.
func (s *archiveStory) pastOf() []string {
	s.Helper()
	var lines []string
	for at := range s.resolve(onto.Point{}).ID + 1 {
		for _, t := range s.schemaVersions() {
			lines = append(lines, fmt.Sprint("as of ", at))
			lines = append(lines, s.scan(stateOf(t.Schema.Kind, t.Schema.Name, at))...)
		}
		lines = append(lines, s.diff(max(0, at-1), at)...)
		lines = append(lines, s.diff(at, backend.Head)...)
		lines = append(lines, s.get(person("ada"), at), s.get(city("rome"), at), s.get(claim("ada", "n", "1"), at))
	}
	return lines
}

func usePast(s *archiveStory) {
	s.eventful()
	want := s.pastOf()
	for _, ends := range [][]int64{nil, {3, 7}} {
		other := s.copied(ends...)
		other.wantLines("the past", other.pastOf(), want)
		ada := person("ada")
		q := historyOf(onto.KindEntity, tPerson, backend.Head)
		q.Identity = &ada
		other.wantLines("history of one", other.scan(q), s.scan(q))
		q.Since, q.At = 1, 5
		other.wantLines("history of one between commits", other.scan(q), s.scan(q))
		at := s.resolve(onto.AtCommit(8)).Time
		other.want("as of a time", showCommit(other.resolve(onto.AtTime(at))), showCommit(s.resolve(onto.AtTime(at))))
	}
}

func useFilters(s *archiveStory) {
	s.register(flagged(func(_ string, f *onto.Field) { f.Index = true })...)
	s.lively()
	s.allKinds()
	var want []string
	ask := func(s *archiveStory) (lines []string) {
		for at := range s.resolve(onto.Point{}).ID + 1 {
			for _, where := range []onto.Filter{onto.Path("n").Gt(1), onto.Path("t").IsNull(), onto.Not{Of: onto.Path("v").Eq("a")}, onto.And{onto.Path("n").IsNotNull(), onto.Path("id").StartsWith("b")}} {
				q := persons(at)
				q.Where, q.Order = where, []onto.Order{onto.Path("n").Desc(), onto.Path("t").Asc()}
				lines = append(lines, s.story.ask(q))
			}
			q := backend.Query{Kind: onto.KindRelation, Type: tKnows, At: at, Where: onto.Left("n").Gt(0)}
			lines = append(lines, s.story.ask(q))
			q = backend.Query{Kind: onto.KindFact, Type: tClaim, At: at, LeftKeys: []string{"ada"}, Where: onto.Path("n").Eq(1)}
			lines = append(lines, s.story.ask(q))
		}
		return lines
	}
	want = ask(s)
	if len(slices.DeleteFunc(slices.Clone(want), func(line string) bool { return line == "" })) < 10 {
		s.Fatalf("the questions of the story find little: %q", want)
	}
	for _, ends := range [][]int64{nil, {1, 4}} {
		other := s.copied(ends...)
		other.wantLines("answers", ask(other), want)
	}
}

func useGroups(s *archiveStory) {
	s.figures()
	s.lively()
	ask := func(s *archiveStory) (lines []string) {
		for at := range s.resolve(onto.Point{}).ID + 1 {
			for _, mode := range []backend.Mode{backend.State, backend.History} {
				a := personsBy([]onto.Operand{onto.Path("t")}, onto.Count(), onto.Path("n").Sum(), onto.Path("n").Max())
				a.At, a.Mode = at, mode
				lines = append(lines, list(s.story, s.Aggregate(s.ctx, cleanAggregation(s.T, a, testSchemas())), showGroup)...)
			}
		}
		return lines
	}
	want := ask(s)
	for _, ends := range [][]int64{nil, {2}} {
		other := s.copied(ends...)
		other.wantLines("groups", ask(other), want)
	}
}

func useDescribed(s *archiveStory) {
	d, ok := backend.As[backend.Describer](s.Backend)
	if !ok {
		return
	}
	s.eventful()
	types := func(d backend.Describer) (lines []string) {
		info, err := d.Describe(s.ctx, true)
		s.must(err)
		for _, t := range info.Types {
			lines = append(lines, fmt.Sprintf("%s %s v%d: %d of %d", t.Kind, t.Name, t.Version, t.Live, t.Versions))
		}
		return lines
	}
	for _, ends := range [][]int64{nil, {2, 9}} {
		copied, _ := backend.As[backend.Describer](s.copied(ends...).plain().Backend)
		s.wantLines("types of the copy", types(copied), types(d))
	}
}

func useRebuilt(s *archiveStory) {
	if _, ok := backend.As[backend.Rebuilder](s.Backend); !ok {
		return
	}
	s.eventful()
	other := s.copied(3).plain()
	before := append(other.image(), other.pastOf()...)
	r, _ := backend.As[backend.Rebuilder](other.Backend)
	_, err := r.RebuildProjection(s.ctx, nil)
	s.must(err)
	other.wantLines("the copy", append(other.image(), other.pastOf()...), before)
	s.wantCopy(other)
}

// useDrafts sends drafts of every kind to a store and to copies of it.
func useDrafts(s *archiveStory) {
	s.eventful()
	copies := []*archiveStory{s.copied().plain(), s.copied(1, 5, 8).plain()}
	town := onto.EntityID("Town", "oslo")
	keys := func(key string, writes ...backend.Write) *backend.Draft { return rich(key, writes...) }
	drafts := []*backend.Draft{
		draft(stamped(put(person("ada"), 2), 3)),                                                                 // outdated if it is not known
		draft(stamped(set(person("ada"), `{"level":1,"n":2}`), 3)),                                               // nothing changes
		draft(put(person("ada"), 1)),                                                                             // of an older program
		draft(put(city("rome"), 1)),                                                                              // of a type that has ended
		draft(put(claim("ada", "n", "2"), 1)),                                                                    // likewise
		draft(remove(person("bob")), remove(person("nobody"))),                                                   //
		expecting([]onto.Expectation{headIs(12)}, put(town, 1)),                                                  //
		expecting([]onto.Expectation{isAt(town, 9)}, put(town, 1)),                                               //
		expecting([]onto.Expectation{isAt(town, 8)}, put(town, 1)),                                               //
		expecting([]onto.Expectation{isAt(city("rome"), 0)}, put(town, 4)),                                       // which was deleted
		fenced(draft(put(town, 2)), isAt(town, 9)),                                                               //
		keys("k1", put(person("ada"), 7)),                                                                        // another draft
		keys("k4", put(town, 7)),                                                                                 //
		draft(once(stamped(put(onto.EntityID("Tag", "y"), 2), 2))),                                               // which is there
		draft(once(stamped(put(onto.EntityID("Tag", "x"), 2), 2))),                                               // which was purged
		draft(stamped(put(onto.EntityID("Tag", "y"), 5), 1)),                                                     //
		draft(once(put(note("ada", "mood", "1"), 2))),                                                            // which was deleted
		draft(put(visit("ada", "rome", "t"), 1), put(visit("ada", "rome", "u"), 1), put(note("x", "y", "z"), 1)), //
	}
	for i, d := range drafts {
		send := func(s *archiveStory) string {
			r, err := s.Append(s.ctx, d)
			return outcome(fmt.Sprintf("%s, repeated %v, holds at %d", showCommit(r.Commit), r.Repeated, r.At), err)
		}
		want := send(s)
		for _, o := range copies {
			o.want(fmt.Sprintf("draft %d", i), send(o), want)
		}
	}
	for _, o := range copies {
		s.wantCopy(o)
	}
}

func useEvolves(s *archiveStory) {
	s.eventful()
	other := s.copied(6).plain()
	for _, b := range []*archiveStory{s, other} {
		e := adding(grown(tVisit, levelField()), grown(tCity, zipField()))
		e.End = []backend.EndedType{{Kind: onto.KindEntity, Type: "Town", Purge: true}}
		b.evolve(e, stamped(set(visit("ada", "rome", "t"), `{"level":1}`), 2))
		b.evolve(adding(tagged("Last")), put(onto.EntityID("Last", "x"), 1))
		b.register(tagged("Later"))
	}
	s.wantCopy(other)
}
