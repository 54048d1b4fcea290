package layout

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// CopyFormat is the first format that tells about the copy that filled the store.
const CopyFormat = 7

// unfinished is added to the format of a store while the copy that fills it has not ended.
// So programs that know nothing of copies refuse it, too.
const unfinished = 1_000_000

// keptCopy is a [backend.CopyState] as it is stored. Whether the copy has ended is told by
// the format.
type keptCopy struct {
	Origin     string `json:"origin"`
	Flags      string `json:"flags"`
	Commit     int64  `json:"commit"`
	Sum        string `json:"sum"`
	Unfinished bool   `json:"-"`
}

// ReadCopy reads what the store says about the copy that filled it.
func ReadCopy(c *driver.Conn) (backend.CopyState, error) {
	row, ok, err := c.QueryRow(`SELECT copy_json, format FROM onto_meta`)
	if err != nil || !ok {
		return backend.CopyState{}, err
	}
	var kept keptCopy
	if !row.Null(0) {
		if err := json.Unmarshal(row.Bytes(0), &kept); err != nil {
			return backend.CopyState{}, onto.Errorf(onto.Corrupt, "what is kept about the copy that filled the store cannot be read: %w", err).
				WithHint("%s", RestoreRemedy)
		}
	}
	kept.Unfinished = row.Int(1) > unfinished
	return backend.CopyState(kept), nil
}

// WriteCopy writes it, in a transaction that also increments the counter of what is derived:
// by that others notice a copy that begins.
func WriteCopy(w *driver.Conn, s backend.CopyState) error {
	format := Format
	if s.Unfinished {
		format += unfinished
	}
	var text any
	if s != (backend.CopyState{}) {
		kept, err := json.Marshal(keptCopy(s))
		if err == nil {
			kept, err = codec.AppendCanonical(nil, kept)
		}
		if err != nil {
			return err
		}
		text = string(kept)
	}
	if err := changeMeta(w, metaCopy, text); err != nil {
		return err
	}
	return w.Exec(`UPDATE onto_meta SET format = ?`, format)
}

// CheckCopied fails if the copy that fills the store has not ended. The format is that of
// onto_meta as it was read last.
func CheckCopied(c *driver.Conn, path string, format int64) error {
	if format <= unfinished {
		return nil
	}
	s, err := ReadCopy(c)
	if err != nil {
		return err
	}
	return refusal.CopyUnfinished(path, &s)
}

// PlainFormat is a format without the mark of an unfinished copy.
func PlainFormat(format int64) int64 {
	if format > unfinished {
		return format - unfinished
	}
	return format
}
