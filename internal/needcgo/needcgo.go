// Package needcgo is imported by packages that are written in C in part. Without cgo it
// does not compile, and says what a build needs, in place of what they would miss.
package needcgo
