// Package datafile finds versions in the data files of a lake, in local copies that
// are fetched when they are needed, and writes such files.
package datafile
