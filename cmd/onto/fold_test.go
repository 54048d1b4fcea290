package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/store"
)

type booking struct {
	onto.About[string]
	Amount int `json:"amount"`
}

type account struct {
	ID    string `json:"id" onto:"key"`
	Total int    `json:"total"`
}

// openFolding opens a store in a program that has the fold in Go.
func openFolding(t *testing.T, path string) *store.Store {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	balance := store.Fold[booking, account]{Name: "balance", Version: 1, Apply: func(a *account, f onto.Fact, _ onto.Draft) error {
		var amount int
		err := f.Decode(&amount)
		a.Total += amount
		return err
	}}
	s, err := store.OpenWith(t.Context(), b, &store.Options{Folds: []store.Folding{balance}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What the command writes is folded by the next program that has the fold.
func TestFoldOfAGoProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "onto.db")
	if err := openFolding(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	must(t, "", "fact", "assert", "booking", "a", "amount", "5", "--db", path)
	must(t, "", "fact", "assert", "booking", "a", "amount", "7", "--db", path)
	list := must(t, "", "fold", "list", "--db", path)
	for _, want := range []string{"balance  booking  account  1", "no: "} {
		if !strings.Contains(list, want) {
			t.Errorf("got\n%s\nwant %q in it", list, want)
		}
	}
	if got := must(t, "", "fold", "list", "--json", "--db", path); !strings.Contains(got, `"program":null,"folded_commit_id":1,"lag":2,`) {
		t.Errorf("got\n%s\nwant a fold that is 2 commits behind commit 1", got)
	}
	if got := must(t, "", "fold", "verify", "--db", path); !strings.Contains(got, "balance  1        not verified") {
		t.Errorf("got\n%s\nwant a fold that was not verified", got)
	}
	for _, verb := range []string{"verify", "rebuild"} {
		var stderr bytes.Buffer
		status := run(t.Context(), []string{"fold", verb, "balance", "--db", path}, strings.NewReader(""), &bytes.Buffer{}, &stderr)
		if status != session.ExitUsage || !strings.Contains(stderr.String(), "in a program that has it") {
			t.Errorf("%s: got status %d: %s", verb, status, &stderr)
		}
	}
	s := openFolding(t, path)
	defer s.Close()
	if err := s.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.VerifyFolds(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, err := store.Get[account](t.Context(), s.Now(), "a"); err != nil || a.Total != 12 {
		t.Errorf("got %+v, %v, want a total of 12", a, err)
	}
	if got := must(t, "", "fold", "list", "--json", "--db", path); !strings.Contains(got, `"folded_commit_id":null,"lag":0,`) {
		t.Errorf("got\n%s\nwant a fold that is up to date", got)
	}
}
