// Package ducktest asks DuckDB in plain SQL, for tests that need a second reader of Parquet.
package ducktest

import (
	"fmt"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// Rows returns the rows of an answer. All of its columns must be texts; NULL is "NULL".
func Rows(sql string) ([][]string, error) {
	var db duckdb.Database
	if duckdb.Open("", &db) == duckdb.StateError {
		return nil, fmt.Errorf("a database in memory cannot be opened")
	}
	defer duckdb.Close(&db)
	var conn duckdb.Connection
	if duckdb.Connect(db, &conn) == duckdb.StateError {
		return nil, fmt.Errorf("no connection")
	}
	defer duckdb.Disconnect(&conn)
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.Query(conn, sql, &res) == duckdb.StateError {
		return nil, fmt.Errorf("%s", duckdb.ResultError(&res))
	}
	for i := range duckdb.ColumnCount(&res) {
		if duckdb.ColumnType(&res, i) != duckdb.TypeVarchar {
			return nil, fmt.Errorf("column %d is no text", i+1)
		}
	}
	var rows [][]string
	for {
		chunk := duckdb.FetchChunk(res)
		if chunk.Ptr == nil {
			return rows, nil
		}
		rows = append(rows, texts(chunk)...)
		duckdb.DestroyDataChunk(&chunk)
	}
}

// texts copies a piece of an answer.
func texts(chunk duckdb.DataChunk) [][]string {
	rows := make([][]string, duckdb.DataChunkGetSize(chunk))
	for i := range duckdb.DataChunkGetColumnCount(chunk) {
		vector := duckdb.DataChunkGetVector(chunk, i)
		values := unsafe.Slice((*duckdb.StringT)(duckdb.VectorGetData(vector)), len(rows))
		valid := duckdb.VectorGetValidity(vector)
		for row := range rows {
			text := "NULL"
			if valid == nil || duckdb.ValidityRowIsValid(valid, duckdb.IdxT(row)) {
				text = duckdb.StringTData(&values[row])
			}
			rows[row] = append(rows[row], text)
		}
	}
	return rows
}
