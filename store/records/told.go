package records

import (
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/ontologia/onto"
)

// told remembers what the rows of an import have told of each attribute of a subject:
// what one of them says depends on the others, in whatever order they come. Subjects,
// attributes and values are kept as hashes with secret seeds.
type told struct {
	seeds [3]maphash.Seed
	known map[hashed][]telling
	cells int // in known
	limit int

	last hashed   // the attribute that was added last
	row  []hashed // what was added for the present row
}

// telling is what one row tells.
type telling struct {
	from  int64 // in microseconds
	until int64 // of the fact that was made; from if none was, because the store says so already
	value uint64
	line  int64
}

// open is no bound.
const open = math.MaxInt64

// before is what earlier rows mean for a cell.
type before struct {
	already bool      // an earlier row says the same
	next    time.Time // when the next fact with the same of many values begins; zero for none
}

func newTold(limit int) *told {
	return &told{seeds: [3]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed(), maphash.MakeSeed()}, known: map[hashed][]telling{}, limit: limit}
}

// add remembers a cell. It fails if another row says something else of the same time.
func (t *told) add(row *tableRow, attribute string, f *onto.Field, value []byte) (before, error) {
	var b before
	text := append(append([]byte(row.subject), 0), attribute...)
	if f.Many {
		text = append(append(text, 0), value...) // they do not depend on each other
	}
	t.last = hashed{maphash.Bytes(t.seeds[0], text), maphash.Bytes(t.seeds[1], text)}
	now := telling{from: row.from.UnixMicro(), value: maphash.Bytes(t.seeds[2], value), line: row.line}
	now.until = now.from
	for _, other := range t.known[t.last] {
		switch {
		case other.from == now.from && other.value != now.value:
			return b, onto.Errorf(onto.Conflict, "%s of %q was on line %d already, with another value of the same time", attribute, row.subject, other.line).
				WithHint("keep one of the two, or name the column that has the time since when a row holds")
		case other.from == now.from || f.Many && other.from < now.from && now.from < other.until:
			return before{already: true}, nil
		case f.Many && now.from < other.from && (b.next.IsZero() || other.from < b.next.UnixMicro()):
			b.next = time.UnixMicro(other.from).UTC()
		}
	}
	if t.cells == t.limit {
		return b, onto.Errorf(onto.TooLarge, "the table has more than %d cells", t.limit).WithHint("import it in pieces")
	}
	t.cells++
	t.known[t.last] = append(t.known[t.last], now)
	t.row = append(t.row, t.last)
	return b, nil
}

// begin says that cells of another row follow.
func (t *told) begin() { t.row = t.row[:0] }

// undo forgets the cells of the present row.
func (t *told) undo() {
	for _, key := range slices.Backward(t.row) {
		list := t.known[key]
		if t.known[key] = list[:len(list)-1]; len(list) == 1 {
			delete(t.known, key)
		}
		t.cells--
	}
	t.begin()
}

// holds notes until when the fact holds that was made of the last cell.
func (t *told) holds(until time.Time) {
	list := t.known[t.last]
	if len(list) == 0 {
		return
	}
	list[len(list)-1].until = open
	if !until.IsZero() {
		list[len(list)-1].until = until.UnixMicro()
	}
}
