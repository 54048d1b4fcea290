package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func restoreRefusalStories() []archiveTale {
	return []archiveTale{
		{"a log that does not follow is refused", refuseLogs},
		{"a log that begins elsewhere is refused", refuseHeads},
		{"types that are stored otherwise are refused", refuseTypes},
		{"a purge of a restoration that fails is undone", refusePurges},
		{"a log that fails leaves nothing behind", refuseBroken},
		{"a log that panics leaves nothing behind", refusePanics},
		{"a restoration that is cancelled leaves nothing behind", refuseCancelled},
		{"the write lease keeps restorations out", refuseLease},
		{"of two restorations one wins", refuseRaced},
		{"a commit beside a copy ends it", refuseBesideCommit},
	}
}

// refuses requires that a restoration fails with a code, and changes nothing.
func (s *archiveStory) refuses(what string, code onto.Code, r *backend.Restoration) {
	s.Helper()
	s.refusesAs(what, r, func(err error) bool { return onto.CodeOf(err) == code }, fmt.Sprintf("code %q", code))
}

// refusesAs requires that a restoration fails with a certain error, and changes nothing.
func (s *archiveStory) refusesAs(what string, r *backend.Restoration, is func(error) bool, want string) {
	s.Helper()
	before := s.imageWithState()
	asked := r.Copy
	r.Copy = func() backend.CopyState {
		s.Helper()
		state := asked()
		state.Flags = "of a restoration that failed"
		return state
	}
	if err := s.archive.Restore(s.ctx, r); err == nil || !is(err) {
		s.Errorf("%s: got error %v (code %q), want %s", what, err, onto.CodeOf(err), want)
	}
	s.wantLines("after "+what, s.imageWithState(), before)
}

