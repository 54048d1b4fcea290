package sqlite_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// makePast makes a file with a history of random puts and deletes, several
// identities to a commit, and returns it with what each commit should show.
func makePast(t *testing.T, commits int) (b *sqlite.Backend, shows []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "past.db")
	makeThings(t, path)
	b = open(t, path, nil)
	random := rand.New(rand.NewPCG(3, 9))
	state := map[string]string{}
	for range commits {
		var d backend.Draft
		for k := range 12 {
			key := fmt.Sprintf("k%02d", k)
			w := backend.Write{Identity: onto.EntityID("Thing", key), Op: onto.Put, SchemaVersion: 1}
			switch random.IntN(5) {
			case 0:
				w.Op = onto.Delete
				delete(state, key)
			case 1, 2:
				w.Fields = json.RawMessage(fmt.Sprintf(`{"id":%q,"n":%d}`, key, random.IntN(3)))
				state[key] = string(w.Fields)
			default:
				continue
			}
			d.Writes = append(d.Writes, w)
		}
		res, err := b.Append(t.Context(), &d)
		if err != nil {
			t.Fatal(err)
		}
		if res.Changed() {
			shows = append(shows, showState(state))
		}
	}
	return b, shows
}

func showState(state map[string]string) string {
	var list []string
	for key, fields := range state {
		list = append(list, key+fields)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Every commit is read through the table of the past and by seeking, with and without a
// filter, and each way is taken.
func TestBothWaysToThePast(t *testing.T) {
	b, shows := makePast(t, 60)
	ways := map[bool]int{}
	for i, want := range shows {
		at := int64(i + 1)
		for _, limit := range []int{0, 100} { // a limit without a filter uses seeks
			q := &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: at, Limit: limit}
			var got []string
			for v, err := range b.Scan(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, v.Key+string(v.Fields))
			}
			e, err := b.Explain(t.Context(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			ways[strings.Contains(e.Statement, "onto_entity_past")]++
			if strings.Join(got, " ") != want {
				t.Fatalf("at %d, %s: got %q, want %q", at, e.Statement, got, want)
			}
		}
		where := onto.Condition{Operand: onto.Path("n"), Test: onto.Equal, Values: []any{int64(1)}}
		n := 0
		for _, err := range b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: at, Where: where}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if want := strings.Count(want, `"n":1`); n != want {
			t.Fatalf("at %d: got %d with n = 1, want %d", at, n, want)
		}
	}
	if ways[true] == 0 || ways[false] == 0 {
		t.Errorf("took the ways %v, want both", ways)
	}
	t.Logf("%d commits, %d reads by the table, %d by seeking", len(shows), ways[true], ways[false])
}

func TestPastFindings(t *testing.T) {
	for code, damage := range map[string]string{
		"past_missing": `DELETE FROM onto_entity_past WHERE until = (SELECT max(until) FROM onto_entity_past)`,
		"past_extra":   `INSERT INTO onto_entity_past VALUES ('Thing', 9, 8, 1)`,
	} {
		path := makeDocumentedFile(t)
		runSQL(t, path, damage)
		if got := findings(t, path); !slices.Contains(got, code) {
			t.Errorf("got findings %v, want %s", got, code)
		}
		b := open(t, path, nil)
		if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := findings(t, path); slices.Contains(got, code) {
			t.Errorf("after a rebuild: got findings %v", got)
		}
	}
}

// Tables that were dropped or changed are made anew: some when the file is opened, all
// by a rebuild.
func TestDroppedTablesComeBack(t *testing.T) {
	for _, c := range []struct {
		damage string
		heals  bool // by opening
	}{
		{`DROP TABLE onto_entity_past`, true},
		{`DROP TABLE onto_relation_past`, true},
		{`DROP TABLE onto_fact_past`, true},
		{`DROP TABLE fact_current`, true},
		{`DROP TABLE onto_derived`, true},
		{`ALTER TABLE onto_entity_past RENAME COLUMN until TO unto`, false},
		{`DROP TABLE entity_current`, true},
	} {
		path := makeDocumentedFile(t)
		runSQL(t, path, c.damage)
		b := open(t, path, nil)
		if !c.heals {
			if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
				t.Fatalf("%s: %v", c.damage, err)
			}
		}
		var got []string
		for v, err := range b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: 1}) {
			if err != nil {
				t.Fatalf("%s: %v", c.damage, err)
			}
			got = append(got, v.Key)
		}
		if !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: got %v as of 1, want a and b", c.damage, got)
		}
		if got := findings(t, path); !slices.Equal(got, []string{"endpoint_missing"}) {
			t.Errorf("%s: got findings %v", c.damage, got)
		}
	}
}
