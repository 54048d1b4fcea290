// Package filter is the filter language: it reads filters from text, writes
// them, checks them against a schema, and defines what they mean.
//
//	$.tier == "Gold" & ($.age >= 21 | ~$.email.is_null())
//
// # Text
//
// A path leads from the fields to a value: $.a, $.a.b, $."content-type". In queries for
// relations, left.$.a and right.$.a read the endpoints. A name is a letter or
// underscore and then letters, digits and underscores; any other name is quoted, as a
// JSON string.
//
// A path is compared by == != < <= > >= with a string, a number, true or
// false, written as in JSON, or tested by one of
//
//	.in_(["a", "b"])  .startswith("a")  .endswith("a")  .contains("a")
//	.is_null()  .is_not_null()  .is_true()  .is_false()
//
// Between the path of a list and the test, .any() asks for some element and
// .any_path("b.c") for what a path leads to in some element.
//
// Conditions are joined by & and |, of which & binds tighter, and negated by ~,
// which binds tightest; and, or and not mean the same. The words true and
// false are filters too.
//
// In filters on groups, operands are what was grouped by and aggregates: count,
// count_distinct:$.a, sum:$.a, avg:$.a, min:$.a, max:$.a, avg_len:$.a. Groups can be made
// of the periods of times: $.a.day(), $.a.week(), $.a.month(), $.a.year(), each of which
// is the date of its first day.
//
// # Meaning
//
// A filter is true or false. A missing path, a JSON null and a value of another kind
// fail every comparison and every test for strings and bools. But x != v is
// x.is_not_null() & ~(x == v), so that a value of another kind is unequal. Numbers
// compare exactly, strings by code point; tests for strings are literal and
// case-sensitive. With any, the test holds for one of the elements; a value that is not
// a list has none.
package filter