// refuseLogs appends to two commits what does not follow them, at once and after a commit
// that does.
func refuseLogs(s *archiveStory) {
	ada, bob, rome, fact := person("ada"), person("bob"), city("rome"), claim("ada", "n", "1")
	other := s.empty()
	first := s.handmade(1, made(ada, 1, 1))
	first[0].Commit.IdempotencyKey, first[0].Commit.Digest = "used", "d"
	other.restore(s.handmadePart(0, first, s.handmade(2, made(bob, 2, 1))))
	edit := func(c []backend.LogEntry, change func(*backend.LogCommit)) []backend.LogEntry {
		change(c[0].Commit)
		return c
	}
	versioned := func(v *onto.Version, stamp int) *onto.Version {
		v.SchemaVersion = stamp
		return v
	}
	for what, commit := range map[string]func(id int64) []backend.LogEntry{
		"a gap":           func(id int64) []backend.LogEntry { return s.handmade(id+1, made(ada, id+1, 2)) },
		"a commit twice":  func(id int64) []backend.LogEntry { return s.handmade(id-1, made(ada, id-1, 2)) },
		"the first again": func(int64) []backend.LogEntry { return s.handmade(1, made(ada, 1, 2)) },
		"commit 0":        func(int64) []backend.LogEntry { return s.handmade(0) },
		"a time that goes back": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Time = c.Time.Add(-time.Microsecond) })
		},
		"a version too few": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Operations++ })
		},
		"a version too many": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2), made(bob, id, 2)), func(c *backend.LogCommit) { c.Operations-- })
		},
		"versions of a commit without any": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Operations = 0 })
		},
		"versions out of order":       func(id int64) []backend.LogEntry { return s.handmade(id, made(bob, id, 2), made(ada, id, 2)) },
		"types out of order":          func(id int64) []backend.LogEntry { return s.handmade(id, made(ada, id, 2), made(rome, id, 2)) },
		"kinds out of order":          func(id int64) []backend.LogEntry { return s.handmade(id, made(fact, id, 2), made(ada, id, 2)) },
		"an identity twice":           func(id int64) []backend.LogEntry { return s.handmade(id, made(ada, id, 2), made(ada, id, 3)) },
		"a version of another commit": func(id int64) []backend.LogEntry { return s.handmade(id, made(ada, id-1, 2)) },
		"a version of a later commit": func(id int64) []backend.LogEntry { return s.handmade(id, made(ada, id+1, 2)) },
		"a version of no commit":      func(id int64) []backend.LogEntry { return s.handmade(id, made(ada, 0, 2)) },
		"a version that types lack":   func(id int64) []backend.LogEntry { return s.handmade(id, versioned(made(ada, id, 2), 2)) },
		"version 0 of a type":         func(id int64) []backend.LogEntry { return s.handmade(id, versioned(made(ada, id, 2), 0)) },
		"a type that is unknown":      func(id int64) []backend.LogEntry { return s.handmade(id, made(onto.EntityID("Nobody", "x"), id, 2)) },
		"a type of another kind":      func(id int64) []backend.LogEntry { return s.handmade(id, made(onto.EntityID(tKnows, "x"), id, 2)) },
		"a fact of a type of entities": func(id int64) []backend.LogEntry {
			return s.handmade(id, made(onto.FactID(tPerson, "a", "n", "1"), id, 2))
		},
		"a key that was used": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.IdempotencyKey = "used" })
		},
		"a comment with U+0000": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Comment = "a\x00b" })
		},
		"an actor that is not UTF-8": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Actor.ID = "\xff" })
		},
		"fewer events than none": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Events = -1 })
		},
		"a sum of no events": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.EventSum = 1 })
		},
		"a cause before the first commit": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Causation = -1 })
		},
		"metadata that is not canonical": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Metadata = json.RawMessage(`{"b":1,"a":2}`) })
		},
		"metadata with a number that is too large": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Metadata = json.RawMessage(`{"a":1e400}`) })
		},
		"metadata that is no object": func(id int64) []backend.LogEntry {
			return edit(s.handmade(id, made(ada, id, 2)), func(c *backend.LogCommit) { c.Metadata = json.RawMessage(`[1]`) })
		},
		"a key twice": func(id int64) []backend.LogEntry {
			key := func(c *backend.LogCommit) { c.IdempotencyKey = "new" }
			return joined(edit(s.handmade(id, made(ada, id, 2)), key), edit(s.handmade(id+1, made(ada, id+1, 3)), key))
		},
	} {
		other.refuses(what, onto.Invalid, s.handmadePart(2, commit(3)))
		other.refuses(what+", after a commit", onto.Invalid, s.handmadePart(2, s.handmade(3, made(rome, 3, 1)), commit(4)))
		if what != "a version too many" && what != "versions of a commit without any" { // which the next commit would explain
			other.refuses(what+", before a commit", onto.Invalid, s.handmadePart(2, commit(3), s.handmade(4, made(rome, 4, 1))))
		}
	}
	stray := s.handmadePart(2)
	stray.Log = feed([]backend.LogEntry{{Version: *made(ada, 2, 5)}}, nil)
	other.refuses("a version before the first commit", onto.Invalid, stray)
	fresh := s.empty()
	stray = s.handmadePart(0)
	stray.Log = feed([]backend.LogEntry{{Version: *made(ada, 0, 5)}}, nil)
	fresh.refuses("a version without any commit", onto.Invalid, stray)
	fresh.refuses("a log that begins with commit 2", onto.Invalid, s.handmadePart(0, s.handmade(2, made(ada, 2, 1))))
	other.restore(s.handmadePart(2, s.handmade(3, made(ada, 3, 2))))
	other.wantHead(3)
	other.reopen()
	other.want("ada", other.get(ada, backend.Head), row(ada, 3, 2))
}

func refuseHeads(s *archiveStory) {
	s.threeCommits()
	s.commit(put(person("zoe"), 1))
	other := s.empty()
	other.refuses("a log from commit 1 on, for an empty store", onto.HeadMismatch, s.part(1, 2))
	other.restore(s.part(0, 2))
	for _, since := range []int64{0, 1, 3} {
		other.refuses(fmt.Sprint("a log since ", since), onto.HeadMismatch, s.part(since, 4))
		r := s.part(since, since)
		r.Log = nil
		other.refuses(fmt.Sprint("types since ", since), onto.HeadMismatch, r)
	}
	other.restore(s.part(2, 4))
	other.refuses("the same once more", onto.HeadMismatch, s.part(2, 4))
	s.wantCopy(other)
}

