package laketest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/effort"
)

// A lake whose head was removed, cut short, or replaced by an older one or by that of another
// store is recovered, on a directory.
func TestRecoverHead(t *testing.T) {
	t.Parallel()
	files, err := file.Open(t.TempDir(), &file.Options{Create: true})
	must(t, err)
	defer files.Close()
	recoverHeads(t, files, 12)
}

// And on a real S3 server.
func TestRecoverHeadOnVersitygw(t *testing.T) {
	t.Parallel()
	b := openBucket(t, gateway(t), "recovered")
	defer b.Close()
	recoverHeads(t, b, 4)
}

// recoverHeads damages the head of a lake in every way, and some older ones that take its place.
func recoverHeads(t *testing.T, b bucket.Bucket, older int) {
	t.Helper()
	random := effort.Rand(t)
	heads := growLake(t, b, 70)
	newest := heads[len(heads)-1]
	other := memory.New(nil)
	foreign := growLake(t, other, 3)[2]

	replaced := map[string][]byte{"removed": nil, "cut short": newest[:len(newest)/2], "no JSON": []byte("head"), "of another store": foreign}
	for range older {
		i := random.IntN(len(heads) - 1)
		replaced[fmt.Sprintf("older, number %d of %d", i+1, len(heads))] = heads[i]
	}
	for name, body := range replaced {
		t.Run(name, func(t *testing.T) {
			replaceHead(t, b, body)
			plan, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", false)
			if onto.CodeOf(err) == onto.Conflict { // nothing proves that there was a later one
				replaceHead(t, b, newest)
				return
			}
			must(t, err)
			attempt := ""
			if plan.Undecided {
				if _, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", true); onto.CodeOf(err) != onto.Refused {
					t.Fatalf("got error %v, want that the plan is undecided", err)
				}
				attempt = plan.Last[0].Attempt
			}
			if got, err := b.Get(t.Context(), protocol.HeadKey, bucket.Range{Max: 1 << 20}, ""); body != nil && (err != nil || !slices.Equal(got.Data, body)) {
				t.Fatalf("a plan has changed the head: %s, %v", got.Data, err)
			}
			done, err := lake.RecoverHead(t.Context(), kept{b}, nil, attempt, true)
			if err != nil || done.Commit != 70 {
				t.Fatalf("got %+v, %v", done, err)
			}
			wantWhole(t, b, random)
			if _, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", true); onto.CodeOf(err) != onto.Conflict {
				t.Errorf("once more: got error %v, want that nothing is to be recovered", err)
			}
			replaceHead(t, b, newest)
		})
	}
	wantWhole(t, b, random)
}

// growLake makes a lake with a commit for each thing, compactions and a lease, and returns its
// heads.
func growLake(t *testing.T, b bucket.Bucket, commits int) (heads [][]byte) {
	t.Helper()
	l := openThings(t, b, lake.Options{})
	defer l.Close()
	for i := range commits {
		if i == commits/2 {
			plan, err := l.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
			must(t, err)
			_, err = l.Compact(t.Context(), plan, nil)
			must(t, err)
			_, err = l.Acquire(t.Context(), &backend.LeaseRequest{Name: "nightly", Owner: "ana", TTL: time.Hour})
			must(t, err)
		}
		_, err := l.Append(t.Context(), putThings(fmt.Sprint("k", i)))
		must(t, err)
		o, err := b.Get(t.Context(), protocol.HeadKey, bucket.Range{Max: 1 << 20}, "")
		must(t, err)
		heads = append(heads, o.Data)
	}
	return heads
}

// replaceHead puts other bytes in the place of the head; none removes it.
func replaceHead(t *testing.T, b bucket.Bucket, body []byte) {
	t.Helper()
	must(t, b.Delete(t.Context(), protocol.HeadKey))
	if body != nil {
		_, err := b.Create(t.Context(), protocol.HeadKey, body)
		must(t, err)
	}
}

