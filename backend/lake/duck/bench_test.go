package duck_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/duck"
	"github.com/ontologia/onto/backend/lake/parquet"
)

const (
	people   = 100_000
	versions = 5
	perFile  = 1000 // rows of a commit
)

func person() *onto.Schema {
	s := &onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id"}
	for name, t := range map[string]onto.FieldType{
		"id": onto.String, "name": onto.String, "email": onto.String, "tier": onto.String, "age": onto.Int, "score": onto.Float,
	} {
		s.Fields = append(s.Fields, onto.Field{Name: name, Type: t, Optional: name != "id"})
	}
	s.SortFields()
	return s
}

// crowd is the versions of many people, in the order of commits.
func crowd() []onto.Version {
	tiers := []string{"Gold", "Silver", "Bronze", "Iron"}
	var list []onto.Version
	for v := range versions {
		for i := range people {
			key := fmt.Sprintf("key-%07d", i*7919%people)
			list = append(list, onto.Version{
				Identity: onto.EntityID("Person", key), Op: onto.Put, Commit: int64((v*people+i)/perFile + 1), SchemaVersion: 1,
				Fields: fmt.Appendf(nil, `{"age":%d,"email":"person%d@example.com","id":"%s","name":"Person number %d","score":%g,"tier":"%s"}`,
					(i*31+v)%90, i, key, i, float64((i*13+v)%1000)+0.5, tiers[(i+v)%4]),
			})
		}
	}
	return list
}

// population writes the crowd to files. Each is sorted by identity, as a
// snapshot is.
func population(b *testing.B, dir string, files int) *duck.Source {
	b.Helper()
	s := &duck.Source{Kind: onto.KindEntity, Type: "Person", Head: people * versions / perFile}
	s.Layout = parquet.NewLayout(s.Kind, s.Type, []onto.SchemaVersion{{Schema: *person(), Version: 1}})
	parts := split(crowd(), files)
	for _, part := range parts {
		slices.SortStableFunc(part, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	}
	s.Files, s.Typed, s.Unique = writeFiles(b, dir, fmt.Sprint("crowd", files), s.Layout, parts)
	return s
}

func BenchmarkScan(b *testing.B) {
	dir := b.TempDir()
	e, err := duck.Open(&duck.Options{Directory: dir})
	must(b, err)
	defer e.Close()
	where := onto.And{onto.Path("tier").Eq("Gold"), onto.Path("age").Lt(5)}
	for _, files := range []int{1, 40} {
		typed := population(b, dir, files)
		untyped := *typed
		untyped.Typed = false
		for _, c := range []struct {
			name string
			q    backend.Query
			s    *duck.Source
			want int
		}{
			{"latest", backend.Query{}, typed, people},
			{"as of", backend.Query{At: 250}, typed, people},
			{"typed filter", backend.Query{Where: where}, typed, 555},
			{"JSON filter", backend.Query{Where: where}, &untyped, 555},
			{"one key", backend.Query{Keys: []string{"key-0031415"}}, typed, 1},
			{"typed order", backend.Query{Order: []onto.Order{{Operand: onto.Path("score"), Desc: true}}, Limit: 20}, typed, 20},
			{"history of one", backend.Query{Mode: backend.History, Identity: &onto.Identity{Kind: onto.KindEntity, Type: "Person", Key: "key-0031415"}}, typed, versions},
		} {
			b.Run(fmt.Sprintf("%s/files=%d", c.name, files), func(b *testing.B) {
				c.q.Kind, c.q.Type = onto.KindEntity, "Person"
				if c.q.At == 0 {
					c.q.At = backend.Head
				}
				for b.Loop() {
					got := 0
					for _, err := range e.Scan(b.Context(), &c.q, c.s, nil, nil) {
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
