// Package compact merges files of a type whose commits follow each other into one. It
// loses nothing: every version keeps its commit. It is published like everything else,
// by a head that names another catalog.
package compact
