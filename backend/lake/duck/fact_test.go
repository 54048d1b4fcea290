package duck_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/duck"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/parquet/parquettest"
)

// contract is a type of facts with attributes a0, a1, ….
func contract(attributes int) onto.Schema {
	s := onto.Schema{Kind: onto.KindFact, Name: "Contract", Left: "Person", Fields: onto.FactFields(false)}
	for i := range attributes {
		s.Fields = append(s.Fields, onto.Field{Name: fmt.Sprint("a", i), Type: onto.Int, Optional: true})
	}
	s.SortFields()
	return s
}

// contracts is facts about subjects in the order of commits, one for each attribute; every
// fifth is revoked by a later commit.
func contracts(subjects, attributes int) []onto.Version {
	var list, later []onto.Version
	for i := range subjects {
		for a := range attributes {
			n := i*attributes + a
			id := onto.FactID("Contract", fmt.Sprintf("p-%06d", i*7919%subjects), fmt.Sprint("a", a), fmt.Sprintf("f%d", n))
			commit := int64(n/perFile + 1)
			list = append(list, onto.Version{
				Identity: id, Op: onto.Put, Commit: commit, SchemaVersion: 1,
				Fields: fmt.Appendf(nil, `{"%s":%d,"valid_from":"2026-%02d-01T00:00:00.000000+00:00"}`, id.Right, n, n%12+1),
			})
			if n%5 == 0 {
				later = append(later, onto.Version{
					Identity: id, Op: onto.Put, Commit: int64((subjects*attributes+n/5)/perFile + 2), SchemaVersion: 1,
					Fields: fmt.Appendf(nil, `{"%s":%d,"asserted":%d,"revoked":true,"valid_from":"2026-%02d-01T00:00:00.000000+00:00","valid_until":"2027-01-01T00:00:00.000000+00:00"}`,
						id.Right, n, commit, n%12+1),
				})
			}
		}
	}
	return append(list, later...)
}

// factFiles writes facts to files, each sorted by identity, as a snapshot is.
func factFiles(t testing.TB, dir string, all []onto.Version, attributes, files int) *duck.Source {
	t.Helper()
	s := &duck.Source{Kind: onto.KindFact, Type: "Contract", Head: all[len(all)-1].Commit}
	s.Layout = parquet.NewLayout(s.Kind, s.Type, []onto.SchemaVersion{{Schema: contract(attributes), Version: 1}})
	parts := split(slices.Clone(all), files)
	for _, part := range parts {
		slices.SortStableFunc(part, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	}
	s.Files, s.Typed, s.Unique = writeFiles(t, dir, fmt.Sprint("contracts", files), s.Layout, parts)
	return s
}

// Of a file in the order of facts, those about one subject are read out of the row groups
// that can have them: the others are damaged here, and nothing notices.
func TestFactsOfOneSubject(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	const subjects, attributes = 8000, 5
	s := factFiles(t, dir, contracts(subjects, attributes), attributes, 1)
	groups := damageAfterFirst(t, s.Files[0])
	if groups < 3 {
		t.Fatalf("the file has %d row groups, want more", groups)
	}
	ask := func(q backend.Query) (got []string, err error) {
		q.Kind, q.Type, q.At = onto.KindFact, "Contract", backend.Head
		for v, err := range e.Scan(t.Context(), &q, s, nil, nil) {
			if err != nil {
				return got, err
			}
			got = append(got, v.Left+" "+v.Right)
		}
		return got, nil
	}
	id := onto.FactID("Contract", "p-000007", "a2", "")
	for name, c := range map[string]struct {
		q    backend.Query
		want []string
	}{
		"a subject":                {backend.Query{LeftKeys: []string{"p-000007"}}, []string{"p-000007 a0", "p-000007 a1", "p-000007 a2", "p-000007 a3", "p-000007 a4"}},
		"an attribute of it":       {backend.Query{LeftKeys: []string{"p-000007"}, RightKeys: []string{"a3"}}, []string{"p-000007 a3"}},
		"attributes of two":        {backend.Query{LeftKeys: []string{"p-000007", "p-000001"}, RightKeys: []string{"a4", "a0"}}, []string{"p-000001 a0", "p-000001 a4", "p-000007 a0", "p-000007 a4"}},
		"with a filter":            {backend.Query{LeftKeys: []string{"p-000007"}, Where: onto.Path("a1").Ge(int64(0))}, []string{"p-000007 a1"}},
		"the history of a subject": {backend.Query{LeftKeys: []string{"p-000007"}, RightKeys: []string{"a1"}, Mode: backend.History}, []string{"p-000007 a1"}},
		"an unknown fact":          {backend.Query{Identity: &id, Mode: backend.History}, nil},
	} {
		got, err := ask(c.q)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
	if got, err := ask(backend.Query{LeftKeys: []string{"p-007999"}}); err == nil {
		t.Errorf("a subject in a damaged row group: got %q, %v, want an error", got, err)
	}
	t.Logf("%d row groups, one of them readable", groups)
}

// damageAfterFirst overwrites all row groups of a file but the first, and returns how many
// there are.
func damageAfterFirst(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	groups, err := parquettest.DamageAfterFirst(data)
	must(t, err)
	must(t, os.WriteFile(path, data, 0o600))
	return groups
}

func BenchmarkFacts(b *testing.B) {
	dir := b.TempDir()
	e, err := duck.Open(&duck.Options{Directory: dir})
	must(b, err)
	defer e.Close()
	const subjects, attributes = 20_000, 5
	all := contracts(subjects, attributes)
	march := "2026-03-15T00:00:00.000000+00:00"
	holds := onto.And{
		onto.Or{onto.Path("valid_from").IsNull(), onto.Path("valid_from").Le(march)},
		onto.Or{onto.Path("valid_until").IsNull(), onto.Path("valid_until").Gt(march)},
	}
	for _, files := range []int{1, 40} {
		s := factFiles(b, dir, all, attributes, files)
		for _, c := range []struct {
			name string
			q    backend.Query
			want int
		}{
			{"one subject", backend.Query{LeftKeys: []string{"p-012345"}}, attributes},
			{"one attribute of it", backend.Query{LeftKeys: []string{"p-012345"}, RightKeys: []string{"a3"}}, 1},
			{"one attribute of all", backend.Query{RightKeys: []string{"a3"}}, subjects},
			{"all about a time", backend.Query{Where: holds}, 25_002},
			{"one attribute about a time", backend.Query{Where: holds, RightKeys: []string{"a3"}}, 5_000},
		} {
			b.Run(fmt.Sprintf("%s/files=%d", c.name, files), func(b *testing.B) {
				c.q.Kind, c.q.Type, c.q.At = onto.KindFact, "Contract", backend.Head
				for b.Loop() {
					got := 0
					for _, err := range e.Scan(b.Context(), &c.q, s, nil, nil) {
						must(b, err)
						got++
					}
					if got != c.want {
						b.Fatalf("got %d versions, want %d", got, c.want)
					}
				}
			})
		}
	}
}
