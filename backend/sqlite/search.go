package sqlite

import (
	"bytes"
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
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/words"
)

// A type with search fields has an FTS4 table. A row of it holds the words of
// one live identity, as package words splits them; its docid is the row id of
// the identity's first version in history, so
//
//	FROM onto_search_5 s JOIN entity_history f ON f.id = s.docid
//
// leads to the identity. Identities without words have no row.

// searchTable returns the table with the words of the fields that a schema
// marks for search. It reports false if there is none, if it holds the words of
// other fields, or if it does not cover the head: then versions have to be read
// and their words split.
func (r *reading) searchTable(s *onto.Schema) (name string, ok bool, err error) {
	if !r.foreign.covers() {
		return "", false, nil
	}
	if has, err := hasDerived(r.Conn); err != nil || !has {
		return "", false, err
	}
	row, ok, err := r.queryRow(`SELECT id, field FROM onto_derived WHERE type_kind = ? AND type_name = ? AND purpose = 'search'`,
		string(s.Kind), s.Name)
	if err != nil || !ok || row.Text(1) != searchFields(s) {
		return "", false, err
	}
	return searchName(row.Int(0)), true, nil
}

func searchName(id int64) string { return "onto_search_" + strconv.FormatInt(id, 10) }

// searchFields is the names of the search fields, sorted and separated by
// commas; "" if there are none.
func searchFields(s *onto.Schema) string {
	var names []string
	for _, f := range s.Fields {
		if f.Search && f.Type == onto.String {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ",")
}

// wordTable is a search table with the SQL to keep it.
type wordTable struct {
	derived
	fields         []string
	update, delete string
	inserts        map[int]string // by number of rows
}

func newWordTable(d derived) *wordTable {
	t := &wordTable{derived: d, fields: strings.Split(d.field, ",")}
	t.update = fmt.Sprintf(`UPDATE %s SET words = ? WHERE docid = ?`, d.name())
	t.delete = fmt.Sprintf(`DELETE FROM %s WHERE docid = ?`, d.name())
	t.inserts = map[int]string{}
	for _, n := range []int{1, smallBulk, largeBulk} {
		t.inserts[n] = fmt.Sprintf(`INSERT INTO %s (docid, words) VALUES %s(?, ?)`, d.name(), strings.Repeat("(?, ?), ", n-1))
	}
	return t
}

// readWordTables returns the search tables by type.
func readWordTables(c *driver.Conn) (map[onto.TypeName]*wordTable, error) {
	listed, err := readDerived(c)
	if err != nil {
		return nil, err
	}
	tables := map[onto.TypeName]*wordTable{}
	for _, d := range listed {
		if d.purpose == forSearch {
			tables[onto.TypeName{Kind: d.kind, Name: d.typ}] = newWordTable(d)
		}
	}
	return tables, nil
}

// texts returns the values of the search fields, as canonical JSON. What is not
// an object, in a damaged projection, has none.
func (t *wordTable) texts(fields json.RawMessage) [][]byte {
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

// words returns the words of canonical fields, separated by spaces.
func (t *wordTable) words(fields json.RawMessage) string { return joinWords(t.texts(fields)) }

func joinWords(texts [][]byte) string {
	var all []string
	for _, text := range texts {
		all = append(all, words.Split(codec.Unquote(text))...)
	}
	return strings.Join(all, " ")
}

// wordChange is how the words of an identity change in a group.
type wordChange struct {
	table  *wordTable
	row    int    // where its first version stands among those to be written; -1 if it has been written
	before string // "" for none
	after  string
	docid  int64
}

// noteWords notes the words that a version changes, which will stand in the given
// row of those to be written.
func (g *group) noteWords(v *decide.Version, row int) {
	t := g.wr.types.search[v.TypeName()]
	if t == nil {
		return
	}
	var before, after [][]byte
	if v.Before != nil && v.Before.Live() {
		before = t.texts(v.Before.Fields)
	}
	if v.Live() {
		after = t.texts(v.Fields)
	}
	c := g.words[v.Identity]
	if c == nil {
		if slices.EqualFunc(before, after, bytes.Equal) {
			return
		}
		if g.words == nil {
			g.words = make(map[onto.Identity]*wordChange)
		}
		c = &wordChange{table: t, row: -1, before: joinWords(before)}
		if v.Before == nil {
			c.row = row
		}
		g.words[v.Identity] = c
	}
	c.after = joinWords(after)
}

// writeWords brings the search tables along. First tells the row ids of the
// first entity and the first relation that the group has written.
func (g *group) writeWords(first map[onto.Kind]int64) error {
	var list []*wordChange
	for id, c := range g.words {
		if c.before == c.after {
			continue
		}
		if c.docid = first[id.Kind] + int64(c.row); c.row < 0 {
			var err error
			if c.docid, err = g.w.QueryInt(g.wr.table(id.Kind).firstRow, identityArgs(nil, &id)...); err != nil {
				return err
			}
		}
		list = append(list, c)
	}
	clear(g.words)
	if err := g.wr.reached("words"); err != nil {
		return err
	}
	return writeWords(g.w, list)
}

// writeWords writes changes in the order of table and docid, in which FTS4
// gathers them in memory.
func writeWords(w *driver.Conn, list []*wordChange) error {
	slices.SortFunc(list, func(a, b *wordChange) int {
		return cmp.Or(cmp.Compare(a.table.id, b.table.id), cmp.Compare(a.docid, b.docid))
	})
	for len(list) > 0 {
		n := 0
		for n < len(list) && list[n].before == "" && list[n].table == list[0].table {
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
func insertWords(w *driver.Conn, list []*wordChange) error {
	args := make([]any, 0, largeBulk*2)
	for len(list) > 0 {
		n := bulkSize(len(list))
		args = args[:0]
		for _, c := range list[:n] {
			args = append(args, c.docid, c.after)
		}
		t := list[0].table
		if err := t.failed(w.Exec(t.inserts[n], args...)); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// write writes one change.
func (c *wordChange) write(w *driver.Conn) error {
	t := c.table
	switch {
	case c.before == c.after:
		return nil
	case c.after == "":
		return t.failed(w.Exec(t.delete, c.docid))
	case c.before == "":
		return t.failed(w.Exec(t.inserts[1], c.docid, c.after))
	}
	return t.failed(w.Exec(t.update, c.after, c.docid))
}

// failed gives an error of a damaged search table its code and the way out. It
// has a row too many, lost what SQLite keeps it in, or cannot be read.
func (t *wordTable) failed(err error) error {
	if err == nil {
		return nil
	}
	for _, sign := range []string{"constraint failed", "SQL logic error", "no such table", "malformed"} {
		if strings.Contains(err.Error(), sign) {
			return onto.Errorf(onto.Corrupt, "%s is damaged: %w", t.derived, err).
				WithHint("make it anew with: onto projection rebuild")
		}
	}
	return err
}

// project brings the words of one version along that another program has written,
// if its type has a search table. Its fields are canonical, or nil if they cannot be read.
func (t *wordTable) project(w *driver.Conn, names *table, v *onto.Version) error {
	if t == nil {
		return nil
	}
	c := wordChange{table: t}
	if v.Live() {
		c.after = t.words(v.Fields)
	}
	var err error
	if c.docid, err = w.QueryInt(names.firstRow, identityArgs(nil, &v.Identity)...); err != nil {
		return err
	}
	row, ok, err := w.QueryRow(`SELECT words FROM `+t.name()+` WHERE docid = ?`, c.docid)
	if err != nil {
		return t.failed(err)
	}
	if ok {
		c.before = row.Text(0)
	}
	return c.write(w)
}

// fill enters the words of everything that the projection has of the type. It
// goes in the order of docids; sorting is left to SQLite, which spills to disk.
func (t *wordTable) fill(ctx context.Context, w *driver.Conn, step func()) error {
	rows, err := w.Query(ctx, t.wantSQL(), t.typ)
	if err != nil {
		return err
	}
	var list []*wordChange
	err = driver.Each(rows, func() error {
		if step != nil {
			step()
		}
		if words := t.words(rows.Bytes(1)); words != "" {
			list = append(list, &wordChange{table: t, docid: rows.Int(0), after: words})
		}
		if len(list) < largeBulk {
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
func (t *wordTable) wantSQL() string {
	table := newNames(t.kind)
	return fmt.Sprintf(`SELECT %s AS docid, CAST(json(c.fields) AS BLOB) FROM %s c WHERE c.%s = ? AND c.op = 'put' ORDER BY docid`,
		table.firstID("c"), table.current, table.columns[0])
}
