package facttest

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// tableRow is a row of a table that is brought in as facts.
type tableRow struct {
	subject string
	month   int            // since when it holds; 0 for no bound
	cells   map[string]any // by attribute
	turn    int            // a row of a higher one corrects those of the same time, so it comes after them
}

// RunRows compares stores with a model of the rows that were imported into them: the same
// rows say the same at every time, in every order and however they are divided among
// files. Of each history with so many rows as there are facts, it tries as many orders as
// there are points, or all of them for 0 points.
func RunRows(t *testing.T, size Size, open func(t *testing.T) backend.Backend) {
	imports := 0
	for i := range size.Histories {
		seed := size.Seed + uint64(i)
		t.Run(fmt.Sprint("history ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 29))
			rows := someRows(random, size.Facts)
			orders := arrangements(rows)
			if size.Points > 0 {
				orders = someArrangements(random, rows, size.Points)
			}
			for files := range orders {
				checkRows(t, open(t), rows, files)
				imports += len(files)
			}
		})
	}
	t.Logf("%d histories of %d rows: %d imports", size.Histories, size.Facts, imports)
}

// someRows returns random rows with few subjects, times and values, so that many say the
// same. No two say different things of the same time, except for those that correct.
func someRows(random *rand.Rand, n int) []tableRow {
	var rows []tableRow
	months := 2 + random.IntN(5) // of a few times, many rows correct each other
	for len(rows) < n {
		r := tableRow{subject: []string{"a", "b"}[random.IntN(5)/4], month: random.IntN(months), cells: map[string]any{}}
		if n := random.IntN(5); n > 0 {
			r.cells["name"] = fmt.Sprint("n", n%2)
		}
		if len(r.cells) == 0 {
			r.cells["rank"] = random.IntN(2)
		}
		if random.IntN(2) == 0 {
			r.cells["tags"] = []string{fmt.Sprint("t", random.IntN(2)), fmt.Sprint("t", random.IntN(3))}
		}
		for _, o := range rows {
			if o.contradicts(&r) && random.IntN(2) == 0 {
				r.turn = min(2, max(r.turn, o.turn+1))
			}
		}
		if !slices.ContainsFunc(rows, func(o tableRow) bool { return o.turn == r.turn && o.contradicts(&r) }) {
			rows = append(rows, r)
		}
	}
	return rows
}

// contradicts reports whether two rows say different things of the same time.
func (r *tableRow) contradicts(o *tableRow) bool {
	return r.meets(o, func(mine, other any) bool { return mine != other })
}

// corrects reports whether a row says again, in another turn, what another one says.
func (r *tableRow) corrects(o *tableRow) bool {
	return r.turn > o.turn && r.meets(o, func(any, any) bool { return true })
}

// meets reports whether two rows give values to one attribute at the same time for which
// something is true.
func (r *tableRow) meets(o *tableRow, is func(mine, other any) bool) bool {
	if r.subject != o.subject || r.month != o.month {
		return false
	}
	for _, name := range []string{"name", "rank"} {
		mine, ok := r.cells[name]
		if other, both := o.cells[name]; ok && both && is(mine, other) {
			return true
		}
	}
	return false
}

// arrangements yields the rows in every order and every division among files.
func arrangements(rows []tableRow) iter.Seq[[][]tableRow] {
	return func(yield func([][]tableRow) bool) {
		for order := range orders(slices.Clone(rows), 0) {
			for cuts := range 1 << (len(order) - 1) {
				if files, ok := divided(order, cuts); ok && !yield(files) {
					return
				}
			}
		}
	}
}

// orders yields the permutations of a list from a place on.
func orders(list []tableRow, at int) iter.Seq[[]tableRow] {
	return func(yield func([]tableRow) bool) {
		if at == len(list) {
			yield(list)
			return
		}
		for i := at; i < len(list); i++ {
			list[at], list[i] = list[i], list[at]
			for order := range orders(list, at+1) {
				if !yield(order) {
					return
				}
			}
			list[at], list[i] = list[i], list[at]
		}
	}
}

// someArrangements yields so many random orders and divisions.
func someArrangements(random *rand.Rand, rows []tableRow, n int) iter.Seq[[][]tableRow] {
	return func(yield func([][]tableRow) bool) {
		for n > 0 {
			order := slices.Clone(rows)
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			if random.IntN(2) == 0 { // most other orders cannot be
				slices.SortStableFunc(order, func(a, b tableRow) int { return a.turn - b.turn })
			}
			files, ok := divided(order, int(random.Uint64N(1<<(len(order)-1))))
			if !ok {
				continue
			}
			if n--; !yield(files) {
				return
			}
		}
	}
}

