package records_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

type payment struct {
	onto.About[string]
	Paid int `json:"paid"`
}

type account struct {
	ID   string `json:"id" onto:"key"`
	Paid int    `json:"paid"`
}

func foldStore(t *testing.T) *store.Store {
	t.Helper()
	fold := store.Fold[payment, account]{Name: "account", Version: 1, Apply: func(s *account, f onto.Fact, _ onto.Draft) error {
		s.Paid += int(f.Value.(int64))
		return nil
	}}
	s, err := store.OpenWith(t.Context(), memory.New(nil).Open(), &store.Options{Folds: []store.Folding{fold}}, onto.TypeOf[payment](), onto.TypeOf[account]())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// States that folds keep are not exported: where the facts are imported, the folds make
// them. They are shown when they are asked for, and never imported.
func TestStatesOfFoldsFollowTheFacts(t *testing.T) {
	ctx := t.Context()
	s := foldStore(t)
	assert(t, s, onto.Fact{Type: "payment", Subject: "a", Attribute: "paid", ID: "1", Value: 3}, onto.Fact{Type: "payment", Subject: "a", Attribute: "paid", ID: "2", Value: 4})
	all := mustExport(t, s, nil)
	if strings.Count(all, "\n") != 2 || strings.Contains(all, "account") || strings.Contains(all, "onto_") {
		t.Errorf("an export has more than the facts:\n%s", all)
	}
	target := foldStore(t)
	mustImport(t, target, all, nil)
	if err := target.CatchUp(ctx); err != nil {
		t.Fatal(err)
	}
	if err := target.VerifyFolds(ctx); err != nil {
		t.Error(err)
	}
	if got, err := store.Get[account](ctx, target.Now(), "a"); err != nil || got.Paid != 7 {
		t.Errorf("got %+v, %v", got, err)
	}
	states := mustExport(t, s, &records.ExportOptions{Types: []string{"account"}})
	if !strings.Contains(states, `"paid":7`) {
		t.Errorf("states that were asked for: got %s", states)
	}
	if _, err := records.Import(ctx, foldStore(t), bytes.NewReader([]byte(states)), nil); onto.CodeOf(err) != onto.Refused && onto.CodeOf(err) != onto.Invalid {
		t.Errorf("states are imported: got %v", err)
	}
}