// refuseTypes restores types that contradict those of the target.
func refuseTypes(s *archiveStory) {
	s.lively()
	s.evolve(ending(tCity), remove(city("rome")))
	s.evolve(purging(claims(), ""))
	s.evolve(adding(grown(tPerson, zipField())))
	other := s.copied()
	at := func(list []onto.SchemaVersion, typ string) *onto.SchemaVersion {
		return &list[slices.IndexFunc(list, func(v onto.SchemaVersion) bool { return v.Schema.Name == typ })]
	}
	for what, change := range map[string]func(list []onto.SchemaVersion) []onto.SchemaVersion{
		"no types":         func([]onto.SchemaVersion) []onto.SchemaVersion { return nil },
		"a type too few":   func(list []onto.SchemaVersion) []onto.SchemaVersion { return list[1:] },
		"the last missing": func(list []onto.SchemaVersion) []onto.SchemaVersion { return list[:len(list)-1] },
		"a version too few": func(list []onto.SchemaVersion) []onto.SchemaVersion {
			return slices.DeleteFunc(list, func(v onto.SchemaVersion) bool { return v.Schema.Name == tPerson && v.Version == 2 })
		},
		"another schema": func(list []onto.SchemaVersion) []onto.SchemaVersion {
			v, schema := at(list, tKnows), grown(tKnows, zipField())
			v.Schema, v.JSON, v.Hash = schema, schema.JSON(), schema.Hash()
			return list
		},
		"another first commit": func(list []onto.SchemaVersion) []onto.SchemaVersion {
			at(list, tKnows).Since++
			return list
		},
		"another version": func(list []onto.SchemaVersion) []onto.SchemaVersion {
			at(list, tKnows).Version = 2
			return list
		},
		"an end that is gone": func(list []onto.SchemaVersion) []onto.SchemaVersion {
			at(list, tCity).End = nil
			return list
		},
		"another end": func(list []onto.SchemaVersion) []onto.SchemaVersion {
			at(list, tCity).End.Commit--
			return list
		},
		"a purge that is undone": func(list []onto.SchemaVersion) []onto.SchemaVersion {
			at(list, tClaim).End.Purged = false
			return list
		},
	} {
		r := s.typesOnly()
		r.Types = change(s.schemaVersions())
		other.refuses(what, onto.Conflict, r)
		r = s.typesOnly()
		r.Types, r.Log = change(s.schemaVersions()), feed(s.handmade(r.Since+1, made(onto.RelationID(tKnows, "a", "b"), r.Since+1, 7)), nil)
		other.refuses(what+" with a commit", onto.Conflict, r)
	}
	for what, change := range map[string]func(list []onto.SchemaVersion) []onto.SchemaVersion{
		"types out of order": func(list []onto.SchemaVersion) []onto.SchemaVersion {
			list[0], list[1] = list[1], list[0]
			return list
		},
		"a type twice": func(list []onto.SchemaVersion) []onto.SchemaVersion { return slices.Insert(list, 0, list[0]) },
	} {
		r := s.typesOnly()
		r.Types = change(s.schemaVersions())
		other.refuses(what, onto.Invalid, r)
	}
	other.restore(s.typesOnly())
	s.wantCopy(other)
}

func refusePurges(s *archiveStory) {
	s.commit(put(city("rome"), 1), put(person("ada"), 1))
	other := s.copied()
	s.evolve(purging(cities(), ""), put(person("ada"), 2))
	planted := errors.New("the source broke")
	for _, n := range []int{0, 1, 2} {
		r := s.part(1, 2)
		r.Log = feed(s.entries(1)[:n], planted)
		other.refusesAs(fmt.Sprintf("a log that breaks after %d entries", n), r, func(err error) bool { return err == planted }, "the error of the log as it is")
	}
	r := s.part(1, 2)
	r.Log = feed(s.handmade(3), nil)
	other.refuses("a gap", onto.Invalid, r)
	other.reopen()
	other.wantState(onto.KindEntity, tCity, row(city("rome"), 1, 1))
	other.restore(s.part(1, 2))
	s.wantCopy(other)
}

func refuseBroken(s *archiveStory) {
	s.threeCommits()
	s.stream(draft(), rows(3000, 1)...)
	s.commit(put(person("ada"), 9))
	other := s.empty()
	planted := errors.New("the source broke")
	entries := s.entries(0)
	for _, since := range []int64{0, 2} {
		left := s.entries(since)
		for _, n := range []int{0, 2, 2500, len(left)} {
			r := s.part(since, 5)
			r.Log = feed(left[:n], planted)
			other.refusesAs(fmt.Sprintf("a log that breaks after %d entries", n), r, func(err error) bool { return err == planted }, "the error of the log as it is")
		}
		other.reopen()
		if since == 0 {
			other.restore(s.part(0, 2))
		}
	}
	other.restore(s.part(2, 5))
	s.wantCopy(other)
	other.wantLines("the log", other.logged(0), entryLines(entries))
}

