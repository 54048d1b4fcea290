package store

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/exec"
)

// cursor is where a page ended: the moment it showed, which question it
// answered, and the place of its last item.
type cursor struct {
	Store    string            `json:"s,omitempty"` // the store whose moment it is; "" if the backend does not tell
	Moment   int64             `json:"m"`
	Question string            `json:"q"`
	Commit   int64             `json:"c,omitempty"` // of the version, in histories
	Identity []string          `json:"i"`
	Values   []json.RawMessage `json:"v,omitempty"` // what it was sorted by
	Valid    string            `json:"t,omitempty"` // of facts: the valid time it was about
}

// cursorAfter is the cursor for what follows a version.
func (q *question) cursorAfter(ctx context.Context, ask *backend.Query, last *onto.Version) (string, error) {
	place, err := exec.PlaceOf(ask, last, q.reader().endpoints(ctx, ask))
	if err != nil {
		return "", err
	}
	origin, err := q.v.s.origin(ctx)
	if err != nil {
		return "", err
	}
	c := cursor{Store: origin, Moment: ask.At, Question: q.fingerprint(ask), Identity: parts(last.Identity), Valid: q.valid}
	c.Values = compared(place.Values)
	if ask.Mode == backend.History {
		c.Commit = last.Commit
	}
	text, err := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(text), err
}

func parts(id onto.Identity) []string {
	if id.Kind == onto.KindEntity {
		return []string{id.Key}
	}
	return []string{id.Left, id.Right, id.Instance}
}

// fingerprint distinguishes questions, apart from page and moment.
func (q *question) fingerprint(ask *backend.Query) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %d %d %d %t", ask.Kind, ask.Type, q.t.Since, ask.Mode, ask.Since, q.v.stored)
	if ask.Where != nil {
		fmt.Fprintf(&text, " where %s", filter.Format(ask.Where))
	}
	for _, w := range ask.Search {
		fmt.Fprintf(&text, " search %s %t", w.Text, w.Prefix)
	}
	for _, o := range ask.Order {
		fmt.Fprintf(&text, " by %s %t", filter.FormatOperand(o.Operand), o.Desc)
	}
	if len(ask.LeftKeys)+len(ask.RightKeys) > 0 {
		fmt.Fprintf(&text, " from %q to %q", ask.LeftKeys, ask.RightKeys)
	}
	if ask.Identity != nil {
		fmt.Fprintf(&text, " of %q", parts(*ask.Identity))
	}
	text.WriteString(q.aspect)
	sum := sha256.Sum256([]byte(text.String()))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// goOn fills in the place and the moment of a cursor, which may be any text.
func (q *question) goOn(ctx context.Context, ask *backend.Query) error {
	var c cursor
	text, err := base64.RawURLEncoding.DecodeString(q.cursor)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil || c.Question == "" {
		return q.damaged()
	}
	if own, err := q.v.s.isOrigin(ctx, c.Store); err != nil {
		return err
	} else if !own {
		return onto.Errorf(onto.Invalid, "the cursor is from another store, or from before this one was restored").WithHint("start without a cursor")
	}
	if c.Question != q.fingerprint(ask) {
		return onto.Errorf(onto.Invalid, "the cursor is from another query than this one of %s", ask.Type).
			WithHint("keep filter, search and order as they were, or start without a cursor; a migration that is not compatible ends it too")
	}
	place, ok := c.place(ask)
	if !ok {
		return q.damaged()
	}
	if ask.At != backend.Head && ask.At != c.Moment {
		return onto.Errorf(onto.Invalid, "the cursor is from commit %d, not %d", c.Moment, ask.At).
			WithHint("leave out the moment: the cursor remembers it")
	}
	ask.At, ask.After, q.valid = c.Moment, place, c.Valid
	_, err = q.v.s.At(c.Moment).resolve(ctx)
	return err
}

// origin is a short form of the lineage of the store, as of the newest snapshot that was read;
// "" if the backend does not tell it.
func (s *Store) origin(ctx context.Context) (string, error) {
	known := s.known.Load()
	if known != nil && known.types == s.typesSeen() {
		return known.short, nil
	}
	return s.readOrigin(ctx)
}

// originSeen is what is known of the lineage of a store.
type originSeen struct {
	short string
	types int64 // how often types had changed: a restore counts
}

// typesSeen is how often types have changed, as of the newest snapshot.
func (s *Store) typesSeen() int64 {
	if w, ok := backend.As[backend.TypeWatcher](s.b); ok {
		return w.TypesSeen()
	}
	return 0
}

// readOrigin is origin as it is now.
func (s *Store) readOrigin(ctx context.Context) (string, error) {
	types := s.typesSeen() // before: if the store is restored meanwhile, the next call reads again
	var id string
	var err error
	if r, ok := backend.As[backend.Restorable](s.b); ok {
		id, err = r.Lineage(ctx)
	} else if b, ok := backend.As[backend.LogSource](s.b); ok {
		id, err = b.Origin(ctx)
	}
	if err != nil || id == "" {
		return "", err
	}
	sum := sha256.Sum256([]byte(id))
	l := &originSeen{base64.RawURLEncoding.EncodeToString(sum[:6]), types}
	s.known.Store(l)
	return l.short, nil
}

// isOrigin reports whether a cursor or a lease is of this store and its lineage, as far as it
// is known: a copy has the same commits, and may go on with others.
func (s *Store) isOrigin(ctx context.Context, of string) (bool, error) {
	if of == "" {
		return true, nil
	}
	own, err := s.readOrigin(ctx)
	return own == "" || of == own, err
}

// damaged is the error for a cursor that no page gave.
func (q *question) damaged() error {
	return onto.Errorf(onto.Invalid, "the cursor %.40q is damaged", q.cursor).WithHint("take it unchanged from the page before")
}

// place is the place in an answer, if the cursor holds one.
func (c *cursor) place(ask *backend.Query) (*backend.Place, bool) {
	id := onto.Identity{Kind: ask.Kind, Type: ask.Type}
	switch {
	case c.Moment < 0 || c.Commit < 0:
		return nil, false
	case ask.Kind == onto.KindEntity && len(c.Identity) == 1:
		id.Key = c.Identity[0]
	case ask.Kind != onto.KindEntity && len(c.Identity) == 3:
		id.Left, id.Right, id.Instance = c.Identity[0], c.Identity[1], c.Identity[2]
	default:
		return nil, false
	}
	values, ok := canonicalValues(c.Values)
	return &backend.Place{Commit: c.Commit, Identity: id, Values: values}, ok && id.Check() == nil && len(values) == len(ask.Order)
}
