package main

import (
	"strings"

	"github.com/ontologia/onto"
)

// criterion is a condition, in the forms that the sides need.
type criterion struct {
	filter onto.Filter
	sql    string // on a document called fields
	args   []any
	match  func(c *Customer) bool
}

// on is the condition as SQL on another document.
func (c criterion) on(document string) string {
	return strings.ReplaceAll(c.sql, "fields", document)
}

// count is how many of the first n customers match in a version.
func (c criterion) count(w workload, n, version int) (count int) {
	for i := range n {
		if one := w.customer(i, version); c.match(&one) {
			count++
		}
	}
	return count
}

// ofTier is true for a tier; Gold is one in ten.
func ofTier(name string) criterion {
	return criterion{
		onto.Path("tier").Eq(name), `json_extract(fields, '$.tier') = ?`, []any{name},
		func(c *Customer) bool { return c.Tier == name },
	}
}

// inCity is true for one of the districts.
func inCity(district int) criterion {
	name := city(district)
	return criterion{
		onto.Path("city").Eq(name), `json_extract(fields, '$.city') = ?`, []any{name},
		func(c *Customer) bool { return c.City == name },
	}
}

// below is true for a balance less than a number: one in a hundred for 10, all
// for 1,000, in the first version.
func below(balance float64) criterion {
	return criterion{
		onto.Path("balance").Lt(balance), `json_extract(fields, '$.balance') < ?`, []any{balance},
		func(c *Customer) bool { return c.Balance < balance },
	}
}

// between is true for a balance from one number up to another.
func between(from, to float64) criterion {
	return criterion{
		onto.And{onto.Path("balance").Ge(from), onto.Path("balance").Lt(to)},
		`json_extract(fields, '$.balance') >= ? AND json_extract(fields, '$.balance') < ?`, []any{from, to},
		func(c *Customer) bool { return c.Balance >= from && c.Balance < to },
	}
}
