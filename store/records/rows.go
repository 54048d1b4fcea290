package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/store"
)

// Rows brings the rows of a table in as facts: a CSV file with a header, or JSON Lines of
// objects. Each row is about one subject, and each of its cells that has a value tells the
// attribute that the column is named after. Empty cells and nulls say nothing, so they
// end no fact, and neither does a row that is gone.
//
// At any time, what speaks on an attribute is the row with the latest time that is not
// after it, in whatever order the rows come and however they are divided among imports.
// So a row that confirms the value of an earlier one becomes a fact as well: it ends what
// a row in between says that comes late. Only a row that the store has already, with the
// same value since the same time, changes nothing. On an attribute marked many, a row
// changes nothing if its value holds at that time anyway.
//
// Two rows that say different things of the same time contradict each other. Within one
// import that is refused. In a later import it is a correction, and the one that came last
// speaks.
//
// This is about rows, of imports that follow one another: an import knows the rows that
// the store has when it begins to read. A fact that was asserted otherwise speaks in place
// of the rows that the store has by then, for all the time that it holds. A row that comes
// late ends where a known fact begins, also if that one has an end or was revoked.
type Rows struct {
	Subject string // the column that names the subject

	// From is the column with the time since when a row's values hold, such as
	// updated_at: as in RFC 3339, or 2026-03-01 or 2026-03-01 10:30:00 in UTC. A row
	// without one holds since Since; if that is zero, until something is known.
	// Without the column and without Since, rows hold always, in place of all that is
	// known by then.
	From  string
	Since time.Time

	Skip []string // columns to leave out
}

// check refuses columns that contradict each other.
func (r *Rows) check() error {
	switch {
	case r.Subject == "":
		return onto.Errorf(onto.Invalid, "the column that names the subjects is missing").WithHint("name it, as --subject id")
	case r.Subject == r.From:
		return onto.Errorf(onto.Invalid, "column %.80q cannot be both the subject and the time", r.From)
	case slices.Contains(r.Skip, r.Subject) || r.From != "" && slices.Contains(r.Skip, r.From):
		return onto.Errorf(onto.Invalid, "a column that names the subject or the time cannot be left out")
	}
	if r.Since.IsZero() {
		return nil
	}
	if err := codec.CheckTime(r.Since); err != nil {
		return onto.Errorf(onto.Invalid, "since: %w", err)
	}
	return nil
}

// tableRow is one row: its cells that have a value, as canonical JSON.
type tableRow struct {
	line    int64
	subject string
	from    time.Time // zero for no bound
	cells   []codec.Member
	size    int
	text    []byte // as it came; nil if nobody asks for it
	err     error  // what is wrong with it
}

// table reads the rows of a table. Its errors carry the line.
type table interface {
	// next returns io.EOF after the last row.
	next() (tableRow, error)
}

// rowSource makes records of the rows of a table.
type rowSource struct {
	Rows
	schema   *onto.Schema
	lines    *lineReader
	table    table
	check    func(thing any) error                                  // what the store says about a record; asked if bad rows are left out
	believed func(subjects []string) iter.Seq2[onto.Version, error] // what the store believes of them; nil if it has no facts of the type

	batch   []tableRow                    // read, and not passed on
	ended   error                         // of the table
	known   map[onto.Identity][]knownFact // by the attribute that they are on
	told    *told
	records []record // of the row that was taken last
	row     int64    // its number
}

// knownFact is a fact that the store has.
type knownFact struct {
	onto.Fact
	fields []byte
	value  []byte // as canonical JSON
}

// What is read at once, so that one question to the store is about many rows.
const (
	batchRows  = 256
	batchBytes = 4 << 20
)

func newRowSource(ctx context.Context, s *store.Store, lines *lineReader, types catalogue, o *ImportOptions) (*rowSource, error) {
	if err := o.Rows.check(); err != nil {
		return nil, err
	}
	if o.Type == "" {
		return nil, onto.Errorf(onto.Invalid, "the type of the facts is missing").WithHint("name it, as --type T")
	}
	schema, err := types.find(onto.KindFact, []byte(o.Type))
	if err != nil {
		return nil, err
	}
	head, err := s.Head(ctx)
	if err != nil {
		return nil, err
	}
	src := &rowSource{Rows: *o.Rows, schema: schema, lines: lines, check: s.Check, told: newTold(maxSeen)}
	facts := s.At(head.ID).FindKind(onto.KindFact, schema.Name)
	some, err := facts.Exists(ctx)
	if err != nil {
		return nil, err
	}
	if some {
		src.believed = func(subjects []string) iter.Seq2[onto.Version, error] { return facts.From(subjects...).All(ctx) }
	}
	if o.Format == CSV {
		src.table, err = newCSVTable(&rowReader{lines: lines, comma: o.Delimiter}, &src.Rows, schema)
	} else {
		src.table = &jsonTable{lines, &src.Rows, schema}
	}
	return src, err
}

