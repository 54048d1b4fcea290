// Package lake keeps a store on object storage: immutable objects, and one head
// that is replaced by compare-and-swap.
//
//	b, err := file.Open("/var/lib/crm", &file.Options{Create: true}) // or s3.Open
//	l, err := lake.Open(ctx, b, nil)
//	s, err := store.Open(ctx, l, onto.TypeOf[Customer]())
//	defer s.Close()
//
// Packages bucket/file and bucket/s3 are the buckets.
//
// Package protocol has the log: the head, what it leads to, and how it is published.
// This package groups callers into rounds and decides their drafts (writer, group,
// decide); long streams become files on disk (stream, pieces). The rest is in packages
// that know no backend: datafile finds versions in files, query answers questions from
// them, compact merges them, derived tells other programs about them, and check
// examines it all.
package lake
