package deploytest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/own"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

func placement(name string) onto.Type {
	return onto.Untyped(onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: []onto.Field{
		{Name: "bucket", Type: onto.Int}, {Name: "id", Type: onto.String},
	}})
}

// A package of this module keeps a type of its own, which others read and do not write.
func TestOwnTypes(t *testing.T) {
	everywhere(t, func(w world) {
		type1 := placement("onto_placement")
		w.refused(onto.Invalid, func() error {
			_, err := store.Open(w.Context(), w.handle(), type1)
			return err
		}, `type name "onto_placement" is not allowed`)
		allowed := own.Allow(w.Context())
		w.refused(onto.Invalid, func() error {
			_, err := store.Open(allowed, w.handle(), placement("onto_folds"))
			return err
		}, `type name "onto_folds" is not allowed`)

		keeper, err := store.Open(allowed, w.handle(), type1, typeV1())
		if err != nil {
			w.Fatal(err)
		}
		thing := onto.Entity{Type: "onto_placement", Key: "p", Fields: map[string]any{"bucket": 7}}
		if _, err := keeper.Commit(allowed, onto.Draft{}.Ensure(thing, personV1{"ada", "Ada", 36})); err != nil {
			w.Fatal(err)
		}
		s, id := w.open(typeV1()), onto.EntityID("onto_placement", "p")
		for what, d := range map[string]onto.Draft{
			"ensure": onto.Draft{}.Ensure(thing), "merge": onto.Draft{}.Merge(thing), "delete": onto.Draft{}.Delete(id),
		} {
			w.refused(onto.Invalid, func() error {
				_, err := s.Commit(w.Context(), d)
				return err
			}, `onto_placement "p" is the store's own`)
			if _, err := s.CommitStream(w.Context(), d, nil); onto.CodeOf(err) != onto.Invalid {
				w.Errorf("%s in a stream: got %v", what, err)
			}
		}
		v, err := s.Now().Get(w.Context(), id)
		if err != nil || string(v.Fields) != `{"bucket":7,"id":"p"}` {
			w.Errorf("got %s, %v", v.Fields, err)
		}
		for _, t := range s.Types() {
			if t.Name == "onto_placement" {
				w.Error("it is among the types of programs")
			}
		}
		for types, want := range map[string]int{"": 0, "onto_placement": 1} {
			o := &records.ExportOptions{}
			if types != "" {
				o.Types = []string{types}
			}
			var out bytes.Buffer
			if _, err := records.Export(w.Context(), s, &out, o); err != nil || strings.Count(out.String(), "onto_placement") != want {
				w.Errorf("export of %q: got %s, %v", types, out.String(), err)
			}
		}
		if _, err := keeper.Commit(allowed, onto.Draft{}.Merge(onto.Entity{Type: "onto_placement", Key: "p", Fields: map[string]any{"bucket": 8}})); err != nil {
			w.Error(err)
		}
		if _, err := keeper.Commit(w.Context(), onto.Draft{}.Delete(id)); onto.CodeOf(err) != onto.Invalid {
			w.Errorf("without the door: got %v", err)
		}
		if _, err := store.Open(w.Context(), w.handle(), typeV1()); err != nil {
			w.Errorf("others cannot open the store any more: %v", err)
		}

		from, _ := backend.As[backend.LogSource](w.handle())
		target := memory.New(nil)
		to, _ := backend.As[backend.Archive](target.OpenTarget())
		if err := archive.Copy(w.Context(), from, to); err != nil {
			w.Fatal(err)
		}
		copied, err := store.Open(w.Context(), target.Open())
		if err != nil {
			w.Fatal(err)
		}
		if v, err := copied.Now().Get(w.Context(), id); err != nil || string(v.Fields) != `{"bucket":8,"id":"p"}` {
			w.Errorf("the copy has %s, %v", v.Fields, err)
		}
	})
}

// A state whose texts are searched is made by its fold like any other, and no state has a key
// that is computed.
func TestComputedStates(t *testing.T) {
	state := onto.Schema{Kind: onto.KindEntity, Name: "Seen", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "last", Type: onto.String, Optional: true},
	}}
	facts := onto.Untyped(onto.Schema{Kind: onto.KindFact, Name: "Sight", Fields: []onto.Field{{Name: "what", Type: onto.String, Optional: true}}})
	program := store.FoldProgram{Name: "seen", Version: 1, Facts: "Sight", State: "Seen", Program: `.fact.value as $v | .state | .last = $v`}
	everywhere(t, func(w world) {
		keyed := state
		keyed.Key = ""
		w.refused(onto.Invalid, func() error {
			_, err := store.OpenWith(w.Context(), w.handle(), &store.Options{Folds: []store.Folding{program}}, facts, onto.Untyped(keyed).Keyed("id", "id"))
			return err
		}, "fold seen: the key of Seen is computed")
		s, err := store.OpenWith(w.Context(), w.handle(), &store.Options{Folds: []store.Folding{program}}, facts, onto.Untyped(state).TextSearch())
		if err != nil {
			w.Fatal(err)
		}
		for _, what := range []string{"owl", "heron"} {
			if _, err := s.Commit(w.Context(), onto.Draft{}.Assert(onto.Fact{Type: "Sight", Subject: "ada", Attribute: "what", Value: what})); err != nil {
				w.Fatal(err)
			}
		}
		v, err := s.Now().Get(w.Context(), onto.EntityID("Seen", "ada"))
		if err != nil || !strings.Contains(string(v.Fields), `"onto_text":"ada\nheron"`) {
			w.Errorf("got %s, %v", v.Fields, err)
		}
		if err := s.VerifyFolds(w.Context()); err != nil {
			w.Error(err)
		}
	})
}
