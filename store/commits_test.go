package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

// Commits can be selected by what they changed and by what is said about them, in both
// directions, and a limit counts what was selected. The log is longer than what is looked
// at together, and one commit has more versions than are read of it.
func TestCommitsAreSelected(t *testing.T) {
	ctx := t.Context()
	type Rare struct {
		ID string `json:"id" onto:"key"`
	}
	type Usual struct {
		ID string `json:"id" onto:"key"`
		N  int64  `json:"n"`
	}
	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[Rare](), onto.TypeOf[Usual]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var rare []int64
	for i := range int64(2500) {
		d := onto.Draft{Correlation: fmt.Sprintf("batch-%d", i/100)}
		if i%700 == 3 {
			for j := range 300 {
				d = d.Ensure(Rare{fmt.Sprintf("%d-%d", i, j)})
			}
			rare = append(rare, i+1)
		} else {
			d = d.Ensure(Usual{"one", i})
		}
		if _, err := s.Commit(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	list := func(q store.CommitOptions) []int64 {
		t.Helper()
		ids := []int64{}
		for c, err := range s.Commits(ctx, q) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
		return ids
	}
	backwards := slices.Clone(rare)
	slices.Reverse(backwards)
	ofBatch := func(c onto.Commit) bool { return c.Correlation == "batch-7" }
	for _, c := range []struct {
		name string
		q    store.CommitOptions
		want []int64
	}{
		{"of a type", store.CommitOptions{Type: "Rare"}, rare},
		{"newest first", store.CommitOptions{Type: "Rare", Newest: true}, backwards},
		{"a limit", store.CommitOptions{Type: "Rare", Newest: true, Limit: 2}, backwards[:2]},
		{"after a commit", store.CommitOptions{Type: "Rare", Since: rare[1]}, rare[2:]},
		{"after the head", store.CommitOptions{Type: "Rare", Since: 2500}, []int64{}},
		{"by what is said", store.CommitOptions{Match: ofBatch, Limit: 3}, []int64{701, 702, 703}},
		{"by both", store.CommitOptions{Match: ofBatch, Type: "Rare", Newest: true}, []int64{704}},
	} {
		if got := list(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	for _, err := range s.Commits(ctx, store.CommitOptions{Type: "Rar"}) {
		if onto.CodeOf(err) != onto.Invalid || onto.HintOf(err).Text == "" {
			t.Errorf("an unknown type: got %v", err)
		}
	}
	types, err := s.TypesOf(ctx, rare[0])
	if err != nil || !slices.Equal(types, []onto.TypeName{{Kind: onto.KindEntity, Name: "Rare"}}) {
		t.Errorf("got %v, %v", types, err)
	}
	for given, want := range map[string]string{"batch-7": "batch-7", "batc-24": "batch-24", "something else": ""} {
		if got, err := s.SimilarCorrelation(ctx, given); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", given, got, err, want)
		}
	}
}
