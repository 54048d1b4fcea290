package check

import (
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
)

// columnFlaw is the first row of a file where a typed column does not say what the
// fields say, and how many there are.
type columnFlaw struct {
	parquet.Flaw
	id     onto.Identity
	commit int64
	rows   int
}

// compare notes the flaws of a row, one for each column and reason. A column that
// cannot hold the value of the fields is no flaw unless the file says that it can.
func (s *contents) compare(f *protocol.FileEntry, row *parquet.Checked) {
	for _, flaw := range row.Flaws {
		if flaw.Unfit && !f.Typed {
			continue
		}
		i := slices.IndexFunc(s.columns, func(c columnFlaw) bool { return c.Column.Name == flaw.Column.Name && c.Unfit == flaw.Unfit })
		if i < 0 {
			i = len(s.columns)
			s.columns = append(s.columns, columnFlaw{Flaw: flaw, id: row.Identity, commit: row.Commit})
		}
		s.columns[i].rows++
	}
}

// columns reports the typed columns of a file that do not say what the fields say.
// Where they are not used for answers that is a warning: other programs may use
// them.
func (h *history) columns(f *protocol.FileEntry, seen *contents) error {
	remedy := onto.NewHint("restore the object from a backup if the type has no other file; otherwise write the columns anew, since the fields are what counts",
		"compact", "--all", "--apply", "--type", f.Type)
	for i := range seen.columns {
		c := &seen.columns[i]
		finding := audit.FileDiffers.Finding
		if !f.Typed {
			finding = audit.FileDiffers.Mild
		}
		found := finding("%s: %s", f.Path, c)
		found.Remedy = remedy
		if err := h.push(found); err != nil {
			return err
		}
	}
	return nil
}

// String names the row and what is wrong there.
func (c *columnFlaw) String() string {
	text := fmt.Sprintf("%s of commit %d: field %s is ", c.id, c.commit, c.Column.Field())
	if c.Fields == "" {
		text += "not in fields_json"
	} else {
		text += c.Fields + " in fields_json"
	}
	switch {
	case c.Unfit:
		text += fmt.Sprintf(", which column %s (%s) does not say, though the file is said to be typed", c.Column.Name, c.Column.Type)
	case c.Stored == "":
		text += fmt.Sprintf(" and NULL in column %s", c.Column.Name)
	default:
		text += fmt.Sprintf(" and %s in column %s", c.Stored, c.Column.Name)
	}
	switch c.rows {
	case 1:
		return text
	case 2:
		return text + "; likewise in another row"
	}
	return text + fmt.Sprintf("; likewise in %d other rows", c.rows-1)
}
