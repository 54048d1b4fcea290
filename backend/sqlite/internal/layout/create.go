package layout

import (
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/uuid"
)

// Create makes the tables of an empty file.
func Create(w *driver.Conn) error {
	err := w.Script(createTables + createEngine)
	if err == nil {
		err = w.Exec(`INSERT INTO onto_meta (id, format, store_id) VALUES (1, ?, ?)`, Format, uuid.V4())
	}
	return err
}

// AddMissing makes tables and indexes that are missing, and the columns that the shape of
// the file lacks.
func AddMissing(w *driver.Conn, s *Shape) error {
	if err := w.Script(s.lacks + createLookup + createSchemas + createAdditions); err != nil {
		return err
	}
	return NumberEvents(w)
}