// next returns the record of the next cell.
func (s *rowSource) next() (record, error) {
	for len(s.records) == 0 {
		if len(s.batch) == 0 {
			if err := s.fill(); err != nil {
				return record{}, err
			}
		}
		row := &s.batch[0]
		s.batch = s.batch[1:]
		if err := s.takeWhole(row); err != nil {
			return record{}, err
		}
	}
	rec := s.records[0]
	s.records = s.records[1:]
	return rec, nil
}

// fill reads the next rows, and what the store believes of their subjects.
func (s *rowSource) fill() error {
	s.batch = s.batch[:0]
	for size := 0; s.ended == nil && len(s.batch) < batchRows && size < batchBytes; {
		row, err := s.table.next()
		var bad *badRecord
		switch {
		case errors.As(err, &bad): // it is reported in its turn
			row.err = &badRecord{bad.line, bytes.Clone(bad.text), bad.err}
		case err != nil:
			s.ended = err
		case s.lines.keeps:
			row.text = bytes.Clone(s.lines.text)
		}
		if s.ended != nil {
			break
		}
		size += row.size
		s.batch = append(s.batch, row)
	}
	if len(s.batch) == 0 {
		return s.ended
	}
	s.known = map[onto.Identity][]knownFact{}
	if s.believed == nil {
		return nil
	}
	var subjects []string
	for i := range s.batch {
		if s.batch[i].err == nil {
			subjects = append(subjects, s.batch[i].subject)
		}
	}
	slices.Sort(subjects)
	for v, err := range s.believed(slices.Compact(subjects)) {
		if err != nil {
			return err
		}
		f, err := onto.FactOf(&v)
		if err != nil {
			return err
		}
		field, _ := s.schema.Attribute(f.Attribute)
		on := attributeOf(f.Subject, f.Attribute)
		s.known[on] = append(s.known[on], knownFact{f, v.Fields, codec.Find(v.Fields, []string{field.Name})})
	}
	return nil
}

// takeWhole makes the records of a row. After an error there are none, and it is as if the
// row had not been there.
func (s *rowSource) takeWhole(row *tableRow) error {
	if row.err != nil {
		return row.err
	}
	s.told.begin()
	err := s.take(row)
	for i := 0; i < len(s.records) && err == nil && row.text != nil; i++ {
		err = s.check(s.records[i].thing())
	}
	if err == nil {
		return nil
	}
	s.told.undo()
	s.records = s.records[:0]
	if err = atLine(row.line, err); row.text == nil {
		return err
	}
	return &badRecord{row.line, row.text, err}
}

// take makes the records of a row.
func (s *rowSource) take(row *tableRow) error {
	s.row++
	s.records = s.records[:0]
	for _, cell := range row.cells {
		values := [][]byte{cell.Value}
		f, _ := s.schema.Attribute(cell.Name)
		if f.Many && f.Type != onto.List && f.Type != onto.Any && codec.KindOf(cell.Value) == codec.List {
			values = slices.Collect(codec.Elements(cell.Value))
		}
		for _, value := range values {
			fitted, err := f.FitValue(value)
			if err != nil {
				return inColumn(cell.Name, err)
			}
			seen, err := s.told.add(row, cell.Name, &f, fitted)
			if err != nil {
				return err
			}
			if !seen.already {
				s.records = append(s.records, s.record(row, cell.Name, &f, fitted, seen.next))
			}
		}
	}
	return nil
}

// record is that of a cell: the fact that says so already, or a new one. Next is when the
// fact of another row with the same of many values begins.
func (s *rowSource) record(row *tableRow, attribute string, f *onto.Field, value []byte, next time.Time) record {
	rec := record{schema: s.schema, op: onto.Put, line: row.line}
	always := !f.Many && s.From == "" && s.Since.IsZero() // in place of what is known of any time
	var known []*knownFact                                // what it depends on
	until := next                                         // from when on something else is known
	all := s.known[attributeOf(row.subject, attribute)]
	for i := range all {
		k := &all[i]
		if f.Many && !bytes.Equal(k.value, value) {
			continue
		}
		known = append(known, k)
		if !always && k.From.After(row.from) && (until.IsZero() || k.From.Before(until)) {
			until = k.From
		}
	}
	var same *knownFact
	if f.Many {
		same = holding(known, row.from)
	} else if last := lastTold(known, row.from, always); last != nil && last.says(value, row.from, until) {
		same = last
	}
	if same != nil {
		rec.id, rec.fields = same.Identity(), same.fields
		return rec
	}
	s.told.holds(until)
	rec.id = onto.FactID(s.schema.Name, row.subject, attribute, newRowID(row, attribute, value, known))
	rec.fields = s.fields(row, f, value, until)
	return rec
}

