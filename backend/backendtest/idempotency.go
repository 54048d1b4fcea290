package backendtest

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func idempotencyStories() []tale {
	return []tale{
		{"a repeated draft returns the first result", repeatReturnsFirst},
		{"a repeat is known after reopening", repeatAfterReopen},
		{"a repeat comes before expectations and stamps", repeatComesFirst},
		{"a key used for another draft is a conflict", keyConflict},
		{"a draft that changed nothing leaves the key free", unchangedLeavesKeyFree},
		{"a refused draft leaves the key free", refusedLeavesKeyFree},
		{"the runtime is no part of a draft", runtimeIsNoPart},
		{"a stream can be repeated", repeatedStream},
	}
}

// repeats appends a draft whose key was used and wants the first commit.
func (s *story) repeats(d *backend.Draft, first onto.Commit) {
	s.Helper()
	before := s.everything()
	r := s.do(d)
	s.wantRepeat(r, first)
	s.wantLines("the store", s.everything(), before)
}

func (s *story) wantRepeat(r onto.Result, first onto.Commit) {
	s.Helper()
	if !r.Repeated {
		s.Error("repeat: got Repeated false, want true")
	}
	s.want("repeat", showCommit(r.Commit), showCommit(first))
	s.want("the commit listed", showCommit(s.resolve(onto.AtCommit(first.ID))), showCommit(first))
}

// rich makes a keyed draft with every member set.
func rich(key string, writes ...backend.Write) *backend.Draft {
	d := keyed(key, writes...)
	d.Runtime = "run-1"
	d.Actor = onto.Operator("ana")
	d.Causation = 1
	d.Correlation = "order-17"
	d.Signature = "sig:abc"
	d.Comment = "because"
	d.Metadata = []byte(`{"n":1}`)
	return d
}

func repeatReturnsFirst(s *story) {
	s.commit(put(person("bob"), 1))
	d := rich("k1", put(person("ada"), 1))
	first := s.do(d)
	if first.Repeated || !first.Changed() {
		s.Fatalf("first: got %s, repeated %v; want a new commit", showCommit(first.Commit), first.Repeated)
	}
	s.repeats(d, first.Commit)
	s.commit(put(person("ada"), 2))
	s.repeats(d, first.Commit)
	s.want("ada", s.get(person("ada"), backend.Head), `Person "ada" @3 {"id":"ada","n":2}`)
}

func repeatAfterReopen(s *story) {
	s.commit(put(person("bob"), 1))
	d := rich("k1", put(person("ada"), 1), remove(person("bob")))
	first := s.do(d).Commit
	s.reopen()
	s.repeats(d, first)
	s.refused(onto.IdempotencyConflict, rich("k1", put(person("ada"), 9)))
}

func repeatComesFirst(s *story) {
	d := expecting([]onto.Expectation{headIs(0), isAt(person("ada"), 0)}, put(person("ada"), 1))
	d.IdempotencyKey = "k"
	first := s.do(d).Commit
	s.repeats(d, first)

	other := expecting([]onto.Expectation{headIs(7)}, stamped(put(person("ada"), 2), 2))
	other.IdempotencyKey = "k"
	s.refused(onto.IdempotencyConflict, other)
}

func keyConflict(s *story) {
	s.commit(put(person("bob"), 1))
	s.do(rich("k", put(person("ada"), 1)))
	tests := []struct {
		name   string
		change func(d *backend.Draft)
	}{
		{"fields", func(d *backend.Draft) { d.Writes[0] = put(person("ada"), 2) }},
		{"identity", func(d *backend.Draft) { d.Writes[0] = put(person("cy"), 1) }},
		{"op", func(d *backend.Draft) { d.Writes[0] = remove(person("ada")) }},
		{"number of writes", func(d *backend.Draft) { d.Writes = append(d.Writes, put(person("cy"), 1)) }},
		{"emptiness", func(d *backend.Draft) { d.Writes = nil }},
		{"comment", func(d *backend.Draft) { d.Comment = "other" }},
		{"actor", func(d *backend.Draft) { d.Actor = onto.Daemon("ana") }},
		{"metadata", func(d *backend.Draft) { d.Metadata = nil }},
		{"expectation", func(d *backend.Draft) { d.Expect = []onto.Expectation{headIs(2)} }},
	}
	for _, test := range tests {
		s.Logf("another %s", test.name)
		d := rich("k", put(person("ada"), 1))
		test.change(d)
		s.refused(onto.IdempotencyConflict, d)
	}
	s.do(rich("k2", put(person("ada"), 2)))
	s.wantHead(3)
}

func unchangedLeavesKeyFree(s *story) {
	s.commit(put(person("ada"), 1))
	s.nothing(keyed("k", put(person("ada"), 1)))
	first := s.do(keyed("k", put(person("ada"), 2)))
	if first.ID != 2 || first.Repeated {
		s.Errorf("the key was not free: got commit %d, repeated %v", first.ID, first.Repeated)
	}
	s.refused(onto.IdempotencyConflict, keyed("k", put(person("ada"), 1)))
}

func refusedLeavesKeyFree(s *story) {
	d := expecting([]onto.Expectation{headIs(5)}, put(person("ada"), 1))
	d.IdempotencyKey = "k"
	s.refused(onto.HeadMismatch, d)
	s.refused(onto.SchemaOutdated, keyed("k", stamped(put(person("ada"), 1), 3)))
	if r := s.do(keyed("k", put(person("ada"), 1))); r.ID != 1 || r.Repeated {
		s.Errorf("the key was not free: got commit %d, repeated %v", r.ID, r.Repeated)
	}
}

func runtimeIsNoPart(s *story) {
	s.commit(put(person("bob"), 1))
	first := s.do(rich("k", put(person("ada"), 1))).Commit
	d := rich("k", put(person("ada"), 1))
	d.Runtime = "run-2"
	s.repeats(d, first)
}

func repeatedStream(s *story) {
	writes := []backend.Write{put(person("bob"), 1), put(person("ada"), 1)}
	first := s.stream(keyed("k"), writes...).Commit
	before := s.everything()
	s.wantRepeat(s.stream(keyed("k"), writes...), first)
	s.wantLines("the store", s.everything(), before)
	s.reopen()
	s.wantRepeat(s.stream(keyed("k"), writes...), first)
	s.refusedStream(onto.IdempotencyConflict, keyed("k"), writes[0])
	s.refused(onto.IdempotencyConflict, keyed("k", put(person("cy"), 1)))
}
