package layout

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/refusal"
)

// Format is the version of what this package adds to the original's tables. A file of the
// oldest format that is opened is read as it is, and upgraded before anything is written.
const (
	Format       = 8
	OldestFormat = 7
)

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
	Whole  bool   // it is of this format, and no table, column or index of ours is missing
	Shape  *Shape // nil where only the format is judged
}

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
	switch {
	case len(s.names) == 0:
		return File{Kind: Empty}, nil
	case s.has("onto_meta"):
		return s.ours(c)
	case s.has("commits", "entity_history", "relation_history"):
		return s.other(c, Original)
	case s.has("work_items"):
		return File{Kind: WorkState}, nil
	}
	return s.other(c, OtherDatabase)
}

// ours tells the format of a store, and whether all of it is there.
func (s *Shape) ours(c *driver.Conn) (File, error) {
	if err := s.odd["onto_meta"]; err != nil {
		return File{}, err
	}
	format, err := c.QueryInt(`SELECT format FROM onto_meta`)
	found := File{Kind: Ours, Format: PlainFormat(format)}
	if err != nil || !found.Opens() {
		return found, err
	}
	if err := s.sound(); err != nil {
		return File{}, err
	}
	found.Whole = found.Format == Format && s.whole()
	if format != found.Format {
		found.Copy, err = ReadCopy(c)
	}
	return found, err
}

// other tells the engine of the original program that a file is for. A later engine may
// have no other table of its own.
func (s *Shape) other(c *driver.Conn, kind FileKind) (File, error) {
	engine, err := "", s.odd["storage_meta"]
	if err == nil {
		engine, err = s.engine(c)
	}
	return File{Kind: kind, Engine: engine}, err
}

func (s *Shape) has(tables ...string) bool {
	return !slices.ContainsFunc(tables, func(n string) bool { return !slices.Contains(s.names, n) })
}

// whole reports whether every table, column and index is there without which statements
// fail.
func (s *Shape) whole() bool {
	return s.LacksOnlyIndexes() && s.hasIndexes(indexNames(createLookup+createAdditions))
}

// LacksOnlyIndexes reports whether every table and column is there.
func (s *Shape) LacksOnlyIndexes() bool { return s.lacks == "" && s.hasTables() }

// LacksOnlyCreated reports whether the columns of format 8, and maybe indexes, are all that is
// missing.
func (s *Shape) LacksOnlyCreated() bool {
	added := 0
	for _, statement := range strings.SplitAfter(s.lacks, ";") {
		if strings.HasSuffix(statement, " ADD COLUMN created_commit_id INTEGER;") {
			added++
		}
	}
	return added == len(Tables{}) && added == strings.Count(s.lacks, ";") && s.hasTables()
}

func (s *Shape) hasTables() bool { return s.has(slices.Collect(maps.Keys(declaredTables()))...) }

// SetFormat gives a file the present format. Whether a copy into the store has ended stays as it is.
func SetFormat(w *driver.Conn, f *File) error {
	if f.Format == Format {
		return nil
	}
	return w.Exec(`UPDATE onto_meta SET format = format + ?`, Format-f.Format)
}

// hasIndexes reports whether the indexes are there.
func (s *Shape) hasIndexes(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(s.indexes, name) })
}

// Opens reports whether the file is a store of a format that is opened.
func (f *File) Opens() bool {
	return f.Kind == Ours && OldestFormat <= f.Format && f.Format <= Format
}

// Check refuses what is no store of a format that is opened. A new store can be filled with what the
// original program or an older format of this one has kept.
func (f File) Check(path string) error {
	what := ""
	switch {
	case f.Kind == Ours && f.Format > Format:
		return refusal.NewerFormat(path, int(f.Format), Format)
	case f.Kind == Ours && f.Format < OldestFormat:
		what = fmt.Sprintf("it is a store of format %d, and this program keeps stores of format %d", f.Format, Format)
	case f.Kind == Original && (f.Engine == "" || f.Engine == "v1" || f.Engine == "v2"):
		what = "it is a file of the original Ontologia program"
	case f.Kind == WorkState:
		return onto.Errorf(onto.Unsupported, "%s: it is a work queue of another program", path).
			WithHint("take its items into a store").WithCommand("work", "import", path)
	case f.Kind == Original || f.Kind == OtherDatabase && f.Engine != "":
		return onto.Errorf(onto.Unsupported, "%s: it is for the engine %.20q of the original Ontologia program, which is not known", path, f.Engine).
			WithHint("use a newer onto")
	case f.Kind == OtherDatabase:
		return onto.Errorf(onto.Unsupported, "%s: it is a SQLite database of another program", path).
			WithHint("name another file with --db")
	default:
		return nil
	}
	return onto.Errorf(onto.Unsupported, "%s: %s", path, what).
		WithHint("copy it into a new store; the file stays as it is").WithCommand("copy", path, beside(path), "--apply")
}

// beside is the path of a new file beside another.
func beside(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-new" + ext
}
