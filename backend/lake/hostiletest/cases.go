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
}

// Large is how many bytes the objects have that are large.
const Large = 96 << 20

// Cases are objects that unfold to much, are much or say what is not so.
func Cases() []Case { return append(files(), documents()...) }

// files are data files.
func files() []Case {
	long := `{"s":"` + strings.Repeat("x", 60<<10) + `"}`
	return []Case{
		{"a file that is larger than its manifest says", func(l Lake) string {
			path := l.File()
			l.Write(path, append(l.Read(path), make([]byte, Large)...))
			return path
		}, "at most"},
		{"a dictionary that unfolds to a gigabyte", func(l Lake) string {
			return l.Plant(l.parquet(parquettest.Entities{Rows: 16 << 10, Fields: long, SameKey: true, Dictionary: true}), 16<<10)
		}, "has a dictionary"},
		{"pages that unfold to a gigabyte", func(l Lake) string {
			return l.Plant(l.parquet(parquettest.Entities{Rows: 16 << 10, Fields: long}), 16<<10)
		}, "unfolds to more than"},
		{"few bytes that are said to hold ten million rows", func(l Lake) string {
			return l.Plant(l.parquet(parquettest.Entities{Rows: 1 << 20, Fields: "{}", SameKey: true}), 10_000_000)
		}, "cannot hold 10000000 rows"},
		{"another number of rows than there are", func(l Lake) string {
			return l.Plant(l.parquet(parquettest.Entities{Rows: 100, Fields: `{"id":"k"}`}), 101)
		}, "it has 100 rows, not 101"},
		{"a file that is not what its manifest says", func(l Lake) string {
			path := l.File()
			body := l.Read(path)
			body[len(body)/2] ^= 1
			l.Write(path, body)
			return path
		}, "bytes that are not"},
		{"a file that is missing", func(l Lake) string { return l.drop(l.File()) }, "it is missing"},
	}
}

func (l Lake) parquet(e parquettest.Entities) []byte {
	l.Helper()
	e.Type = "Person"
	data, err := e.File()
	l.must(err)
	return data
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
		{"a head that is large", large(head), fmt.Sprint(Large)},
		{"a manifest that is large", large(Lake.Manifest), fmt.Sprint(Large)},
		{"a catalog that is large", large(Lake.Catalog), fmt.Sprint(Large)},
		{"a list of nothing", func(l Lake) string {
			path := l.Manifest()
			l.Write(path, bytes.Replace(l.Read(path), []byte(`"commits":[`), append([]byte(`"commits":[`), bytes.Repeat([]byte("{},"), 1<<20)...), 1))
			return path
		}, "too short to be any"},
		{"a list of files that say next to nothing", func(l Lake) string {
			path := l.Manifest()
			l.Write(path, bytes.Replace(l.Read(path), []byte(`"files":[`), append([]byte(`"files":[`), bytes.Repeat([]byte(`{"path":"1234"},`), 60<<16)...), 1))
			return path
		}, "too short to be any"},
		{"many lists of nothing", func(l Lake) string {
			path := l.Manifest()
			touched := append([]byte(`{"touched":[`), append(bytes.Repeat([]byte("{},"), 4000), "{}]},"...)...)
			l.Write(path, bytes.Replace(l.Read(path), []byte(`"commits":[`), append([]byte(`"commits":[`), bytes.Repeat(touched, 5<<10)...), 1))
			return path
		}, "too short to be any"},
		{"lists in lists", func(l Lake) string {
			path := l.Manifest()
			l.Write(path, bytes.Repeat([]byte("["), 60<<20))
			return path
		}, "it is not JSON"},
		{"files as long as real ones", func(l Lake) string {
			path := l.Manifest()
			file := fmt.Sprintf(`{"content_sha256":"%064d","path":"commits/%0100d"},`, 0, 0)
			body, _, _ := bytes.Cut(l.Read(path), []byte(`,"checksum"`))
			body = bytes.Replace(body, []byte(`"files":[`), append([]byte(`"files":[`), bytes.Repeat([]byte(file), (60<<20)/len(file))...), 1)
			l.Write(path, seal(append(body, '}')))
			return path
		}, "is a file of"},
		{"a head without a checksum and with another commit", func(l Lake) string {
			l.Edit(HeadKey, func(h Document) { h["commit_id"] = 99 })
			body := l.Read(HeadKey)
			l.Write(HeadKey, append(bytes.Clone(body[:bytes.LastIndex(body, []byte(`,"checksum"`))]), '}'))
			return HeadKey
		}, "checksum"},
		{"a head with another commit", func(l Lake) string {
			return l.Edit(HeadKey, func(h Document) { h["commit_id"] = 99 })
		}, "commit 99"},
		{"a catalog with a version below zero", func(l Lake) string {
			return l.Edit(l.Catalog(), func(c Document) { c.First("types")["schema_version_id"] = -1 })
		}, "version -1"},
		{"a manifest that is missing", func(l Lake) string { return l.drop(l.Manifest()) }, "it is missing"},
		{"a catalog that is missing", func(l Lake) string { return l.drop(l.Catalog()) }, "it is missing"},
	}
}
