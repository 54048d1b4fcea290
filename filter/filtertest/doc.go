// Package filtertest is the meaning of the filter language as tests: one corpus
// of cases that every engine must answer alike, and a generator of random
// questions.
//
// The files under corpus are written to be read. A file holds groups, separated by an
// empty line. A group is a comment that says what it covers, its rows, and cases: a
// filter and the keys of the rows for which it is true.
//
//	# A missing path, a JSON null and a value of another kind are never equal.
//	row a {"x":1}
//	row b {"x":"1"}
//	row c {"x":null}
//	row d {}
//	$.x == 1    -> a
//	~($.x == 1) -> b c d
//	$.x != 1    -> b
//
// Instead of keys a case may say all, none, or all but and keys. A case with !!
// is refused, with that text in the message or the hint; one that begins with
// order tells in which order all rows come:
//
//	$.x == null    !! is_null
//	order $.x:desc -> b a c d
//
// The rows are entities of the type Thing, whose fields are any and optional. A
// group can begin with another type:
//
//	type Typed   entities with a field of each field type
//	type Tie     relations from Thing to Thing
//	type Bond    relations from Thing to Typed, with an instance key
//	type Claim   facts about Thing
//	type Note    facts about anything, open to other attributes
//
// The rows of relations have keys as L/R and L/R/I, those of facts S/A/I. Endpoints are
// given by left and right, subjects by left, and deleted stands for one that was deleted:
//
//	type Tie
//	left  l1 {"x":1}
//	right r1 deleted
//	row l1/r1 {"n":1}
//	left.$.x == 1 -> l1/r1
//
// [Run] asks a backend every case, and [Agree] asks two backends random
// questions.
package filtertest
