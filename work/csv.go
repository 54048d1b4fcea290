package work

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/workcsv"
)

// ExportCSV writes items as CSV, with the columns of work_items, in the order in which they
// are taken, and returns how many. A nil query asks for all. It fails with Unavailable if
// that is not how many there are.
func (q *Queue) ExportCSV(ctx context.Context, out io.Writer, query *backend.WorkQuery) (int64, error) {
	w, err := workcsv.NewWriter(out)
	if err != nil {
		return 0, err
	}
	return q.Export(ctx, query, func(i *backend.WorkState) error {
		if i == nil {
			return w.Flush()
		}
		return w.Write(rowOf(&i.WorkItem))
	})
}

// Export calls write with each item in the order in which they are taken, and with nil at
// the end, and returns how many there were. A nil query asks for all. It fails with
// Unavailable if that is not how many there are.
func (q *Queue) Export(ctx context.Context, query *backend.WorkQuery, write func(*backend.WorkState) error) (n int64, err error) {
	before, err := q.total(ctx, query)
	if err != nil {
		return 0, err
	}
	for i, err := range q.Items(ctx, query) {
		if err == nil {
			err = write(&i)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	if err := write(nil); err != nil {
		return n, err
	}
	after, err := q.total(ctx, query)
	if err == nil && before == after && n != after {
		err = onto.Errorf(onto.Unavailable, "%d items were exported, and there are %d", n, after).WithHint("export them again")
	}
	return n, err
}

// total counts the items of a query.
func (q *Queue) total(ctx context.Context, query *backend.WorkQuery) (int64, error) {
	counts, err := q.Stats(ctx, query)
	var n int64
	for _, c := range counts {
		n += c.Items
	}
	if query != nil && query.Limit > 0 {
		n = min(n, int64(query.Limit))
	}
	return n, err
}

func rowOf(i *onto.WorkItem) *workcsv.Row {
	opt := func(s string) workcsv.Value { return workcsv.Value{Text: s, Valid: s != ""} }
	at := func(t time.Time) workcsv.Value {
		if t.IsZero() {
			return workcsv.Value{}
		}
		return workcsv.Text(codec.FormatTime(t))
	}
	return &workcsv.Row{
		WorkItemID: i.ID, SourceSystem: i.System, SourceName: i.Source, ResourceType: i.Type, ResourceID: i.Resource,
		RequestURI: i.URI, RequestMethod: i.Method, RequestHeaders: opt(string(i.Headers)), RequestBody: opt(i.Body), Metadata: opt(string(i.Metadata)),
		Priority: strconv.Itoa(i.Priority), Status: string(i.Status), Attempt: strconv.Itoa(i.Attempt), RunID: opt(i.Run), DiscoveredFrom: opt(i.Parent),
		CreatedAt: codec.FormatTime(i.Created), UpdatedAt: codec.FormatTime(i.Updated), ErrorMessage: opt(i.Error), DedupeKey: i.Key,
		LeaseOwner: opt(i.Owner), LeaseUntil: at(i.Until), NotBefore: at(i.NotBefore), Depth: workcsv.Text(strconv.Itoa(i.Depth)), Scope: workcsv.Text(string(scopeOf(i.Key))),
		Revised: workcsv.Text(strconv.Itoa(i.Revised)),
	}
}

// ReadCSV yields the items of a file as [Queue.ExportCSV] or
//
//	sqlite3 -csv -header ingest_state.db "SELECT * FROM work_items"
//
// writes it, from its beginning. It ends with the first fault of the file.
func ReadCSV(in io.ReadSeeker) iter.Seq2[ImportItem, error] {
	return func(yield func(ImportItem, error) bool) {
		r, err := openCSV(in)
		if err != nil {
			yield(ImportItem{}, err)
			return
		}
		for row, err := range r.Rows() {
			if err != nil {
				yield(ImportItem{}, err)
				return
			}
			if !yield(NewImportItem(fmt.Sprintf("line %d", r.Line()), row, nil), nil) {
				return
			}
		}
	}
}

func openCSV(in io.ReadSeeker) (*workcsv.Reader, error) {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, onto.Errorf(onto.Unavailable, "the file cannot be read from its beginning: %w", err)
	}
	return workcsv.NewReader(in)
}
