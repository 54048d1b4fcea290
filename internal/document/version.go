package document

import (
	"bytes"
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

// Keys is the parts of an identity that its kind has.
type Keys struct {
	Key       *string `json:"key,omitempty"`
	Left      *string `json:"left_key,omitempty"`
	Right     *string `json:"right_key,omitempty"`
	Instance  *string `json:"instance_key,omitempty"`
	Subject   *string `json:"subject,omitempty"`
	Attribute *string `json:"attribute,omitempty"`
	FactID    *string `json:"fact_id,omitempty"`
}

// NewKeys describes an identity.
func NewKeys(id onto.Identity) Keys {
	switch id.Kind {
	case onto.KindEntity:
		return Keys{Key: &id.Key}
	case onto.KindFact:
		return Keys{Subject: &id.Left, Attribute: &id.Right, FactID: &id.Instance}
	}
	return Keys{Left: &id.Left, Right: &id.Right, Instance: &id.Instance}
}

// Identity is an identity with what it is of.
type Identity struct {
	TypeName
	Keys
}

// NewIdentity describes an identity.
func NewIdentity(id onto.Identity) Identity { return Identity{NewTypeName(id.TypeName()), NewKeys(id)} }

// NewIdentities describes identities.
func NewIdentities(ids []onto.Identity) (list []Identity) {
	for _, id := range ids {
		list = append(list, NewIdentity(id))
	}
	return list
}

// Version is a version as an answer to a query.
type Version struct {
	Type string `json:"type"`
	Keys
	Fields   json.RawMessage `json:"fields"`
	CommitID int64           `json:"commit_id"`
	*Made
}

// Made is what a history tells of each version: what was done, when and by whom.
type Made struct {
	Op        onto.Op `json:"op"`
	CreatedAt string  `json:"created_at"`
	Actor     *string `json:"actor"`
}

// NewVersion describes a version at one moment.
func NewVersion(v onto.Version) Version {
	return Version{Type: v.Type, Keys: NewKeys(v.Identity), Fields: v.Fields, CommitID: v.Commit}
}

// NewPast describes a version of a history.
func NewPast(e store.Entry) Version {
	doc := NewVersion(e.Version)
	doc.Made = &Made{e.Version.Op, codec.FormatTime(e.Commit.Time), OrNull(e.Commit.Actor.String())}
	return doc
}

// PageEnd follows the rows of a page.
type PageEnd struct {
	Cursor *string `json:"cursor"` // of the next page; null if there is none
}

// Route is a route of a traversal: relations and entities alternate.
type Route struct {
	Source Version   `json:"source"`
	Path   []Version `json:"path"`
}

// NewRoute describes a route.
func NewRoute(r store.Route) Route {
	doc := Route{Source: NewVersion(r.Source)}
	for _, step := range r.Path {
		doc.Path = append(doc.Path, NewVersion(step.Relation), NewVersion(step.Entity))
	}
	return doc
}

// Group is a group: values by the names of their operands.
type Group struct {
	Names  []string
	Values []json.RawMessage // nil for null
}

// MarshalJSON writes an object with the members in order.
func (g Group) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	for i, name := range g.Names {
		buf.WriteByte("{,"[min(i, 1)])
		quoted, err := Encode(name)
		if err != nil {
			return nil, err
		}
		buf.Write(quoted)
		buf.WriteByte(':')
		if g.Values[i] == nil {
			buf.WriteString("null")
		}
		buf.Write(g.Values[i])
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// Explanation is how a question is answered.
type Explanation struct {
	Statement string   `json:"statement"`
	Plan      []string `json:"plan"`
	Process   []string `json:"process"`
}

// NewExplanation describes how a question is answered.
func NewExplanation(e backend.Explanation) Explanation {
	return Explanation{e.Statement, orEmpty(e.Plan), orEmpty(e.Process)}
}

// Origin tells which commit something comes from.
type Origin struct {
	CommitID  int64   `json:"commit_id"`
	CreatedAt string  `json:"created_at"`
	Actor     *string `json:"actor"`
	Comment   *string `json:"comment"`
}

func newOrigin(c onto.Commit) Origin {
	return Origin{c.ID, codec.FormatTime(c.Time), OrNull(c.Actor.String()), OrNull(c.Comment)}
}

// Entry is a version with its commit.
type Entry struct {
	Type string `json:"type"`
	Keys
	Op onto.Op `json:"op"`
	Origin
	Fields json.RawMessage `json:"fields"`
}

// NewEntry describes a version with its commit.
func NewEntry(e store.Entry) Entry {
	return Entry{Type: e.Version.Type, Keys: NewKeys(e.Version.Identity), Op: e.Version.Op, Origin: newOrigin(e.Commit), Fields: e.Version.Fields}
}

// Blame is a field with the commit that set it.
type Blame struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
	Origin
	Migration int `json:"migration_schema_version_id,omitempty"` // the schema version to which a migration made the value
}

// NewBlame describes a field with the commit that set it.
func NewBlame(b onto.Blame) Blame {
	doc := Blame{Field: b.Field, Value: b.Value, Origin: newOrigin(b.Commit)}
	if b.Migration != nil {
		doc.Migration = b.Migration.Version
	}
	return doc
}
