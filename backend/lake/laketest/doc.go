// Package laketest holds tests of lakes as their users see them: the whole
// contract on every kind of bucket, with compaction and with DuckDB alone, many
// processes and kills, and the recipes for stock S3 clients. It has no other code;
// the protocol's own tests are in package protocol.
package laketest
