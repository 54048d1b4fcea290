// Package lake keeps a store on object storage: immutable objects, and one head
// that is replaced by compare-and-swap.
//
// The head is the root. It names the newest manifest, which tells the commits
// of one round and their files, and the catalog, which tells the types. Whoever
// swaps the head has published; nothing else counts. docs/format/lake.md has
// every key and field.
//
// The protocol (head, publish, round, log, lease) is written over [bucket.Bucket]
// alone and takes time and chance from outside, so that a scheduler with a seed
// can drive many writers through every order of events.
//
// Around it, callers are brought together into rounds and what they want is
// decided (group, decide), long streams are spooled to disk (stream, spool, parts),
// questions are answered in process or by DuckDB from local copies of files (query,
// plain, database, files), and objects are kept in order (compact, checkpoint,
// janitor, derive, check).
package lake
