package store

import (
	"encoding/base64"
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// cursor is where a page ended: the moment it showed and its last identity.
type cursor struct {
	Commit   int64
	Identity onto.Identity
}

// String is the form that callers keep.
func (c cursor) String() string {
	text, _ := json.Marshal(c) // numbers and text
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor reads a cursor that a caller kept. Anything may come back.
func parseCursor(s string, q *backend.Query) (cursor, error) {
	var c cursor
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil || c.Commit < 0 || c.Identity.Check() != nil {
		return c, onto.Errorf(onto.Invalid, "the cursor %.40q is damaged", s).WithHint("take it unchanged from the page before")
	}
	if c.Identity.Kind != q.Kind || c.Identity.Type != q.Type {
		return c, onto.Errorf(onto.Invalid, "the cursor is from a query of %s, not %s", c.Identity.Type, q.Type).
			WithHint("start the query without a cursor")
	}
	return c, nil
}
