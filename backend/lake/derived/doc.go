// Package derived writes what a lake tells other programs about its files and types:
// the index of each type, and documents about types beside the catalog. It knows the
// log and no data file. Answers never depend on what it writes.
package derived
