package object

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/parallel"
	"github.com/ontologia/onto/store"
)

// cursor is where a page ended: the question it answered, the moment of each shard, and the
// place of its last object.
type cursor struct {
	Question string            `json:"q"`
	Moments  map[string]moment `json:"m"` // by the names of shards
	Key      string            `json:"k"`
	Values   []json.RawMessage `json:"v,omitempty"` // what it was sorted by
}

// moment is a commit of a shard. A restored shard may have another commit with the same id.
type moment struct {
	Commit int64     `json:"c"`
	Time   time.Time `json:"t,omitzero"`
}

// fingerprint distinguishes questions, apart from their part and moment.
func (r *base[T]) fingerprint(q *question[T], shardKeys []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q", r.kind.vault, r.tenant, q.kind.name(), shardKeys, q.search)
	if q.where != nil {
		io.WriteString(h, filter.Format(q.where))
	}
	for _, o := range q.order {
		fmt.Fprintf(h, " by %s %t", filter.FormatOperand(o.Operand), o.Desc)
	}
	if r.moment != nil {
		fmt.Fprintf(h, " as of %s", r.moment.UTC().Format(time.RFC3339Nano))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

func newCursor(sources []*source, question string, last *store.Place) *cursor {
	c := &cursor{Question: question, Moments: map[string]moment{}, Key: last.Identity.Key, Values: last.Values}
	for _, from := range sources {
		c.Moments[from.shard.placement.Name] = moment{from.commit.ID, from.commit.Time}
	}
	return c
}

// cursorText is how a cursor is written: a checksum, since a damaged place would be another one, and
// JSON.
var cursorText = base64.RawURLEncoding.Strict()

// sumSize is the size of the checksum.
const sumSize = 6

// String is the cursor as callers see it.
func (c *cursor) String() string {
	text, _ := json.Marshal(c) // which cannot fail: all values are JSON
	sum := sha256.Sum256(text)
	return cursorText.EncodeToString(append(sum[:sumSize], text...))
}

// readCursor reads a cursor, which may be any text.
func readCursor(text, question string) (*cursor, error) {
	c := &cursor{}
	decoded, err := cursorText.DecodeString(text)
	whole := false
	if err == nil && len(decoded) > sumSize {
		sum := sha256.Sum256(decoded[sumSize:])
		whole = bytes.HasPrefix(sum[:], decoded[:sumSize]) && json.Unmarshal(decoded[sumSize:], c) == nil
	}
	if !whole {
		return nil, onto.Errorf(onto.Invalid, "the cursor %.40q is damaged", text).WithHint("take it unchanged from the page before")
	}
	if c.Question != question {
		return nil, onto.Errorf(onto.Invalid, "the cursor is from another question, or of another tenant").
			WithHint("keep tenant, conditions, order and shard keys as they were, or start without a cursor")
	}
	return c, nil
}

// place is where the page ended.
func (c *cursor) place(k *kind) store.Place {
	return store.Place{Identity: k.id(c.Key), Values: c.Values}
}

// sources fills in the shards at the moments of the cursor.
func (c *cursor) sources(ctx context.Context, k *kind, shards []*shard, list []*source) error {
	if len(c.Moments) != len(shards) {
		return c.otherLayout()
	}
	return parallel.Do(len(shards), len(shards), func(i int) error {
		s := shards[i]
		m, ok := c.Moments[s.placement.Name]
		if !ok {
			return c.otherLayout()
		}
		if err := s.join(ctx, k); err != nil {
			return err
		}
		list[i] = &source{shard: s, view: s.store.At(m.Commit), empty: k.lacking(s)}
		var err error
		list[i].commit, err = list[i].view.Commit(ctx)
		if err == nil && !list[i].commit.Time.Equal(m.Time) {
			return onto.Errorf(onto.Invalid, "the cursor is from before %s was restored", s).WithHint("start without a cursor")
		}
		return s.explain(err)
	})
}

func (c *cursor) otherLayout() error {
	return onto.Errorf(onto.Invalid, "the cursor is from when the tenant had other shards").WithHint("start without a cursor")
}
