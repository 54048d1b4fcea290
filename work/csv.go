package work

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/uuid"
	"github.com/ontologia/onto/internal/workcsv"
)

// ExportCSV writes items as CSV, with the columns of work_items, in the order in which they
// are taken, and returns how many. A nil query asks for all. It fails with Unavailable if
// that is not how many there are.
func (q *Queue) ExportCSV(ctx context.Context, out io.Writer, query *backend.WorkQuery) (int64, error) {
	before, err := q.total(ctx, query)
	if err != nil {
		return 0, err
	}
	w, err := workcsv.NewWriter(out)
	if err != nil {
		return 0, err
	}
	for i, err := range q.Items(ctx, query) {
		if err != nil {
			return w.Count(), err
		}
		if err := w.Write(rowOf(&i.WorkItem)); err != nil {
			return w.Count(), err
		}
	}
	if err := w.Flush(); err != nil {
		return w.Count(), err
	}
	after, err := q.total(ctx, query)
	if err == nil && before == after && w.Count() != after {
		err = onto.Errorf(onto.Unavailable, "%d items were exported, and there are %d", w.Count(), after).WithHint("export them again")
	}
	return w.Count(), err
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
	}
}

// ImportOptions change how items are imported. The zero value is the default.
type ImportOptions struct {
	Rows int64      // how many rows the file must have; 0 if that is not known
	By   onto.Actor // who imports
}

// Imported is what an import did.
type Imported struct {
	Rows  int64 // of the file
	Fresh int64 // items that are new
	Known int64 // items that were known before, and stay as they are
	Done  int64 // of those new: completed, failed or skipped in the file, and skipped now
}

// ImportCSV adds the items of a file as [Queue.ExportCSV] or
//
//	sqlite3 -csv -header ingest_state.db "SELECT * FROM work_items"
//
// writes it. The file is read into memory and checked before the first item is added. Items
// keep their ids, parents and runs. Those that were pending or in progress are pending;
// those that were completed, failed or skipped are skipped with a reason that says so, and
// can be fetched again by [Queue.Recrawl]. An import that was interrupted can be repeated.
func (q *Queue) ImportCSV(ctx context.Context, in io.Reader, o *ImportOptions) (Imported, error) {
	if o == nil {
		o = &ImportOptions{}
	}
	if err := o.By.Check(); err != nil {
		return Imported{}, err
	}
	list, err := readCSV(in, o.Rows)
	if err != nil {
		return Imported{}, err
	}
	if err := q.rename(ctx, list); err != nil {
		return Imported{}, err
	}
	did := Imported{Rows: int64(len(list))}
	for chunk := range slices.Chunk(list, enqueueChunk) {
		if err := q.importSome(ctx, chunk, o.By, &did); err != nil {
			return did, err
		}
	}
	return did, nil
}

// imported is an item of a file.
type imported struct {
	item onto.WorkItem
	was  string // why it is skipped; "" if it is not
}

