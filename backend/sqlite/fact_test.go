package sqlite_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// factTables are the tables of facts.
func factTables() []string { return []string{"fact_history", "fact_current", "onto_fact_past"} }

// holder and contract are a type of subjects, and one of facts about them.
func holder() onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "tier", Type: onto.String, Optional: true}}}
}

func contract() onto.Schema {
	s := onto.Schema{Kind: onto.KindFact, Name: "Contract", Left: "Person", Fields: append(onto.FactFields(false),
		onto.Field{Name: "employer", Type: onto.String, Optional: true, Index: true},
		onto.Field{Name: "note", Type: onto.String, Optional: true, Search: true},
		onto.Field{Name: "salary", Type: onto.Int, Optional: true})}
	s.SortFields()
	return s
}

func fact(subject, attribute, id, fields string) backend.Write {
	return backend.Write{Identity: onto.FactID("Contract", subject, attribute, id), Op: onto.Put, Fields: []byte(fields), SchemaVersion: 1}
}

// makeFacts makes a store with facts about two persons, one of whom does not exist:
// asserted, revoked, retracted.
func makeFacts(t *testing.T) (string, *sqlite.Backend) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "facts.db")
	b := open(t, path, nil)
	register(t, b, holder(), contract())
	ada := backend.Write{Identity: onto.EntityID("Person", "ada"), Op: onto.Put, Fields: []byte(`{"id":"ada","tier":"Gold"}`), SchemaVersion: 1}
	commit(t, b, ada,
		fact("ada", "employer", "f1", `{"employer":"Acme","valid_from":"2026-01-01T00:00:00.000000+00:00"}`),
		fact("ada", "salary", "f2", `{"salary":4000,"seq":1}`))
	commit(t, b, fact("ada", "note", "f3", `{"note":"Signed in Paris"}`), fact("bob", "salary", "f4", `{"kind":"offered","salary":3000}`))
	commit(t, b, fact("ada", "employer", "f1", `{"asserted":1,"employer":"Acme","revoked":"left","valid_from":"2026-01-01T00:00:00.000000+00:00","valid_until":"2026-06-01T00:00:00.000000+00:00"}`))
	commit(t, b, backend.Write{Identity: onto.FactID("Contract", "ada", "salary", "f2"), Op: onto.Delete, SchemaVersion: 1})
	return path, b
}

// factIDs returns the ids of the facts that a query finds.
func factIDs(t *testing.T, b backend.Backend, q backend.Query) string {
	t.Helper()
	schema, left := contract(), holder()
	q.Kind, q.Type, q.Schema, q.Left = onto.KindFact, "Contract", &schema, &left
	var got []string
	for v, err := range b.Scan(t.Context(), &q) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v.Instance)
	}
	return strings.Join(got, " ")
}

func TestFactsAreKept(t *testing.T) {
	path, b := makeFacts(t)
	wantFacts := func(t *testing.T, b *sqlite.Backend) {
		t.Helper()
		wantFields(t, b, onto.FactID("Contract", "bob", "salary", "f4"), backend.Head, `{"kind":"offered","salary":3000}`)
		wantFields(t, b, onto.FactID("Contract", "ada", "salary", "f2"), 3, `{"salary":4000,"seq":1}`)
		schema := contract()
		gold := checkedFilter(t, &backend.Query{Schema: &schema, Left: new(holder())}, `left.$.tier == "Gold"`)
		acme := checkedFilter(t, &backend.Query{Schema: &schema}, `$.employer == "Acme"`)
		for _, q := range []struct {
			name, want string
			backend.Query
		}{
			{"all", "f1 f3 f4", backend.Query{At: backend.Head}},
			{"all as of 1", "f1 f2", backend.Query{At: 1}},
			{"all as of 2", "f1 f3 f2 f4", backend.Query{At: 2}},
			{"history", "f1 f2 f3 f4 f1 f2", backend.Query{At: backend.Head, Mode: backend.History}},
			{"of a subject", "f1 f3", backend.Query{At: backend.Head, LeftKeys: []string{"ada"}}},
			{"of an attribute", "f4", backend.Query{At: backend.Head, RightKeys: []string{"salary"}}},
			{"of an attribute as of 2", "f2 f4", backend.Query{At: 2, RightKeys: []string{"salary"}}},
			{"of an attribute of a subject", "f2", backend.Query{At: 2, LeftKeys: []string{"ada"}, RightKeys: []string{"salary"}}},
			{"by value", "f1", backend.Query{At: backend.Head, Where: acme}},
			{"by subject's tier", "f1 f3", backend.Query{At: backend.Head, Where: gold}},
			{"by subject's tier as of 2", "f1 f3 f2", backend.Query{At: 2, Where: gold}},
			{"by words", "f3", backend.Query{At: backend.Head, Search: []backend.Word{{Text: "paris"}}}},
		} {
			if got := factIDs(t, b, q.Query); got != q.want {
				t.Errorf("%s: got %s, want %s", q.name, got, q.want)
			}
		}
		var changes []string
		for c, err := range b.Diff(t.Context(), &backend.DiffQuery{From: 1, To: backend.Head}) {
			if err != nil {
				t.Fatal(err)
			}
			changes = append(changes, string(c.Kind)+" "+c.Identity.Instance)
		}
		if got := strings.Join(changes, ", "); got != "fact f1, fact f3, fact f2, fact f4" {
			t.Errorf("got changes %s", got)
		}
		info, err := b.Describe(t.Context(), true)
		if err != nil || info.Versions != 7 || len(info.Types) != 2 || info.Types[1].Live != 3 || info.Types[1].Versions != 6 {
			t.Errorf("got %+v, error %v; want 7 versions, 6 of 4 facts", info, err)
		}
	}
	wantFacts(t, b)
	if got := findings(t, path); !slices.Equal(got, []string{"endpoint_missing"}) {
		t.Errorf("got findings %v, want the subject that does not exist", got)
	}
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantFacts(t, b)
	copied := filepath.Join(t.TempDir(), "copy.db")
	if _, err := b.CopyTo(t.Context(), copied, nil); err != nil {
		t.Fatal(err)
	}
	wantFacts(t, open(t, copied, &sqlite.Options{ReadOnly: true}))
	wantFacts(t, open(t, copied, nil))
}
