package duck

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/internal/sqlgen"
)

// raw is SQL made of names from the layout and of constants of this package.
func raw(sql string) sqlgen.Part { return sqlgen.Part{SQL: sql} }

// view is the part of a source that a question reads.
type view struct {
	*Source
	at     int64           // no later commits
	since  int64           // only later commits
	keys   []sqlgen.Part   // conditions on the keys, which all versions of an identity fulfil or none
	one    bool            // there is one key, and so there are few rows
	fields map[string]bool // the typed columns to read
}

// exists reports whether there can be any rows.
func (v *view) exists() bool { return v.Source != nil && len(v.Files) > 0 }

// column returns the typed column of a path, and remembers to read it.
func (v *view) column(path []string) (parquet.Column, bool) {
	if !v.Typed || v.Layout == nil {
		return parquet.Column{}, false
	}
	c, ok := v.Layout.Column(path)
	if ok {
		v.fields[c.Name] = true
	}
	return c, ok
}

// document is the fields of the rows of a view under an alias.
func (v *view) document(alias string, s *onto.Schema) sqlgen.Document {
	if !v.exists() {
		return sqlgen.Document{}
	}
	return sqlgen.Document{Column: alias + ".fields_json", Schema: s, Typed: func(path []string) (string, onto.FieldType, bool) {
		c, ok := v.column(path)
		return alias + "." + quoteName(c.Name), c.Type, ok
	}}
}

// reach is the newest commit that a question as of at can see.
func (s *Source) reach(at int64) int64 {
	if at == backend.Head {
		return s.Head
	}
	return min(at, s.Head)
}

// typedColumns is the names of the columns to read, sorted, and their types.
func (v *view) typedColumns() []parquet.Column {
	if v.Layout == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Layout.Columns), func(c parquet.Column) bool { return !v.fields[c.Name] })
}

// sqlType is the type of a column in DuckDB.
func sqlType(t onto.FieldType) string {
	switch t {
	case onto.Int:
		return "BIGINT"
	case onto.Float:
		return "DOUBLE"
	case onto.Bool:
		return "BOOLEAN"
	}
	return "VARCHAR"
}

// files is the rows of all files. Each has its own set of typed columns: those
// that some or all of them lack are NULL there.
func (v *view) files() sqlgen.Part {
	paths := make([]string, len(v.Files))
	for i, path := range v.Files {
		paths[i] = quoteText(literalPath(path))
	}
	read := "read_parquet([" + strings.Join(paths, ", ") + "], union_by_name = true)"
	columns := v.typedColumns()
	if len(columns) == 0 {
		return raw(read)
	}
	nulls := make([]string, len(columns))
	for i, c := range columns {
		nulls[i] = "CAST(NULL AS " + sqlType(c.Type) + ") AS " + quoteName(c.Name)
	}
	return raw("(SELECT " + strings.Join(nulls, ", ") + " WHERE FALSE UNION ALL BY NAME SELECT * FROM " + read + ")")
}

// literalPath writes a path without pattern characters, in a form that can be compared
// with that of the directory.
func literalPath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil && !filepath.IsAbs(path) {
		path = absolute
	}
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}

// list is the columns that a question reads, with an alias before each.
func (v *view) list(alias string) sqlgen.Part {
	names := append(sqlgen.KeyColumns(v.Kind), "commit_id", "op", "schema_version_id", "fields_json")
	for _, c := range v.typedColumns() {
		names = append(names, quoteName(c.Name))
	}
	return raw(alias + strings.Join(names, ", "+alias))
}

// terms is the conditions on which rows there are.
func (v *view) terms() sqlgen.Part {
	terms := []sqlgen.Part{sqlgen.SQL("commit_id <= ?", v.at)}
	if v.since > 0 {
		terms = append(terms, sqlgen.SQL("commit_id > ?", v.since))
	}
	if v.Purged > 0 {
		terms = append(terms, sqlgen.SQL("schema_version_id > ?", int64(v.Purged)))
	}
	return sqlgen.All(append(terms, v.keys...)...)
}

// history is the SELECT of all versions.
func (v *view) history() sqlgen.Part {
	return sqlgen.SQL("SELECT ? FROM ? WHERE ?", v.list(""), v.files(), v.terms())
}

// state is the SELECT of the newest version of each identity that is no delete.
func (v *view) state() sqlgen.Part {
	if v.Unique {
		return v.history()
	}
	return sqlgen.SQL("? AND op = 'put'", v.newest())
}

// newest is the SELECT of the newest version of each identity. To find the newest
// commit of each, only keys and commits are read; the files are read again for the
// rest, which is faster than carrying it along. A few rows are read once.
func (v *view) newest() sqlgen.Part {
	keys := raw(strings.Join(sqlgen.KeyColumns(v.Kind), ", "))
	switch {
	case v.Unique:
		return v.history()
	case v.one:
		return sqlgen.SQL("SELECT * FROM (? QUALIFY row_number() OVER (PARTITION BY ? ORDER BY commit_id DESC) = 1) WHERE TRUE", v.history(), keys)
	}
	return sqlgen.SQL("SELECT ? FROM ? f JOIN (SELECT ?, max(commit_id) AS commit_id FROM ? WHERE ? GROUP BY ?) n USING (?, commit_id) WHERE ?",
		v.list("f."), v.files(), keys, v.files(), v.terms(), keys, keys, v.outerTerms())
}

// narrow adds the condition that a key is one of some. For many keys it adds their
// bounds, which the engine can compare with the statistics of a row group.
func (v *view) narrow(column string, keys []string) {
	d := sqlgen.DuckDB{}
	v.one = v.one || len(keys) == 1
	v.keys = append(v.keys, d.Among(raw(column), keys))
	if len(keys) > 1 {
		v.keys = append(v.keys, sqlgen.SQL("? BETWEEN ? AND ?", raw(column), slices.Min(keys), slices.Max(keys)))
	}
}

// outerTerms is the conditions on the rows that are joined with the newest commits.
// They only narrow down and need not be exact.
func (v *view) outerTerms() sqlgen.Part {
	if len(v.keys) == 0 {
		return sqlgen.SQL("f.commit_id <= ?", v.at)
	}
	return sqlgen.SQL("f.commit_id <= ? AND ?", v.at, sqlgen.All(v.keys...))
}
