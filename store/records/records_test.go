package records_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
	"github.com/ontologia/onto/store/schemafile"
)

// schema has every field type, and each kind of relation.
const schema = `
entities:
  Customer:
    key: id
    fields:
      id:      {type: string}
      name:    {type: string}
      tier:    {type: string, default: Silver}
      note:    {type: string, optional: true}
      age:     {type: int, optional: true}
      visits:  {type: int, default: 0}
      ratio:   {type: float, optional: true}
      active:  {type: bool, optional: true}
      since:   {type: time, optional: true}
      profile: {type: object, optional: true}
      tags:    {type: list, optional: true}
      extra:   {type: any, optional: true}
  Counter:
    key: n
    fields:
      n:  {type: int}
      op: {type: bool, optional: true}
relations:
  Likes:
    left: Customer
    right: Customer
    fields:
      left_key: {type: string, optional: true}
  Stint:
    left: Customer
    right: Counter
    instance_key: stint
    fields:
      seats: {type: int, default: 1}
      label: {type: string}
  Seat:
    left: Customer
    right: Counter
    instance_key: row
    fields:
      row: {type: string}
`

func types(t testing.TB) []onto.Type {
	t.Helper()
	list, err := schemafile.Read(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func open(t testing.TB, b backend.Backend) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), b, types(t)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func inMemory(t testing.TB) *store.Store {
	t.Helper()
	return open(t, memory.New(nil).Open())
}

func inSQLite(t testing.TB) *store.Store {
	t.Helper()
	b, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "store.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, b)
}

// onEach runs a test on each backend.
func onEach(t *testing.T, f func(t *testing.T, open func(testing.TB) *store.Store)) {
	t.Run("memory", func(t *testing.T) { f(t, inMemory) })
	t.Run("sqlite", func(t *testing.T) { f(t, inSQLite) })
}

// lines joins lines.
func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

func mustImport(t testing.TB, s *store.Store, text string, o *records.ImportOptions) records.Outcome {
	t.Helper()
	out, err := records.Import(t.Context(), s, strings.NewReader(text), o)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return out
}

func mustExport(t testing.TB, s *store.Store, o *records.ExportOptions) string {
	t.Helper()
	var out bytes.Buffer
	n, err := records.Export(t.Context(), s, &out, o)
	if err != nil {
		t.Fatalf("export: %v", err)
	}
	if o == nil || o.Format != records.CSV {
		if got := int64(strings.Count(out.String(), "\n")); got != n {
			t.Errorf("export says %d records, but wrote %d lines", n, got)
		}
	}
	return out.String()
}

func wantError(t testing.TB, what string, err error, code onto.Code, text string) {
	t.Helper()
	if !errors.Is(err, code) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v (%s), want %s with %q", what, err, onto.CodeOf(err), code, text)
	}
}

// wantHead fails unless the store has so many commits.
func wantHead(t testing.TB, s *store.Store, want int64) {
	t.Helper()
	if head, err := s.Head(t.Context()); err != nil || head.ID != want {
		t.Errorf("got head %d, %v, want %d", head.ID, err, want)
	}
}

// customer is a record of a customer, with fields after the name.
func customer(key, name, more string) string {
	return `{"kind":"entity","type":"Customer","key":"` + key + `","fields":{"name":"` + name + `"` + more + `}}`
}
