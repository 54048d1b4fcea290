package terminal

import (
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
)

// WorkItems is a list of work items.
func WorkItems(p *Printer) *List[backend.WorkState] {
	columns := append(WholeColumns("id", "source", "type", "resource", "status", "priority", "attempt"), Columns("run", "error")...)
	return Rows(p, columns, document.NewWorkItem, func(w backend.WorkState) ([]string, error) {
		return []string{
			w.ID, w.Source, w.Type, w.Resource, string(w.Status), strconv.Itoa(w.Priority), strconv.Itoa(w.Attempt), w.Run, w.Error,
		}, nil
	})
}

// WorkAttempts is a list of the attempts at a work item.
func WorkAttempts(p *Printer) *List[onto.WorkAttempt] {
	columns := append(WholeColumns("number", "status", "started", "finished", "worker", "class"), Columns("error", "diagnostic")...)
	return Rows(p, columns, document.NewWorkAttempt, func(a onto.WorkAttempt) ([]string, error) {
		return []string{
			strconv.Itoa(a.Number), string(a.Status), Time(a.Started), Time(a.Finished), a.Worker, a.Class, a.Error, string(a.Diagnostic),
		}, nil
	})
}

// WorkSources is a list of sources, with how many items of each have which status.
func WorkSources(p *Printer) *List[document.WorkSource] {
	columns := WholeColumns(append([]string{"system", "source"}, statuses()...)...)
	return Rows(p, columns, Itself, func(s document.WorkSource) ([]string, error) {
		return append([]string{s.SourceSystem, s.SourceName}, workCells(s.WorkCounts)...), nil
	})
}

// WorkOfRuns is a list of runs, with how many items of each have which status.
func WorkOfRuns(p *Printer) *List[document.WorkOfRun] {
	columns := WholeColumns(append([]string{"run"}, statuses()...)...)
	return Rows(p, columns, Itself, func(r document.WorkOfRun) ([]string, error) {
		run := ""
		if r.RunID != nil {
			run = *r.RunID
		}
		return append([]string{run}, workCells(r.WorkCounts)...), nil
	})
}

func statuses() []string {
	var names []string
	for _, s := range onto.WorkStatuses() {
		names = append(names, string(s))
	}
	return names
}

// workCells is counts in the order of [onto.WorkStatuses].
func workCells(c document.WorkCounts) []string {
	var cells []string
	for _, n := range []int64{c.Pending, c.InProgress, c.Completed, c.Failed, c.Skipped} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return cells
}
