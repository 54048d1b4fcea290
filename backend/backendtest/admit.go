package backendtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

func admitStories() []tale {
	return []tale{
		{"a stream asks about each write", admitAsks},
		{"a stream drops what is not admitted", admitDrops},
		{"an error of admission fails the stream", admitFails},
		{"verdicts come before admission", admitVerdicts},
		{"admission knows one winner", admitOnce},
		{"verdicts that begin anew are asked for anew", admitBegins},
	}
}

// admitting makes a draft with Admit.
func admitting(admit func(w *backend.Write, newest *onto.Version) (bool, error)) *backend.Draft {
	return &backend.Draft{Admit: admit}
}

func admitAsks(s *story) {
	s.commit(put(person("a"), 1), put(person("b"), 1), put(person("gone"), 1))
	s.commit(put(person("a"), 2), remove(person("gone")))
	var asked []string
	d := admitting(func(w *backend.Write, newest *onto.Version) (bool, error) {
		line := fmt.Sprintf("%s %s %s v%d, was nothing", w.Op, w.Identity, w.Fields, w.SchemaVersion)
		if newest != nil {
			line = fmt.Sprintf("%s %s %s v%d, was %s", w.Op, w.Identity, w.Fields, w.SchemaVersion, showVersion(*newest))
		}
		asked = append(asked, line)
		return true, nil
	})
	r := s.stream(d, put(person("new"), 1), put(person("gone"), 3), put(person("a"), 2), remove(person("b")),
		put(person("new"), 1), remove(person("never")), put(visit("a", "b", "1"), 1))
	if r.ID != 3 || r.Operations != 4 {
		s.Errorf("got commit %d with %d operations, want commit 3 with 4", r.ID, r.Operations)
	}
	want := []string{
		`delete Person "b"  v1, was Person "b" @1 {"id":"b","n":1}`,
		`delete Person "never"  v1, was nothing`,
		`put Person "a" {"id":"a","n":2} v1, was Person "a" @2 {"id":"a","n":2}`,
		`put Person "gone" {"id":"gone","n":3} v1, was Person "gone" @2 deleted`,
		`put Person "new" {"id":"new","n":1} v1, was nothing`,
		`put Visit "a" → "b" ["1"] {"n":1} v1, was nothing`,
	}
	for try := range slices.Chunk(asked, len(want)) { // a commit may be retried
		slices.Sort(try)
		s.wantLines("asked", try, want)
	}
	if len(asked) == 0 {
		s.Error("nothing was asked")
	}
}

func admitDrops(s *story) {
	s.commit(put(person("a"), 1), put(person("b"), 5))
	older := func(w *backend.Write, newest *onto.Version) (bool, error) {
		if newest == nil {
			return true, nil
		}
		now, err := newest.Map()
		if err != nil || w.Op == onto.Delete {
			return false, err
		}
		next, err := codec.DecodeObject(w.Fields)
		return err == nil && next["n"].(int64) > now["n"].(int64), err
	}
	r := s.stream(admitting(older), put(person("a"), 2), put(person("b"), 2), put(person("c"), 2), put(person("d"), 1))
	if r.ID != 2 || r.Operations != 3 {
		s.Errorf("got commit %d with %d operations, want commit 2 with 3", r.ID, r.Operations)
	}
	s.wantState(onto.KindEntity, tPerson,
		`Person "a" @2 {"id":"a","n":2}`, `Person "b" @1 {"id":"b","n":5}`, `Person "c" @2 {"id":"c","n":2}`, `Person "d" @2 {"id":"d","n":1}`)
	before := s.everything()
	d := admitting(older)
	d.IdempotencyKey = "k"
	if r := s.stream(d, put(person("a"), 1), remove(person("b"))); r.Changed() || r.Repeated {
		s.Errorf("nothing admitted: got %s, repeated %v; want no commit", showCommit(r.Commit), r.Repeated)
	}
	s.wantLines("the store", s.everything(), before)
	if r := s.stream(d, put(person("a"), 3)); r.ID != 3 {
		s.Errorf("with the same key: got commit %d, want 3", r.ID)
	}
}

func admitFails(s *story) {
	s.commit(put(person("a"), 1))
	before := s.everything()
	planted := errors.New("not this one")
	for _, n := range []int{1, 3000} {
		asked := 0
		d := admitting(func(*backend.Write, *onto.Version) (bool, error) {
			if asked++; asked == n {
				return true, planted
			}
			return true, nil
		})
		_, err := s.AppendStream(s.ctx, d, sequence(rows(4000, 1), nil))
		if err != planted {
			s.Fatalf("at write %d: got error %v, want the one of the admission as it is", n, err)
		}
		s.wantLines("the store", s.everything(), before)
	}
	s.commit(put(person("a"), 2))
}

// admitVerdicts requires that Admit is not called for what is decided already.
func admitVerdicts(s *story) {
	s.stream(&backend.Draft{Header: backend.Header{IdempotencyKey: "k"}}, put(person("a"), 1))
	refuse := func(*backend.Write, *onto.Version) (bool, error) { return false, errors.New("asked") }
	d := admitting(refuse)
	d.IdempotencyKey = "k"
	if r := s.stream(d, put(person("a"), 1)); !r.Repeated || r.ID != 1 {
		s.Errorf("with a used key: got commit %d, repeated %v; want commit 1 repeated", r.ID, r.Repeated)
	}
	d = admitting(func(*backend.Write, *onto.Version) (bool, error) { return true, nil })
	d.Expect = []onto.Expectation{headIs(0)}
	s.refusedStream(onto.HeadMismatch, d, put(person("a"), 2))
	d.Expect = []onto.Expectation{isAt(person("a"), 0)}
	s.refusedStream(onto.VersionMismatch, d, put(person("a"), 2))
}

// admitBegins counts the calls since the last Begin: one for each write, however often
// the backend had to begin.
func admitBegins(s *story) {
	handles := []*story{s, s.through(s.open())}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			begun, asked := 0, 0
			d := admitting(func(*backend.Write, *onto.Version) (bool, error) {
				asked++
				return true, nil
			})
			d.Begin = func() { begun, asked = begun+1, 0 }
			_, err := handles[i%2].AppendStream(s.ctx, d, sequence(rows(100, i+1), nil))
			if err != nil || begun == 0 || asked != 100 {
				s.Errorf("stream %d: error %v, begun %d times, asked %d times since; want 100", i, err, begun, asked)
			}
		})
	}
	group.Wait()
	s.wantHead(8)
}

// admitOnce lets many streams race to be the first.
func admitOnce(s *story) {
	handles := []*story{s, s.through(s.open())}
	for round := range 5 {
		id := person(fmt.Sprint("p", round))
		var won atomic.Int64
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				d := admitting(func(_ *backend.Write, newest *onto.Version) (bool, error) { return newest == nil, nil })
				r, err := handles[i%2].AppendStream(s.ctx, d, sequence([]backend.Write{put(id, i), put(city("x"), i)}, nil))
				if err != nil {
					s.Errorf("stream %d: %v", i, err)
				}
				won.Add(int64(r.Operations))
			})
		}
		group.Wait()
		if got, want := won.Load(), int64(1+max(0, 1-round)); got != want {
			s.Errorf("round %d: got %d operations in all, want %d", round, got, want)
		}
	}
}
