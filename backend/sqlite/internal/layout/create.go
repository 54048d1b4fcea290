package layout

import (
	"strings"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/uuid"
)

// Create makes the tables of an empty file.
func Create(w *driver.Conn) error {
	err := w.Script(createTables + createEngine)
	if err == nil {
		id := NewID()
		err = w.Exec(`INSERT INTO onto_meta (id, format, store_id, onto_sum) VALUES (1, ?, ?, ?)`, Format, id, SumOf(&w.Scratch, []any{id, nil, nil}))
	}
	return err
}

// MetaSums is what the checksum of onto_meta covers, and the checksum.
const (
	metaColumns   = `store_id, copy_json, lineage`
	MetaSums      = metaColumns + `, onto_sum`
	MetaSumsWidth = 3

	metaCopy, metaLineage = 1, 2 // among these columns
)

// changeMeta sets a column of onto_meta that its checksum covers. A checksum that is not right
// stays as it is.
func changeMeta(w *driver.Conn, column int, value any) error {
	r, ok, err := w.QueryRow(`SELECT ` + MetaSums + ` FROM onto_meta`)
	if err != nil || !ok {
		return err
	}
	right := CheckSum(r, MetaSumsWidth) == SumRight
	r.Vals[column] = value
	if right {
		r.Vals[MetaSumsWidth] = SumOf(r.Scratch, r.Vals[:MetaSumsWidth])
	}
	return w.Exec(`UPDATE onto_meta SET `+strings.Split(metaColumns, ", ")[column]+` = ?, onto_sum = ?`, value, r.Vals[MetaSumsWidth])
}

// NewID is the id of a new store or lineage.
func NewID() string { return uuid.V4() }

// AddMissing makes tables and indexes that are missing, and the columns that the shape of
// the file lacks.
func AddMissing(w *driver.Conn, s *Shape) error {
	if err := w.Script(s.lacks + createLookup + createSchemas + createAdditions); err != nil {
		return err
	}
	return NumberEvents(w)
}
