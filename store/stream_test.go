package store_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func things(list ...any) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, thing := range list {
			if !yield(thing, nil) {
				return
			}
		}
	}
}

func showProposal(p store.Proposal) string {
	return fmt.Sprintf("%s:%s live=%t changes=%t", p.Identity.Key, p.Op, p.Live(), p.Changes)
}

func TestPreviewAndAdmit(t *testing.T) {
	s := threeCommits(t) // p1 is c, p2 was deleted
	stream := []any{Product{"p1", "c"}, Product{"p2", "b"}, Product{"p3", "d"}, Product{"p1b", "x"}, onto.EntityID("Product", "p9")}
	const want = "p1:put live=true changes=false p1b:put live=false changes=true p2:put live=false changes=true " +
		"p3:put live=false changes=true p9:delete live=false changes=false"
	if got := list(t, s.Preview(t.Context(), things(stream...)), showProposal); got != want {
		t.Errorf("preview: got %q", got)
	}
	var asked []string
	res, err := s.CommitStreamWith(t.Context(), onto.Draft{}, things(stream...), &store.StreamOptions{
		Admit: func(p store.Proposal) (bool, error) {
			asked = append(asked, showProposal(p))
			return p.Identity.Key != "p3", nil
		},
	})
	if err != nil || res.Operations != 2 {
		t.Fatalf("got %d operations, error %v; want p2 and p1b", res.Operations, err)
	}
	if len(asked) != len(stream) {
		t.Errorf("asked about %q, want each thing once", asked)
	}
	if got := titles(t, s.Now()); got != "p1c p1bx p2b" {
		t.Errorf("got %q, want p3 left out", got)
	}
	no := errors.New("no")
	_, err = s.CommitStreamWith(t.Context(), onto.Draft{}, things(Product{"p4", "e"}, Product{"p5", "f"}), &store.StreamOptions{
		Admit: func(p store.Proposal) (bool, error) { return true, no },
	})
	if !errors.Is(err, no) {
		t.Errorf("got %v, want the error of Admit", err)
	}
	if got := titles(t, s.Now()); got != "p1c p1bx p2b" {
		t.Errorf("got %q, want nothing new", got)
	}
	for _, err := range s.Preview(t.Context(), things(Product{"", "x"})) {
		wantError(t, err, onto.Invalid)
	}
}
