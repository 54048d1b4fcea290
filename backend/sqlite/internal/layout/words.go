package layout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/words"
)

// A type with search fields has an FTS4 table. A row of it holds the words of
// one live identity, as package words splits them; its docid is the row id of
// the identity's first version in history, so
//
//	FROM onto_search_5 s JOIN entity_history f ON f.id = s.docid
//
// leads to the identity. Identities without words have no row.

// SearchName is what a search table is called.
func SearchName(id int64) string { return "onto_search_" + strconv.FormatInt(id, 10) }

// SearchFields is the names of the search fields, sorted and separated by
// commas; "" if there are none.
func SearchFields(s *onto.Schema) string {
	var names []string
	for _, f := range s.Fields {
		if f.Search && f.Type == onto.String {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ",")
}

// WordTable is a search table with the SQL to keep it.
type WordTable struct {
	Derived
	fields         []string
	update, delete string
	inserts        map[int]string // by number of rows
}

// NewWordTable makes the SQL of a search table.
func NewWordTable(d Derived) *WordTable {
	t := &WordTable{Derived: d, fields: strings.Split(d.Field, ",")}
	t.update = fmt.Sprintf(`UPDATE %s SET words = ? WHERE docid = ?`, d.Name())
	t.delete = fmt.Sprintf(`DELETE FROM %s WHERE docid = ?`, d.Name())
	t.inserts = map[int]string{}
	for _, n := range []int{1, SmallBulk, LargeBulk} {
		t.inserts[n] = fmt.Sprintf(`INSERT INTO %s (docid, words) VALUES %s(?, ?)`, d.Name(), strings.Repeat("(?, ?), ", n-1))
	}
	return t
}

// ReadWordTables returns the search tables by type.
func ReadWordTables(c *driver.Conn) (map[onto.TypeName]*WordTable, error) {
	listed, err := ReadDerived(c)
	if err != nil {
		return nil, err
	}
	tables := map[onto.TypeName]*WordTable{}
	for _, d := range listed {
		if d.Purpose == ForSearch {
			tables[onto.TypeName{Kind: d.Kind, Name: d.Type}] = NewWordTable(d)
		}
	}
	return tables, nil
}

// Texts returns the values of the search fields, as canonical JSON. What is not
// an object, in a damaged projection, has none.
func (t *WordTable) Texts(fields json.RawMessage) [][]byte {
	if len(fields) == 0 || fields[0] != '{' {
		return nil
	}
	var list [][]byte
	for _, m := range codec.Members(fields) {
		if slices.Contains(t.fields, m.Name) && codec.KindOf(m.Value) == codec.String {
			list = append(list, m.Value)
		}
	}
	return list
}

// Words returns the words of canonical fields, separated by spaces.
func (t *WordTable) Words(fields json.RawMessage) string { return JoinWords(t.Texts(fields)) }

// JoinWords returns the words of texts, separated by spaces.
func JoinWords(texts [][]byte) string {
	var all []string
	for _, text := range texts {
		all = append(all, words.Split(codec.Unquote(text))...)
	}
	return strings.Join(all, " ")
}

// WordChange is how the words of an identity change in a group.
type WordChange struct {
	Table  *WordTable
	Row    int    // the index of its first version among those to be written; -1 if that was written before
	Before string // "" for none
	After  string
	DocID  int64
}

// WriteWords writes changes in the order of table and docid, which lets FTS4 buffer
// them in memory.
func WriteWords(w *driver.Conn, list []*WordChange) error {
	slices.SortFunc(list, func(a, b *WordChange) int {
		return cmp.Or(cmp.Compare(a.Table.id, b.Table.id), cmp.Compare(a.DocID, b.DocID))
	})
	for len(list) > 0 {
		n := 0
		for n < len(list) && list[n].Before == "" && list[n].Table == list[0].Table {
			n++
		}
		if n == 0 {
			if err := list[0].write(w); err != nil {
				return err
			}
			list = list[1:]
			continue
		}
		if err := insertWords(w, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// insertWords enters the words of identities of one table that have no row.
func insertWords(w *driver.Conn, list []*WordChange) error {
	args := make([]any, 0, LargeBulk*2)
	for len(list) > 0 {
		n := BulkSize(len(list))
		args = args[:0]
		for _, c := range list[:n] {
			args = append(args, c.DocID, c.After)
		}
		t := list[0].Table
		if err := t.failed(w.Exec(t.inserts[n], args...)); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// write writes one change.
func (c *WordChange) write(w *driver.Conn) error {
	t := c.Table
	switch {
	case c.Before == c.After:
		return nil
	case c.After == "":
		return t.failed(w.Exec(t.delete, c.DocID))
	case c.Before == "":
		return t.failed(w.Exec(t.inserts[1], c.DocID, c.After))
	}
	return t.failed(w.Exec(t.update, c.After, c.DocID))
}

// failed gives an error of a damaged search table its code and remedy. The table has a
// row too many, lost its shadow tables, or cannot be read.
func (t *WordTable) failed(err error) error {
	if err == nil {
		return nil
	}
	for _, sign := range []string{"constraint failed", "SQL logic error", "no such table", "malformed"} {
		if strings.Contains(err.Error(), sign) {
			return onto.Errorf(onto.Corrupt, "%s is damaged: %w", t.Derived, err).
				WithHint("make it anew").WithCommand("projection", "rebuild")
		}
	}
	return err
}

// fill enters the words of all identities of the type in the projection. It goes in the
// order of docids; sorting is left to SQLite, which spills to disk.
func (t *WordTable) fill(ctx context.Context, w *driver.Conn, step func()) error {
	var list []*WordChange
	err := w.Each(ctx, t.wantSQL(), []any{t.Type}, func(rows *driver.Rows) error {
		if step != nil {
			step()
		}
		if words := t.Words(rows.Bytes(1)); words != "" {
			list = append(list, &WordChange{Table: t, DocID: rows.Int(0), After: words})
		}
		if len(list) < LargeBulk {
			return nil
		}
		err := insertWords(w, list)
		list = list[:0]
		return err
	})
	if err == nil {
		err = insertWords(w, list)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// wantSQL finds the docid and fields of each live identity of the type, in the
// order of docids.
func (t *WordTable) wantSQL() string {
	table := Names(t.Kind)
	return fmt.Sprintf(`SELECT %s AS docid, CAST(json(c.fields) AS BLOB) FROM %s c WHERE c.%s = ? AND c.op = 'put' ORDER BY docid`,
		table.FirstID("c"), table.Current, table.Columns[0])
}
