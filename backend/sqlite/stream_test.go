package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/spool"
)

// streamed makes a store with a note that exists and one that was deleted.
func streamed(t *testing.T) *sqlite.Backend {
	t.Helper()
	b := open(t, filepath.Join(t.TempDir(), "stream.db"), nil)
	register(t, b, note("title"))
	commit(t, b, putNote("gone", `,"n":1`), putNote("here", `,"n":1`))
	commit(t, b, removeNote("gone"))
	return b
}

// between puts writes before and after enough others for them to be decided in
// different pieces.
func between(first, last backend.Write) []backend.Write {
	list := []backend.Write{first}
	for i := range 3000 {
		list = append(list, putNote(fmt.Sprintf("filler%d", i), ""))
	}
	return append(list, last)
}

// Each identity of a stream is asked about once, with its newest version.
func TestAdmitIsAskedOnce(t *testing.T) {
	b := streamed(t)
	asked := map[string]string{}
	d := &backend.Draft{Admit: func(w *backend.Write, newest *onto.Version) (bool, error) {
		if _, twice := asked[w.Key]; twice {
			t.Errorf("%s is asked about twice", w.Identity)
		}
		asked[w.Key] = "none"
		if newest != nil {
			asked[w.Key] = fmt.Sprintf("%s at %d", newest.Op, newest.Commit)
		}
		return w.Key != "refused", nil
	}}
	writes := between(putNote("here", `,"n":2`), putNote("here", `,"n":2`)) // changes
	writes = append(writes, between(putNote("gone", `,"n":2`), removeNote("never"))...)
	writes = append(writes, putNote("refused", ""), putNote("refused", ""), removeNote("never"))
	writes = append(writes, between(putNote("refused", ""), removeNote("never"))...)
	res, err := spooled{b}.AppendStream(t.Context(), d, seq(writes...))
	if err != nil || res.ID != 3 || res.Operations != 3002 {
		t.Errorf("got commit %d with %d operations, error %v; want commit 3 with 3002", res.ID, res.Operations, err)
	}
	for key, want := range map[string]string{"here": "put at 1", "gone": "delete at 2", "never": "none", "refused": "none", "filler7": "none"} {
		if asked[key] != want {
			t.Errorf("%s: got the version %q, want %q", key, asked[key], want)
		}
	}
	if _, err := b.Get(t.Context(), onto.EntityID("Note", "refused"), backend.Head); !errors.Is(err, onto.NotFound) {
		t.Errorf("what was not admitted: got %v, want NotFound", err)
	}
	wantFields(t, b, onto.EntityID("Note", "here"), backend.Head, `{"id":"here","n":2}`)
}

// A write that is not admitted changes nothing, and a no-op makes no commit.
func TestAdmitNothing(t *testing.T) {
	b := streamed(t)
	d := &backend.Draft{Admit: func(*backend.Write, *onto.Version) (bool, error) { return false, nil }}
	res, err := spooled{b}.AppendStream(t.Context(), d, seq(between(putNote("here", `,"n":2`), removeNote("gone"))...))
	if err != nil || res.Changed() {
		t.Errorf("got commit %d, error %v; want none", res.ID, err)
	}
	wantFields(t, b, onto.EntityID("Note", "here"), backend.Head, `{"id":"here","n":1}`)
}

// An identity that comes twice with different contents is a conflict, whatever
// became of the first.
func TestAdmitConflicts(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last backend.Write
		admit       bool
		want        onto.Code
	}{
		{"refused, then other", putNote("x", ""), putNote("x", `,"n":1`), false, onto.Conflict},
		{"refused, then deleted", putNote("x", ""), removeNote("x"), false, onto.Conflict},
		{"refused as it is, then other", putNote("here", `,"n":1`), putNote("here", `,"n":2`), false, onto.Conflict},
		{"refused, then as it is", putNote("here", `,"n":2`), putNote("here", `,"n":1`), false, onto.Conflict},
		{"admitted as it is, then other", putNote("here", `,"n":1`), putNote("here", `,"n":2`), true, onto.Conflict},
		{"admitted, then other", putNote("here", `,"n":2`), putNote("here", `,"n":3`), true, onto.Conflict},
		{"refused twice alike", putNote("here", `,"n":2`), putNote("here", `,"n":2`), false, ""},
		{"admitted twice alike", putNote("here", `,"n":2`), putNote("here", `,"n":2`), true, ""},
		{"admitted twice as it is", putNote("here", `,"n":1`), putNote("here", `,"n":1`), true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := streamed(t)
			d := &backend.Draft{Admit: func(*backend.Write, *onto.Version) (bool, error) { return c.admit, nil }}
			for _, writes := range [][]backend.Write{between(c.first, c.last), {c.first, c.last}} {
				if _, err := (spooled{b}).AppendStream(t.Context(), d, seq(writes...)); onto.CodeOf(err) != c.want {
					t.Errorf("%d writes: got %v, want %q", len(writes), err, c.want)
				}
			}
		})
	}
}

// An error of Admit fails the commit and comes back as it is.
func TestAdmitFails(t *testing.T) {
	b := streamed(t)
	planted := errors.New("planted")
	d := &backend.Draft{Admit: func(w *backend.Write, _ *onto.Version) (bool, error) {
		if w.Key == "last" {
			return true, planted
		}
		return true, nil
	}}
	_, err := spooled{b}.AppendStream(t.Context(), d, seq(between(putNote("here", `,"n":2`), putNote("last", ""))...))
	if err != planted {
		t.Errorf("got %v, want what Admit returned", err)
	}
	wantFields(t, b, onto.EntityID("Note", "here"), backend.Head, `{"id":"here","n":1}`)
	commit(t, b, putNote("here", `,"n":3`))
}

// spooled appends streams as a store does: sorted, each identity once, with a digest.
type spooled struct{ backend.Backend }

func (s spooled) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	return spool.Append(ctx, s.Backend, d, writes, spool.Options{})
}
