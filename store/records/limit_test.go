package records_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/records"
)

// endless gives a beginning and then a text again and again, and counts what
// it gave.
type endless struct {
	start, again string
	given        int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.start != "" {
		n := copy(p, e.start)
		e.start = e.start[n:]
		e.given += int64(n)
		return n, nil
	}
	n := copy(p, e.again)
	for n < len(p) {
		n += copy(p[n:], p[:n])
	}
	n -= n % len(e.again)
	e.given += int64(n)
	return n, nil
}

// No more is read than a record may have, and memory stays near that.
func TestEndlessRecords(t *testing.T) {
	s := inMemory(t)
	const most = 2*onto.MaxFields + 1<<20
	for _, c := range []struct {
		name   string
		format records.Format
		in     endless
	}{
		{"a line without end", records.JSONL, endless{start: customer("c1", "Ada", "") + "\n" + `{"type":"Customer","fields":{"name":"`, again: "A"}},
		{"a deep line", records.JSONL, endless{start: customer("c1", "Ada", "") + "\n", again: "["}},
		{"an escaped line", records.JSONL, endless{start: customer("c1", "Ada", "") + "\n" + `{"`, again: `\"`}},
		{"a cell without end", records.CSV, endless{start: "id,name\n", again: "A"}},
		{"a quoted cell without end", records.CSV, endless{start: "id,name\n\"", again: "A"}},
		{"a quoted cell with many lines", records.CSV, endless{start: "id,name\n\"", again: "A\n"}},
		{"a row of quotes", records.CSV, endless{start: "id,name\n", again: `"`}},
		{"a row of commas", records.CSV, endless{start: "id,name\n", again: ","}},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		o := &records.ImportOptions{Format: c.format}
		if c.format == records.CSV {
			o.Type = "Customer"
		}
		_, err := records.Import(t.Context(), s, &c.in, o)
		runtime.ReadMemStats(&after)
		wantError(t, c.name, err, onto.TooLarge, "line 2: the record is longer than")
		if c.in.given > most {
			t.Errorf("%s: read %d bytes, want at most %d", c.name, c.in.given, most)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 6*most {
			t.Errorf("%s: allocated %d bytes, want at most %d", c.name, used, 6*most)
		}
	}
	endlessHeader := &endless{again: "name"}
	_, err := records.Import(t.Context(), s, endlessHeader, &records.ImportOptions{Format: records.CSV, Type: "Customer"})
	wantError(t, "header", err, onto.TooLarge, "line 1: the record is longer than")
	wantHead(t, s, 0)
}

// The largest thing a store takes goes out and in again.
func TestLargestRecord(t *testing.T) {
	s, again := inMemory(t), inMemory(t)
	const around = len(`{"id":"c1","name":"","tier":"Silver","visits":0}`)
	text := strings.Repeat(`"\`, (onto.MaxFields-around)/4) // each is written with two escapes
	_, err := s.Commit(t.Context(), onto.Draft{}.Ensure(onto.Entity{Type: "Customer", Key: "c1", Fields: map[string]any{"name": text}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []records.Format{records.JSONL, records.CSV} {
		out := mustExport(t, s, &records.ExportOptions{Format: format, Types: []string{"Customer"}})
		o := &records.ImportOptions{Format: format}
		if format == records.CSV {
			o.Type = "Customer"
		}
		mustImport(t, again, out, o)
	}
	if mustExport(t, s, nil) != mustExport(t, again, nil) {
		t.Error("the stores differ")
	}
}

// pack packs text as gzip does.
func pack(t testing.TB, text io.Reader) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := io.Copy(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestUnpack(t *testing.T) {
	text := strings.Repeat(customer("c1", "Ada", "")+"\n", 1000)
	whole := pack(t, strings.NewReader(text))
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 0x55
	wrongSum := bytes.Clone(whole)
	wrongSum[len(wrongSum)-6] ^= 0x55
	for _, c := range []struct {
		name, file string
		data       []byte
		want       string // in the error; "" if there is none
	}{
		{"plain", "a.jsonl", []byte(text), ""},
		{"packed", "a.jsonl.gz", whole, ""},
		{"in capitals", "A.JSONL.GZ", whole, ""},
		{"two parts", "a.jsonl.gz", append(bytes.Clone(whole), whole...), ""},
		{"empty file", "a.jsonl.gz", nil, "a.jsonl.gz: the packed data ends too early"},
		{"not packed", "a.jsonl.gz", []byte(text), "a.jsonl.gz: this is not gzip"},
		{"cut off", "a.jsonl.gz", whole[:len(whole)-9], "a.jsonl.gz: the packed data ends too early"},
		{"cut off in its header", "a.jsonl.gz", whole[:5], "a.jsonl.gz: the packed data ends too early"},
		{"damaged", "a.jsonl.gz", damaged, "a.jsonl.gz: the "},
		{"wrong checksum", "a.jsonl.gz", wrongSum, "a.jsonl.gz: the checksum of the packed data is wrong"},
		{"something behind", "a.jsonl.gz", append(bytes.Clone(whole), "more than that"...), "a.jsonl.gz: something else follows the packed data"},
	} {
		r, err := records.Unpack(c.file, bytes.NewReader(c.data))
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if c.want != "" {
			wantError(t, c.name, err, onto.Invalid, c.want)
			continue
		}
		if err != nil || strings.ReplaceAll(string(got), text, "") != "" || len(got) == 0 {
			t.Errorf("%s: got %d bytes, %v", c.name, len(got), err)
		}
	}
}

// A small file that unpacks to very much is refused early.
func TestUnpackBomb(t *testing.T) {
	blank := &endless{again: "\n"}
	part := pack(t, io.LimitReader(blank, 10<<20)) // parts one after the other are one file
	bomb := bytes.Repeat(part, 10)
	if len(bomb) > 200<<10 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	r, err := records.Unpack("bomb.jsonl.gz", bytes.NewReader(bomb))
	if err != nil {
		t.Fatal(err)
	}
	_, err = records.Import(t.Context(), inMemory(t), r, nil)
	wantError(t, "bomb", err, onto.TooLarge, "bomb.jsonl.gz: it unpacks to more than 250 times its size")
	if hint := onto.HintOf(err).String(); !strings.Contains(hint, "unpack it first") {
		t.Errorf("got hint %q", hint)
	}
	r, err = records.Unpack("bomb.jsonl.gz", bytes.NewReader(bomb))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := io.Copy(io.Discard, r); n > 65<<20 {
		t.Errorf("unpacked %d bytes", n)
	}
	small := bytes.Repeat(part, 6) // what is not much anyway is fine
	if r, err = records.Unpack("small.jsonl.gz", bytes.NewReader(small)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); n != 60<<20 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
}

func TestPack(t *testing.T) {
	for _, name := range []string{"a.jsonl", "a.jsonl.gz"} {
		var file [2]bytes.Buffer
		for i := range file {
			w := records.Pack(name, &file[i])
			_, err := io.WriteString(w, strings.Repeat("text\n", 100))
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(file[0].Bytes(), file[1].Bytes()) {
			t.Errorf("%s: twice the same gives different bytes", name)
		}
		r, err := records.Unpack(name, &file[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || len(got) != 500 {
			t.Errorf("%s: got %d bytes, %v, want 500", name, len(got), err)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]records.Format{
		"a.jsonl": records.JSONL, "a.ndjson": records.JSONL, "a.json": records.JSONL, "dir.csv/a.jsonl.gz": records.JSONL,
		"a.csv": records.CSV, "A.CSV.GZ": records.CSV, "a.json.gz": records.JSONL,
	} {
		if got, err := records.FormatOf(name); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
	for _, name := range []string{"a", "a.gz", "a.txt", "csv", "a.xlsx"} {
		_, err := records.FormatOf(name)
		wantError(t, name, err, onto.Invalid, name+": the name does not tell the format")
	}
	_, err := records.FormatOf("a.parquet")
	wantError(t, "a.parquet", err, onto.UnsupportedOperation, "Parquet is the format of lakes")
}
