package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

// dossier has attributes of all kinds.
type dossier struct {
	onto.About[string]
	Name    string                `json:"name"`
	Age     *int                  `json:"age"`
	Big     int64                 `json:"big,string"`
	Born    time.Time             `json:"born"`
	Address struct{ City string } `json:"address"`
	Any     any                   `json:"any"`
	Notes   []any                 `json:"notes" onto:"many"`
	Scores  [][]int               `json:"scores" onto:"many"`
	Ready   bool                  `json:"ready"`
}

func TestAboutDecodesEveryKindOfValue(t *testing.T) {
	ctx := t.Context()
	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[dossier]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	about := func(attribute string, value any) onto.Fact {
		return onto.Fact{Type: "dossier", Subject: "x/y z", Attribute: attribute, Value: value}
	}
	mustCommit(t, s, onto.Draft{}.Assert(
		about("name", "Ada \"L\""), about("age", 0), about("big", "9007199254740993"), about("born", day(2, 3)),
		about("address", map[string]any{"City": "Rom"}), about("any", 9007199254740993),
		about("notes", "b"), about("notes", 7), about("notes", map[string]any{"k": nil}), about("notes", "a"),
		about("scores", []int{2, 1}), about("scores", []int{})))
	got, err := store.About[dossier](ctx, s.Now(), "x/y z")
	if err != nil {
		t.Fatal(err)
	}
	if got.Age == nil {
		t.Fatal("the age is not there")
	}
	text := fmt.Sprint(got.Subject, "|", got.Name, "|", *got.Age, "|", got.Big, "|", got.Born.Equal(day(2, 3)), "|", got.Address.City, "|",
		got.Any, "|", got.Notes, "|", got.Scores, "|", got.Ready)
	if want := `x/y z|Ada "L"|0|9007199254740993|true|Rom|9007199254740993|[b 7 map[k:<nil>] a]|[[2 1] []]|false`; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestAboutSaysWhenNothingHolds(t *testing.T) {
	s := newContracts(t)
	mustCommit(t, s, onto.Draft{}.Assert(fact("ada", "salary", 1, day(1, 1), day(2, 1))))
	_, err := store.About[contract](t.Context(), s.Now().ValidAt(day(2, 1)), "ada")
	wantError(t, err, onto.NotFound, `about "ada"`, "2026-02-01", "query facts contract --subject=ada --every")
	_, err = store.About[contract](t.Context(), s.Now(), "nobody")
	wantError(t, err, onto.NotFound, `about "nobody"`)
	_, err = store.About[contract](t.Context(), s.Now(), "")
	wantError(t, err, onto.Invalid, "subject")
	_, err = store.About[person](t.Context(), s.Now(), "ada")
	wantError(t, err, onto.Invalid, "person is of kind entity", "store.Get")
	_, err = store.About[Customer](t.Context(), s.Now(), "ada")
	wantError(t, err, onto.Invalid, "is not a type of this store")
	_, err = store.About[contract](t.Context(), s.Now().AsStored(), "ada")
	wantError(t, err, onto.Invalid, "as stored", "View.Facts")
}

// A struct of facts is no one thing: it has no version and no identity.
func TestStructsOfFactsAreReadWithAbout(t *testing.T) {
	s := newContracts(t)
	mustCommit(t, s, onto.Draft{}.Assert(fact("ada", "salary", 1, never, never)))
	_, err := store.Get[contract](t.Context(), s.Now(), "ada")
	wantError(t, err, onto.Invalid, "several facts", "store.About")
	_, err = store.GetVersion[contract](t.Context(), s.Now(), "ada", "salary", "x")
	wantError(t, err, onto.Invalid, "store.About")
	_, err = store.Find[contract](s.Now()).Count(t.Context())
	wantError(t, err, onto.Invalid, "store.About")
	_, err = store.Update(t.Context(), s, onto.Draft{}, store.Key{"ada", "salary", "x"}, func(*contract) error { return nil })
	wantError(t, err, onto.Invalid)
	if _, err := s.Commit(t.Context(), onto.Draft{}.Ensure(contract{Salary: 2})); err == nil {
		t.Error("a struct of facts was written")
	}
}

// One version of a fact decodes into the struct with its one attribute set.
func TestVersionsOfFactsDecode(t *testing.T) {
	s := newContracts(t)
	mustCommit(t, s, onto.Draft{}.Assert(fact("ada", "salary", 7, never, never), fact("ada", "tags", "x", never, never)))
	for v, err := range s.Now().Find("contract").All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var got contract
		if err := v.Decode(&got); err != nil {
			t.Fatal(err)
		}
		want := contract{Salary: 7}
		if want.Subject = "ada"; v.Right == "tags" {
			want.Salary, want.Tags = 0, []string{"x"}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", v.Identity, got, want)
		}
		var fields map[string]any
		if err := v.Decode(&fields); err != nil || fields[v.Right] == nil {
			t.Errorf("%s as a map: %v, %v", v.Identity, fields, err)
		}
	}
}