// wantWhole fails unless a lake has all 70 commits, is sound, and goes on.
func wantWhole(t *testing.T, b bucket.Bucket, random *rand.Rand) {
	t.Helper()
	l, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true, MustExist: true})
	must(t, err)
	defer l.Close()
	if n := count(t, l); n != 70 {
		t.Errorf("got %d things, want 70", n)
	}
	backendtest.Check(t, l)
	leases, err := l.Leases(t.Context())
	if err != nil || len(leases) != 1 {
		t.Errorf("got leases %v, %v; want one", leases, err)
	}
	held, err := l.Acquire(t.Context(), &backend.LeaseRequest{Name: "other", Owner: "ana", TTL: time.Minute})
	must(t, err)
	must(t, l.Release(t.Context(), held))
}

// A lake whose head is lost while a copy fills it is not taken for a whole one afterwards, and
// the copy goes on. What it is a copy of is known when it has ended and others have written.
func TestRecoverCopy(t *testing.T) {
	source := fullLake(t, memory.New(nil), 12)
	b := memory.New(nil)
	recovered := func(unfinished bool) {
		t.Helper()
		replaceHead(t, b, nil)
		done, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", true)
		must(t, err)
		if c := done.Copy; c.Unfinished != unfinished || c.Origin != "the source" {
			t.Fatalf("recovered a copy of %q, unfinished %v", c.Origin, c.Unfinished)
		}
	}
	target := func(o lake.Options) *lake.Backend {
		t.Helper()
		l, err := lake.Open(t.Context(), kept{b}, &o)
		must(t, err)
		return l
	}
	l := target(lake.Options{Trusted: true, Target: true})
	must(t, l.Restore(t.Context(), partOf(t, source, 0, 6, true)))
	must(t, l.Close())
	recovered(true)
	if l, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true}); err == nil {
		_, err = l.Schemas(t.Context())
		if onto.CodeOf(err) != onto.CopyUnfinished {
			t.Errorf("half a copy can be read: %v", err)
		}
		must(t, l.Close())
	} else if onto.CodeOf(err) != onto.CopyUnfinished {
		t.Errorf("half a copy cannot be opened: %v", err)
	}
	l = target(lake.Options{Trusted: true, Target: true})
	must(t, l.Restore(t.Context(), partOf(t, source, 6, 12, false)))
	must(t, l.Close())
	l = target(lake.Options{Trusted: true})
	_, err := l.Append(t.Context(), putThings("later"))
	must(t, err)
	must(t, l.Close())
	recovered(false)
	l = target(lake.Options{Trusted: true})
	defer l.Close()
	state, err := l.CopyState(t.Context())
	if err != nil || state.Commit != 12 || state.Unfinished {
		t.Errorf("got the state %+v, %v", state, err)
	}
	backendtest.Check(t, l)
}

// Where two attempts hold the last commit, nothing tells which was published, and the operator
// chooses.
func TestRecoverUndecided(t *testing.T) {
	b := memory.New(nil)
	growLake(t, b, 3)
	rival := readDocument(t, b, manifestOf(t, b, 3))
	rival["attempt"] = "RIVAL00000000000"
	delete(rival, "checksum")
	writeDocument(t, b, "commits/3-RIVAL00000000000/manifest.json", rival)
	replaceHead(t, b, nil)
	plan, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", false)
	if err != nil || !plan.Undecided || len(plan.Last) != 2 || plan.Last[0].Commit != 3 || plan.Last[1].Commit != 3 {
		t.Fatalf("got %+v, %v; want two rounds that could be the last", plan, err)
	}
	if _, err := lake.RecoverHead(t.Context(), kept{b}, nil, "NOBODY", true); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("an attempt that is none: got error %v", err)
	}
	done, err := lake.RecoverHead(t.Context(), kept{b}, nil, "RIVAL00000000000", true)
	if err != nil || done.Attempt != "RIVAL00000000000" || done.Undecided {
		t.Errorf("got %+v, %v", done, err)
	}
}

