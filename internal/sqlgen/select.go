package sqlgen

// Select is a statement that yields rows.
type Select struct {
	Columns, From Part
	Where         []Part
	Keys          []Key // what the rows are sorted by
	Order         Part  // and after that; the zero Part for any order
	Skip, Take    int   // leave out so many of the first; at most so many, 0 for all
}

// Statement writes it in a dialect.
func (s *Select) Statement(d Dialect) Part {
	sql := SQL("SELECT ? FROM ? WHERE ?", s.Columns, s.From, All(s.Where...))
	if s.Order.SQL != "" {
		order := s.Order
		if len(s.Keys) > 0 {
			order = Join(", ", OrderBy(s.Keys), order)
		}
		sql = SQL("? ORDER BY ?", sql, order)
	}
	if s.Skip > 0 || s.Take > 0 {
		sql = d.Page(sql, max(0, s.Skip), max(0, s.Take))
	}
	return sql
}
