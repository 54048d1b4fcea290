package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/source"
)

// What a commit has in the place of a text, and a cause that is no commit, are in its metadata;
// the copy has texts. A key that is none is left out.
func TestTextsOfCommits(t *testing.T) {
	const script = `PRAGMA foreign_keys = OFF; ALTER TABLE commits ADD COLUMN causation_id INTEGER; ALTER TABLE commits ADD COLUMN idempotency_key TEXT; ALTER TABLE commits ADD COLUMN draft_hash TEXT;
		ALTER TABLE commits ADD COLUMN comment TEXT; ALTER TABLE commits ADD COLUMN actor_kind TEXT; ALTER TABLE commits ADD COLUMN actor_id TEXT; ALTER TABLE commits ADD COLUMN runtime_id TEXT;
		ALTER TABLE commits ADD COLUMN correlation_id TEXT; ALTER TABLE commits ADD COLUMN signature_ref TEXT;
		UPDATE commits SET comment = CAST(x'61ff62' AS TEXT), actor_kind = 'operator', actor_id = 'a' || char(0) || 'b', runtime_id = CAST(x'ff' AS BLOB),
			correlation_id = char(0), signature_ref = 'fine', idempotency_key = 'k' || char(0), draft_hash = 'd', causation_id = -7 WHERE id = 2`
	f := opened(t, load(t, "plain", rollback, script), source.Options{})
	var c *backend.LogCommit
	for e, err := range f.Log(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Commit != nil {
			c = e.Commit
		}
	}
	got := fmt.Sprintf("%q %s %q %q %q %q %q %d %s", c.Comment, c.Actor.Kind, c.Actor.ID, c.Runtime, c.Correlation, c.Signature, c.IdempotencyKey+c.Digest, c.Causation, c.Metadata)
	want := `"a` + "\uFFFD" + `b" operator "ab" "` + "\uFFFD" + `" "" "fine" "" 0 {"n":9007199254740993,"onto_source":{"actor_id":"\"a\\x00b\"","causation_id":-7,"comment":"\"a\\xffb\"",` +
		`"correlation_id":"\"\\x00\"","idempotency_key":"\"k\\x00\"","runtime_id":"\"\\xff\""},"why":"birthday"}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := noted(t, f, 0); !strings.HasPrefix(got, "texts_rewritten  1; rows_rewritten") {
		t.Errorf("got the notes %s", got)
	}
	copied(t, f)
}
