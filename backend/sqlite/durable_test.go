package sqlite_test

import (
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// syncs lists what a backend syncs from now on. Each sync ends with err.
func syncs(b *sqlite.Backend, err error) *[]string {
	list := new([]string)
	b.OnSync(func(path string) error {
		*list = append(*list, path)
		return err
	})
	return list
}

// verdict is an answer without a commit.
type verdict struct {
	name string
	ask  func(t *testing.T, b *sqlite.Backend) (onto.Result, error)
}

// verdicts are all about a store in which keyedDraft("k") was committed.
func verdicts() []verdict {
	plain := func() *backend.Draft {
		d := thingDraft("k", 1)
		d.Writes = d.Writes[:1]
		return d
	}
	stream := func(t *testing.T, b *sqlite.Backend, d *backend.Draft) (onto.Result, error) {
		writes := d.Writes
		d.Writes = nil
		return b.AppendStream(t.Context(), d, sequenceOf(writes))
	}
	return []verdict{
		{"repeated", func(t *testing.T, b *sqlite.Backend) (onto.Result, error) {
			return b.Append(t.Context(), keyedDraft("k"))
		}},
		{"nothing changed", func(t *testing.T, b *sqlite.Backend) (onto.Result, error) { return b.Append(t.Context(), plain()) }},
		{"stream, repeated", func(t *testing.T, b *sqlite.Backend) (onto.Result, error) { return stream(t, b, keyedDraft("k")) }},
		{"stream, nothing changed", func(t *testing.T, b *sqlite.Backend) (onto.Result, error) { return stream(t, b, plain()) }},
		{"types as they are", func(t *testing.T, b *sqlite.Backend) (onto.Result, error) {
			_, err := b.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{
				{Kind: onto.KindRelation, Name: "Touches", Left: "Thing", Right: "Thing"}}})
			return onto.Result{}, err
		}},
	}
}

func sequenceOf(writes []backend.Write) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
	}
}

// A verdict that depends on a commit of another process syncs that first, once. If the
// sync fails, the verdict cannot be given, and nothing is built on the commit.
func TestVerdictsAreDurable(t *testing.T) {
	for _, v := range verdicts() {
		t.Run(v.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			makeThings(t, path)
			other := open(t, path, nil)
			commit := func(key string) {
				t.Helper()
				if _, err := other.Append(t.Context(), keyedDraft(key)); err != nil {
					t.Fatal(err)
				}
			}
			commit("k")

			b := open(t, path, nil)
			list := syncs(b, nil)
			want := []string{filepath.Dir(path), path + "-wal"}
			for range 2 {
				if _, err := v.ask(t, b); err != nil || !slices.Equal(*list, want) {
					t.Fatalf("got syncs %v, error %v; want %v", *list, err, want)
				}
			}
			if _, err := b.Append(t.Context(), keyedDraft("own")); err != nil {
				t.Fatal(err)
			}
			if _, err := v.ask(t, b); err != nil || len(*list) != 2 {
				t.Errorf("after a commit of its own: got syncs %v, error %v; want no more", *list, err)
			}
			commit("k2")
			if _, err := v.ask(t, b); err != nil || !slices.Equal((*list)[2:], want[1:]) {
				t.Errorf("after another commit: got syncs %v, error %v; want one more of the WAL", *list, err)
			}

			failing := open(t, path, nil)
			failing.OnSync(func(path string) error {
				if path == want[0] {
					return nil
				}
				return syscall.EIO
			})
			for range 2 {
				if r, err := v.ask(t, failing); onto.CodeOf(err) != onto.OutcomeUnknown && onto.CodeOf(err) != onto.Unavailable || r.Repeated {
					t.Errorf("without a sync: got repeated %v, error %v", r.Repeated, err)
				}
			}
			if _, err := failing.Append(t.Context(), keyedDraft("late")); !errors.Is(err, onto.Unavailable) {
				t.Errorf("a commit after the failed sync: got %v, want Unavailable", err)
			}
		})
	}
}

// A write needs the names of the files to be durable: without that nothing is tried.
// Once they are, they need no more syncs.
func TestNamesAreDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	b := open(t, path, nil)
	list := syncs(b, nil)
	for i := range 3 {
		if _, err := b.Append(t.Context(), thingDraft("k", i)); err != nil || !slices.Equal(*list, []string{filepath.Dir(path)}) {
			t.Errorf("commit %d: got syncs %v, error %v; want one of the directory", i, *list, err)
		}
	}
	failing := open(t, path, nil)
	syncs(failing, syscall.EIO)
	for range 2 {
		if _, err := failing.Append(t.Context(), thingDraft("late", 1)); !errors.Is(err, onto.Unavailable) || onto.HintOf(err).Text == "" {
			t.Errorf("without a sync: got %v, want Unavailable with a hint", err)
		}
	}
	wantNotFound(t, failing, "late")
}

// A refusal promises nothing, and needs no sync of the WAL.
func TestRefusalsAreNotSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	if _, err := open(t, path, nil).Append(t.Context(), keyedDraft("k")); err != nil {
		t.Fatal(err)
	}
	b := open(t, path, nil)
	list := syncs(b, nil)
	d := thingDraft("k", 2)
	d.Expect = []onto.Expectation{{Head: true, Commit: 7}}
	if _, err := b.Append(t.Context(), d); !errors.Is(err, onto.HeadMismatch) || slices.Contains(*list, path+"-wal") {
		t.Errorf("got syncs %v, error %v; want HeadMismatch and none of the WAL", *list, err)
	}
}
