package laketest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/typelist"
)

// What copies must be like is in the contract of backends. Here is what only lakes have:
// files of many commits, heads, objects, compactions and janitors.

// fullLake is a lake with so many commits, all with keys, in as many rounds. The keys of
// things come again and again, and some are deleted.
func fullLake(t *testing.T, b bucket.Bucket, commits int) *lake.Backend {
	t.Helper()
	l := openThings(t, b, lake.Options{})
	_, err := l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{persons("Person"), contracts("salary")}})
	must(t, err)
	for i := range commits {
		d := putThings("always", fmt.Sprint("k", i%5))
		d.Writes[0].Fields = fmt.Appendf(nil, `{"id":"always","n":%d}`, i)
		d.Writes = append(d.Writes, salary("ana", fmt.Sprint(i), i))
		if i%5 == 4 {
			d.Writes[1].Op, d.Writes[1].Fields = onto.Delete, nil
		}
		d.Writes, err = backend.SortWrites(d.Writes)
		must(t, err)
		d.IdempotencyKey, d.Metadata = fmt.Sprint("key ", i), fmt.Appendf(nil, `{"i":%d}`, i)
		_, err := l.Append(t.Context(), d)
		must(t, err)
	}
	return l
}

// logText is a log as text, an entry on each line.
func logText(t *testing.T, a backend.LogSource, since int64) []string {
	t.Helper()
	var lines []string
	for e, err := range a.Log(t.Context(), since) {
		must(t, err)
		lines = append(lines, entryText(e))
	}
	return lines
}

func entryText(e backend.LogEntry) string {
	if e.Commit == nil {
		return fmt.Sprintf("%+v %s", e.Version.Identity, fmt.Sprint(e.Version.Commit, e.Version.Op, e.Version.SchemaVersion, string(e.Version.Fields)))
	}
	return fmt.Sprintf("%+v %s %s", e.Commit.Commit, e.Commit.Metadata, e.Commit.Digest)
}

func wantLog(t *testing.T, what string, a backend.LogSource, since int64, want []string) {
	t.Helper()
	if got := logText(t, a, since); !slices.Equal(got, want) {
		t.Fatalf("%s, since %d: got %d entries\n%s\nwant %d\n%s", what, since, len(got), got, len(want), want)
	}
}

// partOf is the part of a log after one commit and up to another, to be restored.
func partOf(t *testing.T, from backend.Archive, since, last int64, unfinished bool) *backend.Restoration {
	t.Helper()
	types, err := from.Schemas(t.Context())
	must(t, err)
	return &backend.Restoration{
		Since: since, Types: types,
		Log: func(yield func(backend.LogEntry, error) bool) {
			for e, err := range from.Log(t.Context(), since) {
				if e.Commit != nil && e.Commit.ID > last || !yield(e, err) {
					return
				}
			}
		},
		Copy: func() backend.CopyState {
			return backend.CopyState{Origin: "the source", Flags: "none", Commit: last, Sum: "a sum", Unfinished: unfinished}
		},
	}
}

// beside calls f before the third entry of the log.
func beside(r *backend.Restoration, f func()) *backend.Restoration {
	log, n := r.Log, 0
	r.Log = func(yield func(backend.LogEntry, error) bool) {
		for e, err := range log {
			if n++; n == 3 {
				f()
			}
			if !yield(e, err) {
				return
			}
		}
	}
	return r
}

func compactAll(t *testing.T, l *lake.Backend) {
	t.Helper()
	plan, err := l.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
	must(t, err)
	merged, err := l.Compact(t.Context(), plan, nil)
	if err != nil || merged != len(plan.Items) {
		t.Fatalf("compacted %d, %v", merged, err)
	}
}

func wantNoFindings(t *testing.T, l *lake.Backend) {
	t.Helper()
	for f, err := range l.Check(t.Context()) {
		must(t, err)
		if f.Severity == onto.SeverityError {
			t.Errorf("finding %+v", f)
		}
	}
}

