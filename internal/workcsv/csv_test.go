package workcsv

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"pgregory.net/rapid"

	"github.com/ontologia/onto/internal/effort"
)

// example is the seed of the original program's documentation.
func example() *Row {
	return &Row{
		WorkItemID: "3f0e", SourceSystem: "mediawiki", SourceName: "wikipedia", ResourceType: "page", ResourceID: "Star_Wars",
		RequestURI: "https://en.wikipedia.org/w/api.php?a=b,c", RequestMethod: "GET", Metadata: Text(`{"seed": true}`),
		Priority: "10", Status: "pending", Attempt: "0", CreatedAt: "2026-01-01T00:00:00", UpdatedAt: "2026-01-01T00:00:00",
		ErrorMessage: Text(""), DedupeKey: "mediawiki:wikipedia:page:Star_Wars",
	}
}

const (
	header     = "work_item_id,source_system,source_name,resource_type,resource_id,request_uri,request_method,request_headers,request_body,metadata,priority,status,attempt,run_id,discovered_from,created_at,updated_at,error_message,dedupe_key"
	exampleRow = `3f0e,mediawiki,wikipedia,page,Star_Wars,"https://en.wikipedia.org/w/api.php?a=b,c",GET,,,"{""seed"": true}",10,pending,0,,,2026-01-01T00:00:00,2026-01-01T00:00:00,"",mediawiki:wikipedia:page:Star_Wars`
)

func readAll(text string) ([]*Row, *Reader, error) {
	r, err := NewReader(strings.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	var rows []*Row
	for row, err := range r.Rows() {
		if err != nil {
			return rows, r, err
		}
		rows = append(rows, row)
	}
	return rows, r, nil
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, OriginalColumns()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(example()); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil || w.Count() != 1 {
		t.Fatalf("%d rows, %v", w.Count(), err)
	}
	if want := header + "\n" + exampleRow + "\n"; out.String() != want {
		t.Errorf("got  %s\nwant %s", &out, want)
	}
	if want := header + ",lease_owner,lease_until,not_before,depth,onto_scope,onto_revised"; strings.Join(Columns(), ",") != want {
		t.Errorf("columns are %s, want %s", Columns(), want)
	}
	if _, err := NewWriter(io.Discard, "work_item_id", "prio"); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("a column that does not exist: %v", err)
	}
}

func TestRead(t *testing.T) {
	backwards := strings.Split(header, ",")
	slices.Reverse(backwards)
	for _, c := range []struct {
		name, text string
		ignored    []string
	}{
		{"lines with LF", header + "\n" + exampleRow + "\n", nil},
		{"lines with CRLF", header + "\r\n" + exampleRow + "\r\n", nil},
		{"byte order mark", "\ufeff" + header + "\n" + exampleRow + "\n", nil},
		{"empty lines", "\n\r\n" + header + "\n\n\r\n" + exampleRow + "\n\n", nil},
		{"columns in another order", strings.Join(backwards, ",") + "\n" +
			`mediawiki:wikipedia:page:Star_Wars,"",2026-01-01T00:00:00,2026-01-01T00:00:00,,,0,pending,10,"{""seed"": true}",,,GET,"https://en.wikipedia.org/w/api.php?a=b,c",Star_Wars,page,wikipedia,mediawiki,3f0e` + "\n", nil},
		{"names in quotes", `"` + strings.ReplaceAll(header, ",", `","`) + "\"\n" + exampleRow + "\n", nil},
		{"other columns", "rowid," + header + ",shard\n7," + exampleRow + ",x\n", []string{"rowid", "shard"}},
		{"no line break after a quote", header + ",shard\n" + exampleRow + `,""`, []string{"shard"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, r, err := readAll(c.text)
			if err != nil || len(rows) != 1 || r.Count() != 1 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			if !reflect.DeepEqual(rows[0], example()) {
				t.Errorf("got  %+v\nwant %+v", rows[0], example())
			}
			if !slices.Equal(r.Ignored(), c.ignored) {
				t.Errorf("ignored %q, want %q", r.Ignored(), c.ignored)
			}
		})
	}
	if rows, r, err := readAll(header + "\n"); err != nil || len(rows) != 0 || r.Count() != 0 {
		t.Errorf("a header alone: %d rows, %v", len(rows), err)
	}
}

