package parquet

import (
	"bytes"
	"context"
	"iter"
	"strconv"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
	"github.com/ontologia/onto/internal/codec"
)

// Checked is a row with what its typed columns say otherwise than its fields.
type Checked struct {
	onto.Version
	Flaws []Flaw
}

// Flaw is a typed column that does not say in a row what the fields say.
type Flaw struct {
	Column Column
	Fields string // the value in the fields, as JSON; "" if there is none
	Stored string // the value in the column, as JSON; "" for NULL

	// Unfit says that the column is as it was written, but cannot say what the fields
	// have there, or that the file has no such column. It is a flaw only if the file
	// says that it is typed.
	Unfit bool
}

// Check yields the versions in the file's order, each with the columns of a layout that
// are not what a writer would have made of its fields. The fields should be canonical:
// others are compared as far as possible. It holds no more than the columns of one row
// group.
//
// Files of older layouts are taken as they are: they may lack columns, and may date
// from before a field had its present type.
func (f *File) Check(ctx context.Context, l *Layout) iter.Seq2[Checked, error] {
	return func(yield func(Checked, error) bool) {
		places, err := f.typedPlaces(l)
		if err != nil {
			yield(Checked{}, err)
			return
		}
		var k *comparison
		for b, err := range f.batches(ctx) {
			if err == nil && (k == nil || k.batches != b) { // another row group
				k = newComparison(b, l)
			}
			if err == nil {
				err = k.next(places)
			}
			if err != nil {
				yield(Checked{}, err)
				return
			}
			for i := range b.commits {
				if !yield(Checked{b.version(i), k.flaws[i]}, nil) {
					return
				}
			}
		}
	}
}

// typedPlaces returns the number of each column of a layout in the file; -1 if it
// has none.
func (f *File) typedPlaces(l *Layout) (places []int, err error) {
	defer f.guard(&err)
	seen := map[string]int{}
	for i := len(System(f.kind)); i < len(f.meta.Columns); i++ {
		name := foldName(f.meta.Columns[i].Name)
		if seen[name] > 0 {
			return nil, f.damaged("column %s is there twice", f.meta.Columns[i].Name)
		}
		seen[name] = i
	}
	for _, c := range l.Columns {
		i := seen[foldName(c.Name)]
		if i == 0 {
			places = append(places, -1)
			continue
		}
		switch found := f.meta.Columns[i]; {
		case found.Name != c.Name:
			return nil, f.damaged("column %s is called %s", c.Name, found.Name)
		case found.Type != physicalType(c.Type):
			return nil, f.damaged("column %s is of type %s, and the field of type %s", c.Name, found.Type, c.Type)
		case !found.Optional:
			return nil, f.damaged("column %s cannot be NULL", c.Name)
		}
		places = append(places, i)
	}
	return places, nil
}

// comparison compares the typed columns of a row group with the fields, batch by
// batch.
type comparison struct {
	*batches
	layout *Layout
	typed  []*typedColumn // what a writer would have made of the batch
	fields *typedNode     // the same by place
	stored []*flat.Reader // by column; nil for those that the file has not
	places []int          // by column: its number in the file

	values [][readRows][]byte // by column and row: what the fields have there
	spare  [][readRows]bool   // by column and row: NULL is as good
	flaws  [readRows][]Flaw
}

func newComparison(b *batches, l *Layout) *comparison {
	k := &comparison{batches: b, layout: l, values: make([][readRows][]byte, len(l.Columns)), spare: make([][readRows]bool, len(l.Columns))}
	k.typed, k.fields = newTypedColumns(l)
	return k
}

// next compares the batch that was read.
func (k *comparison) next(places []int) (err error) {
	defer k.file.guard(&err)
	if k.stored == nil {
		if err := k.open(places); err != nil {
			return err
		}
	}
	clear(k.flaws[:])
	for i := range k.typed {
		k.typed[i].forget()
		clear(k.values[i][:])
		clear(k.spare[i][:])
	}
	for row := range k.batches.fields {
		k.expect(row)
	}
	for i := range k.typed {
		if err := k.compare(i); err != nil {
			return err
		}
	}
	return nil
}

