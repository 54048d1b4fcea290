package layout

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/decide"
)

// CommitList is the columns that ReadCommit reads. The operations of a commit that something
// else has appended are counted.
var CommitList = `c.id, c.created_at, c.metadata_json, c.runtime_id, c.actor_kind, c.actor_id, c.causation_id,
	c.correlation_id, c.signature_ref, c.comment, c.idempotency_key, coalesce(c.operations, ` + CountVersions("c.id") + `),
	c.onto_events, c.onto_event_sum`

// CommitWidth is their number.
const CommitWidth = 14

// ReadCommit reads a commit, without the digest of its draft.
func ReadCommit(r *driver.Rows) decide.Commit {
	return decide.Commit{Metadata: r.Bytes(2), EventSum: r.Int(13), Commit: onto.Commit{
		ID: r.Int(0), Time: StoredTime(r.Text(1)), Runtime: r.Text(3),
		Actor:     onto.Actor{Kind: onto.ActorKind(r.Text(4)), ID: r.Text(5)},
		Causation: r.Int(6), Correlation: r.Text(7), Signature: r.Text(8), Comment: r.Text(9),
		IdempotencyKey: r.Text(10), Operations: int(r.Int(11)), Events: CountAt(r, 12),
	}}
}

// NewestCommit returns the head, or the zero Commit.
func NewestCommit(c *driver.Conn) (onto.Commit, error) {
	r, ok, err := c.QueryRow(`SELECT ` + CommitList + ` FROM commits c ORDER BY c.id DESC LIMIT 1`)
	if err != nil || !ok {
		return onto.Commit{}, err
	}
	kept := ReadCommit(r)
	return kept.HandOut(nil)
}
