// Package work ingests: a queue of resources to fetch that many processes share, kept in
// the store's file, and a runner that fetches them, writes what it got, discovers more,
// and can be killed and started again at any point.
//
//	q, err := work.Open(s)
//	fresh, err := q.Enqueue(ctx, work.Item{System: "http", Source: "docs", Type: "page", ID: "/", URI: site})
//	sum, err := (&work.Runner{
//		Queue:      q,
//		Connectors: map[string]work.Connector{"http": work.HTTP(nil)},
//		Writers:    []work.Writer{work.Ensure(s, toPage)},
//		Discover:   []work.Discovery{work.Links(&work.LinkOptions{Depth: 3})},
//	}).Run(ctx, &work.RunOptions{Workers: 8, Limits: work.Limits{"docs": {Concurrent: 2, PerSecond: 5}}})
//
// # Items
//
// An item is a resource of a source. Enqueueing it again changes nothing: system, source,
// type and id tell items apart, and with [ScopeRun] the run, too. Lower priority numbers
// come first, then earlier items.
//
// # Attempts
//
// A worker takes an item under a lease and renews it while it works. Each attempt is kept,
// with how it ended and why. If a process dies, its leases run out: the attempts are lost,
// and the items are taken again. What an attempt has to say (its end, the item's status,
// the items that were discovered) becomes true at once, and only while the lease is held.
//
// Writing happens before that, so an item can be written again after a crash. Writers must
// not mind: [Ensure] makes no commit for what is so already, [Directory] replaces a file.
//
// # Failures
//
// An error of a connector, writer or discovery is a failed attempt. The item is tried again
// after a pause that grows, or when the source says ([Temporary]), until it has been tried
// [RunOptions].MaxAttempts times. [Permanent] errors, and those with the codes Invalid,
// TooLarge, Refused, Unsupported, UnsupportedOperation, NotFound and Conflict, fail the item at
// once; [SkipItem] skips it. A panic is an error. An item that earlier runs have tried as often
// as this one would fails without another try. Failed items stay until [Queue.Retry] or
// [Queue.Recrawl].
//
// # What is kept
//
// Everything, until [Queue.Clean] removes what is over by age and count. A queue that runs for
// years keeps its items, so that it knows them, and bounds attempts and runs.
package work
