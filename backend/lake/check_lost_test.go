package lake

import (
	"context"
	"fmt"
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

// bucketChecked are the findings of a lake that cannot be opened.
func bucketChecked(t testing.TB, b bucket.Bucket, how *CheckOptions) ([]onto.Finding, error) {
	t.Helper()
	var found []onto.Finding
	for f, err := range CheckBucket(context.Background(), unclosed{b}, &Options{Patience: time.Second}, how) {
		if err != nil {
			return found, err
		}
		if f = upkeep.Explain(f); f.Message == "" || f.Remedy.Text == "" || strings.Contains(f.Message, "\n") {
			t.Errorf("%+v lacks a message on one line or a remedy", f)
		}
		found = append(found, f)
	}
	return found, nil
}

// leave leaves the manifest of an unpublished round on top of the newest.
func (s *sample) leave(attempt string) {
	s.Helper()
	_, m := s.round(0)
	m.Ancestors = append([]protocol.RoundEntry{m.Entry()}, m.Ancestors[:protocol.Ancestors-1]...)
	parent, path := m.CommitID, m.Entry().Path
	m.Parent, m.ParentPath = &parent, &path
	m.CommitID, m.First, m.Round, m.Attempt = m.CommitID+1, m.CommitID+1, m.Round+1, attempt
	m.Commits[0].ID = m.CommitID
	s.write(fmt.Sprintf("commits/%d-%s/manifest.json", m.CommitID, attempt), protocol.Encode(m))
}

// A lake that cannot be opened tells what is missing and what is left, and changes
// nothing.
func TestCheckBucket(t *testing.T) {
	healthy := makeSample(t)
	for _, c := range []struct {
		name  string
		plant func(s *sample)
		quick string // the codes of a quick check
		want  string // the codes
		parts []string
	}{
		{"a head that is gone", func(s *sample) { s.remove(protocol.HeadKey) },
			"object_missing", "object_missing check_stopped objects_orphaned",
			[]string{"meta/head.json: it is missing; commits 1 to 76 were published for certain, and commit 77 may have been: commits/77-", "without the head", "leads to 2 objects"}},
		{"a head that is gone, and a round that lost", func(s *sample) { s.leave("lost"); s.remove(protocol.HeadKey) },
			"object_missing", "object_missing check_stopped objects_orphaned",
			[]string{"commits 1 to 77 were published for certain, and commit 78 may have been: commits/78-lost/manifest.json", "", "leads to 1 objects of"}},
		{"a head that is gone, and rounds that lost", func(s *sample) { s.leave("lost"); s.leave("too"); s.remove(protocol.HeadKey) },
			"object_missing", "object_missing check_stopped objects_orphaned",
			[]string{"there are 2 manifests, any of which may have lost, the newest of which is commits/78-"}},
		{"a head that is no JSON", func(s *sample) { s.write(protocol.HeadKey, []byte("{")) },
			"object_damaged", "object_damaged check_stopped objects_orphaned",
			[]string{"meta/head.json: it is not JSON: unexpected end of JSON input; commits 1 to 76"}},
		{"a head with a member out of range", func(s *sample) { s.editHead(func(h *protocol.Head) { h.Catalog = "" }) },
			"object_damaged", "object_damaged check_stopped objects_orphaned", []string{"a member is missing"}},
		{"the newest manifest is gone", func(s *sample) { path, _ := s.round(0); s.remove(path) },
			"object_missing", "object_missing check_stopped",
			[]string{"manifest.json: the head names it, and it is missing: commit 77 cannot be read", "from commit 77 to 77"}},
		{"the newest manifest is no JSON", func(s *sample) { path, _ := s.round(0); s.write(path, []byte("{")) },
			"object_damaged", "object_damaged check_stopped", []string{"commits/77-", "from commit 77 to 77"}},
		{"the newest manifests are gone", func(s *sample) {
			path, _ := s.round(0)
			next, _ := s.round(1)
			s.remove(path)
			s.remove(next)
		}, "object_missing", "object_missing check_stopped objects_orphaned",
			[]string{"commits/77-", "from commit 76 to 77", "leads to 1 objects"}},
		{"the catalog is gone", func(s *sample) { s.remove(s.tip().Head.Catalog) },
			"object_missing", "object_missing check_stopped",
			[]string{"the head names it as the catalog, and it is missing; the one before it is meta/catalog/", "without the catalog"}},
		{"the catalog is no JSON", func(s *sample) { s.write(s.tip().Head.Catalog, []byte("{")) },
			"object_damaged", "object_damaged check_stopped", []string{"meta/catalog/"}},
		{"the catalog and a manifest are gone", func(s *sample) {
			path, _ := s.round(7)
			s.remove(path)
			s.remove(s.tip().Head.Catalog)
		}, "object_missing", "object_missing object_missing check_stopped",
			[]string{"the head names it as the catalog", "a later round names it, and it is missing: commit 70 cannot be read"}},
		{"the head and a manifest are gone", func(s *sample) {
			path, _ := s.round(7)
			s.remove(path)
			s.remove(protocol.HeadKey)
		}, "object_missing", "object_missing object_missing check_stopped objects_orphaned",
			[]string{protocol.HeadKey, "a later round names it, and it is missing: commit 70 cannot be read"}},
		{"a head that names what cannot be", func(s *sample) { s.editHead(func(h *protocol.Head) { h.Catalog, h.ManifestPath = "a)", new(string) }) },
			"object_damaged", "object_damaged check_stopped objects_orphaned",
			[]string{`meta/head.json: "a)" is no catalog of head 85; commits 1 to 76`}},
		{"a head without a checksum", func(s *sample) { s.write(protocol.HeadKey, protocol.Encode(s.tip().Head)) },
			"object_damaged", "object_damaged check_stopped objects_orphaned", []string{"it does not end with a checksum"}},
		{"a head of another commit than its manifest", func(s *sample) { s.editHead(func(h *protocol.Head) { h.CommitID += 100 }) },
			"object_damaged", "object_damaged check_stopped objects_orphaned", []string{"is not the manifest of commit 177"}},
		{"a catalog without a checksum", func(s *sample) { s.write(s.tip().Head.Catalog, protocol.Encode(s.tip().Catalog)) },
			"object_damaged", "object_damaged check_stopped", []string{"it does not end with a checksum"}},
		{"a type with the version -1", func(s *sample) { s.editCatalog(func(c *protocol.Catalog) { c.Types[0].Version = -1 }) },
			"object_damaged", "object_damaged check_stopped", []string{"it has a version -1"}},
		{"a head that is too large", func(s *sample) {
			s.write(protocol.HeadKey, append(s.read(protocol.HeadKey), make([]byte, protocol.MaxSmall)...))
		},
			"object_damaged", "object_damaged check_stopped objects_orphaned", []string{"meta/head.json: get meta/head.json: the object is too large: it has"}},
		{"all is well by now", func(*sample) {}, "", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // some wait
			s := openSample(t, copyBucket(t, healthy), time.Second)
			c.plant(s)
			before := s.fingerprint()
			found, err := bucketChecked(t, s.bucket, nil)
			s.must(err)
			if codesOf(found) != c.want {
				t.Fatalf("got %v, want %s", found, c.want)
			}
			for i, part := range c.parts {
				if !strings.Contains(found[i].Message, part) {
					t.Errorf("got %v, want one with %q", found[i], part)
				}
			}
			if found, err = bucketChecked(t, s.bucket, &CheckOptions{Quick: true}); err != nil || codesOf(found) != c.quick {
				t.Errorf("quick: got %v, %v, want %s", found, err, c.quick)
			}
			if s.fingerprint() != before {
				t.Error("the bucket has changed")
			}
		})
	}
}

