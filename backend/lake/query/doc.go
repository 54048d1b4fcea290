// Package query answers questions about a lake from the files that a head leads to, in
// process or by DuckDB on local copies.
package query
