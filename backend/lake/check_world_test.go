package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/upkeep"
)

// failing is a bucket whose reads of some objects fail.
type failing struct {
	bucket.Bucket
	fails func(key string) error
}

func (f failing) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if err := f.fails(key); err != nil {
		return bucket.Object{}, err
	}
	return f.Bucket.Get(ctx, key, r, ifNot)
}

// Storage that does not answer, or refuses, is an error and not a finding.
func TestCheckOfStorageThatFails(t *testing.T) {
	b, fails := makeSample(t), func(string) error { return nil }
	s := openSampleThrough(t, b, failing{b, func(key string) error { return fails(key) }}, 100*time.Millisecond)
	lost := errors.New("the line is cut")
	denied := onto.Errorf(onto.Invalid, "access denied").WithHint("give other credentials")
	for _, c := range []struct {
		part string
		err  error
		want onto.Code
	}{
		{"/manifest.json", lost, onto.Unavailable}, {".parquet", lost, onto.Unavailable}, {"meta/catalog", lost, onto.Unavailable},
		{"meta/checkpoints", denied, onto.Invalid}, {".parquet", denied, onto.Invalid},
	} {
		fails = func(key string) error {
			if strings.Contains(key, c.part) {
				return c.err
			}
			return nil
		}
		var got error
		for f, err := range s.lake.Check(t.Context()) {
			if got = err; err == nil {
				t.Errorf("%s: got the finding %v", c.part, f)
			}
		}
		if !errors.Is(got, c.err) || onto.CodeOf(got) != c.want || !strings.Contains(got.Error(), c.part) {
			t.Errorf("%s: got %v, want one that names the object and says %v", c.part, got, c.err)
		}
	}
}

// A file that a compaction replaces and a janitor removes while the check is under
// way is no finding, and the versions are checked all the same.
func TestCheckDuringCompaction(t *testing.T) {
	s := openSample(t, makeSample(t), time.Second)
	s.commit("", entityPut("Person", "z", 2, 1), knowsPut("a", "z", 1))
	other := openSample(t, s.bucket, time.Second)
	var codes []string
	for f, err := range s.lake.CheckSteps(t.Context(), func(step string) {
		if step != "versions" {
			return
		}
		other.commit("", entityPut("Person", "z", 2, 2))
		before := other.liveFiles()
		plan, err := other.lake.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
		s.must(err)
		_, err = other.lake.Compact(t.Context(), plan, nil)
		s.must(err)
		after := other.liveFiles()
		for _, path := range before {
			if !slices.Contains(after, path) {
				s.remove(path)
			}
		}
	}) {
		s.must(err)
		codes = append(codes, f.String())
	}
	if len(codes) != 0 {
		t.Errorf("got %q, want nothing", codes)
	}
}