// divided is rows in files, which end where the bits say. It reports false if a row comes
// before the one that it corrects, or in the same file.
func divided(order []tableRow, cuts int) ([][]tableRow, bool) {
	files := [][]tableRow{nil}
	for i, r := range order {
		if i > 0 && cuts>>(i-1)&1 == 1 {
			files = append(files, nil)
		}
		last := len(files) - 1
		if slices.ContainsFunc(order[:i], func(o tableRow) bool { return o.corrects(&r) }) {
			return nil, false
		}
		if slices.ContainsFunc(files[last], func(o tableRow) bool { return o.contradicts(&r) }) {
			return nil, false
		}
		files[last] = append(files[last], r)
	}
	return files, true
}

// checkRows imports files into an empty store and compares what it says at all times.
func checkRows(t *testing.T, b backend.Backend, rows []tableRow, files [][]tableRow) {
	t.Helper()
	s, err := store.Open(t.Context(), b, Types()...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	told := ""
	for _, file := range files {
		text := textOf(file)
		told += text + "--\n"
		if _, err := importRows(t, s, text); err != nil {
			t.Fatalf("%v\n%s", err, told)
		}
	}
	for at, valid := range validTimes() {
		var got []string
		for f, err := range s.Now().ValidAt(valid).Facts("Belief").All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s %v", f.Subject, f.Attribute, f.Value))
		}
		slices.Sort(got)
		if want := saidAt(rows, at); !slices.Equal(got, want) {
			t.Fatalf("at %s: got %q, want %q\n%s", when(valid), got, want, told)
		}
	}
	if res, err := importRows(t, s, textOf(standing(rows))); err != nil || res.ID != 0 {
		t.Fatalf("the same rows again: got commit %d, error %v\n%s", res.ID, err, told)
	}
}

// standing is rows without the cells that were corrected.
func standing(rows []tableRow) []tableRow {
	var list []tableRow
	for _, r := range rows {
		cells := maps.Clone(r.cells)
		for _, o := range rows {
			for name := range o.cells {
				if only := (&tableRow{r.subject, r.month, map[string]any{name: r.cells[name]}, r.turn}); r.cells[name] != nil && o.corrects(only) {
					delete(cells, name)
				}
			}
		}
		r.cells = cells
		list = append(list, r)
	}
	return list
}

func importRows(t *testing.T, s *store.Store, text string) (onto.Result, error) {
	out, err := records.Import(t.Context(), s, strings.NewReader(text), &records.ImportOptions{
		Type: "Belief", Rows: &records.Rows{Subject: "id", From: "since"},
	})
	return out.Result, err
}

// textOf is a file of rows.
func textOf(rows []tableRow) string {
	var text strings.Builder
	for _, r := range rows {
		object := map[string]any{"id": r.subject}
		for name, value := range r.cells {
			object[name] = value
		}
		if r.month > 0 {
			object["since"] = month(r.month).Format(time.DateOnly)
		}
		line, _ := json.Marshal(object) // texts and numbers
		text.Write(append(line, '\n'))
	}
	return text.String()
}

func month(n int) time.Time { return time.Date(2026, time.Month(n), 1, 0, 0, 0, 0, time.UTC) }

// validTimes yields times between which no row begins to hold, with the last month that
// has begun by then.
func validTimes() iter.Seq2[int, time.Time] {
	return func(yield func(int, time.Time) bool) {
		for n := 1; n < 7; n++ {
			if !yield(n-1, month(n).Add(-time.Microsecond)) || !yield(n, month(n)) {
				return
			}
		}
	}
}

// saidAt is what rows say in a month, by the definition: of each attribute the value of
// the row with the latest time by then, or all values of those.
func saidAt(rows []tableRow, at int) []string {
	var said []string
	for _, subject := range []string{"a", "b"} {
		for _, name := range []string{"name", "rank"} {
			var speaks *tableRow
			for i, r := range rows {
				if _, ok := r.cells[name]; !ok || r.subject != subject || r.month > at {
					continue
				}
				if speaks == nil || speaks.month < r.month || speaks.month == r.month && speaks.turn < r.turn {
					speaks = &rows[i]
				}
			}
			if speaks != nil {
				said = append(said, fmt.Sprintf("%s %s %v", subject, name, speaks.cells[name]))
			}
		}
		for _, r := range rows {
			tags, ok := r.cells["tags"]
			if !ok || r.subject != subject || r.month > at {
				continue
			}
			for _, tag := range tags.([]string) {
				said = append(said, fmt.Sprintf("%s tags %s", subject, tag))
			}
		}
	}
	slices.Sort(said)
	return slices.Compact(said)
}