// fingerprint tells one state of the bucket from another.
func (s *sample) fingerprint() string {
	s.Helper()
	text := ""
	page, err := s.bucket.List(s.Context(), "", "", 1000)
	s.must(err)
	for _, e := range page {
		text += e.Key + " " + protocol.HashOf(s.read(e.Key)) + "\n"
	}
	return text
}

// Where there is no lake, a check fails and finds nothing.
func TestCheckBucketWithoutLake(t *testing.T) {
	b := memory.New(nil)
	for range 2 {
		if found, err := bucketChecked(t, b, nil); onto.CodeOf(err) != onto.Uninitialized || len(found) != 0 {
			t.Errorf("got %v, %v, want uninitialized", found, err)
		}
		if _, err := b.Create(t.Context(), "something/else", []byte("x")); err != nil {
			t.Log(err) // it is there
		}
	}
	if _, err := b.Create(t.Context(), protocol.HeadKey, []byte(`{"format":99,"store_id":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if found, err := bucketChecked(t, b, nil); onto.CodeOf(err) != onto.Unsupported || len(found) != 0 {
		t.Errorf("a newer format: got %v, %v, want unsupported", found, err)
	}
}

// The only commit of a lake without a head may have been published.
func TestCheckBucketOfOneCommit(t *testing.T) {
	s := openSample(t, memory.New(nil), time.Second)
	_, err := s.lake.Register(t.Context(), &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	s.commit("", entityPut("Person", "a", 1, 1))
	s.must(s.lake.Close())
	s.remove(protocol.HeadKey)
	found, err := bucketChecked(t, s.bucket, nil)
	s.must(err)
	if codesOf(found) != "object_missing check_stopped objects_orphaned" || !strings.Contains(found[0].Message, "no commit was published for certain, and commit 1 may have been: commits/1-") {
		t.Errorf("got %v", found)
	}
}

// Storage that does not answer is an error and not a finding.
func TestCheckBucketOfStorageThatFails(t *testing.T) {
	denied := onto.Errorf(onto.Invalid, "access denied")
	for _, part := range []string{protocol.HeadKey, "/manifest.json", "meta/catalog/"} {
		b := failing{makeSample(t), func(key string) error {
			if strings.Contains(key, part) {
				return denied
			}
			return nil
		}}
		if found, err := bucketChecked(t, b, nil); onto.CodeOf(err) != onto.Invalid || !strings.Contains(fmt.Sprint(err), part) {
			t.Errorf("%s: got %v, %v, want that access was denied", part, found, err)
		}
	}
}

// Nothing is answered from a lake that is damaged: it cannot be opened.
func TestDamagedLakeIsNotOpened(t *testing.T) {
	s := openSample(t, makeSample(t), time.Second)
	path, _ := s.round(0)
	s.remove(path)
	l, err := Open(t.Context(), unclosed{s.bucket}, &Options{Patience: 50 * time.Millisecond, MustExist: true})
	if onto.CodeOf(err) != onto.Corrupt {
		t.Errorf("got %v, %v, want corrupt", l, err)
	}
}