func TestRefusedHeaders(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want, hint string
	}{
		{"nothing", "", "has no header", "-header"},
		{"empty lines alone", "\n\r\n", "has no header", "-header"},
		{"one column missing", strings.Replace(header, "priority,", "", 1) + "\n", "has no column priority", "-header"},
		{"a misspelled column", strings.Replace(header, "run_id", "runid", 1) + "\n", "has no column run_id", `"runid"`},
		{"two missing", strings.TrimSuffix(header, ",error_message,dedupe_key") + "\n", "has no columns error_message, dedupe_key", "-header"},
		{"no header", exampleRow + "\n", "has no columns work_item_id, source_system", "-header"},
		{"semicolons", strings.ReplaceAll(header, ",", ";") + "\n", "has no columns", "commas"},
		{"a column twice", header + ",priority\n", `line 1, column 225: the column priority comes twice`, "leave"},
		{"UTF-16", "\xff\xfew\x00o\x00", "UTF-16", "UTF-8"},
		{"too many columns", strings.Repeat("a,", 1000) + "a\n", "more than 256 fields", "-header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readAll(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(onto.HintOf(err).String(), c.hint) {
				t.Errorf("got %v (%s), want %s (%s)", err, onto.HintOf(err), c.want, c.hint)
			}
		})
	}
}

func TestRefusedRows(t *testing.T) {
	good := exampleRow + "\n"
	for _, c := range []struct {
		name, rows string
		want       string
		before     int // rows that are read before the error
	}{
		{"a field too few", good + strings.TrimPrefix(exampleRow, "3f0e,") + "\n", "line 3, column 162: the row has 18 fields, the header has 19", 1},
		{"a field too many", good + exampleRow + ",x\n", "line 3, column 202: the row has 20 fields, the header has 19", 1},
		{"a quote within a field", "3f\"0e" + good, "line 2, column 3: a quote within a field", 0},
		{"text after a quote", `"3f"0e` + good, "line 2, column 5: after the closing quote", 0},
		{"a quote that is never closed", good + "a,\"b\nc\n", "line 3, column 3: the quote that begins here", 1},
		{"a quote alone at the end", good + `"`, "line 3, column 1: the quote that begins here", 1},
		{"a carriage return", "3f\r0e" + good, "line 2, column 3: a carriage return", 0},
		{"a carriage return at the end", good + "3f\r", "line 3, column 3: a carriage return", 1},
		{"a carriage return first", "\r" + good, "line 2, column 1: a carriage return", 0},
		{"not UTF-8", "a,b\xff," + good, "line 2, column 3: the field is not UTF-8", 0},
		{"NUL", "a,b\x00," + good, "line 2, column 3: the field has a NUL", 0},
		{"cut off", good + good + exampleRow[:len(exampleRow)-3], "line 4, column 167: the file ends within this row", 2},
		{"columns after lines in quotes", "\"a\nbc\"x" + good, "line 3, column 4: after the closing quote", 0},
		{"lines in quotes are counted", strings.Replace(good, "GET", "\"G\nE\r\nT\"", 1) + "\"x\"y\n", "line 5, column 4: after the closing quote", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, _, err := readAll(header + "\n" + c.rows)
			if onto.CodeOf(err) != onto.Invalid || !strings.HasPrefix(err.Error(), c.want) || onto.HintOf(err).String() == "" || len(rows) != c.before {
				t.Errorf("%d rows, then %v\nwant %d, then %s", len(rows), err, c.before, c.want)
			}
		})
	}
}

func TestCount(t *testing.T) {
	_, r, err := readAll(header + "\n" + exampleRow + "\n" + exampleRow + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CheckCount(2); err != nil {
		t.Error(err)
	}
	for _, want := range []int64{0, 1, 3, math.MaxInt64} {
		if err := r.CheckCount(want); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "has 2 rows") {
			t.Errorf("2 rows where %d were expected: %v", want, err)
		}
	}
}

