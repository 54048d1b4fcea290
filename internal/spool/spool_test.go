package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/effort"
)

// keeper is a backend that reads a stream twice.
type keeper struct {
	backend.Backend
	draft *backend.Draft
	reads [2][]backend.Write
}

func (k *keeper) AppendStream(_ context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	k.draft = d
	for i := range k.reads {
		for w, err := range writes {
			if err != nil {
				return onto.Result{}, err
			}
			k.reads[i] = append(k.reads[i], w)
		}
	}
	return onto.Result{}, nil
}

func sequence(writes []backend.Write, end error) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
		if end != nil {
			yield(backend.Write{}, end)
		}
	}
}

// A backend gets the same as from sorting in memory, as often as it reads, also for
// identities that come twice, near each other or far apart. The digest is that of the
// writes as they came.
func TestAppend(t *testing.T) {
	dir := t.TempDir()
	effort.Check(t, 1000, func(t *rapid.T) {
		writes := rapid.SliceOfN(rapid.Custom(drawWrite), 1, 40).Draw(t, "writes")
		memory := rapid.SampledFrom([]int64{1, 500, 2000, 0}).Draw(t, "memory")
		d := &backend.Draft{Header: backend.Header{IdempotencyKey: "k", Comment: "c"}, Writes: writes}
		wantDigest := backend.DigestOf(d)
		want, wantErr := backend.SortWrites(slices.Clone(writes))
		d.Writes = nil
		var k keeper
		_, err := Append(t.Context(), &k, d, sequence(writes, nil), Options{Directory: dir, Memory: memory})
		if onto.CodeOf(err) != onto.CodeOf(wantErr) {
			t.Fatalf("got error %v, want %v", err, wantErr)
		}
		if wantErr != nil {
			return
		}
		for _, got := range k.reads {
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
		}
		if k.draft.Digest != wantDigest || d.Digest != "" {
			t.Fatalf("got digest %q, want %q, and the caller's draft as it was", k.draft.Digest, wantDigest)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, error %v", left, err)
	}
}

func drawWrite(t *rapid.T) backend.Write {
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "é\x00", "long key of more than a few bytes"})
	w := backend.Write{Identity: onto.EntityID("T", text.Draw(t, "key")), Op: onto.Put, SchemaVersion: rapid.IntRange(1, 300).Draw(t, "version")}
	if rapid.Bool().Draw(t, "relation") {
		w.Identity = onto.Identity{Kind: onto.KindRelation, Type: "R", Left: text.Draw(t, "left"), Right: text.Draw(t, "right"), Instance: text.Draw(t, "instance")}
	}
	if w.Fields = []byte(rapid.SampledFrom([]string{`{}`, `{"a":1}`}).Draw(t, "fields")); rapid.IntRange(0, 4).Draw(t, "delete") == 0 {
		w.Op, w.Fields = onto.Delete, nil
	}
	if rapid.Bool().Draw(t, "partial") {
		w.Known = rapid.SampledFrom([]backend.Known{{}, backend.Named("a"), backend.Named("a", "bc"), {
			{Name: "a", Inside: backend.Inside{Fields: backend.Known{{Name: ""}, {Name: "b", Inside: backend.Inside{Fields: backend.Known{}}}}}},
			{Name: "l", Inside: backend.Inside{Items: &backend.Inside{Values: &backend.Inside{Fields: backend.Named("x")}}}},
		}}).Draw(t, "known")
		w.Merge = rapid.Bool().Draw(t, "merge")
	}
	w.Once, w.Derived = rapid.IntRange(0, 4).Draw(t, "once") == 0, rapid.IntRange(0, 4).Draw(t, "derived") == 0
	return w
}

func numbered(n int) []backend.Write {
	var list []backend.Write
	for i := range n {
		list = append(list, backend.Write{Identity: onto.EntityID("T", fmt.Sprint(n-i)), Op: onto.Put, Fields: []byte(`{"a":1}`), SchemaVersion: 1})
	}
	return list
}

// Versions come out in the order that is asked for, as they went in, in memory and on disk.
func TestVersions(t *testing.T) {
	compare := func(a, b *onto.Version) int {
		return cmp.Or(cmp.Compare(a.Commit, b.Commit), a.Identity.Compare(b.Identity))
	}
	effort.Check(t, 1000, func(t *rapid.T) {
		s := NewSorter(Versions(compare), rapid.SampledFrom([]int64{1, 1000, 0}).Draw(t, "memory"), (&Options{}).create)
		defer s.Close()
		var want []onto.Version
		for range rapid.IntRange(0, 30).Draw(t, "versions") {
			w := drawWrite(t)
			v := onto.Version{Identity: w.Identity, Op: w.Op, Commit: rapid.Int64Range(1, 3).Draw(t, "commit"), SchemaVersion: w.SchemaVersion, Fields: w.Fields}
			want = append(want, v)
			if err := s.Add(&v); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortStableFunc(want, func(a, b onto.Version) int { return compare(&a, &b) })
		if err := s.End(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var got []onto.Version
			for v, err := range s.Sorted(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, *v)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
		}
	})
}

// An error of the sequence comes back as it is; the backend is not asked.
func TestSourceFails(t *testing.T) {
	planted := errors.New("planted")
	for _, memory := range []int64{0, 1} {
		var k keeper
		if _, err := Append(t.Context(), &k, &backend.Draft{}, sequence(numbered(3), planted), Options{Memory: memory}); err != planted || k.draft != nil {
			t.Errorf("got %v, the backend was asked: %v; want %v", err, k.draft != nil, planted)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Append(ctx, &keeper{}, &backend.Draft{}, sequence(numbered(3), nil), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
}

// The directory cannot be used, or the file ends too early.
func TestBadDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Append(t.Context(), &keeper{}, &backend.Draft{}, sequence(numbered(3), nil), Options{Directory: file, Memory: 1})
	if onto.CodeOf(err) != onto.Unavailable || onto.HintOf(err).Text == "" {
		t.Errorf("got %v, want Unavailable with a hint", err)
	}
	s, err := Fill(t.Context(), &backend.Draft{}, sequence(numbered(3), nil), Options{Directory: t.TempDir(), Memory: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.sorter.runs[1].bytes--
	for _, err = range s.Sorted(t.Context()) {
		if err != nil {
			break
		}
	}
	if onto.CodeOf(err) != onto.Unavailable {
		t.Errorf("a write without its end: got %v, want Unavailable", err)
	}
}
