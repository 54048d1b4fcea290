package layout

import (
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/refusal"
)

// Format is the version of what this package adds to the original's tables.
const Format = 7

// FileKind is what a file turns out to be.
type FileKind uint8

// The kinds of files.
const (
	Empty         FileKind = iota
	Ours                   // has our tables
	Original               // written by the original program
	WorkState              // a work queue of another program
	OtherDatabase          // some other database
)

// File is what is known about a file.
type File struct {
	Kind   FileKind
	Format int64
	Engine string // that the file is for, in the original program's words
	Copy   backend.CopyState
	Shape  *Shape // nil where only the format is judged
}

// Adoptable reports whether another program made the file, and our tables can be added.
func (f File) Adoptable() bool { return f.Kind == Original || f.Kind == WorkState }

// Inspect finds out what a file is. It writes nothing, and reads a table only after
// making sure that it is a plain one.
func Inspect(c *driver.Conn, path string) (File, error) {
	s, err := readShape(c, path)
	if err != nil {
		return File{}, err
	}
	found, err := s.kind(c)
	found.Shape = s
	return found, err
}

// kind tells the kind of a file by its tables.
func (s *Shape) kind(c *driver.Conn) (File, error) {
	has := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(n string) bool { return !slices.Contains(s.names, n) })
	}
	switch {
	case len(s.names) == 0:
		return File{Kind: Empty}, nil
	case has("onto_meta"):
		if err := s.sound(); err != nil {
			return File{}, err
		}
		format, err := s.format(c, has)
		if err != nil {
			return File{}, err
		}
		found := File{Kind: Ours, Format: format}
		if format > unfinished {
			found.Format -= unfinished
			if found.Copy, err = ReadCopy(c); err != nil {
				return File{}, err
			}
		}
		found.Engine, err = s.engine(c, has)
		return found, err
	case has("commits", "entity_history", "relation_history"):
		if err := s.sound(); err != nil {
			return File{}, err
		}
		engine, err := s.engine(c, has)
		return File{Kind: Original, Engine: engine}, err
	case has("work_items") && s.hasIndexes([]string{"ix_work_items_dedupe"}) && s.odd["work_items"] == nil:
		return File{Kind: WorkState}, s.sound()
	case has("storage_meta"): // perhaps of a later engine
		if err := s.odd["storage_meta"]; err != nil {
			return File{}, err
		}
		engine, err := s.engine(c, has)
		return File{Kind: OtherDatabase, Engine: engine}, err
	}
	return File{Kind: OtherDatabase}, nil
}

// format is the format of a file of ours. If another program has dropped what a
// format added, it is the one before: an upgrade brings it back.
func (s *Shape) format(c *driver.Conn, has func(tables ...string) bool) (int64, error) {
	format, err := c.QueryInt(`SELECT format FROM onto_meta`)
	switch {
	case err != nil || format > Format:
		return format, err
	case !has("onto_derived", "onto_entity_past", "onto_relation_past"):
		return min(format, 1), nil
	case !has("onto_leases", "onto_lease_breaks") || s.lacks != "":
		return min(format, 2), nil
	case !has(BusTables()...) || s.lacksBus != "" || !s.hasIndexes(BusIndexes()):
		return min(format, 3), nil
	case !has(WorkTables()...) || s.lacksWork != "" || !s.hasIndexes(WorkIndexes()):
		return min(format, 4), nil
	case !has(FactTables()...) || !s.hasIndexes(FactIndexes()):
		return min(format, 5), nil
	case s.lacksCopy != "":
		return min(format, 6), nil
	}
	return format, nil
}

// hasIndexes reports whether the indexes are there without which statements fail.
func (s *Shape) hasIndexes(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(s.indexes, name) })
}

// Check refuses what cannot be opened.
func (f File) Check(path string) error {
	switch {
	case f.Engine != "" && f.Engine != firstEngine && f.Engine != secondEngine && f.Engine != ownEngine:
		return onto.Errorf(onto.Unsupported, "%s: it is for the engine %.20q of the original Ontologia, and this program knows %s and %s", path, f.Engine, firstEngine, secondEngine).
			WithHint("use a newer version of this program, or export it there as JSON Lines and import that here")
	case f.Kind == OtherDatabase:
		return onto.Errorf(onto.Unsupported, "%s: a SQLite database of another program", path).
			WithHint("name another file with --db")
	case f.Kind == Ours && f.Format > Format:
		return refusal.NewerFormat(path, int(f.Format), Format)
	}
	return nil
}
