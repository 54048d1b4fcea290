package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// original is a file that the original program wrote, and goes on writing.
type original struct {
	t    *testing.T
	path string
	db   *sql.DB
}

// openOriginal makes the file, with further statements, and opens it as a store.
func openOriginal(t *testing.T, statements string, types ...onto.Type) (*original, *store.Store) {
	t.Helper()
	dump, err := os.ReadFile(filepath.Join("..", "backend", "sqlite", "testdata", "original-v1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "original.db")
	db, err := sql.Open("sqlite3", path+"?_busy_timeout=5000&_txlock=immediate")
	if err == nil {
		_, err = db.Exec(string(dump) + statements)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), b, types...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		backendtest.Check(t, b)
		s.Close()
	})
	return &original{t, path, db}, s
}

// ensure does what the original's ensure does: it compares the newest row with the
// fields, null or not, and adds a row if they differ. It reports whether it did.
func (o *original) ensure(kind onto.Kind, typ string, keys [3]string, fields string) bool {
	o.t.Helper()
	table, columns, where, args := "entity_history", "entity_type, entity_key", "entity_type = ? AND entity_key = ?", []any{typ, keys[0]}
	if kind == onto.KindRelation {
		table, columns = "relation_history", "relation_type, left_key, right_key, instance_key"
		where, args = "relation_type = ? AND left_key = ? AND right_key = ? AND instance_key = ?", []any{typ, keys[0], keys[1], keys[2]}
	}
	tx, err := o.db.Begin()
	if err != nil {
		o.t.Fatal(err)
	}
	defer tx.Rollback()
	var text string
	err = tx.QueryRow(`SELECT fields_json FROM `+table+` WHERE `+where+` ORDER BY commit_id DESC LIMIT 1`, args...).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		o.t.Fatal(err)
	}
	var stored, wanted any
	_ = json.Unmarshal([]byte(text), &stored)
	if err := json.Unmarshal([]byte(fields), &wanted); err != nil {
		o.t.Fatal(err)
	}
	if reflect.DeepEqual(stored, wanted) {
		return false
	}
	r, err := tx.Exec(`INSERT INTO commits (created_at, metadata_json) VALUES (strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now'), NULL)`)
	if err != nil {
		o.t.Fatal(err)
	}
	commit, _ := r.LastInsertId()
	args = append(args, fields, commit)
	_, err = tx.Exec(`INSERT INTO `+table+` (`+columns+`, fields_json, commit_id, schema_version_id)
		VALUES (`+strings.Repeat("?, ", len(args))+`1)`, args...)
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return true
}

// Two programs that want the same add nothing, whichever of them wrote it.
func TestOriginalEnsuresInTurn(t *testing.T) {
	const rounds = 500
	o, s := openOriginal(t, "")
	ours := func(thing any) bool {
		t.Helper()
		r, err := s.Commit(t.Context(), onto.Draft{}.Ensure(thing))
		if err != nil {
			t.Fatal(err)
		}
		return r.Changed()
	}
	stint := func(role string) onto.Relation {
		return onto.Relation{Type: "Stint", Left: "c01", Right: "p1", Instance: "z", Fields: map[string]any{"role": role}}
	}
	ratio := func(fields map[string]any) onto.Entity { return onto.Entity{Type: "Ratio", Fields: fields} }
	z := [3]string{"c01", "p1", "z"}
	for _, c := range []struct {
		name        string
		oursIsFirst bool
		thing       any
		kind        onto.Kind
		typ         string
		keys        [3]string
		fields      string
	}{
		{"a keyed relation of ours", true, stint("dev"), onto.KindRelation, "Stint", z, `{"role": "dev"}`},
		{"a keyed relation of theirs", false, stint("lead"), onto.KindRelation, "Stint", z, `{"role": "lead"}`},
		{"an absent field of ours", true, ratio(map[string]any{"id": 0.5}), onto.KindEntity, "Ratio", [3]string{"0.5"}, `{"id": 0.5, "note": null}`},
		{"an absent field of theirs", false, ratio(map[string]any{"id": 0.25}), onto.KindEntity, "Ratio", [3]string{"0.25"}, `{"id": 0.25, "note": null}`},
		{"a whole float of ours", true, ratio(map[string]any{"id": 4, "note": "four"}), onto.KindEntity, "Ratio", [3]string{"4.0"}, `{"id": 4.0, "note": "four"}`},
		{"a whole float of theirs", false, ratio(map[string]any{"id": 5, "note": "five"}), onto.KindEntity, "Ratio", [3]string{"5.0"}, `{"id": 5.0, "note": "five"}`},
	} {
		if c.oursIsFirst && !ours(c.thing) || !c.oursIsFirst && !o.ensure(c.kind, c.typ, c.keys, c.fields) {
			t.Errorf("%s: the first ensure added nothing", c.name)
		}
		before, err := s.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		added := 0
		for range rounds {
			if ours(c.thing) {
				added++
			}
			if o.ensure(c.kind, c.typ, c.keys, c.fields) {
				added++
			}
		}
		if after, err := s.Head(t.Context()); err != nil || added != 0 || after.ID != before.ID {
			t.Errorf("%s: %d of %d ensures added a version, head %d, error %v; want none, head %d", c.name, added, 2*rounds, after.ID, err, before.ID)
		}
	}
}

