package sqlite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
)

// makeWorn makes a store of several hundred versions in a file without
// companions.
func makeWorn(t *testing.T) string {
	t.Helper()
	path := makeHealthy(t)
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		var writes []backend.Write
		for i := range 100 {
			if (i+round)%3 > 0 {
				writes = append(writes, person(fmt.Sprintf("q%03d", i), i*round), knows(fmt.Sprintf("q%03d", i), "a", "oslo"))
			}
		}
		d := &backend.Draft{Header: backend.Header{Comment: "round", Actor: onto.Operator("ana"), Metadata: []byte(`{"why":"test"}`)}, Writes: writes}
		if _, err := b.Append(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// flips is how a flipped bit showed.
type flips struct {
	total, silent, noticed, found, missed int
}

// A flipped bit in the file changes no answer, or it is detected: by the read itself,
// as Corrupt, or by an examination. An examination detects every changed version;
// commits and types have no checksums.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	path := makeWorn(t)
	whole := read(t, path)
	want, err := answers(t, path)
	if err != nil {
		t.Fatal(err)
	}
	wantVersions, _, _ := strings.Cut(want, endOfVersions)
	random := effort.Rand(t)
	var seen flips
	for range effort.Count(t, 350) {
		bit := random.IntN(len(whole) * 8)
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		copied := filepath.Join(t.TempDir(), "copy.db")
		write(t, copied, damaged)
		got, err := answers(t, copied)
		seen.total++
		found := examinationFails(t, copied)
		switch {
		case err != nil:
			seen.noticed++
			if onto.CodeOf(err) == "" {
				t.Errorf("bit %d: %v has no code", bit, err)
			}
		case got != want:
			seen.silent++
			if !found {
				seen.missed++
				if versions, _, _ := strings.Cut(got, endOfVersions); versions != wantVersions {
					t.Errorf("bit %d of byte %d: a version changes, and an examination does not find it", bit%8, bit/8)
				}
			}
			if !found {
				t.Logf("bit %d of byte %d, page %d: an answer changes, and no examination finds it: %s", bit%8, bit/8, bit/8/4096+1, firstDifference(got, want))
			}
		}
		if found {
			seen.found++
		}
	}
	t.Logf("%d flipped bits: reads noticed %d, %d changed an answer silently, examinations found %d in all and missed %d that change an answer",
		seen.total, seen.noticed, seen.silent, seen.found, seen.missed)
}

func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, min(i-40, len(s))):min(len(s), i+40)] }
	return fmt.Sprintf("%q, was %q", cut(a), cut(b))
}

// examinationFails reports whether an examination finds an error.
func examinationFails(t *testing.T, path string) bool {
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{LockTimeout: 10 * time.Millisecond})
	if err != nil {
		return true
	}
	defer b.Close()
	for f, err := range b.Check(t.Context()) {
		if err != nil || f.Severity == onto.SeverityError {
			return true
		}
	}
	return false
}

// endOfVersions stands between what has checksums and what has none.
const endOfVersions = "commits and types\n"

