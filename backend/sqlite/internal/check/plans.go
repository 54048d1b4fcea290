package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/audit"
)

// planned is a statement that must not scan a whole table.
type planned struct {
	name   string
	sql    string
	tables map[string]string // the tables that grow, by their names in the statement
	wide   bool              // it reads all of a type, which can be almost all of a table
}

// plans finds statements that scan a whole table where an index should lead to the
// rows: an index is missing, or statistics of ANALYZE are stale and say that the table
// is small.
func (s *surveyor) plans() error {
	analyzed, err := s.analyzed()
	if err != nil {
		return err
	}
	scans := map[string][]string{} // the names of statements, by table
	for _, t := range s.of.Tables {
		statements := append(ownStatements(t), documentedStatements(t)...)
		for _, p := range statements {
			if p.wide && analyzed {
				continue
			}
			table, err := s.scanned(p)
			if err != nil {
				return err
			}
			if table != "" {
				scans[table] = append(scans[table], p.name)
			}
		}
	}
	for _, table := range slices.Sorted(maps.Keys(scans)) {
		if err := s.reportScan(table, scans[table], analyzed); err != nil {
			return err
		}
	}
	return nil
}

// reportScan reports a full table scan. While statistics say that the table is small,
// and it is, a scan is the best way to read it.
func (s *surveyor) reportScan(table string, names []string, analyzed bool) error {
	f := audit.PlanScan.Finding("the whole table %s is read for: %s", table, strings.Join(names, ", "))
	f.Remedy.Text = "create the indexes of " + table + " again as docs/format/sqlite.md says"
	if analyzed {
		f.Remedy.Text = "if no index of " + table + " is missing, renew the statistics: sqlite3 FILE ANALYZE"
	}
	if analyzed || table == commitsTable {
		n, err := s.r.QueryInt(fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s LIMIT ?)`, table), s.limits.Rows+1)
		if err != nil || n <= s.limits.Rows {
			return err
		}
	}
	return s.push(f)
}

const commitsTable = "commits"

// analyzed reports whether the file has statistics.
func (s *surveyor) analyzed() (bool, error) {
	n, err := s.r.QueryInt(`SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'`)
	if err != nil || n == 0 {
		return false, err
	}
	n, err = s.r.QueryInt(`SELECT count(*) FROM sqlite_stat1`)
	return n > 0, err
}

// scanned returns the table that a statement scans, or "". It may scan an index
// instead, or make one first, which is no better.
func (s *surveyor) scanned(p planned) (string, error) {
	args := make([]any, strings.Count(p.sql, "?"))
	lines, err := s.r.QueryPlan(p.sql, args...)
	if err != nil {
		return "", err
	}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		table, grows := p.tables[words[1]]
		if grows && (words[0] == "SCAN" || strings.Contains(line, "AUTOMATIC")) {
			return table, nil
		}
	}
	return "", nil
}

// ownStatements are those that most reads and writes come down to.
func ownStatements(t *layout.Table) []planned {
	names := map[string]string{"c": t.Current, "h": t.History, "s": t.History, "f": t.History, "head": commitsTable}
	commit := fmt.Sprintf(`SELECT count(*) FROM %s h WHERE h.commit_id = ?`, t.History)
	return []planned{
		{"get", t.Get, names, false},
		{"get as of a commit", t.GetAt, names, false},
		{"lookup", t.Lookup, names, false},
		{"newest version", `SELECT ` + t.Newest("?"), names, false},
		{"first version", t.FirstRow, names, false},
		{"the versions of a commit", commit, names, false},
	}
}

// documentedStatements are those that the original program documents.
func documentedStatements(t *layout.Table) []planned {
	typ, keys := t.Columns[0], t.Columns[1:]
	on, same := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		on[i] = fmt.Sprintf("v.%[1]s = latest.%[1]s", k)
		same[i] = k + " = ?"
	}
	list := strings.Join(keys, ", ")
	latest := func(bound string) string {
		return fmt.Sprintf(`SELECT v.%s, v.fields_json, v.commit_id FROM %s v INNER JOIN (
				SELECT %s, MAX(commit_id) AS max_cid FROM %[2]s i WHERE %[4]s = ?%[5]s GROUP BY %[3]s
			) latest ON %[6]s AND v.commit_id = latest.max_cid WHERE v.%[4]s = ?`,
			strings.Join(keys, ", v."), t.History, list, typ, bound, strings.Join(on, " AND "))
	}
	names := map[string]string{"v": t.History, "i": t.History}
	return []planned{
		{"documented: latest of one", fmt.Sprintf(`SELECT fields_json, commit_id FROM %s v WHERE %s = ? AND %s ORDER BY commit_id DESC LIMIT 1`,
			t.History, typ, strings.Join(same, " AND ")), names, false},
		{"documented: latest of all", latest(""), names, true},
		{"documented: as of a commit", latest(" AND commit_id <= ?"), names, true},
		{"documented: full history", fmt.Sprintf(`SELECT %s, fields_json, commit_id FROM %s v WHERE %s = ? ORDER BY commit_id ASC`, list, t.History, typ), names, true},
	}
}

// indexUse finds indexes on fields that have the same value in every row, or are absent
// in every row: they help no filter.
func (s *surveyor) indexUse() error {
	if has, err := layout.HasDerived(s.r.Conn); err != nil || !has {
		return err
	}
	listed, err := layout.ReadDerived(s.r.Conn)
	if err != nil {
		return err
	}
	for _, d := range listed {
		if d.Purpose != layout.ForIndex {
			continue
		}
		if err := s.indexUseOf(d); err != nil {
			return err
		}
	}
	return nil
}

// indexUseOf compares both ends of an index.
func (s *surveyor) indexUseOf(d layout.Derived) error {
	t := layout.Names(d.Kind)
	live := fmt.Sprintf(`FROM %s WHERE %s = '%s' AND op = 'put'`, t.Current, t.Columns[0], d.Type)
	n, err := s.r.QueryInt(fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 %s LIMIT ?)`, live), s.limits.Rows+1)
	if err != nil || n <= s.limits.Rows {
		return err
	}
	value := fmt.Sprintf(`fields ->> '$.%s'`, d.Field)
	same, err := s.r.QueryInt(fmt.Sprintf(`SELECT (SELECT %[1]s %[2]s ORDER BY %[1]s LIMIT 1) IS (SELECT %[1]s %[2]s ORDER BY %[1]s DESC LIMIT 1)`, value, live))
	if err != nil || same == 0 {
		return err
	}
	return s.report(audit.IndexUnused, "%s finds nothing faster: every row of %s has the same value there", d, d.Type)
}
