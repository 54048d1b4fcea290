// Package lake keeps a store on object storage: immutable objects, and one head
// that is replaced by compare-and-swap.
//
// Package protocol has the log: the head, what it leads to, and how it is published.
// Around it, callers are brought together into rounds and what they want is
// decided (writer, group, decide), long streams become files on disk (stream, pieces, parts),
// questions are answered in process or by DuckDB from local copies of files (query,
// plain, database, files), and objects are kept in order (compact,
// janitor, derive, check).
package lake
