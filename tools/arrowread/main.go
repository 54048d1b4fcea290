// Arrowread reads Parquet files with arrow-go, to the last value, and fails if one of them
// is not what the format says. Other programs read the data files of lakes; this is a
// reader of them that shares no code with the one that wrote them.
//
//	TEST_KEEP_LAKES="$PWD/lakes" go test -count=1 ./backend/lake/laketest -run TestContractOnFiles
//	(cd tools/arrowread && go run . ../../lakes)
//
// Arguments are files, and directories in which every file called *.parquet is read. Of
// each file it reads all columns of all row groups, twice: with arrow-go's column readers
// and into Arrow tables, which must give the same values. It compares
//
//   - the rows of columns, row groups and pages with the numbers of the footer,
//   - statistics of row groups, and the bounds of pages in the page index, with the values,
//   - the pages of the page index with where the rows are.
//
// Checksums of pages are not compared: arrow-go does not read them, and lakes have none.
// What they would find is found by the checksum of each zstd frame.
//
// It prints what it has read. It exits with status 1 if a file has a problem, after all
// files were read, or if there is no file.
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run reads what the arguments name, and returns the exit status.
func run(args []string, out, problems io.Writer) int {
	var total counts
	failed := 0
	for _, arg := range args {
		err := eachFile(arg, func(name string) {
			read, err := readFile(name)
			if err != nil {
				failed++
				fmt.Fprintf(problems, "%s: %v\n", name, err)
			}
			total.add(read)
		})
		if err != nil {
			failed++
			fmt.Fprintln(problems, err)
		}
	}
	fmt.Fprintf(out, "%d files, %d rows, %d columns read\n", total.files, total.rows, total.columns)
	switch {
	case failed > 0:
		fmt.Fprintf(problems, "%d problems\n", failed)
		return 1
	case total.files == 0:
		fmt.Fprintln(problems, "there is no Parquet file")
		return 1
	}
	return 0
}

// counts is what was read.
type counts struct {
	files, rows int64
	columns     int64 // of files, however many row groups these have
}

func (c *counts) add(other counts) {
	c.files += other.files
	c.rows += other.rows
	c.columns += other.columns
}

// eachFile calls a function with a file, or with the Parquet files below a directory.
func eachFile(name string, do func(name string)) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		do(name)
		return nil
	}
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".parquet" {
			do(path)
		}
		return err
	})
}