func (s *sample) liveFiles() []string {
	s.Helper()
	shelf, err := s.lake.newestShelf(s.Context())
	s.must(err)
	var paths []string
	for _, files := range shelf.Files {
		for _, f := range files {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Checkpoints of a higher level are compared with the rounds, too.
func TestCheckOfBranches(t *testing.T) {
	healthy := makeSample(t)
	for _, c := range []struct {
		name string
		edit func(d *protocol.Checkpoint)
		want string
	}{
		{"sound", func(*protocol.Checkpoint) {}, ""},
		{"another key", func(d *protocol.Checkpoint) { d.Keys[0].Commit++ }, "checkpoint_differs"},
		{"no child", func(d *protocol.Checkpoint) { d.Children = nil }, "checkpoint_differs"},
		{"other commits", func(d *protocol.Checkpoint) { d.Last-- }, "checkpoint_differs"},
		{"a child of other commits", func(d *protocol.Checkpoint) { d.Children[0].Last-- }, "checkpoint_differs checkpoint_differs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openSample(t, copyBucket(t, healthy), time.Second)
			leaf := s.tip().Catalog.Checkpoints[0]
			doc := new(protocol.Checkpoint)
			s.must(json.Unmarshal(s.read(leaf.Path), doc))
			doc.Rounds, doc.Children = nil, []protocol.CheckpointEntry{leaf}
			c.edit(doc)
			e := leaf
			e.Path, e.SHA256, e.Level = fmt.Sprintf("meta/checkpoints/%d-branch.json", e.Last), protocol.HashOf(protocol.Encode(doc)), 1
			s.write(e.Path, protocol.Encode(doc))
			s.editCatalog(func(k *protocol.Catalog) { k.Checkpoints[0] = e })
			if found := checked(t, s.lake); codesOf(found) != c.want {
				t.Errorf("got %v, want %s", found, c.want)
			}
		})
	}
}

func surveyed(t testing.TB, l *Backend) []onto.Finding {
	t.Helper()
	var found []onto.Finding
	for f, err := range l.Survey(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if f = upkeep.Explain(f); f.Message == "" || f.Remedy.Text == "" || strings.Contains(f.Message, "\n") {
			t.Errorf("%+v lacks a message on one line or a remedy", f)
		}
		found = append(found, f)
	}
	return found
}

// The limits of a survey.
const (
	manyFiles    = 100
	behindRounds = 2 * protocol.CheckpointRounds
	clockAhead   = time.Hour
)

// Circumstances that are worth a warning.
func TestSurvey(t *testing.T) {
	now := time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	b := memory.New(&memory.Options{Now: func() time.Time { return now }})
	clock := func() time.Time { return now }
	l, err := Open(t.Context(), unclosed{b}, &Options{Trusted: true, Now: clock, Location: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &sample{t, b, l}
	want := func(code, part, remedy string) {
		t.Helper()
		found := surveyed(t, l)
		if got := codesOf(found); got != code {
			t.Fatalf("got %v, want %q", found, code)
		}
		if code != "" && (!strings.Contains(found[0].Message, part) || !strings.Contains(found[0].Remedy.String(), remedy)) {
			t.Errorf("got %+v, want one with %q and the remedy %q", found[0], part, remedy)
		}
	}
	want("", "", "")
	_, err = l.Register(t.Context(), &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	for i := range manyFiles {
		s.commit("", entityPut("Person", fmt.Sprint(i), 1, i))
	}
	want("", "", "")
	s.commit("", entityPut("Person", "more", 1, 1))
	want("files_many", "entity Person has 101 files", "onto compact --apply")
	plan, err := l.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
	s.must(err)
	_, err = l.Compact(t.Context(), plan, nil)
	s.must(err)
	want("", "", "")

	_, err = b.Create(t.Context(), "commits/9-LOSTLOSTLOSTLOST/manifest.json", protocol.Encode(&protocol.Manifest{StoreID: s.tip().Head.StoreID}))
	s.must(err)
	lease, err := l.Acquire(t.Context(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: "me", TTL: time.Minute})
	s.must(err)
	want("lock_held", "held by me", "--force")
	now = now.Add(2 * time.Minute)
	want("lock_expired", "ontology_write of me", "--force")
	s.must(l.Release(t.Context(), lease))
	want("", "", "")

	now = now.Add(DefaultGrace)
	s.commit("", entityPut("Person", "later", 1, 1))
	want("objects_orphaned", "objects of", "onto janitor")
	orphans, err := l.PlanJanitor(t.Context(), 0)
	s.must(err)
	_, err = l.Sweep(t.Context(), orphans)
	s.must(err)
	want("", "", "")

	now = now.Add(-clockAhead)
	want("", "", "")
	now = now.Add(-time.Second)
	want("clock_ahead", "1h0m1s from now", "Set the clock")
}

// sealed is a bucket where nothing can be created below a folder.
type sealed struct {
	bucket.Bucket
	folder string
}

func (b sealed) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if strings.HasPrefix(key, b.folder) {
		return "", onto.Errorf(onto.Invalid, "access denied")
	}
	return b.Bucket.Create(ctx, key, data)
}

// A writer that may not write checkpoints commits all the same, and the survey reports
// it.
func TestSurveyOfCheckpoints(t *testing.T) {
	b := memory.New(nil)
	l, err := Open(t.Context(), sealed{b, "meta/checkpoints/"}, &Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &sample{t, b, l}
	_, err = l.Register(t.Context(), &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	put := func(i int) { s.commit("", entityPut([]string{"Person", "City"}[i%2], fmt.Sprint(i), 1, i)) }
	for i := range behindRounds {
		put(i)
	}
	if found := surveyed(t, l); len(found) != 0 {
		t.Errorf("after %d rounds: got %v, want nothing", behindRounds, found)
	}
	put(behindRounds)
	found := surveyed(t, l)
	if codesOf(found) != "checkpoints_behind" || !strings.Contains(found[0].Message, "newest 129 rounds") {
		t.Errorf("after one more: got %v, want checkpoints_behind", found)
	}
	if found := checked(t, l); len(found) != 0 {
		t.Errorf("check: got %v, want nothing", found)
	}
}

// writeLock is where the lock of the write lease is.
const writeLock = "meta/locks/" + onto.WriteLease + ".json"

// A survey that meets damage reports it and continues with the rest.
func TestSurveyOfDamage(t *testing.T) {
	b, fails := makeSample(t), func(string) error { return nil }
	s := openSampleThrough(t, b, failing{b, func(key string) error { return fails(key) }}, 100*time.Millisecond)
	s.remove(s.tip().Catalog.Checkpoints[0].Path)
	s.write(writeLock, []byte("{"))
	found := surveyed(t, s.lake)
	if codesOf(found) != "check_stopped check_stopped check_stopped check_stopped" || !strings.Contains(found[0].Message, writeLock) || !strings.Contains(found[0].Remedy.Text, "remove the object") {
		t.Errorf("got %v, want that leases, files, what was left behind and what is derived could not be looked at", found)
	}
	denied := onto.Errorf(onto.Invalid, "access denied")
	fails = func(string) error { return denied }
	for f, err := range s.lake.Survey(t.Context()) {
		if !errors.Is(err, denied) {
			t.Errorf("no access: got %v, %v", f, err)
		}
	}
}

// The size without stats is that of live files, with stats that of all objects.
func TestDescribeBytes(t *testing.T) {
	s := openSample(t, makeSample(t), time.Second)
	s.lake.opts.Location = "somewhere"
	var live, all int64
	for _, path := range s.liveFiles() {
		live += int64(len(s.read(path)))
	}
	page, err := s.bucket.List(t.Context(), "", "", 1000)
	s.must(err)
	for _, e := range page {
		all += e.Size
	}
	for _, c := range []struct {
		stats           bool
		bytes, versions int64
	}{{false, live, 0}, {true, all, 86}} {
		info, err := s.lake.Describe(t.Context(), c.stats)
		s.must(err)
		if info.Bytes != c.bytes || info.Versions != c.versions || info.Location != "somewhere" || info.StoreID != s.tip().Head.StoreID {
			t.Errorf("stats %v: got %+v, want %d bytes and %d versions", c.stats, info, c.bytes, c.versions)
		}
	}
	s.must(s.lake.Close())
	if _, err := s.lake.Describe(t.Context(), true); onto.CodeOf(err) != onto.Closed {
		t.Errorf("closed: got %v", err)
	}
}
