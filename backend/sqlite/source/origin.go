package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// The original gives its files no id. The first rows of a file are as good: they stay, and
// have times in microseconds. If the first version of a type was kept when that was made,
// its row has the id of the program's run as well, and is there before the first commit.
const (
	firstType   = `SELECT type_kind, type_name, schema_version_id, schema_json, created_at, %s FROM main.schema_versions WHERE reason = 'initial' AND id = (SELECT min(id) FROM main.schema_versions)`
	firstCommit = `SELECT id, created_at, %s FROM main.commits ORDER BY id LIMIT 1`
	firstEntity = `SELECT id, entity_type, entity_key, fields_json, commit_id FROM main.entity_history ORDER BY id LIMIT 1`
	firstLink   = `SELECT id, relation_type, left_key, right_key, fields_json, commit_id FROM main.relation_history ORDER BY id LIMIT 1`
)

// readOrigin is what identifies the log of a file.
func readOrigin(ctx context.Context, c *driver.Conn, found Found, s *shape) (string, error) {
	if found.Kind == OlderStore {
		r, ok, err := c.QueryRowContext(ctx, `SELECT store_id FROM main.onto_meta LIMIT 1`)
		if err == nil && (!ok || r.Text(0) == "") {
			err = onto.Errorf(onto.Corrupt, "the store has no id").WithHint("restore a backup of it")
		}
		if err != nil {
			return "", err
		}
		return r.Text(0), nil
	}
	var statements []string
	if s.columns[[2]string{"schema_versions", "reason"}] {
		statements = append(statements, fmt.Sprintf(firstType, s.column("schema_versions", "runtime_id")))
	}
	statements = append(statements, fmt.Sprintf(firstCommit, s.column("commits", "metadata_json")), firstEntity, firstLink)
	for i, sql := range statements {
		r, ok, err := c.QueryRowContext(ctx, sql)
		if err != nil {
			return "", err
		}
		if ok {
			sum := sha256.Sum256(fmt.Appendf(nil, "%d %q", len(statements)-i, r.Vals))
			return "original-" + hex.EncodeToString(sum[:16]), nil
		}
	}
	return "original-empty", nil
}
