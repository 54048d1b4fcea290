// Package care has the verbs for storage: checks and repairs, copies, leases, and the
// maintenance of a lake.
package care
