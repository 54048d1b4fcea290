package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// newStore opens a store in a file of its own, which is checked at the end.
func newStore(t *testing.T, types ...onto.Type) *store.Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "store.db"), types...)
}

func openAt(t *testing.T, path string, types ...onto.Type) *store.Store {
	t.Helper()
	s, err := tryOpen(t.Context(), path, types...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		backendtest.Check(t, s.Backend())
		s.Close()
	})
	return s
}

func tryOpen(ctx context.Context, path string, types ...onto.Type) (*store.Store, error) {
	b, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, b, types...)
}

func crm(t *testing.T) *store.Store {
	return newStore(t, onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription]())
}

func mustCommit(t *testing.T, s *store.Store, d onto.Draft) onto.Result {
	t.Helper()
	res, err := s.Commit(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// wantError fails unless err has the code, and message and hint contain texts.
func wantError(t *testing.T, err error, code onto.Code, texts ...string) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("got error %v, want code %s", err, code)
		return
	}
	all := err.Error() + " / " + onto.HintOf(err).String()
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("got %q, want it to contain %q", all, text)
		}
	}
}

func TestOpenRefusesTypes(t *testing.T) {
	type Lost struct {
		onto.Link[Customer, Prodct]
	}
	for _, c := range []struct {
		name  string
		types []onto.Type
		want  []string
	}{
		{"twice", []onto.Type{onto.TypeOf[Customer](), onto.TypeOf[Customer]()}, []string{"Customer", "twice"}},
		{"no key", []onto.Type{onto.TypeOf[struct{}]()}, []string{"named"}},
		{"zero", []onto.Type{{}}, []string{"zero"}},
		{"unknown endpoint", []onto.Type{onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Lost]()}, []string{"Prodct", "did you mean Product?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tryOpen(t.Context(), ":memory:", c.types...)
			wantError(t, err, onto.Invalid, c.want...)
		})
	}
}

type Prodct struct {
	SKU string `json:"sku" onto:"key"`
}

func TestChangedTypeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	openAt(t, path, onto.TypeOf[Customer]())
	changed := onto.Untyped(onto.Schema{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "level", Type: onto.Int}, {Name: "name", Type: onto.String},
		{Name: "tier", Type: onto.String, Index: true}}})
	_, err := tryOpen(t.Context(), path, changed)
	wantError(t, err, onto.SchemaOutdated, "+ level", "* name: string search → string")
	var e *onto.Error
	if !errors.As(err, &e) || len(e.Differences) != 1 || e.Differences[0].Added[0] != "level" {
		t.Errorf("got differences %+v, want the added field level", e)
	}
	openAt(t, path, onto.TypeOf[Customer]()) // the same type is fine
}

func TestRefusedValues(t *testing.T) {
	s := crm(t)
	long := strings.Repeat("k", onto.MaxKey+1)
	for _, c := range []struct {
		name  string
		thing any
		code  onto.Code
		want  []string
	}{
		{"malformed JSON", product(`{"sku":`), onto.Invalid, []string{"Product", "end of input"}},
		{"not an object", product(`[1]`), onto.Invalid, []string{"expected an object"}},
		{"duplicate key", product(`{"sku":"p","title":"a","title":"b"}`), onto.Invalid, []string{"duplicate", "title"}},
		{"unknown field", product(`{"sku":"p","titel":"a"}`), onto.Invalid, []string{"titel", "did you mean title?"}},
		{"missing field", product(`{"sku":"p"}`), onto.Invalid, []string{"title is missing", "string"}},
		{"null in a required field", product(`{"sku":"p","title":null}`), onto.Invalid, []string{"title is missing"}},
		{"wrong kind", product(`{"sku":"p","title":7}`), onto.Invalid, []string{"title", "expected string, found int"}},
		{"no key", product(`{"title":"a"}`), onto.Invalid, []string{"key is empty"}},
		{"empty key", Product{Title: "a"}, onto.Invalid, []string{"key is empty"}},
		{"oversized key", Product{SKU: long, Title: "a"}, onto.TooLarge, []string{"1025 bytes", "1024"}},
		{"key is not UTF-8", Product{SKU: "a\xff", Title: "a"}, onto.Invalid, []string{"UTF-8"}},
		{"text is not UTF-8", Product{SKU: "p", Title: "\xff"}, onto.Invalid, []string{"title", "UTF-8"}},
		{"text in a map is not UTF-8", onto.Entity{Type: "Product", Key: "p", Fields: map[string]any{"title": "\xff"}}, onto.Invalid, []string{"title", "UTF-8"}},
		{"keys that disagree", onto.Entity{Type: "Product", Key: "p", Fields: map[string]any{"sku": "q", "title": "a"}}, onto.Invalid, []string{`"p"`, `"q"`}},
		{"unknown type", onto.Entity{Type: "Prodct", Key: "p"}, onto.Invalid, []string{"Prodct", "did you mean Product?"}},
		{"a relation as an entity", onto.Entity{Type: "Subscription", Key: "p"}, onto.Invalid, []string{"Subscription", "relation"}},
		{"instance key of an unkeyed relation", onto.Relation{Type: "Subscription", Left: "c", Right: "p", Instance: "i", Fields: map[string]any{"seats": 1}}, onto.Invalid, []string{"instance key"}},
		{"no left key", onto.Relation{Type: "Subscription", Right: "p", Fields: map[string]any{"seats": 1}}, onto.Invalid, []string{"left key is empty"}},
		{"unregistered struct", Prodct{SKU: "p"}, onto.Invalid, []string{"Prodct", "onto.TypeOf"}},
		{"nil", nil, onto.Invalid, []string{"nil"}},
		{"nil pointer", (*Product)(nil), onto.Invalid, []string{"nil"}},
		{"a number", 7, onto.Invalid, []string{"int"}},
		{"too large", Product{SKU: "p", Title: strings.Repeat("x", onto.MaxFields)}, onto.TooLarge, []string{"limit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Commit(t.Context(), onto.Draft{}.Ensure(Product{SKU: "fine", Title: "fine"}, c.thing))
			wantError(t, err, c.code, c.want...)
		})
	}
	if head, err := s.Head(t.Context()); err != nil || head.ID != 0 {
		t.Errorf("head: got %d, error %v; want 0: nothing of a refused draft is stored", head.ID, err)
	}
}