func TestErrorsOfValues(t *testing.T) {
	_, r, err := readAll(header + "\n\n" + exampleRow + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Errorf("priority", "%q is not a whole number", "10"); err.Error() != `line 3, column 109 (priority): "10" is not a whole number` || err.Code != onto.Invalid {
		t.Errorf("got %v", err)
	}
	if err := r.Errorf("depth", "it is missing"); err.Error() != "line 3, column 1: it is missing" || r.Line() != 3 {
		t.Errorf("got %v, line %d", err, r.Line())
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", MaxField)
	row := func(body string) string { return strings.Replace(exampleRow, "GET,,,", "GET,,"+body+",", 1) + "\n" }
	if rows, _, err := readAll(header + "\n" + row(long)); err != nil || rows[0].RequestBody != Text(long) {
		t.Errorf("a field of the largest size: %v", err)
	}
	for _, text := range []string{long + "x", `"` + long + `""x"`, `"` + long + strings.Repeat("\n", 100)} {
		if _, _, err := readAll(header + "\n" + row(text)); onto.CodeOf(err) != onto.TooLarge || !strings.Contains(err.Error(), "line 2, column ") || len(err.Error()) > 300 {
			t.Errorf("a field over the limit: %v", err)
		}
	}
	if _, _, err := readAll(header + "\n" + strings.Repeat(long+",", 5)); onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("a row over the limit: %v", err)
	}
	if _, err := NewReader(endless{}); onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("a file without end: %v", err)
	}
	w, err := NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	bad := example()
	bad.RequestBody = Text(long + "x")
	if err := w.Write(bad); onto.CodeOf(err) != onto.TooLarge || w.Count() != 0 {
		t.Errorf("writing a field over the limit: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestRefusedTextsAreNotWritten(t *testing.T) {
	for _, text := range []string{"a\x00b", "\xff"} {
		var out bytes.Buffer
		w, err := NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		bad := example()
		bad.ErrorMessage = Text(text)
		if err := w.Write(bad); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), `"3f0e": error_message`) {
			t.Errorf("%q: %v", text, err)
		}
		if err := w.Flush(); err != nil || w.Count() != 0 || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%d rows, %v: %s", w.Count(), err, &out)
		}
	}
}

func TestFailingFiles(t *testing.T) {
	broken := errors.New("broken disk")
	for _, text := range []string{"", header[:20], header + "\n", header + "\n" + exampleRow[:50], header + "\n" + exampleRow + "\n", header + "\n\"a", header + "\n\"a\"", header + "\na\r"} {
		r, err := NewReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if err == nil {
			for _, e := range r.Rows() {
				err = e
			}
		}
		if !errors.Is(err, broken) || onto.CodeOf(err) != onto.Unavailable {
			t.Errorf("after %d bytes: %v", len(text), err)
		}
	}
	// A reader that fails once, and would go on, has failed.
	for _, text := range []string{",b\n", "\"\"\n", "\n\n"} {
		r, err := NewReader(io.MultiReader(strings.NewReader(header+"\n\"a"), iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("\""+text)))))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range r.Rows() {
			if !errors.Is(err, iotest.ErrTimeout) {
				t.Errorf("a reader that fails once before %q: %v", text, err)
			}
		}
	}
	w, err := NewWriter(failingWriter{broken})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(example()), w.Flush()); !errors.Is(err, broken) {
		t.Errorf("writing: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func drawText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "", ",", `"`, "'", "\n", "\r", "\r\n", " ", "é", "\ufeff", "\t", "NULL", "日本", ";", "\\"}), 0, 6).Draw(t, "text"), "")
}

// What was written comes back, NULL and empty texts told apart, whatever the reads are cut
// into.
func TestRoundTrip(t *testing.T) {
	rows := 0
	effort.Check(t, 1000, func(t *rapid.T) {
		var out bytes.Buffer
		w, err := NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		var want []*Row
		for range rapid.IntRange(0, 8).Draw(t, "rows") {
			row := &Row{}
			for _, c := range columns {
				if v := Text(drawText(t)); c.text != nil || rapid.Bool().Draw(t, "set") {
					c.set(row, v)
				}
			}
			want = append(want, row)
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(iotest.OneByteReader(&out))
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for row, err := range r.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(row, want[i]) {
				t.Fatalf("row %d\ngot  %+v\nwant %+v", i, row, want[i])
			}
			i++
		}
		if err := r.CheckCount(w.Count()); err != nil || i != len(want) {
			t.Fatal(err)
		}
		rows += i
	})
	t.Logf("%d rows", rows)
}

// Any bytes are read or refused; what is read can be written, and is then read the same.
func FuzzRead(f *testing.F) {
	for _, s := range []string{exampleRow + "\n", exampleRow + "\r\n", exampleRow, "\"\n", "a,b\n", "\r", strings.Repeat(",", 18) + "\n", strings.Repeat(`"",`, 18) + "\"\"\n"} {
		f.Add([]byte(header + "\n" + s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, _, err := readAll(string(file))
		if err != nil && (onto.CodeOf(err) != onto.Invalid && onto.CodeOf(err) != onto.TooLarge || !utf8.ValidString(err.Error())) {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		again, _, err := readAll(out.String())
		if err != nil || !reflect.DeepEqual(again, rows) {
			t.Fatalf("%d rows come back as %d, %v", len(rows), len(again), err)
		}
	})
}