// A log is the same wherever its versions lie: in files of rounds or of compactions, of one
// commit or of many, sorted in memory or on disk.
func TestLogOfAnyFiles(t *testing.T) {
	source := fullLake(t, memory.New(nil), 23)
	want := logText(t, source, 0)
	for _, streamBytes := range []int64{0, 300, 10_000} {
		target := openThings(t, memory.New(nil), lake.Options{Target: true, StreamBytes: streamBytes})
		for since := int64(0); since < 23; since += 5 {
			must(t, target.Restore(t.Context(), partOf(t, source, since, min(since+5, 23), since < 18)))
		}
		wantLog(t, "the copy", target, 0, want)
		wantNoFindings(t, target)
		size, err := target.LogSize(t.Context(), 0, backend.Head)
		if err != nil || size.Versions != int64(len(want)-23) || size.Commits != 23 || (size.Scratch > 0) != (streamBytes == 300) {
			t.Errorf("with %d bytes: got %+v, %v", streamBytes, size, err)
		}
		compactAll(t, target)
		_, err = target.Append(t.Context(), putThings("late"))
		must(t, err)
		all := logText(t, target, 0)
		for since, at := int64(0), 0; at < len(all); since++ {
			if since%3 == 0 {
				wantLog(t, "the compacted copy", target, since, all[at:])
			}
			next := slices.IndexFunc(all[at+1:], func(line string) bool { return line[0] == '{' && line[1] == 'I' && line[2] == 'D' })
			if next < 0 {
				break
			}
			at += 1 + next
		}
		if !slices.Equal(all[:len(want)], want) || len(all) != len(want)+2 {
			t.Errorf("the compacted copy: got %s", all)
		}
	}
}

// A lake that a copy has not filled is of a format that older programs refuse, and every
// call of others fails. In the end it is of the format that it would have without the copy,
// and its heads tell what it is a copy of.
func TestUnfinishedLake(t *testing.T) {
	source := fullLake(t, memory.New(nil), 6)
	b := memory.New(nil)
	other := openThings(t, b, lake.Options{Location: "the lake of Ana"})
	plan := &backend.CompactionPlan{Items: []backend.CompactionItem{{Kind: onto.KindEntity, Type: "Thing", Paths: []string{"a", "b"}}}}
	target := openThings(t, b, lake.Options{Target: true})
	must(t, target.Restore(t.Context(), partOf(t, source, 0, 4, true)))
	for what, err := range map[string]error{
		"scan":         lastOf(other.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head})),
		"check":        lastOf(other.Check(t.Context())),
		"survey":       lastOf(other.Survey(t.Context())),
		"log":          lastOf(other.Log(t.Context(), 0)),
		"doctor":       lastOf(lake.CheckBucket(t.Context(), kept{b}, &lake.Options{}, nil)),
		"quick doctor": lastOf(lake.CheckBucket(t.Context(), kept{b}, &lake.Options{}, &lake.CheckOptions{Quick: true})),
		"open": func() error {
			_, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true})
			return err
		}(),
		"append":      second(other.Append(t.Context(), putThings("a"))),
		"stream":      second(other.AppendStream(t.Context(), streamDraft(""), notes(0, 1, 1))),
		"register":    second(other.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{persons("Other")}})),
		"acquire":     second(other.Acquire(t.Context(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: "a", TTL: time.Minute})),
		"leases":      second(other.Leases(t.Context())),
		"plan":        second(other.PlanCompaction(t.Context(), nil)),
		"compaction":  second(other.Compact(t.Context(), plan, nil)),
		"janitor":     second(other.PlanJanitor(t.Context(), 0)),
		"sweep":       second(other.Sweep(t.Context(), &backend.OrphanPlan{})),
		"index":       second(other.VerifyIndex(t.Context())),
		"restore":     other.Restore(t.Context(), partOf(t, source, 4, 6, false)),
		"state":       second(other.CopyState(t.Context())),
		"index plan":  second(other.PlanIndexRepair(t.Context())),
		"description": second(other.Describe(t.Context(), false)),
	} {
		if onto.CodeOf(err) != onto.CopyUnfinished {
			t.Errorf("%s: got %v, want that the copy is unfinished", what, err)
		}
	}
	if held, err := target.Leases(t.Context()); err != nil || len(held) > 0 {
		t.Errorf("leases are left: %v, %v", held, err)
	}
	head := readDocument(t, b, "meta/head.json")
	if want := map[string]any{"origin": "the source", "flags": "none", "commit_id": 4.0, "sum": "a sum", "unfinished": true}; fmt.Sprint(head["copy"]) != fmt.Sprint(want) || head["format"] != 3.0 {
		t.Errorf("got %v of format %v, want %v of format 3", head["copy"], head["format"], want)
	}
	must(t, target.Restore(t.Context(), partOf(t, source, 4, 6, false)))
	_, err := other.Append(t.Context(), putThings("after"))
	must(t, err)
	head = readDocument(t, b, "meta/head.json")
	if want := map[string]any{"origin": "the source", "flags": "none", "commit_id": 6.0, "sum": "a sum"}; fmt.Sprint(head["copy"]) != fmt.Sprint(want) || head["format"] != 2.0 {
		t.Errorf("got %v of format %v, want %v of format 2", head["copy"], head["format"], want)
	}
}