// open begins to read the columns that the file has.
func (k *comparison) open(places []int) error {
	k.stored, k.places = make([]*flat.Reader, len(places)), places
	left := int64(maxGroupBytes)
	for i, place := range places {
		if place < 0 {
			continue
		}
		chunk, err := k.file.chunkOf(k.group, k.number, place, &left)
		if err != nil {
			return err
		}
		k.stored[i] = flat.NewReader(chunk)
	}
	return nil
}

// expect fills the columns with what a writer makes of the fields of a row.
func (k *comparison) expect(row int) {
	for _, c := range k.typed {
		c.begin()
	}
	defer func() {
		_ = recover() // the fields are not JSON; what was found of them so far is compared
		for _, c := range k.typed {
			c.end()
		}
	}()
	version := int(k.schemas[row])
	k.fields.each(k.batches.fields[row], func(c *typedColumn, value []byte) {
		if k.values[c.number][row] != nil {
			return // the fields are not canonical: the name is there twice
		}
		k.values[c.number][row] = value
		fits := c.put(value)
		k.spare[c.number][row] = !c.sole && !c.in[version]
		if c.sole && (!fits || k.stored[c.number] == nil && codec.KindOf(value) != codec.Null) {
			k.flaws[row] = append(k.flaws[row], Flaw{Column: c.Column, Fields: brief(value), Unfit: true})
		}
	})
}

// compare reads a column and notes where it is not as expected.
func (k *comparison) compare(i int) error {
	c, want := k.stored[i], k.typed[i]
	if c == nil {
		return nil // the file has no such column
	}
	switch physicalType(want.Type) {
	case format.Int64:
		show := func(v int64) string { return strconv.FormatInt(v, 10) }
		return compare(k, want, &storedColumn[int64]{c.Ints, want.values.Ints, equal[int64], show})
	case format.Double:
		show := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		return compare(k, want, &storedColumn[float64]{c.Floats, want.values.Floats, equal[float64], show})
	case format.Boolean:
		return compare(k, want, &storedColumn[bool]{c.Bools, want.values.Bools, equal[bool], strconv.FormatBool})
	}
	show := func(v []byte) string { return strconv.Quote(string(v)) }
	return compare(k, want, &storedColumn[[]byte]{c.Texts, want.values.Texts, bytes.Equal, show})
}

func equal[T comparable](a, b T) bool { return a == b }

// storedColumn is a column of values of one type.
type storedColumn[T any] struct {
	read func(values []T, levels []uint32) (rows, found int, err error) // within a page: values are only good until the next
	want []T                                                            // those that are not NULL, for the rows to come
	same func(a, b T) bool
	show func(T) string
}

// compare reads the rows of a batch.
func compare[T any](k *comparison, want *typedColumn, c *storedColumn[T]) error {
	var page [readRows]T
	var levels [readRows]uint32
	expected := want.values.Levels
	for row := 0; row < len(expected); {
		got, found, err := c.read(page[:min(len(expected)-row, readRows)], levels[:])
		if err != nil || got == 0 {
			return k.incomplete(k.places[want.number], err)
		}
		stored := page[:found]
		for _, level := range levels[:got] {
			flawed, text := level != expected[row], ""
			if level == 1 {
				if flawed = flawed || !c.same(stored[0], c.want[0]); flawed {
					text = brief([]byte(c.show(stored[0])))
				}
				stored = stored[1:]
			}
			c.want = c.want[expected[row]:]
			if flawed && !(level == 0 && k.spare[want.number][row]) {
				k.flaws[row] = append(k.flaws[row], Flaw{Column: want.Column, Fields: brief(k.values[want.number][row]), Stored: text})
			}
			row++
		}
	}
	return nil
}

// briefBytes is how much of a value a message tells.
const briefBytes = 64

// brief is a value without what would make a message too long.
func brief(value []byte) string {
	if len(value) <= briefBytes {
		return string(value)
	}
	n := briefBytes
	for n > 0 && !utf8.RuneStart(value[n]) {
		n--
	}
	return string(value[:n]) + "…"
}
