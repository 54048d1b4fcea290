// Package records moves entities, relations and facts into and out of a store as text.
//
// A record is one identity and the fields it should have, or has. Imports also
// know records with the op delete, which say that the identity should be gone.
//
// As JSON Lines, each line is a record:
//
//	{"kind":"entity","type":"Customer","key":"c1","fields":{"id":"c1","name":"Ada"}}
//	{"kind":"relation","type":"Subscription","left_key":"c1","right_key":"p1","instance_key":"","fields":{}}
//	{"kind":"fact","type":"Contract","subject":"ada","attribute":"salary","fact_id":"f1","fields":{"asserted":7,"salary":4000}}
//
// The original program calls kind and type type_kind and type_name, which is read as well.
//
// Where the type is given, each line is a plain object of that type: its fields, with the
// key of an entity among them, and for relations and facts, beside the fields, the members
// that are columns in CSV:
//
//	{"id":"c1","name":"Ada"}
//	{"left_key":"c1","right_key":"p1","seats":3}
//
// As CSV, a file holds one type and its first row names the columns: the fields
// of an entity; left_key, right_key, instance_key if the type is keyed, and the
// fields of a relation; subject, attribute, fact_id and the fields of a fact. An empty cell is an absent value, or the empty text in a
// text field that must be there. An entity or a relation that exists keeps the fields that
// have no column, and those whose cell is empty unless [ImportOptions.EmptyClears] says
// otherwise; a new one gets their defaults. Objects, lists and values of any type are JSON.
// In a text column, a cell that starts with a double quote is a JSON string. A
// column that is no field is called onto.left_key where a field is called
// left_key, and so on.
//
// A fact's fields are its value, under the name of its attribute or as value, and what
// all facts have: valid_from and valid_until, between which it holds, kind, the note
// revoked, and asserted and seq, by which facts are ordered. An export always has
// asserted. An import makes the order of facts about one subject of asserted and seq,
// those without asserted last, in the order of the file, and keeps neither: its own
// commit asserts them. So an export that is imported into an empty store gives the same
// answers; where the store has facts on the same attribute already, what is imported is
// newer than these. Facts are never overwritten: one that is known changes nothing, and
// is a conflict if it says something else. Without an id one is made.
//
// With metadata, records also have commit_id, schema_version_id and op.
//
// A bad record ends an import, unless the caller takes rejects: then it is passed on as it
// came, and the rest is imported.
//
// Both directions stream: they need little memory, however many records there
// are. An import is one commit or none.
package records

import (
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/suggest"
)

// Format is how records are written.
type Format string

// The formats.
const (
	JSONL Format = "jsonl"
	CSV   Format = "csv"
)

// maxRecord bounds the text of one record: twice what its canonical fields may
// have, since they may stand there with spaces, escapes and doubled quotes.
const maxRecord = 2*onto.MaxFields + 64<<10

// progressStep is after how many records progress is reported.
const progressStep = 1000

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case JSONL, CSV:
		return f, nil
	case "parquet":
		return "", noParquet()
	}
	err := onto.Errorf(onto.Invalid, "format %.80q is unknown", name)
	if near := suggest.Name(name, []string{string(JSONL), string(CSV)}); near != "" {
		return "", err.WithHint("did you mean %s?", near)
	}
	return "", err.WithHint("use jsonl or csv")
}

// FormatOf tells the format from the name of a file, with or without .gz.
func FormatOf(file string) (Format, error) {
	name := strings.TrimSuffix(strings.ToLower(file), packed)
	for _, known := range []struct {
		suffix string
		format Format
	}{{".jsonl", JSONL}, {".ndjson", JSONL}, {".json", JSONL}, {".csv", CSV}} {
		if strings.HasSuffix(name, known.suffix) {
			return known.format, nil
		}
	}
	if strings.HasSuffix(name, ".parquet") {
		return "", noParquet()
	}
	return "", onto.Errorf(onto.Invalid, "%s: the name does not tell the format", file).
		WithHint("say --format jsonl or --format csv, or use a name that ends in .jsonl, .csv, .jsonl.gz or .csv.gz")
}

func noParquet() error {
	return onto.Errorf(onto.UnsupportedOperation, "Parquet is the format of lakes; records are JSON Lines or CSV").
		WithHint("use --format jsonl or --format csv; most tools for Parquet read both")
}

// check refuses a format that does not exist. None means JSON Lines.
func (f Format) check() (Format, error) {
	if f == "" {
		return JSONL, nil
	}
	return ParseFormat(string(f))
}

// The columns and members that are no fields.
const (
	leftKey       = "left_key"
	rightKey      = "right_key"
	instanceKey   = "instance_key"
	subjectName   = "subject"
	attributeName = "attribute"
	factID        = "fact_id"
	commitID      = "commit_id"
	schemaVersion = "schema_version_id"
	opName        = "op"
)

// systemColumn is the name of a column that is no field. Where a field has its
// name it gets a prefix that no field can have.
func systemColumn(schema *onto.Schema, name string) string {
	if _, taken := schema.Field(name); taken {
		return "onto." + name
	}
	return name
}

// required reports whether a field must have a value in a record.
func required(f *onto.Field) bool { return !f.Optional && f.Default == nil }
