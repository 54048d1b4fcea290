package schemafile

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// File is all that a schema file declares.
type File struct {
	Types []onto.Type // as [Parse] returns them
	Folds []Fold      // by name
}

// Fold is a fold whose program is kept in the store: it makes a state, which is an entity,
// of the facts about each subject.
type Fold struct {
	Name    string
	Version int    // 1 if the file gives none
	Facts   string // the type of the facts
	State   string // the entity type of the states
	Program string // jq: {state, fact, draft} in, the next state out
}

// ParseFile returns all that a schema file declares: types, and below folds what the
// store makes of facts.
//
//	folds:
//	  balance:
//	    facts: Booking
//	    state: Account
//	    version: 2
//	    program: '.state.total += .fact.value | .state'
//
// Whether the types exist, and whether the program is one, is for the store to say.
func ParseFile(data []byte) (File, error) {
	root, err := parseTree(data)
	if err != nil {
		return File{}, err
	}
	r := reader{declared: map[string]position{}}
	if err := r.file(root); err != nil {
		return File{}, err
	}
	slices.SortFunc(r.folds, func(a, b Fold) int { return strings.Compare(a.Name, b.Name) })
	return File{r.types(), r.folds}, nil
}

// ReadFile is ParseFile for a stream. It reads no more than MaxSize allows.
func ReadFile(r io.Reader) (File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return File{}, onto.Errorf(onto.Unavailable, "read schema file: %w", err)
	}
	return ParseFile(data)
}

// eachFold reads the folds.
func (r *reader) eachFold(n *node, path string) error {
	members, err := n.object(path)
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := r.fold(m, join(path, m.name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) fold(m member, path string) error {
	f := Fold{Name: m.name, Version: 1}
	if err := onto.CheckBusName("fold", m.name); err != nil {
		return m.fail(path, "%w", err)
	}
	err := m.value.readKeys(path,
		key{"facts", name("fact type", &f.Facts)},
		key{"state", name("state type", &f.State)},
		key{"version", version(&f.Version)},
		key{"program", program(&f.Program)},
	)
	switch {
	case err != nil:
		return err
	case f.Facts == "":
		return m.fail(path, "facts is missing").WithHint("name the type of the facts")
	case f.State == "":
		return m.fail(path, "state is missing").WithHint("name the entity type of the states")
	case f.Program == "":
		return m.fail(path, "program is missing").WithHint("write a jq program that makes the next state of {state, fact, draft}")
	}
	r.folds = append(r.folds, f)
	return nil
}

// version reads the version of a fold into dst.
func version(dst *int) func(*node, string) error {
	return func(v *node, path string) error {
		n, err := strconv.Atoi(v.text)
		if v.kind != codec.Int || err != nil || n < 1 {
			return v.fail(path, "expected a number from 1 on").WithHint("raise it whenever the fold makes something else of the same facts")
		}
		*dst = n
		return nil
	}
}

// program reads a program into dst.
func program(dst *string) func(*node, string) error {
	return func(v *node, path string) error {
		if v.kind != codec.String || strings.TrimSpace(v.text) == "" {
			return v.fail(path, "expected a jq program, found %s", v.found())
		}
		*dst = v.text
		return nil
	}
}

// FormatFile is [Format] with folds below the types.
func FormatFile(schemas []onto.Schema, folds []Fold) ([]byte, error) {
	text, err := Format(schemas)
	if err != nil || len(folds) == 0 {
		return text, err
	}
	w := bytes.NewBuffer(text)
	w.WriteString("folds:\n")
	list := slices.Clone(folds)
	slices.SortFunc(list, func(a, b Fold) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range list {
		program, err := formatProgram(f.Program)
		if err != nil {
			return nil, onto.Errorf(onto.Invalid, "the program of fold %s: %w", f.Name, err)
		}
		fmt.Fprintf(w, "  %s:\n    facts: %s\n    state: %s\n    version: %d\n    program: %s\n",
			plainName(f.Name), plainName(f.Facts), plainName(f.State), f.Version, program)
	}
	if w.Len() > MaxSize {
		return nil, onto.Errorf(onto.TooLarge, "the schema file would be larger than %d MiB", MaxSize>>20)
	}
	return w.Bytes(), nil
}

// formatProgram writes a program: as a block of lines if it has several and a block
// gives back every character, otherwise in quotes.
func formatProgram(text string) (string, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') })
	if len(lines) < 2 || !plain || lines[len(lines)-1] == "" {
		return quote(text)
	}
	keep := "-" // no line break at the end
	if strings.HasSuffix(text, "\n") {
		keep = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "|2%s", keep)
	for _, line := range lines {
		b.WriteString("\n")
		if line != "" {
			b.WriteString("      " + line)
		}
	}
	return b.String(), nil
}
