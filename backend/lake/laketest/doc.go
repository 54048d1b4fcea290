// Package laketest holds tests of lakes as their users see them: the whole
// contract on every kind of bucket, with compaction and with DuckDB alone, many
// processes and kills, and the recipes for stock S3 clients. It has no other code;
// the protocol's own tests are in package protocol.
//
// The data files of lakes are for other programs, too. Those that the contract makes on
// files are left in a directory for another reader, if an environment variable names one:
//
//	TEST_KEEP_LAKES="$PWD/lakes" go test -count=1 ./backend/lake/laketest -run TestContractOnFiles
//	(cd tools/arrowread && go run . ../../lakes)
package laketest