// attributeOf names an attribute of a subject.
func attributeOf(subject, attribute string) onto.Identity {
	return onto.Identity{Left: subject, Right: attribute}
}

// holding is one of the facts that holds at a time; nil if none does.
func holding(known []*knownFact, at time.Time) *knownFact {
	for _, k := range known {
		if k.Holds(at) {
			return k
		}
	}
	return nil
}

// lastTold is the fact that was asserted last of those that begin at a time, or of all.
func lastTold(known []*knownFact, from time.Time, all bool) *knownFact {
	var last *knownFact
	for _, k := range known {
		if (all || k.From.Equal(from)) && (last == nil || later(&k.Fact, &last.Fact)) {
			last = k
		}
	}
	return last
}

// says reports whether the fact is that of a row with this value, which would hold from
// one time on and before another. A revocation stands: the row says nothing new.
func (k *knownFact) says(value []byte, from, until time.Time) bool {
	if !bytes.Equal(k.value, value) || !k.From.Equal(from) {
		return false
	}
	return k.Revoked != nil || k.Until.IsZero() || !until.IsZero() && !k.Until.Before(until)
}

// later reports whether a fact was asserted after another one.
func later(a, b *onto.Fact) bool {
	if a.Asserted != b.Asserted {
		return a.Asserted > b.Asserted
	}
	return a.Seq > b.Seq || a.Seq == b.Seq && a.ID > b.ID
}

// fields is the fields of a new fact. They say that it was asserted when it begins to
// hold, which orders it among the facts of the import.
func (s *rowSource) fields(row *tableRow, f *onto.Field, value []byte, until time.Time) []byte {
	asserted := int64(1)
	members := []codec.Member{{Name: f.Name, Value: value}, {Name: onto.FactSeq, Value: strconv.AppendInt(nil, s.row, 10)}}
	add := func(name string, at time.Time) {
		members = append(members, codec.Member{Name: name, Value: []byte(`"` + codec.FormatTime(at) + `"`)})
	}
	if !row.from.IsZero() {
		asserted += row.from.UnixMicro() - time.Time{}.UnixMicro()
		add(onto.FactFrom, row.from)
	}
	if !until.IsZero() {
		add(onto.FactUntil, until)
	}
	members = append(members, codec.Member{Name: onto.FactAsserted, Value: strconv.AppendInt(nil, asserted, 10)})
	slices.SortFunc(members, func(a, b codec.Member) int { return strings.Compare(a.Name, b.Name) })
	return codec.AppendObject(nil, members)
}

// newRowID is the id of the fact that a cell makes. A value that comes back after others
// of the same time has been used before.
func newRowID(row *tableRow, attribute string, value []byte, known []*knownFact) string {
	for used := 0; ; used++ {
		id := rowID(row, attribute, value, used)
		if !slices.ContainsFunc(known, func(k *knownFact) bool { return k.ID == id }) {
			return id
		}
	}
}

// rowID is the id of such a fact: the same whenever it is imported.
func rowID(row *tableRow, attribute string, value []byte, used int) string {
	from := ""
	if !row.from.IsZero() {
		from = codec.FormatTime(row.from)
	}
	var text []byte
	for _, part := range []string{row.subject, attribute, from, string(value), strconv.Itoa(used)} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// column says what a column is: an attribute, or none of them.
func (r *Rows) column(schema *onto.Schema, name string) (f onto.Field, attribute bool, err error) {
	if name == r.Subject || name == r.From || slices.Contains(r.Skip, name) {
		return onto.Field{}, false, nil
	}
	f, ok := schema.Attribute(name)
	if ok && f.Name == name {
		return f, true, nil
	}
	if err := onto.CheckUserName("attribute", name); err != nil || !ok {
		e := onto.Errorf(onto.Invalid, "column %.80q is no attribute of %s", name, schema.Name)
		if near := suggest.Name(name, attributeNames(schema)); near != "" && len(name) <= onto.MaxName {
			return f, false, e.WithHint("did you mean %s? Columns can be left out, as --skip %.80s", near, name)
		}
		return f, false, e.WithHint("leave it out, as --skip %.80s, or declare it; the attributes are %s", name, strings.Join(attributeNames(schema), ", "))
	}
	return f, true, nil // that only an open type has
}

func attributeNames(schema *onto.Schema) []string {
	var names []string
	for _, f := range schema.Attributes() {
		names = append(names, f.Name)
	}
	return names
}

// finish completes a row.
func (r *Rows) finish(row *tableRow) error {
	if row.subject == "" {
		return onto.Errorf(onto.Invalid, "column %s: there is no subject", r.Subject)
	}
	if row.from.IsZero() {
		row.from = r.Since
	}
	row.from = row.from.UTC().Truncate(time.Microsecond)
	return nil
}

// readTime reads the time of a row.
func readTime(text string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, codec.CheckTime(at)
		}
	}
	return codec.ParseTime(text)
}
