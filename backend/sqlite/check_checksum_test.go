package sqlite_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

func wantChecksum(t *testing.T, b *sqlite.Backend, sum string, commit int64) {
	t.Helper()
	gotSum, gotCommit, err := b.Checksum(t.Context())
	if err != nil || gotSum != sum || gotCommit != commit {
		t.Errorf("checksum: got %q of commit %d and error %v, want %q of commit %d", gotSum, gotCommit, err, sum, commit)
	}
}

func rebuilt(t *testing.T, b *sqlite.Backend) string {
	t.Helper()
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	sum, _, err := b.Checksum(t.Context())
	if err != nil || sum == "" {
		t.Fatalf("after a rebuild: got the checksum %q and error %v", sum, err)
	}
	return sum
}

// A rebuild makes the same rows each time, whatever it finds.
func TestRebuildIsDeterministic(t *testing.T) {
	path := makeHealthy(t)
	b := opened(t, path, nil)
	first := rebuilt(t, b)
	rows := func() string {
		return query(t, path, `SELECT *, hex(fields) FROM entity_current`) + query(t, path, `SELECT *, hex(fields) FROM fact_current`) +
			query(t, path, `SELECT *, hex(fields) FROM relation_current`)
	}
	want := rows()
	for _, damage := range []string{``, `DELETE FROM entity_current`, `DELETE FROM fact_current; DELETE FROM onto_fact_past`, `UPDATE relation_current SET op = 'delete', first_commit_id = 4`} {
		runSQL(t, path, damage)
		if sum := rebuilt(t, b); sum != first || rows() != want {
			t.Errorf("after %q: got another projection, with the checksum %s; want %s", damage, sum, first)
		}
	}
	wantChecksum(t, b, first, 5)
}

// The checksum is the one that the format describes, computed from the rows of
// a small store by hand.
func TestChecksumIsAsDescribed(t *testing.T) {
	b := opened(t, makeDocumentedFile(t), nil)
	register(t, b, contract())
	commit(t, b, fact("a", "salary", "f1", `{"salary":1}`))
	sum := sha256.New()
	add := func(parts ...any) {
		for _, p := range parts {
			text := fmt.Sprint(p)
			sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
			sum.Write([]byte(text))
		}
	}
	add("entity", "Thing", "a", 2, 1, "put", 1, `{"id":"a","n":2}`)
	add("entity", "Thing", "b", 3, 1, "delete", 1, `{}`)
	add("fact", "Contract", "a", "salary", "f1", 4, 4, "put", 1, `{"salary":1}`)
	add("relation", "Touches", "a", "b", "", 1, 1, "put", 1, `{}`)
	if got, want := rebuilt(t, b), hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A checksum holds for its commit, whatever comes later. Where none is kept,
// nothing is compared.
func TestChecksumOfAnOlderCommit(t *testing.T) {
	path := makeHealthy(t)
	b := opened(t, path, nil)
	sum, _, err := b.Checksum(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		writes := []backend.Write{person("a", 60+i), person(fmt.Sprint("new", i), 1), removed(person(fmt.Sprintf("p%02d", i), 1))}
		if _, err := b.Append(t.Context(), &backend.Draft{Writes: writes}); err != nil {
			t.Fatal(err)
		}
	}
	wantChecksum(t, b, sum, 5)
	if got := examined(t, b, false); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
	alter := `UPDATE entity_history SET onto_sum = NULL, fields_json = '{"age":99,"id":"p02","name":"Ada p02"}' WHERE entity_key = 'p02' AND op = 'put'`
	runSQL(t, path, alter) // no longer the newest: the projection does not show it
	if got := codesOf(examined(t, b, false)); !slices.Equal(got, []string{"row_damaged", "version_damaged", "history_changed"}) {
		t.Errorf("got %v, want also history_changed", got)
	}
	runSQL(t, path, `UPDATE onto_meta SET checksum = NULL, checksum_commit = NULL`)
	wantChecksum(t, b, "", 0)
	if got := codesOf(examined(t, b, false)); !slices.Equal(got, []string{"row_damaged", "version_damaged"}) {
		t.Errorf("without a checksum: got %v", got)
	}
}

// Nothing is found about sound stores of other kinds.
func TestSoundStores(t *testing.T) {
	analyzed := makeDocumentedFile(t)
	runSQL(t, analyzed, `ANALYZE`)
	for _, c := range []struct {
		name, path string
		want       []string
	}{
		{"empty", t.TempDir() + "/empty.db", nil},
		{"in memory", ":memory:", nil},
		{"analyzed", analyzed, []string{"endpoint_missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := opened(t, c.path, nil)
			if got := codesOf(examined(t, b, false)); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("got %v, want %v", got, c.want)
			}
			wantChecksum(t, b, "", 0)
			rebuilt(t, b)
			if got := codesOf(examined(t, b, false)); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("after a rebuild: got %v, want %v", got, c.want)
			}
		})
	}
}
