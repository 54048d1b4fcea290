// Package arch holds the tests of the structure of this module: which package may
// import which, how long a file may be, and how packages are named and documented.
package arch