// Manifests that are damaged or gone, and those of attempts that lost, are not taken for the
// newest.
func TestRecoverBesideDamage(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, b bucket.Bucket)
		want   int64
	}{
		"the newest is gone":          {func(t *testing.T, b bucket.Bucket) { must(t, b.Delete(t.Context(), manifestOf(t, b, 9))) }, 8},
		"the newest is damaged":       {func(t *testing.T, b bucket.Bucket) { damage(t, b, manifestOf(t, b, 9)) }, 8},
		"the one before is damaged":   {func(t *testing.T, b bucket.Bucket) { damage(t, b, manifestOf(t, b, 8)) }, 9},
		"the one before is gone":      {func(t *testing.T, b bucket.Bucket) { must(t, b.Delete(t.Context(), manifestOf(t, b, 8))) }, 9},
		"a large round that has lost": {loser, 9},
	} {
		t.Run(name, func(t *testing.T) {
			b := memory.New(nil)
			growLake(t, b, 9)
			c.damage(t, b)
			replaceHead(t, b, nil)
			plan, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", true)
			if err != nil || plan.Commit != c.want {
				t.Errorf("got %+v, %v; want commit %d", plan, err, c.want)
			}
		})
	}
}

// damage replaces an object by bytes that are none.
func damage(t *testing.T, b bucket.Bucket, key string) {
	t.Helper()
	must(t, b.Delete(t.Context(), key))
	_, err := b.Create(t.Context(), key, []byte("{"))
	must(t, err)
}

// loser writes the manifest of a round with many commits that lost against commit 4.
func loser(t *testing.T, b bucket.Bucket) {
	t.Helper()
	doc := readDocument(t, b, manifestOf(t, b, 4))
	doc["attempt"], doc["commit_id"] = "LOSER00000000000", 30
	delete(doc, "checksum")
	commits, _ := doc["commits"].([]any)
	first, _ := commits[0].(map[string]any)
	list := []any{}
	for id := 4; id <= 30; id++ {
		c := maps.Clone(first)
		c["commit_id"] = id
		list = append(list, c)
	}
	doc["commits"] = list
	files, _ := doc["files"].([]any)
	for _, f := range files {
		entry, _ := f.(map[string]any)
		entry["max_commit_id"], entry["path"] = 30, "commits/30-LOSER00000000000/entities/Thing.parquet"
	}
	writeDocument(t, b, "commits/30-LOSER00000000000/manifest.json", doc)
}

// Where there is nothing to recover, or not enough, that is said.
func TestNothingToRecover(t *testing.T) {
	empty := memory.New(nil)
	if _, err := lake.RecoverHead(t.Context(), kept{empty}, nil, "", true); onto.CodeOf(err) != onto.Uninitialized {
		t.Errorf("an empty bucket: got error %v", err)
	}
	b := memory.New(nil)
	growLake(t, b, 3)
	if _, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", true); onto.CodeOf(err) != onto.Conflict {
		t.Errorf("a lake that is sound: got error %v", err)
	}
	newer := readDocument(t, b, protocol.HeadKey)
	newer["format"] = 99
	text, err := json.Marshal(newer)
	must(t, err)
	replaceHead(t, b, text)
	if _, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", true); onto.CodeOf(err) != onto.Unsupported {
		t.Errorf("the head of a later program: got error %v", err)
	}
	replaceHead(t, b, nil)
	list, err := b.List(t.Context(), "meta/catalog/", "", 1000)
	must(t, err)
	for _, e := range list {
		must(t, b.Delete(t.Context(), e.Key))
	}
	if _, err := lake.RecoverHead(t.Context(), kept{b}, nil, "", true); onto.CodeOf(err) != onto.Corrupt {
		t.Errorf("without catalogs: got error %v", err)
	}
}

// manifestOf is the key of the manifest of a commit.
func manifestOf(t *testing.T, b bucket.Bucket, commit int) string {
	t.Helper()
	list, err := b.List(t.Context(), fmt.Sprintf("commits/%d-", commit), "", 100)
	must(t, err)
	for _, e := range list {
		if strings.HasSuffix(e.Key, "/manifest.json") {
			return e.Key
		}
	}
	t.Fatalf("there is no manifest of commit %d", commit)
	return ""
}

// writeDocument writes a document as it may be without a checksum.
func writeDocument(t *testing.T, b bucket.Bucket, key string, doc map[string]any) {
	t.Helper()
	body, err := json.Marshal(doc)
	must(t, err)
	_, err = b.Create(t.Context(), key, body)
	must(t, err)
}
