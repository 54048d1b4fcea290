package hostiletest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ontologia/onto/backend/lake/parquet/parquettest"
)

// Case is a way to make a lake hostile.
type Case struct {
	Name  string
	Plant func(l Lake) string // returns the key that an error must name
	Want  string              // what else it says
	Fits  bool                // it is not larger than such an object may be, so it is read
}

// Large is how many bytes the objects have that are large.
const Large = 96 << 20

// Cases are objects that decompress to much, are large, or make false claims.
func Cases() []Case { return append(files(), documents()...) }

// files are data files.
func files() []Case {
	long := `{"s":"` + strings.Repeat("x", 60<<10) + `"}`
	return []Case{
		{"a file that is larger than its manifest says", func(l Lake) string {
			path := l.File()
			l.Write(path, append(l.Read(path), make([]byte, Large)...))
			return path
		}, "at most", false},
		{"a dictionary that unfolds to a gigabyte", func(l Lake) string {
			return l.Plant(l.parquet(parquettest.Entities{Rows: 16 << 10, Fields: long, SameKey: true, Dictionary: true}), 16<<10)
		}, "has a dictionary", false},
		{"pages that unfold to a gigabyte", func(l Lake) string {
			return l.Plant(l.parquet(parquettest.Entities{Rows: 16 << 10, Fields: long}), 16<<10)
		}, "unfolds to more than", false},
		{"few bytes that are said to hold ten million rows", func(l Lake) string {
			return l.Plant(l.parquet(parquettest.Entities{Rows: 1 << 20, Fields: "{}", SameKey: true}), 10_000_000)
		}, "cannot hold 10000000 rows", false},
		{"another number of rows than there are", func(l Lake) string {
			return l.Plant(l.parquet(parquettest.Entities{Rows: 100, Fields: `{"id":"k"}`}), 101)
		}, "it has 100 rows, not 101", false},
		{"a file that is not what its manifest says", func(l Lake) string {
			path := l.File()
			body := l.Read(path)
			body[len(body)/2] ^= 1
			l.Write(path, body)
			return path
		}, "bytes that are not", false},
		{"a file that is missing", func(l Lake) string { return l.drop(l.File()) }, "it is missing", false},
	}
}

func (l Lake) parquet(e parquettest.Entities) []byte {
	l.Helper()
	e.Type = "Person"
	data, err := e.File()
	l.must(err)
	return data
}

// stuff puts many elements at the beginning of a list of the newest manifest.
func (l Lake) stuff(list, element string, times int) (path string) {
	l.Helper()
	path = l.Manifest()
	body, _, _ := bytes.Cut(l.Read(path), []byte(`,"checksum"`))
	body = append(bytes.TrimSuffix(body, []byte("}")), '}')
	begin := []byte(`"` + list + `":[`)
	l.Write(path, seal(bytes.Replace(body, begin, append(bytes.Clone(begin), strings.Repeat(element, times)...), 1)))
	return path
}

func (l Lake) drop(key string) string {
	l.Helper()
	l.must(l.Bucket.Delete(l.Context(), key))
	return key
}

// documents are heads, catalogs and manifests.
func documents() []Case {
	large := func(key func(Lake) string) func(Lake) string {
		return func(l Lake) string {
			path := key(l)
			l.Write(path, make([]byte, Large))
			return path
		}
	}
	head := func(Lake) string { return HeadKey }
	return []Case{
		{"a head that is large", large(head), fmt.Sprint(Large), false},
		{"a manifest that is large", large(Lake.Manifest), fmt.Sprint(Large), false},
		{"a catalog that is large", large(Lake.Catalog), fmt.Sprint(Large), false},
		{"a list of nothing", func(l Lake) string { return l.stuff("commits", "{},", 1<<20) }, "too short to be any", true},
		{"a list of files that say next to nothing", func(l Lake) string { return l.stuff("files", `{"path":"1234"},`, 60<<16) }, "too short to be any", true},
		{"many lists of nothing", func(l Lake) string {
			return l.stuff("commits", `{"touched":[`+strings.Repeat("{},", 4000)+"{}]},", 5<<10)
		}, "too short to be any", true},
		{"lists in lists", func(l Lake) string {
			path := l.Manifest()
			l.Write(path, bytes.Repeat([]byte("["), 60<<20))
			return path
		}, "it is not JSON", true},
		{"files as long as real ones", func(l Lake) string {
			file := fmt.Sprintf(`{"content_sha256":"%064d","path":"commits/%0100d"},`, 0, 0)
			return l.stuff("files", file, (60<<20)/len(file))
		}, "is a file of", true},
		{"a head without a checksum and with another commit", func(l Lake) string {
			l.Edit(HeadKey, func(h Document) { h["commit_id"] = 99 })
			body := l.Read(HeadKey)
			l.Write(HeadKey, append(bytes.Clone(body[:bytes.LastIndex(body, []byte(`,"checksum"`))]), '}'))
			return HeadKey
		}, "checksum", false},
		{"a head with another commit", func(l Lake) string {
			return l.Edit(HeadKey, func(h Document) { h["commit_id"] = 99 })
		}, "commit 99", false},
		{"a catalog with a version below zero", func(l Lake) string {
			return l.Edit(l.Catalog(), func(c Document) { c.First("types")["schema_version_id"] = -1 })
		}, "version -1", false},
		{"a file of facts where those of entities are", func(l Lake) string {
			return l.Edit(l.Manifest(), func(m Document) { m.First("files")["kind"] = "fact" })
		}, "is not where a file of the fact Person can be", false},
		{"a file of facts whose path leads elsewhere", func(l Lake) string {
			return l.Edit(l.Manifest(), func(m Document) {
				f := m.First("files")
				f["kind"], f["path"] = "fact", strings.Replace(f.Text("path"), "/entities/", "/facts/../entities/", 1)
			})
		}, "is not where a file of the fact Person can be", false},
		{"a file of a kind that is unknown", func(l Lake) string {
			return l.Edit(l.Manifest(), func(m Document) {
				f := m.First("files")
				f["kind"], f["path"] = "event", strings.Replace(f.Text("path"), "/entities/", "/events/", 1)
			})
		}, "is a file of the event", false},
		{"a type of facts that is one of entities", func(l Lake) string {
			l.Edit(l.Catalog(), func(c Document) { c.First("types")["type_kind"] = "fact" })
			return "meta/catalog"
		}, "has the schema of the entity", false},
		{"a manifest that is missing", func(l Lake) string { return l.drop(l.Manifest()) }, "it is missing", false},
		{"a catalog that is missing", func(l Lake) string { return l.drop(l.Catalog()) }, "it is missing", false},
	}
}
