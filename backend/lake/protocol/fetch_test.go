package protocol

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// counted is a bucket that counts answers, and remembers the longest.
type counted struct {
	bucket.Bucket
	gets    int
	longest int
}

func (c *counted) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	o, err := c.Bucket.Get(ctx, key, r, ifNot)
	c.gets++
	c.longest = max(c.longest, len(o.Data))
	return o, err
}

// fetchWorld is a log with one data file.
func fetchWorld(t *testing.T, size int) (*Log, *counted, *FileEntry, []byte) {
	t.Helper()
	body, random := make([]byte, size), rand.New(rand.NewPCG(1, 2))
	for i := 0; i < size; i += 97 {
		body[i] = byte(random.Uint32())
	}
	b := &counted{Bucket: memory.New(nil)}
	f := &FileEntry{Path: "commits/1-AAAAAAAAAAAAAAAA/entities/T.parquet", Bytes: int64(size), SHA256: HashOf(body), First: 1, Last: 1}
	if _, err := b.Create(t.Context(), f.Path, body); err != nil {
		t.Fatal(err)
	}
	l := &Log{b: b, set: Settings{Now: time.Now, Attempt: func() string { return "AAAAAAAAAAAAAAAA" }, Jitter: random.Int64N, Patience: 10 * time.Second}}
	return l, b, f, body
}

// A file is one request up to the size of a piece; a larger one comes in pieces, of
// which memory never has more than one.
func TestFetchInPieces(t *testing.T) {
	for size, gets := range map[int]int{0: 1, 1: 1, 4 << 20: 1, PieceBytes: 1, PieceBytes + 1: 2, 2*PieceBytes + 5: 3} {
		l, b, f, body := fetchWorld(t, size)
		got, err := l.Data(t.Context(), f)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: got %d bytes and %v", size, len(got), err)
		}
		if b.gets != gets || b.longest > PieceBytes {
			t.Errorf("%d bytes: got %d requests, the longest of %d bytes, want %d", size, b.gets, b.longest, gets)
		}
	}
}

// Damage that is read twice is reported at once, with the name, and later without a
// second read. An object that is longer than it should be is not even read.
func TestFetchOfDamage(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(body []byte) []byte
		want   string
		gets   [2]int // of the first time and of the second
	}{
		"flipped": {func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, "not those that were written", [2]int{6, 3}},
		"shorter": {func(b []byte) []byte { return b[:PieceBytes+7] }, "not those that were written", [2]int{4, 2}},
		"longer":  {func(b []byte) []byte { return append(b, 0) }, "at most", [2]int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			l, b, f, body := fetchWorld(t, 2*PieceBytes+5)
			l.set.Patience = time.Hour // nothing waits that long
			if err := b.Delete(t.Context(), f.Path); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Create(t.Context(), f.Path, c.damage(body)); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.gets {
				b.gets = 0
				_, err := l.Data(t.Context(), f)
				if onto.CodeOf(err) != onto.Corrupt || !strings.Contains(err.Error(), f.Path) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want Corrupt with %s and %q", err, f.Path, c.want)
				}
				if b.gets != want {
					t.Errorf("got %d requests, want %d", b.gets, want)
				}
			}
		})
	}
}

// A missing object that the log names is waited for once, for a short while. One that
// appears late is found and used.
func TestMissingObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b, f, body := fetchWorld(t, 100)
		read := func() error {
			return l.readWhole(t.Context(), f.Path, func(got []byte) error {
				if !bytes.Equal(got, body) {
					t.Errorf("got %d bytes", len(got))
				}
				return nil
			})
		}
		for _, late := range []time.Duration{0, missingPatience / 2} {
			if err := b.Delete(t.Context(), f.Path); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(late, func() {
				if _, err := b.Create(context.Background(), f.Path, body); err != nil {
					t.Error(err)
				}
			})
			if err := read(); err != nil {
				t.Errorf("late by %v: %v", late, err)
			}
		}
		if err := b.Delete(t.Context(), f.Path); err != nil {
			t.Fatal(err)
		}
		for i, most := range []time.Duration{2 * missingPatience, 0} {
			start := time.Now()
			err := read()
			if onto.CodeOf(err) != onto.Corrupt || !strings.Contains(err.Error(), f.Path+": it is missing") {
				t.Errorf("got %v, want that %s is missing", err, f.Path)
			}
			if took := time.Since(start); took > most || i == 0 && took < missingPatience {
				t.Errorf("look %d: it took %v", i+1, took)
			}
		}
	})
}
