package backendtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func commitStories() []tale {
	return []tale{
		{"commits in both directions", commitsBothWays},
		{"all that is said about a commit is kept", headerRoundTrip},
		{"an idempotency key finds its commit", keyFindsCommit},
		{"metadata comes back as it was given", metadataRoundTrip},
	}
}

func commitsBothWays(s *story) {
	for n := range 5 {
		s.place.clock.move(time.Second)
		s.commit(put(person("ada"), n))
	}
	tests := []struct {
		q    backend.CommitQuery
		want string
	}{
		{backend.CommitQuery{Until: backend.Head}, "1 2 3 4 5"},
		{backend.CommitQuery{Until: backend.Head, Newest: true}, "5 4 3 2 1"},
		{backend.CommitQuery{Until: backend.Head, Limit: 2}, "1 2"},
		{backend.CommitQuery{Until: backend.Head, Limit: 2, Newest: true}, "5 4"},
		{backend.CommitQuery{Since: 2, Until: backend.Head}, "3 4 5"},
		{backend.CommitQuery{Since: 2, Until: backend.Head, Newest: true}, "5 4 3"},
		{backend.CommitQuery{Since: 1, Until: 4, Limit: 2}, "2 3"},
		{backend.CommitQuery{Since: 1, Until: 4, Limit: 2, Newest: true}, "4 3"},
		{backend.CommitQuery{Until: 3}, "1 2 3"},
		{backend.CommitQuery{Until: 3, Newest: true}, "3 2 1"},
		{backend.CommitQuery{Until: 99}, "1 2 3 4 5"},
		{backend.CommitQuery{Until: 0}, ""},
		{backend.CommitQuery{Since: 5, Until: backend.Head}, ""},
		{backend.CommitQuery{Since: 99, Until: backend.Head}, ""},
		{backend.CommitQuery{Since: 3, Until: 3}, ""},
		{backend.CommitQuery{Until: backend.Head, Limit: 99}, "1 2 3 4 5"},
	}
	for _, test := range tests {
		var ids []string
		for c, err := range s.Commits(s.ctx, &test.q) {
			s.must(err)
			ids = append(ids, fmt.Sprint(c.ID))
			s.want("listed", showCommit(c), showCommit(s.resolve(onto.AtCommit(c.ID))))
		}
		s.want(fmt.Sprintf("%+v", test.q), strings.Join(ids, " "), test.want)
	}
}

func headerRoundTrip(s *story) {
	s.commit(put(person("ada"), 0))
	odd := "quote\" ' % _ \\ \n\t é 😀 " + strings.Repeat("x", 900)
	headers := []onto.Commit{
		{},
		{Runtime: "run-1", Actor: onto.Operator("ana"), Causation: 1, Correlation: "order-17", Signature: "sig:1", Comment: "why", IdempotencyKey: "k1"},
		{Runtime: "run-2", Actor: onto.Component("billing"), Comment: strings.Repeat("long ", 10000)},
		{Runtime: "run-3", Actor: onto.Daemon("a:b"), Correlation: odd, IdempotencyKey: odd},
		{Runtime: odd, Actor: onto.Remote(odd), Signature: odd, Comment: odd},
	}
	for i, want := range headers {
		d := draft(put(person("ada"), i+1), put(person("bob"), i+1))
		d.Header = backend.Header{
			Runtime: want.Runtime, Actor: want.Actor, Causation: want.Causation, Correlation: want.Correlation,
			Signature: want.Signature, Comment: want.Comment, IdempotencyKey: want.IdempotencyKey,
		}
		want.ID, want.Time, want.Operations = int64(i+2), s.place.clock.Now(), 2
		got := s.do(d).Commit
		s.want("result", showCommit(got), showCommit(want))
		s.want("resolved", showCommit(s.resolve(onto.AtCommit(want.ID))), showCommit(want))
		if got.Metadata != nil {
			s.Errorf("metadata: got %v, want nil since there is none", got.Metadata)
		}
	}
	before := s.everything()
	s.reopen()
	s.wantLines("after reopening", s.everything(), before)
}

func keyFindsCommit(s *story) {
	s.commit(put(person("ada"), 0))
	s.do(keyed("k", put(person("ada"), 1)))
	s.commit(put(person("ada"), 2))
	s.do(keyed("other", put(person("ada"), 3)))
	tests := []struct {
		q    backend.CommitQuery
		want string
	}{
		{backend.CommitQuery{Key: "k", Until: backend.Head}, "2"},
		{backend.CommitQuery{Key: "other", Until: backend.Head, Newest: true, Limit: 1}, "4"},
		{backend.CommitQuery{Key: "k", Until: 1}, ""},
		{backend.CommitQuery{Key: "k", Since: 1, Until: 2}, "2"},
		{backend.CommitQuery{Key: "k", Since: 2, Until: backend.Head}, ""},
		{backend.CommitQuery{Key: "K", Until: backend.Head}, ""},
	}
	for range 2 {
		for _, test := range tests {
			var ids []string
			for c, err := range s.Commits(s.ctx, &test.q) {
				s.must(err)
				ids = append(ids, fmt.Sprint(c.ID))
				s.want("found", showCommit(c), showCommit(s.resolve(onto.AtCommit(c.ID))))
			}
			s.want(fmt.Sprintf("%+v", test.q), strings.Join(ids, " "), test.want)
		}
		s.reopen()
	}
}

func metadataRoundTrip(s *story) {
	tests := []struct {
		json string
		want map[string]any
	}{
		{`{}`, map[string]any{}},
		{`{"a":1}`, map[string]any{"a": int64(1)}},
		{`{"big":9223372036854775807,"odd":9007199254740993}`, map[string]any{"big": int64(9223372036854775807), "odd": int64(9007199254740993)}},
		{`{"f":1.5,"t":true,"u":false,"z":null}`, map[string]any{"f": 1.5, "t": true, "u": false, "z": nil}},
		{`{"":"","l":[1,"é\n\"😀",{}],"o":{"k":[]}}`, map[string]any{
			"": "", "l": []any{int64(1), "é\n\"😀", map[string]any{}}, "o": map[string]any{"k": []any{}}}},
	}
	for i, test := range tests {
		d := draft(put(person("ada"), i))
		d.Metadata = json.RawMessage(test.json)
		commits := []onto.Commit{s.do(d).Commit, s.resolve(onto.Point{})}
		for c, err := range s.Commits(s.ctx, &backend.CommitQuery{Until: backend.Head, Newest: true, Limit: 1}) {
			s.must(err)
			commits = append(commits, c)
		}
		for _, c := range commits {
			if len(test.want)+len(c.Metadata) > 0 && !reflect.DeepEqual(c.Metadata, test.want) {
				s.Errorf("%s: got %#v, want %#v", test.json, c.Metadata, test.want)
			}
		}
	}
	large := draft(put(person("bob"), 1))
	large.Metadata = slices.Concat([]byte(`{"text":"`), []byte(strings.Repeat("m", 1<<19)), []byte(`"}`))
	s.do(large)
	s.reopen()
	if got := len(showMap(s.resolve(onto.Point{}).Metadata)); got != len(large.Metadata) {
		s.Errorf("large metadata: got %d bytes, want %d", got, len(large.Metadata))
	}
}