// A struct that repeats the instance key, as the original's class does, is the stored
// type, and gets the key back.
func TestOriginalInstanceKey(t *testing.T) {
	type Customer struct{}
	type Product struct{}
	type Stint struct {
		onto.Link[Customer, Product]
		StintID string `json:"stint_id" onto:"instance"`
		Role    string `json:"role"`
	}
	typ := onto.TypeOf[Stint]()
	given, err := typ.Schema()
	if _, repeats := given.Field("stint_id"); err != nil || !repeats {
		t.Fatalf("got %+v, error %v; want a field stint_id", given, err)
	}
	_, s := openOriginal(t, "", typ)
	want := Stint{onto.Link[Customer, Product]{Left: "c01", Right: "p1"}, "a", "dev"}
	if got, err := store.Get[Stint](t.Context(), s.Now(), "c01", "p1", "a"); err != nil || got != want {
		t.Errorf("got %+v, error %v; want %+v", got, err, want)
	}
	stint := func(fields map[string]any) onto.Relation {
		return onto.Relation{Type: "Stint", Left: "c01", Right: "p1", Instance: "a", Fields: fields}
	}
	for name, thing := range map[string]any{
		"a struct":        want,
		"in the identity": stint(map[string]any{"role": "dev"}),
		"in both":         stint(map[string]any{"role": "dev", "stint_id": "a"}),
	} {
		if r, err := s.Commit(t.Context(), onto.Draft{}.Ensure(thing)); err != nil || r.Changed() {
			t.Errorf("%s: got %+v, error %v; want no change", name, r, err)
		}
	}
	for _, other := range []any{"b", 7} {
		_, err := s.Commit(t.Context(), onto.Draft{}.Ensure(stint(map[string]any{"role": "x", "stint_id": other})))
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "stint_id") {
			t.Errorf("%v: got %v, want a refusal that names the field", other, err)
		}
	}
}

// A migration does not ask for an upgrader of an instance key that is in the identity.
func TestOriginalInstanceKeyMigrates(t *testing.T) {
	o, _ := openOriginal(t, "")
	b, err := sqlite.Open(t.Context(), o.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	given := onto.Schema{Kind: onto.KindRelation, Name: "Stint", Left: "Customer", Right: "Product", InstanceKey: "stint_id",
		Fields: []onto.Field{{Name: "role", Type: onto.String}, {Name: "stint_id", Type: onto.String}}}
	plan, err := store.PlanMigration(t.Context(), b, &store.Migration{Types: []onto.Type{onto.Untyped(given)}})
	if err != nil || len(plan.Types) != 0 {
		t.Errorf("got %+v, error %v; want nothing to do", plan, err)
	}
	given.Fields = append(given.Fields, onto.Field{Name: "zeal", Type: onto.Int, Optional: true})
	plan, err = store.PlanMigration(t.Context(), b, &store.Migration{Types: []onto.Type{onto.Untyped(given)}})
	if err != nil || len(plan.Types) != 1 || !reflect.DeepEqual(plan.Types[0].Difference.Added, []string{"zeal"}) || plan.Types[0].Steps[0].How != "as it is" {
		t.Errorf("another field: got %+v, error %v; want that field, and things as they are", plan, err)
	}
}

// What we write of the original's types has each field, or the original could not read it;
// reads do not see the nulls, now or as of a commit.
func TestOriginalRowsHaveEachField(t *testing.T) {
	o, s := openOriginal(t, "")
	r, err := s.Commit(t.Context(), onto.Draft{}.
		Ensure(onto.Entity{Type: "Ratio", Fields: map[string]any{"id": 7}}).
		Ensure(onto.Entity{Type: "Product", Fields: map[string]any{"sku": "p9", "price": 1}}))
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := o.db.QueryRow(`SELECT group_concat(fields_json, ' ') FROM entity_history WHERE commit_id = ?`, r.ID).Scan(&text); err != nil || text != `{"price":1,"sku":"p9"} {"id":7,"note":null}` {
		t.Errorf("got %s, error %v; want a null for note", text, err)
	}
	if _, err := s.Commit(t.Context(), onto.Draft{}.Ensure(onto.Entity{Type: "Ratio", Fields: map[string]any{"id": 7, "note": "x"}})); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]string{r.ID: `{"id":7}`, r.ID + 1: `{"id":7,"note":"x"}`} {
		v, err := s.At(at).Get(t.Context(), onto.EntityID("Ratio", "7.0"))
		if err != nil || string(v.Fields) != want {
			t.Errorf("at %d: got %s, error %v; want %s", at, v.Fields, err, want)
		}
		n, err := s.At(at).FindKind(onto.KindEntity, "Ratio").Where(onto.Path("note").IsNull()).Count(t.Context())
		if want := 2 + r.ID - at; err != nil || int64(n) != want {
			t.Errorf("at %d: got %d without a note, error %v; want %d", at, n, err, want)
		}
	}
}
