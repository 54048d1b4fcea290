package layout

import "github.com/ontologia/onto/backend/sqlite/internal/driver"

// ownEngine is the word in a store's file by which the original program sees that it is not
// for an engine of its own.
const ownEngine = "onto-go"

const createEngine = `
CREATE TABLE IF NOT EXISTS storage_meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT OR REPLACE INTO storage_meta (key, value) VALUES ('engine_version', '` + ownEngine + `');
`

// engine reads for which engine the file is; "" if it does not say.
func (s *Shape) engine(c *driver.Conn) (string, error) {
	if !s.has("storage_meta") || !s.columns[[2]string{"storage_meta", "key"}] || !s.columns[[2]string{"storage_meta", "value"}] {
		return "", nil
	}
	row, ok, err := c.QueryRow(`SELECT value FROM storage_meta WHERE key = 'engine_version' LIMIT 1`)
	if err != nil || !ok {
		return "", err
	}
	return row.Text(0), nil
}