func second[T any](_ T, err error) error { return err }

// lastOf is the error that ends a sequence.
func lastOf[T any](seq iter.Seq2[T, error]) (err error) {
	for _, err = range seq {
	}
	return err
}

// A restoration is as good as the head that it is published on: others may compact
// meanwhile, but commit nothing and change no type.
func TestRestoreBesideOthers(t *testing.T) {
	source := fullLake(t, memory.New(nil), 9)
	for _, streamBytes := range []int64{0, 300} {
		for name, test := range map[string]struct {
			meanwhile func(t *testing.T, other *lake.Backend)
			want      onto.Code
		}{
			"compaction": {compactAll, ""},
			"commit": {func(t *testing.T, other *lake.Backend) {
				must(t, second(other.Append(t.Context(), putThings("a"))))
			}, onto.HeadMismatch},
			"type": {func(t *testing.T, other *lake.Backend) {
				must(t, second(other.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{persons("Other")}})))
			}, onto.Conflict},
			"lease": {func(t *testing.T, other *lake.Backend) {
				must(t, second(other.Acquire(t.Context(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: "a", TTL: time.Hour})))
			}, onto.LockContention},
			"short lease": {func(t *testing.T, other *lake.Backend) {
				lease, err := other.Acquire(t.Context(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: "a", TTL: time.Hour})
				must(t, err)
				must(t, other.Release(t.Context(), lease))
			}, ""},
		} {
			t.Run(fmt.Sprint(name, streamBytes), func(t *testing.T) {
				b := memory.New(nil)
				target := openThings(t, b, lake.Options{StreamBytes: streamBytes, LockTimeout: 50 * time.Millisecond})
				other := openThings(t, b, lake.Options{})
				must(t, target.Restore(t.Context(), partOf(t, source, 0, 3, false)))
				must(t, target.Restore(t.Context(), partOf(t, source, 3, 5, false)))
				before := logText(t, target, 0)
				err := target.Restore(t.Context(), beside(partOf(t, source, 5, 9, false), func() { test.meanwhile(t, other) }))
				if onto.CodeOf(err) != test.want {
					t.Fatalf("got %v, want %q", err, test.want)
				}
				want := before
				if test.want == "" {
					want = logText(t, source, 0)
				}
				if got := logText(t, target, 0); !slices.Equal(got[:min(len(got), len(want))], want) {
					t.Errorf("got %s, want %s", got, want)
				}
				wantNoFindings(t, target)
				for e := range everyObject(t, b) { // what was prepared is gone
					if name == "commit" && e.Key[:8] == "commits/" && e.Key[8] == '9' {
						t.Errorf("%s is left", e.Key)
					}
				}
			})
		}
	}
}

func everyObject(t *testing.T, b bucket.Bucket) iter.Seq[bucket.Entry] {
	t.Helper()
	list, err := b.List(t.Context(), "", "", 10_000)
	must(t, err)
	return slices.Values(list)
}

// purging ends a type and its history.
func purging(t *testing.T, l *lake.Backend, name string) {
	t.Helper()
	types, err := l.Schemas(t.Context())
	must(t, err)
	d := streamDraft("")
	d.Evolve = &backend.Evolution{Base: typelist.Hash(types), End: []backend.EndedType{{Kind: onto.KindEntity, Type: name, Purge: true}}}
	must(t, second(l.AppendStream(t.Context(), d, noWrites())))
}

// remove deletes objects whose keys contain a text, and returns how many.
func remove(t *testing.T, b bucket.Bucket, keys func(key string) bool) int {
	t.Helper()
	n := 0
	for e := range everyObject(t, b) {
		if keys(e.Key) {
			must(t, b.Delete(t.Context(), e.Key))
			n++
		}
	}
	return n
}

// A log that is read while its files are compacted and removed goes on with those that have
// taken their place. One whose files are removed since their type was purged ends with
// Stale, and what came before is the log as it was.
func TestLogWhileFilesGo(t *testing.T) {
	for _, purged := range []bool{false, true} {
		b := memory.New(nil)
		source := fullLake(t, b, 24)
		want := logText(t, source, 0)
		reader, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true, StreamBytes: 3_000})
		must(t, err)
		defer reader.Close()
		var got []string
		var ended error
		for e, err := range reader.Log(t.Context(), 0) {
			if err != nil {
				ended = err
				break
			}
			got = append(got, entryText(e))
			if len(got) != 3 {
				continue
			}
			files := map[string]bool{}
			for e := range everyObject(t, b) {
				files[e.Key] = true
			}
			if purged {
				purging(t, source, "Thing")
			} else {
				compactAll(t, source)
				must(t, second(source.Append(t.Context(), putThings("late"))))
			}
			if n := remove(t, b, func(key string) bool {
				return files[key] && key[:8] == "commits/" && key[len(key)-13:] == "Thing.parquet"
			}); n != 24 {
				t.Fatalf("removed %d files, want 24", n)
			}
		}
		if wantCode := map[bool]onto.Code{true: onto.Stale}[purged]; onto.CodeOf(ended) != wantCode {
			t.Errorf("purged %v: ended with %v, want %q", purged, ended, wantCode)
		}
		if !slices.Equal(got, want[:min(len(got), len(want))]) || !purged && len(got) != len(want) {
			t.Errorf("purged %v: got %d entries\n%s\nwant %d\n%s", purged, len(got), got, len(want), want)
		}
	}
}

