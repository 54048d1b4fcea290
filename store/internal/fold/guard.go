package fold

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// A store keeps two things about folds, both as entities of the type [Guards]: for each
// type of facts a guard, whose key is the name of the type, and for each fold a record of
// how far it has come, whose key is that name, a slash and the fold's name.
//
// Every draft with facts is fenced on the guard and on the record of each fold, and folds
// its facts, unless the record says that the fold is behind. A draft that cannot fold
// makes a record which says so.

// Guard is which folds there are of one type of facts.
type Guard struct {
	Facts  string          // the type of the facts
	Folds  map[string]Kept // by name
	Commit int64           // that made the guard; 0 if there is none
}

// Kept is a fold as a store keeps it.
type Kept struct {
	Version int    `json:"version"`
	State   string `json:"state"`
	Program string `json:"program,omitempty"`
}

// Record is how far a fold has come.
type Record struct {
	Behind   int64       // facts of later commits may not be folded; 0 if all are
	Progress *Progress   // of catching up; nil before it has begun
	Rebuild  *Rebuilding // nil if every state is of the fold's version

	Commit int64 // that made the record; 0 if there is none
}

// Rebuilding is how far a rebuild has come. Until it ends, a state of another version, or
// none, says nothing.
type Rebuilding struct {
	After string `json:"after"` // subjects up to this one are done
	Done  int64  `json:"done"`  // how many
}

// Progress is how far catching up has come: of the subjects with facts in commits after
// Behind and up to Upto, those up to After are done.
type Progress struct {
	Upto  int64  `json:"upto"`
	After string `json:"after"`
}

// GuardSchema is the type of guards and records.
func GuardSchema() onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: Guards, Key: "facts", Fields: []onto.Field{
		{Name: "behind", Type: onto.Int, Optional: true},
		{Name: "facts", Type: onto.String},
		{Name: "folds", Type: onto.Object, Optional: true},
		{Name: "mark", Type: onto.String, Optional: true},
		{Name: "progress", Type: onto.Object, Optional: true},
		{Name: "rebuild", Type: onto.Object, Optional: true},
	}}
}

// GuardID is the identity of the guard of a type of facts.
func GuardID(facts string) onto.Identity { return onto.EntityID(Guards, facts) }

// RecordID is the identity of the record of a fold.
func RecordID(facts, name string) onto.Identity { return onto.EntityID(Guards, facts+"/"+name) }

// ParseGuard reads a guard.
func ParseGuard(v *onto.Version) (Guard, error) {
	var doc struct {
		Folds map[string]Kept `json:"folds"`
	}
	if err := codec.Decode(v.Fields, &doc); err != nil {
		return Guard{}, damaged(v, err)
	}
	return Guard{v.Key, doc.Folds, v.Commit}, nil
}

// ParseRecord reads a record.
func ParseRecord(v *onto.Version) (Record, error) {
	var doc record
	if err := codec.Decode(v.Fields, &doc); err != nil {
		return Record{}, damaged(v, err)
	}
	return Record{doc.Behind, doc.Progress, doc.Rebuild, v.Commit}, nil
}

func damaged(v *onto.Version, err error) error {
	return onto.Errorf(onto.Corrupt, "%s at commit %d cannot be read: %w", v.Identity, v.Commit, err)
}

// Fields is the guard as fields.
func (g *Guard) Fields() (json.RawMessage, error) {
	return canonical(map[string]any{"facts": g.Facts, "folds": g.Folds})
}

// record is a record as its fields.
type record struct {
	Key      string      `json:"facts"`
	Behind   int64       `json:"behind,omitempty"`
	Progress *Progress   `json:"progress,omitempty"`
	Rebuild  *Rebuilding `json:"rebuild,omitempty"`
	Mark     string      `json:"mark"`
}

// Fields is the record as fields. Mark is a text that no version has had, so that the
// write makes one.
func (r *Record) Fields(id onto.Identity, mark string) (json.RawMessage, error) {
	return canonical(record{id.Key, r.Behind, r.Progress, r.Rebuild, mark})
}

// BehindFields is the fields that tell of facts which were not folded, and their names:
// all others stay as they are.
func BehindFields(behind int64, mark string) (fields json.RawMessage, known backend.Known, err error) {
	fields, err = canonical(map[string]any{"behind": behind, "mark": mark})
	return fields, backend.Named("behind", "mark"), err
}

// MarkFields is the fields of a record that only make another version of it.
func MarkFields(mark string) (fields json.RawMessage, known backend.Known, err error) {
	fields, err = canonical(map[string]any{"mark": mark})
	return fields, backend.Named("mark"), err
}

func canonical(doc any) (json.RawMessage, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return codec.AppendCanonical(nil, text)
}