func product(text string) onto.Entity {
	return onto.Entity{Type: "Product", Fields: []byte(text)}
}

func TestRefusedDrafts(t *testing.T) {
	s := crm(t)
	fine := Product{SKU: "p", Title: "t"}
	for _, c := range []struct {
		name  string
		draft onto.Draft
		code  onto.Code
		want  string
	}{
		{"actor", onto.Draft{Actor: onto.Actor{Kind: "robot", ID: "x"}}, onto.Invalid, "robot"},
		{"causation", onto.Draft{Causation: -1}, onto.Invalid, "negative"},
		{"metadata", onto.Draft{Metadata: map[string]any{"f": func() {}}}, onto.Invalid, "metadata"},
		{"comment", onto.Draft{Comment: strings.Repeat("x", onto.MaxComment+1)}, onto.TooLarge, "comment"},
		{"idempotency key", onto.Draft{IdempotencyKey: "a\x00"}, onto.Invalid, "idempotency key"},
		{"different twice", onto.Draft{}.Ensure(fine, Product{SKU: "p", Title: "u"}), onto.Conflict, "twice"},
		{"put and delete", onto.Draft{}.Ensure(fine).Delete(onto.EntityID("Product", "p")), onto.Conflict, "twice"},
		{"delete of an unknown type", onto.Draft{}.Delete(onto.EntityID("Prodct", "p")), onto.Invalid, "Prodct"},
		{"expectation", onto.Draft{}.ExpectVersion(onto.EntityID("Product", "p"), 3), onto.VersionMismatch, "does not exist"},
		{"head", onto.Draft{}.ExpectHead(9), onto.HeadMismatch, "9"},
		{"too many", onto.Draft{}.Ensure(make([]Product, store.DefaultMaxBatch+1)), onto.Invalid, "key is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Commit(t.Context(), c.draft.Ensure(fine))
			wantError(t, err, c.code, c.want)
		})
	}
	var many []onto.Identity
	for i := range store.DefaultMaxBatch + 1 {
		many = append(many, onto.EntityID("Product", string(rune('a'+i%26))+strings.Repeat("x", i%100)))
	}
	_, err := s.Commit(t.Context(), onto.Draft{}.Delete(many))
	wantError(t, err, onto.TooLarge, "10000", "CommitStream")
}

func TestEqualTwiceIsOnce(t *testing.T) {
	s := crm(t)
	p := Product{SKU: "p", Title: "t"}
	res := mustCommit(t, s, onto.Draft{}.Ensure(p, &p, onto.Entity{Type: "Product", Key: "p", Fields: map[string]any{"title": "t"}}))
	if res.Operations != 1 {
		t.Errorf("got %d operations, want 1", res.Operations)
	}
}

func TestThingsComeInManyForms(t *testing.T) {
	s := crm(t)
	list := []Product{{"p1", "a"}, {"p2", "b"}}
	seq := func(yield func(Product) bool) { _ = yield(Product{"p3", "c"}) && yield(Product{"p4", "d"}) }
	mixed := []any{&Product{"p5", "e"}, onto.Relation{Type: "Subscription", Left: "c", Right: "p1", Fields: map[string]any{"seats": int64(1)}}}
	res := mustCommit(t, s, onto.Draft{}.Ensure(list, seq, mixed, [1]Product{{"p6", "f"}}))
	if res.Operations != 7 {
		t.Errorf("got %d operations, want 7", res.Operations)
	}
}
