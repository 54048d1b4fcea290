package laketest

import (
	"sync"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/effort"
)

// kept is a bucket that is not closed with its lake.
type kept struct{ bucket.Bucket }

func (kept) Close() error { return nil }

func TestContractInMemory(t *testing.T) {
	var buckets sync.Map // from the name of a place to its bucket
	backendtest.Run(t, backendtest.Target{
		Operations: 3_000,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, _ := buckets.LoadOrStore(p.Name, memory.New(nil))
			return open(t, kept{b.(bucket.Bucket)}, p, 0)
		},
	})
}

// DuckDB gives the same answers as the process does for little data. Package filtertest
// asks it many more questions; here it is the whole contract, which takes minutes.
func TestContractWithDuckDB(t *testing.T) {
	if !longTurn(t, 0) {
		return
	}
	var buckets sync.Map
	backendtest.Run(t, backendtest.Target{
		Operations: 20,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, _ := buckets.LoadOrStore(p.Name, memory.New(nil))
			return open(t, kept{b.(bucket.Bucket)}, p, -1)
		},
	})
}

// With the environment variable TEST_KEEP_LAKES, the data files of all stores are left in
// the directory that it names.
func TestContractOnFiles(t *testing.T) {
	backendtest.Run(t, backendtest.Target{
		Operations: 500, Again: 1,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, err := file.Open(p.Dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			return open(t, keeping{b, p.Dir}, p, 0)
		},
	})
}

// longTurn reports whether to run a test that repeats with other storage, for long, what
// another test does. A plain run skips it, and each run of a part of the long tests has some.
func longTurn(t *testing.T, number int) bool {
	t.Helper()
	if !effort.Thorough(t) {
		t.Skip("a plain run leaves it out")
	}
	return effort.Includes(t, number)
}

func open(t testing.TB, b bucket.Bucket, p *backendtest.Place, inProcess int64) backend.Backend {
	t.Helper()
	l, err := lake.Open(t.Context(), b, &lake.Options{Now: p.Now, Trusted: true, LockTimeout: p.LockTimeout, MigrationWait: p.MigrationWait, InProcess: inProcess, Target: p.Target})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
