package main

import (
	"database/sql"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// original DIR makes the files of the original program in a directory: v1.db, and the
// directory export, which its export made of that.
func original(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: original DIR")
	}
	from, to := filepath.Join("..", "..", "backend", "sqlite", "testdata"), ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(to, 0o777))
	dump, err := os.ReadFile(filepath.Join(from, "original-v1.sql"))
	ts.Check(err)
	db, err := sql.Open("sqlite3", filepath.Join(to, "v1.db"))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(string(dump))
	ts.Check(err)
	ts.Check(os.CopyFS(filepath.Join(to, "export"), os.DirFS(filepath.Join(from, "original", "export"))))
}