// parked is the time that items wait for until they are skipped, so that no worker takes
// them before.
var parked = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func readCSV(in io.Reader, rows int64) ([]imported, error) {
	r, err := workcsv.NewReader(in)
	if err != nil {
		return nil, err
	}
	var list []imported
	seen := map[string]bool{}
	for row, err := range r.Rows() {
		if err != nil {
			return nil, err
		}
		i, err := itemOf(row, r)
		if err != nil {
			return nil, err
		}
		if seen[i.item.ID] {
			return nil, r.Errorf("work_item_id", "the item %.100q comes twice", i.item.ID)
		}
		seen[i.item.ID] = true
		list = append(list, i)
	}
	if rows > 0 {
		if err := r.CheckCount(rows); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// itemOf checks a row, and makes an item of it.
func itemOf(row *workcsv.Row, r *workcsv.Reader) (imported, error) {
	i := Item{
		System: row.SourceSystem, Source: row.SourceName, Type: row.ResourceType, ID: row.ResourceID,
		URI: row.RequestURI, Method: row.RequestMethod, Body: row.RequestBody.Text, Run: row.RunID.Text,
	}
	for _, m := range []struct {
		column string
		value  workcsv.Value
		into   any
	}{{"request_headers", row.RequestHeaders, &i.Headers}, {"metadata", row.Metadata, &i.Metadata}} {
		if m.value.Text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(m.value.Text), m.into); err != nil {
			return imported{}, r.Errorf(m.column, "it is not a JSON object: %v", err)
		}
	}
	w, err := i.item(time.Time{})
	if err != nil {
		return imported{}, onto.Errorf(onto.CodeOf(err), "line %d: %w", r.Line(), err)
	}
	if err := checkText("the work item id", row.WorkItemID, 0, onto.MaxKey); err != nil {
		return imported{}, r.Errorf("work_item_id", "%v", err)
	}
	if err := checkText("the parent", row.DiscoveredFrom.Text, 0, onto.MaxKey); err != nil {
		return imported{}, r.Errorf("discovered_from", "%v", err)
	}
	w.ID, w.Parent = cmp.Or(row.WorkItemID, w.ID), row.DiscoveredFrom.Text
	if strings.ContainsFunc(row.DedupeKey, unicode.IsControl) { // of a run, maybe of another than it is in now
		w.Key = row.DedupeKey
	}
	if w.Priority, err = strconv.Atoi(row.Priority); err != nil {
		return imported{}, r.Errorf("priority", "%.80q is not a whole number", row.Priority)
	}
	if row.Depth.Text != "" {
		if w.Depth, err = strconv.Atoi(row.Depth.Text); err != nil || w.Depth < 0 {
			return imported{}, r.Errorf("depth", "%.80q is not a number from 0", row.Depth.Text)
		}
	}
	if row.NotBefore.Text != "" {
		if w.NotBefore, err = codec.ParseTime(row.NotBefore.Text); err != nil {
			return imported{}, r.Errorf("not_before", "%v", err)
		}
	}
	return finished(imported{item: w}, row, r)
}

// finished parks an item that was finished.
func finished(i imported, row *workcsv.Row, r *workcsv.Reader) (imported, error) {
	switch s := onto.WorkStatus(row.Status); s {
	case onto.WorkPending, onto.WorkInProgress:
	case onto.WorkCompleted, onto.WorkFailed, onto.WorkSkipped:
		i.was = "imported as " + row.Status
		if row.ErrorMessage.Text != "" {
			i.was += ": " + cut(strings.Map(printable, row.ErrorMessage.Text), maxError)
		}
		i.item.NotBefore = parked
	default:
		return i, r.Errorf("status", "%.80q is not a status", row.Status).WithHint("use one of %v", onto.WorkStatuses())
	}
	return i, nil
}

func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// importSome adds some items, and skips those of them that were finished.
func (q *Queue) importSome(ctx context.Context, chunk []imported, by onto.Actor, did *Imported) error {
	list := make([]onto.WorkItem, len(chunk))
	why := map[string]string{} // by key
	var keys []string
	for n := range chunk {
		list[n] = chunk[n].item
		if chunk[n].was != "" {
			why[list[n].Key] = chunk[n].was
			keys = append(keys, list[n].Key)
		}
	}
	fresh, err := q.enqueue(ctx, list)
	for _, f := range fresh {
		if f {
			did.Fresh++
		} else {
			did.Known++
		}
	}
	if err != nil || len(keys) == 0 {
		return err
	}
	waiting, err := q.list(ctx, &backend.WorkQuery{Keys: keys, Status: []onto.WorkStatus{onto.WorkPending}})
	if err != nil {
		return err
	}
	ids := map[string][]string{} // by reason
	for _, w := range waiting {
		if w.NotBefore.Equal(parked) {
			ids[why[w.Key]] = append(ids[why[w.Key]], w.ID)
		}
	}
	for reason, list := range ids {
		n, err := q.port.Revise(ctx, &backend.WorkRevision{Items: backend.WorkQuery{IDs: list}, Do: backend.ReviseSkip, By: by, Reason: reason})
		did.Done += n
		if err != nil {
			return err
		}
	}
	return nil
}

// rename gives items new ids whose ids other items of the queue have.
func (q *Queue) rename(ctx context.Context, list []imported) error {
	names := map[string]string{} // new ids by those of the file
	for chunk := range slices.Chunk(list, enqueueChunk) {
		keys := map[string]string{}
		var ids []string
		for n := range chunk {
			keys[chunk[n].item.ID] = chunk[n].item.Key
			ids = append(ids, chunk[n].item.ID)
		}
		taken, err := q.list(ctx, &backend.WorkQuery{IDs: ids})
		if err != nil {
			return err
		}
		for _, t := range taken {
			if keys[t.ID] != t.Key {
				names[t.ID] = uuid.V4()
			}
		}
	}
	for n := range list {
		i := &list[n].item
		i.ID, i.Parent = cmp.Or(names[i.ID], i.ID), cmp.Or(names[i.Parent], i.Parent)
	}
	return nil
}
