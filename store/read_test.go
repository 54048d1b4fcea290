package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// threeCommits makes p1 and p2, changes p1, deletes p2.
func threeCommits(t *testing.T) *store.Store {
	t.Helper()
	s := crm(t)
	mustCommit(t, s, onto.Draft{Actor: onto.Operator("ana")}.Ensure(Product{"p1", "a"}, Product{"p2", "b"}))
	mustCommit(t, s, onto.Draft{Actor: onto.Daemon("billing")}.Ensure(Product{"p1", "c"}))
	mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Product", "p2")))
	return s
}

func titles(t *testing.T, v store.View) string {
	t.Helper()
	var list []string
	for p, err := range store.Find[Product](v).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p.SKU+p.Title)
	}
	return strings.Join(list, " ")
}

func TestViews(t *testing.T) {
	s := threeCommits(t)
	second, err := s.At(2).Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		view store.View
		want string
	}{
		{"now", s.Now(), "p1c"},
		{"at 0", s.At(0), ""},
		{"at 1", s.At(1), "p1a p2b"},
		{"at 2", s.At(2), "p1c p2b"},
		{"at 3", s.At(3), "p1c"},
		{"as of the second commit", s.AsOf(second.Time), "p1c p2b"},
		{"as of before the first", s.AsOf(second.Time.Add(-time.Hour)), ""},
		{"as of later", s.AsOf(second.Time.Add(time.Hour)), "p1c"},
	} {
		if got := titles(t, c.view); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCommitAfterHead(t *testing.T) {
	s := threeCommits(t)
	_, err := store.Get[Product](t.Context(), s.At(4), "p1")
	wantError(t, err, onto.NotFound, "commit 4", "head is 3")
	for _, err := range store.Find[Product](s.At(99)).All(t.Context()) {
		wantError(t, err, onto.NotFound, "commit 99")
	}
	_, err = store.Get[Product](t.Context(), s.At(-1), "p1")
	wantError(t, err, onto.Invalid, "negative")
	for _, err := range s.Changes(t.Context(), 4) {
		wantError(t, err, onto.NotFound, "commit 4")
	}
	for _, err := range s.Diff(t.Context(), store.DiffOptions{From: onto.AtCommit(1), To: onto.AtCommit(4)}) {
		wantError(t, err, onto.NotFound, "commit 4")
	}
	for _, err := range s.Diff(t.Context(), store.DiffOptions{From: onto.AtCommit(3), To: onto.AtCommit(1)}) {
		wantError(t, err, onto.Invalid, "after the second")
	}
	for _, err := range s.Now().Find("Product").Versions(t.Context(), 4) {
		wantError(t, err, onto.NotFound, "commit 4")
	}
}

func TestDeletedAndUnknown(t *testing.T) {
	s := threeCommits(t)
	_, err := store.Get[Product](t.Context(), s.Now(), "p2")
	wantError(t, err, onto.NotFound, "deleted by commit 3", "onto log Product p2")
	_, err = store.Get[Product](t.Context(), s.Now(), "p9")
	wantError(t, err, onto.NotFound, "p9")
	_, err = s.Blame(t.Context(), onto.EntityID("Product", "p2"))
	wantError(t, err, onto.NotFound, "deleted")
	for _, err := range s.History(t.Context(), onto.EntityID("Product", "p9")) {
		wantError(t, err, onto.NotFound, "never did")
	}
}

func TestVersions(t *testing.T) {
	s := threeCommits(t)
	var got []string
	for e, err := range s.Now().Find("Product").Versions(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s %s by %q", e.Commit.ID, e.Version.Key, e.Version.Op, e.Commit.Actor))
	}
	want := `[2 p1 put by "daemon:billing" 3 p2 delete by ""]`
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPagesAndCursors(t *testing.T) {
	s := crm(t)
	for i := range 25 {
		mustCommit(t, s, onto.Draft{}.Ensure(Product{fmt.Sprintf("p%02d", i), "t"}))
	}
	var got []string
	cursor := ""
	for pages := 1; ; pages++ {
		page, err := store.Find[Product](s.Now()).Limit(10).After(cursor).Page(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.Items {
			got = append(got, p.SKU)
		}
		if cursor = page.Next; cursor == "" {
			if pages != 3 || len(got) != 25 || got[24] != "p24" {
				t.Errorf("got %d pages with %d items, want 3 with 25", pages, len(got))
			}
			break
		}
		// Commits during the read do not show.
		mustCommit(t, s, onto.Draft{}.Ensure(Product{fmt.Sprintf("p1%dx", pages), "new"}).Delete(onto.EntityID("Product", "p20")))
	}
	first, err := store.Find[Product](s.Now()).Limit(1).Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Now().Find("Customer").After(first.Next).Page(t.Context())
	wantError(t, err, onto.Invalid, "another query", "Customer")
	_, err = s.Now().Find("Product").After("nonsense!").Page(t.Context())
	wantError(t, err, onto.Invalid, "damaged")
	_, err = s.Now().Find("Product").Limit(-1).Page(t.Context())
	wantError(t, err, onto.Invalid, "negative")
}

func TestStoppingEarlyReleasesEverything(t *testing.T) {
	s := threeCommits(t)
	for range 200 {
		for range store.Find[Product](s.Now()).All(t.Context()) {
			break
		}
		for range s.Commits(t.Context(), store.CommitOptions{}) {
			break
		}
	}
	mustCommit(t, s, onto.Draft{}.Ensure(Product{"p5", "e"}))
}

func TestStreamErrorStoresNothing(t *testing.T) {
	s := crm(t)
	broken := errors.New("broken source")
	_, err := s.CommitStream(t.Context(), onto.Draft{}, func(yield func(any, error) bool) {
		for i := range 5000 {
			if !yield(Product{fmt.Sprint(i), "t"}, nil) {
				return
			}
		}
		yield(nil, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the source's error", err)
	}
	if got := titles(t, s.Now()); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestStreamDeletes(t *testing.T) {
	s := threeCommits(t)
	res, err := s.CommitStream(t.Context(), onto.Draft{}.Ensure(Product{"p7", "g"}), func(yield func(any, error) bool) {
		_ = yield(onto.EntityID("Product", "p1"), nil) && yield(Product{"p8", "h"}, nil)
	})
	if err != nil || res.Operations != 3 {
		t.Fatalf("got %d operations, error %v; want 3", res.Operations, err)
	}
	if got := titles(t, s.Now()); got != "p7g p8h" {
		t.Errorf("got %q, want p7g p8h", got)
	}
}

func TestPanicsLeaveTheStoreUsable(t *testing.T) {
	s := threeCommits(t)
	panics := func(f func()) {
		defer func() { _ = recover() }()
		f()
	}
	panics(func() {
		s.CommitStream(t.Context(), onto.Draft{}, func(yield func(any, error) bool) {
			yield(Product{"p8", "half"}, nil)
			panic("in the sequence")
		})
	})
	panics(func() {
		for range store.Find[Product](s.Now()).All(t.Context()) {
			panic("in the loop")
		}
	})
	mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "after"}))
	if p, err := store.Get[Product](t.Context(), s.Now(), "p1"); err != nil || p.Title != "after" {
		t.Errorf("got %+v, error %v; want what was committed last", p, err)
	}
	_, err := store.Get[Product](t.Context(), s.Now(), "p8")
	wantError(t, err, onto.NotFound)
	if _, err := s.CommitStream(t.Context(), onto.Draft{}, nil); err != nil {
		t.Errorf("a stream of nothing: %v", err)
	}
}

func TestRelativePathOutlivesChdir(t *testing.T) {
	t.Chdir(t.TempDir())
	s := openAt(t, "store.db", onto.TypeOf[Product]())
	mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "here"}))
	t.Chdir(t.TempDir())
	for range store.Find[Product](s.Now()).All(t.Context()) { // its reader is in use: the next one is new
		if _, err := store.Get[Product](t.Context(), s.Now(), "p1"); err != nil {
			t.Error(err)
		}
	}
}

func TestExpectationsNameKnownTypes(t *testing.T) {
	s := threeCommits(t)
	_, err := s.Commit(t.Context(), onto.Draft{}.ExpectVersion(onto.EntityID("Prodct", "p1"), 0).Ensure(Product{"p9", "x"}))
	wantError(t, err, onto.Invalid, "Prodct", "did you mean Product?")
}