// rounds is a bucket that counts how often manifests are read.
type rounds struct {
	bucket.Bucket
	reads atomic.Int64
}

func (c *rounds) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if strings.HasSuffix(key, "manifest.json") {
		c.reads.Add(1)
	}
	return c.Bucket.Get(ctx, key, r, ifNot)
}

// Idempotency keys of earlier rounds are found, also by a handle that has restored none of
// them, without a request for each commit.
func TestKeysOfRestorations(t *testing.T) {
	source := fullLake(t, memory.New(nil), 12)
	c := &rounds{Bucket: memory.New(nil)}
	target := openThings(t, c, lake.Options{})
	must(t, target.Restore(t.Context(), partOf(t, source, 0, 2, false)))
	for _, part := range [][2]int64{{2, 5}, {5, 9}} {
		before := c.reads.Load()
		must(t, target.Restore(t.Context(), partOf(t, source, part[0], part[1], false)))
		if gets := c.reads.Load() - before; gets > 0 {
			t.Errorf("commits %v took %d reads of rounds", part, gets)
		}
	}
	for _, l := range []*lake.Backend{target, openThings(t, c, lake.Options{})} {
		r := partOf(t, source, 9, 11, false)
		log := r.Log
		r.Log = func(yield func(backend.LogEntry, error) bool) {
			for e, err := range log {
				if e.Commit != nil && e.Commit.ID == 11 {
					used := *e.Commit
					used.IdempotencyKey = "key 3"
					e.Commit = &used
				}
				if !yield(e, err) {
					return
				}
			}
		}
		if err := l.Restore(t.Context(), r); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("a key that was used: got %v", err)
		}
	}
	must(t, target.Restore(t.Context(), partOf(t, source, 9, 12, false)))
	d := putThings("another")
	d.IdempotencyKey = "key 7"
	if res, err := target.Append(t.Context(), d); err != nil || !res.Repeated || res.ID != 8 {
		t.Errorf("a draft with a key that was copied: got %+v, %v, want commit 8 again", res, err)
	}
}

// A round has room for so many commits only.
func TestRestoreTooMany(t *testing.T) {
	target := openThings(t, memory.New(nil), lake.Options{})
	types, err := target.Schemas(t.Context())
	must(t, err)
	many := func(n int) *backend.Restoration {
		return &backend.Restoration{Types: types, Copy: func() backend.CopyState { return backend.CopyState{} }, Log: func(yield func(backend.LogEntry, error) bool) {
			for i := range n {
				c := onto.Commit{ID: int64(i + 1), Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
				if !yield(backend.LogEntry{Commit: &backend.LogCommit{Commit: c}}, nil) {
					return
				}
			}
		}}
	}
	if err := target.Restore(t.Context(), many(10_001)); onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("got %v", err)
	}
	must(t, target.Restore(t.Context(), many(10_000)))
	if head, err := target.Resolve(t.Context(), onto.Point{}); err != nil || head.ID != 10_000 {
		t.Errorf("got %v, %v", head, err)
	}
}

// The error of the log is returned as it is, whatever it is.
func TestRestoreLogFails(t *testing.T) {
	source := fullLake(t, memory.New(nil), 3)
	for _, planted := range []error{errors.New("planted"), context.Canceled, onto.Errorf(onto.LockContention, "of the source")} {
		target := openThings(t, memory.New(nil), lake.Options{})
		r := partOf(t, source, 0, 3, false)
		log := r.Log
		r.Log = func(yield func(backend.LogEntry, error) bool) {
			for e := range log {
				if !yield(e, nil) {
					return
				}
			}
			yield(backend.LogEntry{}, planted)
		}
		if err := target.Restore(t.Context(), r); err != planted {
			t.Errorf("got %v, want %v", err, planted)
		}
		wantLog(t, "after "+planted.Error(), target, 0, nil)
	}
}
