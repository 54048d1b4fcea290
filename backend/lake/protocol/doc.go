// Package protocol keeps a log on object storage: immutable objects, and one head that
// is replaced by compare-and-swap.
//
// The head is the root. It names the newest manifest, which tells the commits of one
// round and their files, and the catalog, which tells the types. Only a swap of the
// head publishes. docs/format/lake.md has every key and field.
//
//   - [Log] reads: the head, what it leads to, the rounds, checkpoints and data files.
//   - [Publisher] writes: it uploads what a [Planner] proposes, swaps the head, and
//     finds out what became of a swap.
//   - [Leases] takes leases and says whether a draft may be committed under them.
//   - [Janitor] finds and removes the objects that no head leads to.
//
// The package knows [bucket.Bucket] alone, and nothing of the contents of data files.
// Time, randomness and the names of attempts are injected, so that a scheduler with a
// seed can drive many processes through every order of events.
package protocol