// answers reads everything in every way.
func answers(t *testing.T, path string) (string, error) {
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{LockTimeout: 10 * time.Millisecond, ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer b.Close()
	var all bytes.Buffer
	say := func(v onto.Version) {
		fmt.Fprintln(&all, v.Identity, v.Op, v.Commit, v.SchemaVersion, string(v.Fields))
	}
	person, knows := personSchema(), onto.Schema{Kind: onto.KindRelation, Name: "Knows", Left: "Person", Right: "Person"}
	var ids []onto.Identity
	for _, q := range []backend.Query{
		{Kind: onto.KindEntity, Type: "Person", At: backend.Head, Schema: &person},
		{Kind: onto.KindRelation, Type: "Knows", At: backend.Head, Schema: &knows},
		{Kind: onto.KindEntity, Type: "Person", Mode: backend.History, At: backend.Head},
		{Kind: onto.KindRelation, Type: "Knows", Mode: backend.History, At: backend.Head},
		{Kind: onto.KindEntity, Type: "Person", At: 7},
		{Kind: onto.KindEntity, Type: "Person", At: 7, Limit: 50},
		{Kind: onto.KindEntity, Type: "Person", At: backend.Head, Schema: &person, Where: onto.Path("age").Gt(20)},
		{Kind: onto.KindEntity, Type: "Person", At: backend.Head, Schema: &person, Search: []backend.Word{{Text: "q007"}}},
	} {
		for v, err := range b.Scan(t.Context(), &q) {
			if err != nil {
				return "", err
			}
			say(v)
			if q.Mode == backend.State && q.At == backend.Head && q.Where == nil && q.Search == nil {
				ids = append(ids, v.Identity)
			}
		}
	}
	for _, id := range ids {
		for _, at := range []int64{backend.Head, 7} {
			v, err := b.Get(t.Context(), id, at)
			if errors.Is(err, onto.NotFound) {
				fmt.Fprintln(&all, id, "not found")
			} else if err != nil {
				return "", err
			} else {
				say(v)
			}
		}
	}
	fmt.Fprint(&all, endOfVersions)
	for c, err := range b.Commits(t.Context(), &backend.CommitQuery{Until: backend.Head}) {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&all, c)
	}
	schemas, err := b.Schemas(t.Context())
	if err != nil {
		return "", err
	}
	for _, s := range schemas {
		fmt.Fprintln(&all, s.Version, s.Since, s.Reason, s.Created, string(s.JSON), s.Schema)
	}
	return all.String(), nil
}

// tangle makes the tree of a table deep with pages whose children are all the same
// page: a few of them stand for more rows than can ever be read.
func tangle(t *testing.T, path, table string) {
	t.Helper()
	root, err := strconv.Atoi(query(t, path, `SELECT rootpage FROM sqlite_master WHERE name = '`+table+`'`))
	if err != nil {
		t.Fatal(err)
	}
	const size = 4096
	data := read(t, path)
	top := data[(root-1)*size : root*size]
	if top[0] != 2 && top[0] != 5 {
		t.Fatalf("the root of %s is of kind %d: the table is too small", table, top[0])
	}
	lead := func(page []byte, child uint32) {
		binary.BigEndian.PutUint32(page[8:], child)
		for i := range int(binary.BigEndian.Uint16(page[3:])) {
			cell := binary.BigEndian.Uint16(page[12+2*i:])
			binary.BigEndian.PutUint32(page[cell:], child)
		}
	}
	leaf := binary.BigEndian.Uint32(top[8:])
	pages := uint32(len(data) / size)
	const depth = 17 // SQLite takes no more than 20
	for i := range uint32(depth) {
		page := bytes.Clone(top)
		lead(page, pages+i+2)
		if i == depth-1 {
			lead(page, leaf)
		}
		data = append(data, page...)
	}
	lead(data[(root-1)*size:root*size], pages+1)
	binary.BigEndian.PutUint32(data[28:], pages+depth)
	write(t, path, data)
}

// A file whose pages lead to the same pages over and over ends a scan and an
// examination, and a count ends with its context.
func TestTangledPages(t *testing.T) {
	path := makeWorn(t)
	tangle(t, path, "entity_current")
	b := opened(t, path, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := error(nil)
	for _, err = range b.Scan(ctx, &backend.Query{Kind: onto.KindEntity, Type: "Person", At: backend.Head}) {
		if err != nil {
			break
		}
	}
	if !errors.Is(err, onto.Corrupt) {
		t.Errorf("scan: got %v, want Corrupt", err)
	}
	var codes []string
	for f, err := range b.Check(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, f.Code)
	}
	if !slices.Contains(codes, "file_damaged") || codes[len(codes)-1] != "check_stopped" {
		t.Errorf("got findings %v, want file_damaged and check_stopped", codes)
	}
	short, end := context.WithCancel(ctx)
	context.AfterFunc(ctx, end)
	time.AfterFunc(50*time.Millisecond, end)
	if _, err := b.Describe(short, true); !errors.Is(err, context.Canceled) || ctx.Err() != nil {
		t.Errorf("a count that was cancelled: got %v, want that it was", err)
	}
}
