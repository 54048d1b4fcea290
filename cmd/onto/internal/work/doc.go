// Package work has the verbs of the work queue: to fill it, look at it, change what has
// become of its items, and to run a crawl.
package work
