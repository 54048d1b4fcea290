package lake

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/cache"
)

// What a spool yields is what sorting in memory gives, also for identities that
// come twice in one run or in several.
func TestSpool(t *testing.T) {
	c, err := cache.Open(&cache.Options{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rapid.Check(t, func(t *rapid.T) {
		writes := rapid.SliceOfN(rapid.Custom(drawWrite), 1, 40).Draw(t, "writes")
		every := rapid.IntRange(1, 10).Draw(t, "run")
		file, err := c.Scratch()
		if err != nil {
			t.Fatal(err)
		}
		s := &spool{file: file}
		defer s.close()
		want, wantErr := backend.SortWrites(slices.Clone(writes))
		for run := range slices.Chunk(writes, every) {
			sorted, err := backend.SortWrites(slices.Clone(run))
			if err == nil {
				err = s.add(sorted)
			}
			if err != nil {
				if wantErr == nil || onto.CodeOf(err) != onto.Conflict {
					t.Fatal(err)
				}
				return
			}
		}
		for range 2 { // it can be read again
			var got []backend.Write
			var gotErr error
			for w, err := range s.sorted(t.Context()) {
				if gotErr = err; err == nil {
					got = append(got, *w)
				}
			}
			if onto.CodeOf(gotErr) != onto.CodeOf(wantErr) {
				t.Fatalf("got error %v, want %v", gotErr, wantErr)
			}
			if wantErr == nil && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
		}
	})
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
	return w
}

// A spool that was cut short on disk is noticed.
func TestSpoolCutShort(t *testing.T) {
	c, err := cache.Open(&cache.Options{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	file, err := c.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	s := &spool{file: file}
	defer s.close()
	if err := s.add([]backend.Write{{Identity: onto.EntityID("T", "a"), Op: onto.Put, Fields: []byte(`{"a":1}`), SchemaVersion: 1}}); err != nil {
		t.Fatal(err)
	}
	s.runs[0].bytes--
	for _, err := range s.sorted(t.Context()) {
		if err != nil {
			return
		}
	}
	t.Error("a write without its end was read")
}
