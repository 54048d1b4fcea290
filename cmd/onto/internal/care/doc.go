// Package care has the verbs that look after storage: checks and repairs, copies,
// leases, and what a lake needs now and then.
package care
