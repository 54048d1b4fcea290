package lake

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// openSmall opens a small lake when its leases have run out.
func openSmall(t testing.TB, b *memory.Bucket, now time.Time) (*sample, error) {
	t.Helper()
	l, err := Open(t.Context(), unclosed{b}, &Options{Trusted: true, MustExist: true, Patience: time.Second, Now: func() time.Time { return now }})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &sample{t, b, l}, nil
}

// Where the numbers of a lake are at their limits, writers are refused, and the lake
// can be read as before.
func TestNothingUnreadableIsPublished(t *testing.T) {
	add := func(ctx context.Context, l *Backend) error {
		_, err := l.Append(ctx, &backend.Draft{Writes: []backend.Write{entityPut("Person", "new", 2, 1)}})
		return err
	}
	acquire := func(ctx context.Context, l *Backend) error {
		_, err := l.Acquire(ctx, &backend.LeaseRequest{Name: onto.WriteLease, Owner: "you", TTL: time.Minute})
		return err
	}
	force := func(ctx context.Context, l *Backend) error {
		_, err := l.Break(ctx, onto.LeaseBreak{Lease: onto.Lease{Name: onto.WriteLease}, Reason: "it is in the way"})
		return err
	}
	last := func(s *sample) {
		s.write(writeLock, bytes.Replace(s.read(writeLock), []byte(`"epoch":`), []byte(`"epoch":9007199254740992,"was":`), 1))
	}
	later, late := smallTime.Add(48*time.Hour), time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	from := small(t)
	for _, c := range []struct {
		name  string
		plant func(s *sample)
		now   time.Time
		write func(context.Context, *Backend) error
		code  onto.Code
		want  string // what the error names
	}{
		{"the last head", func(s *sample) { s.editHead(func(h *protocol.Head) { h.Sequence = 1 << 53 }) }, later, add, onto.Corrupt, protocol.HeadKey},
		{"the last round", func(s *sample) { s.editRound(0, func(m *protocol.Manifest) { m.Round = 1 << 53 }) }, later, add, onto.Corrupt, "manifest.json"},
		{"a lease after the last head", func(s *sample) { s.editHead(func(h *protocol.Head) { h.Sequence = 1 << 53 }) }, later, acquire, onto.Corrupt, protocol.HeadKey},
		{"the last epoch", last, later, acquire, onto.Corrupt, writeLock},
		{"the last epoch, by force", last, later, force, onto.Corrupt, writeLock},
		{"a clock that is far ahead", func(s *sample) {
			s.remove(writeLock)
			s.editHead(func(h *protocol.Head) { h.Locks = nil })
		}, late, acquire, onto.Invalid, "clock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := openSmall(t, copyBucket(t, from.bucket), later)
			if err != nil {
				t.Fatal(err)
			}
			c.plant(s)
			if s, err = openSmall(t, s.bucket, c.now); err != nil {
				t.Fatal(err)
			}
			if err := c.write(t.Context(), s.lake); onto.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) || onto.HintOf(err).Text == "" {
				t.Errorf("got %v, want %s that names %s and has a hint", err, c.code, c.want)
			}
			again, err := openSmall(t, s.bucket, later)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := again.lake.Schemas(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := again.lake.Leases(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Documents with a text, or a schema, that could not be written again are refused
// by name. They made writers panic.
func TestDocumentsThatCannotBeWrittenAgain(t *testing.T) {
	from := small(t)
	catalog, manifest := from.tip.Head.Catalog, *from.tip.Head.ManifestPath
	for _, c := range []struct {
		name, key, old, new, want string
	}{
		{"head", protocol.HeadKey, `"runtime_id":""`, `"runtime_id":"\u0000"`, "U+0000"},
		{"manifest", manifest, `"encoding":"parquet"`, `"encoding":"\\\u0000"`, "U+0000"},
		{"catalog", catalog, `"left":"Person"`, `"left":"\u0000"`, "U+0000"},
		{"schema with half a character", catalog, `"left":"Person"`, `"left":"\ud800"`, "no writer stores"},
		{"schema with a member twice", catalog, `"left":"Person"`, `"left":"Person","left":"Person"`, "no writer stores"},
		{"lock", writeLock, `"owner_id":"me"`, `"owner_id":"\u0000"`, "U+0000"},
		{"a backslash and digits", catalog, `"store_id":`, `"note":"\\u0000","store_id":`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newOverlay(from.bucket)
			text, _, sealed := bytes.Cut(from.read(t, c.key), []byte(sealMember))
			if !bytes.Contains(text, []byte(c.old)) {
				t.Fatalf("%s has no %s", text, c.old)
			}
			if text = bytes.ReplaceAll(text, []byte(c.old), []byte(c.new)); sealed {
				text = sealText(append(text, '}'))
			}
			overwrite(t, from, b, c.key, text)
			told := false
			for _, err := range useAll(t, b, Options{Patience: time.Second, Now: func() time.Time { return smallTime.Add(48 * time.Hour) }}) {
				told = told || strings.Contains(err.Error(), c.key) && strings.Contains(err.Error(), c.want)
				if c.want == "" {
					t.Errorf("got %v", err)
				}
			}
			if told != (c.want != "") {
				t.Errorf("no error names %s and says %q", c.key, c.want)
			}
		})
	}
}