func refusePanics(s *archiveStory) {
	s.threeCommits()
	s.stream(draft(), rows(3000, 1)...)
	other := s.empty()
	other.restore(s.part(0, 1))
	before := other.imageWithState()
	for name, exit := range exits() {
		for _, n := range []int{0, 1, 2500} {
			entries := s.entries(1)
			survive(func() {
				r := s.part(1, 4)
				r.Log = func(yield func(backend.LogEntry, error) bool) {
					for _, e := range entries[:n] {
						if !yield(e, nil) {
							return
						}
					}
					exit()
				}
				_ = other.archive.Restore(s.ctx, r)
			})
			other.wantLines(fmt.Sprintf("after a %s after %d entries", name, n), other.imageWithState(), before)
		}
		survive(func() {
			r := s.part(1, 4)
			r.Copy = func() backend.CopyState { exit(); return backend.CopyState{} }
			_ = other.archive.Restore(s.ctx, r)
		})
		other.wantLines("after a "+name+" instead of a state", other.imageWithState(), before)
	}
	other.also().restore(s.part(1, 2))
	other.restore(s.part(2, 4))
	s.wantCopy(other)
}

func refuseCancelled(s *archiveStory) {
	s.threeCommits()
	s.stream(draft(), rows(3000, 1)...)
	other := s.empty()
	other.restore(s.part(0, 1))
	cancelled := func(err error) bool { return errors.Is(err, context.Canceled) }
	given := other.ctx
	for _, after := range []int{-1, 0, 1, 2000} {
		ctx, cancel := context.WithCancel(given)
		r := s.part(1, 4)
		entries, read := s.entries(1), 0
		r.Log = func(yield func(backend.LogEntry, error) bool) {
			for i, e := range entries {
				if i == after {
					cancel()
				}
				if read = i; !yield(e, nil) {
					return
				}
			}
		}
		if after < 0 {
			cancel()
		}
		before := other.imageWithState()
		if err := other.archive.Restore(ctx, r); !cancelled(err) {
			s.Errorf("cancelled after %d entries: got error %v, want %v", after, err, context.Canceled)
		}
		cancel()
		if read == len(entries)-1 {
			s.Errorf("cancelled after %d entries: the log was read to its end", after)
		}
		other.wantLines("after a restoration that was cancelled", other.imageWithState(), before)
	}
	other.restore(s.part(1, 4))
	s.wantCopy(other)
}

func refuseLease(s *archiveStory) {
	if _, ok := backend.As[backend.Leaser](s.Backend); !ok {
		return
	}
	s.threeCommits()
	p := newPlace(s.T, s.TempDir())
	p.LockTimeout = 20 * time.Millisecond
	other := s.emptyAt(p)
	l, _ := backend.As[backend.Leaser](other.Backend)
	leases := &leasing{other.story, l}
	other.restore(s.part(0, 1))
	held := leases.take(onto.WriteLease, "one")
	for _, o := range []*archiveStory{other, other.also()} {
		o.refuses("a restoration while another holds the write lease", onto.LockContention, s.part(1, 3))
	}
	s.must(l.Release(s.ctx, held))
	other.restore(s.part(1, 2))
	_ = leases.take(onto.WriteLease, "two")
	_ = leases.take("another", "three") // which keeps nobody out
	other.place.clock.move(time.Hour)   // they expire
	other.restore(s.part(2, 3))
	s.wantCopy(other)

}

func refuseRaced(s *archiveStory) {
	s.eventful()
	other := s.empty()
	handles := []*archiveStory{other, other.also(), other.also(), other.also()}
	since := int64(0)
	for _, last := range []int64{1, 4, 9, 12} {
		parts := make([]*backend.Restoration, len(handles))
		for i := range parts {
			parts[i] = s.part(since, last)
		}
		errs := make([]error, len(handles))
		var wg sync.WaitGroup
		for i, h := range handles {
			wg.Go(func() { errs[i] = h.archive.Restore(s.ctx, parts[i]) })
		}
		wg.Wait()
		wins := 0
		for _, err := range errs {
			if err == nil {
				wins++
			} else if !errors.Is(err, onto.HeadMismatch) {
				s.Errorf("a restoration that lost: got error %v, want code %q", err, onto.HeadMismatch)
			}
		}
		if wins != 1 {
			s.Errorf("restorations since %d that were accepted: got %d, want 1", since, wins)
		}
		since = last
	}
	for _, h := range handles {
		s.wantCopy(h)
	}
}

// refuseBesideCommit has a commit in the target that the source does not have.
func refuseBesideCommit(s *archiveStory) {
	s.threeCommits()
	r := s.part(0, 2)
	state := r.Copy
	r.Copy = func() backend.CopyState {
		finished := state()
		finished.Unfinished = false
		return finished
	}
	other := s.empty()
	other.restore(r)
	other.commit(put(person("stranger"), 1))
	other.refuses("what follows a commit that is not there", onto.HeadMismatch, s.part(2, 3))
	other.register(tagged("Strange"))
	r = s.part(3, 3)
	r.Log = nil
	other.refuses("types without one that is there", onto.Conflict, r)
}
