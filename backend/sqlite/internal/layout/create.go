package layout

import (
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/uuid"
)

// Create makes the tables of an empty file.
func Create(w *driver.Conn) error {
	err := w.Script(createTables + createEngine)
	if err == nil {
		id := uuid.V4()
		err = w.Exec(`INSERT INTO onto_meta (id, format, store_id, onto_sum) VALUES (1, ?, ?, ?)`, Format, id, SumOf(&w.Scratch, []any{id, nil}))
	}
	return err
}

// MetaSums is what the checksum of onto_meta covers, and the checksum.
const (
	MetaSums      = `store_id, copy_json, onto_sum`
	MetaSumsWidth = 2
)

// AddMissing makes tables and indexes that are missing, and the columns that the shape of
// the file lacks.
func AddMissing(w *driver.Conn, s *Shape) error {
	if err := w.Script(s.lacks + createLookup + createSchemas + createAdditions); err != nil {
		return err
	}
	return NumberEvents(w)
}
