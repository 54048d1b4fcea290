package main

import (
	"bufio"
	"os"

	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

func recordBenchmarks() []benchmark {
	return []benchmark{{"B11", "heap growth of exports and imports", "sqlite", moveRecords}}
}

// moveRecords is a part of B11: out of one store into a file, and from there
// into another store, as one commit.
func moveRecords(e *env) []row {
	w, n := plain(), e.entities()
	from := e.openStore(e.history(w, n, 1))
	var rows []row
	for _, format := range []records.Format{records.JSONL, records.CSV} {
		file := e.fresh("records." + string(format))
		to := e.openStore(e.fresh("imported.db"))
		exporting := watch(func() { e.export(from, file, format, n) })
		importing := watch(func() { e.importFile(to, file, format, n) })
		e.checkBytes(to, w.row(n-1, 0))
		what := thousands(int64(n)) + " records as " + string(format)
		rows = append(rows,
			exporting.row("heap growth: export of "+what, n, noGoal()),
			importing.row("heap growth: import of "+what, n, noGoal()))
	}
	return rows
}

func (e *env) export(s *store.Store, path string, format records.Format, want int) {
	f, err := os.Create(path)
	e.must(err)
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<16)
	n, err := records.Export(e.ctx, s, out, &records.ExportOptions{Format: format, Types: []string{typeName}})
	e.must(err)
	e.must(out.Flush())
	e.assert(n == int64(want), "the export has %d records, want %d", n, want)
}

func (e *env) importFile(s *store.Store, path string, format records.Format, want int) {
	f, err := os.Open(path)
	e.must(err)
	defer f.Close()
	o := &records.ImportOptions{Format: format}
	if format == records.CSV {
		o.Type = typeName
	}
	done, err := records.Import(e.ctx, s, f, o)
	e.must(err)
	e.assert(done.Inserts == int64(want), "the import made %d of %d records", done.Inserts, want)
}
