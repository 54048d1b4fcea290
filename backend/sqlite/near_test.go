package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/codec"
)

// holds is the filter for facts that hold at a time.
func holds(at string) onto.Filter {
	from, until := onto.Path(onto.FactFrom), onto.Path(onto.FactUntil)
	return onto.And{onto.Or{from.IsNull(), from.Le(at)}, onto.Or{until.IsNull(), until.Gt(at)}}
}

// makeBeliefs makes a store of random commits: facts with and without bounds, which are
// revoked, retracted and brought back, and relations with instances.
func makeBeliefs(t *testing.T, commits int) (path string, b *sqlite.Backend, times []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "beliefs.db")
	b = open(t, path, nil)
	register(t, b, holder(), contract(), onto.Schema{Kind: onto.KindRelation, Name: "Owes", Left: "Person", Right: "Person", InstanceKey: "n"})
	for month := range 12 {
		times = append(times, codec.FormatTime(time.Date(2026, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC)))
	}
	r := rand.New(rand.NewPCG(17, 4))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for range commits {
		byID := map[onto.Identity]backend.Write{}
		for range 1 + r.IntN(6) {
			id := onto.FactID("Contract", pick("ada", "bob"), pick("employer", "salary"), pick("f1", "f2", "f3", "f4"))
			fields := `{"seq":1`
			if r.IntN(3) == 0 {
				id, fields = onto.RelationID("Owes", pick("ada", "bob"), pick("ada", "bob")).WithInstance(pick("1", "2")), "{"
			} else {
				if r.IntN(2) == 0 {
					fields += `,"valid_from":"` + times[r.IntN(6)] + `"`
				}
				if r.IntN(2) == 0 {
					fields += `,"valid_until":"` + times[6+r.IntN(6)] + `"`
				}
			}
			w := backend.Write{Identity: id, Op: onto.Put, Fields: []byte(fields + "}"), SchemaVersion: 1}
			if r.IntN(4) == 0 {
				w.Op, w.Fields = onto.Delete, nil
			}
			byID[id] = w
		}
		var d backend.Draft
		for _, w := range byID {
			d.Writes = append(d.Writes, w)
		}
		d.Writes, _ = backend.SortWrites(d.Writes)
		if _, err := b.Append(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
	}
	return path, b, times
}

// nearAnswers is what a query yields, and the error that it ends with.
func nearAnswers(t *testing.T, b backend.Backend, q backend.Query) string {
	var got []string
	for v, err := range b.Scan(t.Context(), &q) {
		if err != nil {
			got = append(got, err.Error())
			break
		}
		got = append(got, fmt.Sprintf("%s %d %d %s", v.Identity, v.Commit, v.SchemaVersion, v.Fields))
	}
	return strings.Join(got, "\n")
}

// nearQueries are questions for what is at one left key, at all moments and times.
func nearQueries(head int64, times []string) (list []backend.Query) {
	for _, at := range append([]int64{backend.Head, head, head + 5}, head/3, head/2, 1, 0) {
		for _, left := range []string{"ada", "bob", "nobody"} {
			list = append(list, backend.Query{Kind: onto.KindRelation, Type: "Owes", At: at, LeftKeys: []string{left}},
				backend.Query{Kind: onto.KindRelation, Type: "Owes", At: at, LeftKeys: []string{left}, RightKeys: []string{"ada"}},
				backend.Query{Kind: onto.KindRelation, Type: "Owes", At: at, LeftKeys: []string{left}, RightKeys: []string{}})
			for _, right := range [][]string{nil, {"salary"}, {"none"}} {
				q := backend.Query{Kind: onto.KindFact, Type: "Contract", At: at, LeftKeys: []string{left}, RightKeys: right, Schema: new(contract())}
				list = append(list, q)
				for _, time := range times {
					q.Where = holds(time)
					list = append(list, q)
				}
			}
		}
	}
	return list
}

// What is at one left key is the same whichever way it is asked for: with a limit that
// is never reached the question is asked in the usual way.
func TestNearIsTheSame(t *testing.T) {
	path, b, times := makeBeliefs(t, 60)
	found := 0
	compare := func(t *testing.T, b *sqlite.Backend) {
		t.Helper()
		head, err := b.Resolve(t.Context(), onto.Point{})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range nearQueries(head.ID, times) {
			usual := q
			usual.Limit = 1000
			got, want := nearAnswers(t, b, q), nearAnswers(t, b, usual)
			if got != want {
				t.Fatalf("%+v\n got:\n%s\nwant:\n%s", q, got, want)
			}
			if got != "" {
				found++
			}
		}
	}
	compare(t, b)
	t.Logf("%d questions had answers", found)
	compare(t, open(t, path, &sqlite.Options{ReadOnly: true}))
	compare(t, open(t, filepath.Join(t.TempDir(), "empty.db"), nil))
}

// Damage is noticed as it is in the usual way.
func TestNearNoticesDamage(t *testing.T) {
	sound, _ := makeFacts(t)
	query(t, sound, `PRAGMA wal_checkpoint(TRUNCATE)`)
	template := read(t, sound)
	for _, c := range []struct {
		damage string
		at     int64
		want   string
	}{
		{`UPDATE fact_current SET commit_id = 99`, backend.Head, "there is no such commit"},
		{`UPDATE fact_current SET schema_version_id = -1`, backend.Head, "its schema version is -1"},
		{`UPDATE fact_current SET fields = NULL`, backend.Head, "the projection has no fields for it"},
		{`UPDATE fact_history SET fields_json = replace(fields_json, 'Acme', 'Ecme')`, 2, "history has it otherwise than it was written"},
	} {
		path := filepath.Join(t.TempDir(), "damaged.db")
		write(t, path, template)
		runSQL(t, path, c.damage)
		b := opened(t, path, nil)
		q := backend.Query{Kind: onto.KindFact, Type: "Contract", At: c.at, LeftKeys: []string{"ada"}}
		usual := q
		usual.Limit = 1000
		for _, q := range []backend.Query{q, usual} {
			if got := nearAnswers(t, b, q); !strings.Contains(got, c.want) {
				t.Errorf("%s, limit %d: got %s, want %s", c.damage, q.Limit, got, c.want)
			}
		}
	}
}

// The statement needs no sorting, and finds the rows by the primary key.
func TestPlansOfNear(t *testing.T) {
	_, b := makeFacts(t)
	for _, right := range [][]string{nil, {"salary"}} {
		for _, at := range []int64{backend.Head, 2} {
			q := backend.Query{Kind: onto.KindFact, Type: "Contract", At: at, LeftKeys: []string{"ada"}, RightKeys: right, Where: holds("2026-03-01T00:00:00.000000+00:00")}
			e, err := b.Explain(t.Context(), &q, nil)
			plan := strings.Join(e.Plan, "\n")
			if err != nil || !strings.Contains(e.Statement, "m.id = 1") || !strings.Contains(plan, "SEARCH c USING PRIMARY KEY (fact_type=? AND subject=?") ||
				strings.Contains(plan, "TEMP B-TREE") || slices.ContainsFunc(e.Plan, func(line string) bool { return strings.Contains(line, "SCAN") }) {
				t.Errorf("at %d: got %s (error %v)\n%s", at, plan, err, e.Statement)
			}
		}
	}
}
