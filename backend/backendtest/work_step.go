package backendtest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// chore is what a step of a random workload does.
type chore string

const (
	restChore    chore = "rest"    // only move the clock
	enqueueChore chore = "enqueue" // add items
	importChore  chore = "import"  // add items of another queue
	dequeueChore chore = "dequeue" // take items
	finishChore  chore = "finish"  // end attempts
	reviseChore  chore = "revise"  // retry, recrawl or skip
	runChore     chore = "run"     // start or save a run
	askChore     chore = "ask"     // list and count some items
	commitChore  chore = "commit"  // append a draft
	cleanChore   chore = "clean"   // remove what is over
	reopenChore  chore = "reopen"  // close a handle and open it again
)

// shift is one operation of a random workload. It is plain data: items are those of the
// run when it is taken.
type shift struct {
	Do     chore
	Handle int
	Clock  time.Duration
	Cancel bool // with a context that was cancelled

	Items []itemSketch
	Ends  []outcomeSketch

	Worker, Run int
	OnlyRun     bool
	Systems     []int // -1 for all
	Limit       int
	Lease       time.Duration
	Limits      int // which limits
	MaxTries    int

	Revise backend.WorkRevising
	Query  querySketch
	Value  int // of a person, of a run; the state of items that are imported
	Start  bool

	Clean backend.WorkCleaning // but for Of, which is Query, and for Before
	Age   time.Duration        // from before so long ago; negative for any time
}

// itemSketch is an item of a random workload.
type itemSketch struct {
	Key, System, Source, Type, Run int
	Priority                       int
	NotBefore                      time.Duration // from now; 0 for none
	Depth                          int
	JSON                           int
}

// outcomeSketch is an outcome of a random workload.
type outcomeSketch struct {
	Do         backend.WorkDo
	Which      int // which item, from the newest on
	Lease      time.Duration
	Delay      time.Duration
	Say        int // what Error, Class, Diagnostic and Metadata are
	Discovered []itemSketch
	Forge      int // 1 for the item of another worker, 2 for another attempt
}

// querySketch is a query of a random workload. Numbers are places in lists that begin with
// "any".
type querySketch struct {
	IDs, Keys                         []int
	Status                            []int
	System, Source, Type, Run, Parent int
	Error                             int
	Limit                             int
	Attempts                          bool
}

// shifts is a random workload.
type shifts []shift

// GoString lists the steps that matter, one on each line.
func (p shifts) GoString() string {
	var text strings.Builder
	for i, m := range p {
		if m.Do != restChore || m.Clock != 0 {
			fmt.Fprintf(&text, "\n%4d: %s", i, m)
		}
	}
	return text.String()
}

// String describes the step for messages, without zero values.
func (m shift) String() string {
	text := fmt.Sprintf("%s, handle %d", m.Do, m.Handle)
	v := reflect.ValueOf(m)
	for i := 2; i < v.NumField(); i++ {
		if f := v.Field(i); !f.IsZero() {
			text += fmt.Sprintf(", %s %+v", v.Type().Field(i).Name, f.Interface())
		}
	}
	return text
}

func workSystems() []string { return []string{"http", "feed", "HTTP"} }
func workSources() []string { return []string{"docs", "news", "Docs"} }
func workTypes() []string   { return []string{"page", "item"} }
func workRuns() []string    { return []string{"", "r1", "r2", "R1"} }
func workers() []string     { return []string{"one", "two", "One"} }
func workErrors() []string {
	return []string{"", "timeout after 5 s", "status 404: 100%_gone", "Status"}
}

// workLimits are limits that random requests are made with.
func workLimits() []backend.WorkRequest {
	docs, news := backend.WorkSource{System: "http", Source: "docs"}, backend.WorkSource{System: "http", Source: "news"}
	return []backend.WorkRequest{
		{},
		{Most: backend.WorkLimit{Concurrent: 2}},
		{Most: backend.WorkLimit{Every: time.Second}},
		{Limits: map[backend.WorkSource]backend.WorkLimit{docs: {Concurrent: 1}, news: {Every: time.Second, Burst: 3}}},
		{Limits: map[backend.WorkSource]backend.WorkLimit{docs: {Every: 1500 * time.Millisecond, Burst: 2, Concurrent: 3}}, Most: backend.WorkLimit{Concurrent: 1}},
		{Limits: map[backend.WorkSource]backend.WorkLimit{docs: {}, news: {Every: 1900, Burst: -1}}, Most: backend.WorkLimit{Every: 999, Burst: 2}},
		{Limits: map[backend.WorkSource]backend.WorkLimit{docs: {Every: time.Second, Burst: 1_000_000}}, Most: backend.WorkLimit{Every: time.Second, Concurrent: 2, Burst: 2}},
	}
}

// workloads generates random workloads. The simplest step comes first where there is a
// choice, since failing workloads are shrunk.
func workloads() *rapid.Generator[shifts] {
	return rapid.Map(rapid.SliceOfN(rapid.Custom(drawShift), 100, 300), func(list []shift) shifts { return list })
}

func drawShift(t *rapid.T) shift {
	m := shift{
		Do: oneOf(t, "do", restChore, dequeueChore, enqueueChore, finishChore, dequeueChore, finishChore, enqueueChore, reviseChore, dequeueChore,
			finishChore, askChore, dequeueChore, finishChore, runChore, finishChore, dequeueChore, commitChore, importChore, reopenChore, cleanChore),
		Handle: oneOf(t, "handle", 0, 1),
		Clock: oneOf(t, "clock", 0, 0, 0, 0, 0, 0, 0, 0, 0, time.Microsecond, 999, 500*time.Millisecond, time.Second, time.Second, 3*time.Second,
			10*time.Second, -time.Second, time.Minute, -20*time.Second),
	}
	m.Cancel = m.Do != reopenChore && rapid.IntRange(0, 24).Draw(t, "cancel") == 24
	switch m.Do {
	case enqueueChore:
		m.Items = rapid.SliceOfN(rapid.Custom(drawItem), 1, 4).Draw(t, "items")
	case importChore:
		m.Items = rapid.SliceOfN(rapid.Custom(drawItem), 1, 4).Draw(t, "items")
		m.Value = rapid.IntRange(0, importedWays-1).Draw(t, "state")
	case dequeueChore:
		m.drawRequest(t)
	case finishChore:
		m.Ends = rapid.SliceOfN(rapid.Custom(drawEnding), 1, 4).Draw(t, "ends")
	case reviseChore:
		m.Revise = oneOf(t, "revise", backend.ReviseRetry, backend.ReviseRetry, backend.ReviseRecrawl, backend.ReviseSkip)
		m.Run = oneOf(t, "run", 0, 0, 1, 2)
		m.Value = rapid.IntRange(0, 3).Draw(t, "reason")
		m.Query = drawWorkQuery(t)
	case runChore:
		m.Run = rapid.IntRange(1, 3).Draw(t, "run")
		m.Start = oneOf(t, "start", true, false, false)
		m.Value = rapid.IntRange(0, 5).Draw(t, "value")
	case cleanChore:
		m.Clean = backend.WorkCleaning{
			Items: oneOf(t, "items", false, true), Attempts: oneOf(t, "attempts", true, false), Runs: oneOf(t, "runs", false, true),
			Keep: oneOf(t, "keep", 0, 1, 2, 3), Apply: oneOf(t, "apply", true, true, false),
		}
		m.Age = oneOf(t, "age", time.Second, 0, -1, 5*time.Second, time.Minute)
		m.Query = drawWorkQuery(t)
	case askChore:
		m.Query = drawWorkQuery(t)
	case commitChore:
		m.Value = rapid.IntRange(1, 5).Draw(t, "value")
	}
	return m
}

func (m *shift) drawRequest(t *rapid.T) {
	m.Worker = oneOf(t, "worker", 0, 0, 1, 2)
	m.Run = oneOf(t, "run", 0, 1, 2)
	m.OnlyRun = m.Run > 0 && oneOf(t, "only run", false, false, true)
	m.Systems = oneOf(t, "systems", []int{-1}, []int{-1}, []int{-1}, []int{0}, []int{1, 0}, []int{2})
	m.Limit = oneOf(t, "limit", 2, 1, 3, 5, 0, 9)
	m.Lease = drawLease(t)
	m.Limits = rapid.IntRange(0, len(workLimits())-1).Draw(t, "limits")
	m.MaxTries = oneOf(t, "max tries", 0, 0, 0, 0, 2, 1, 3)
	if oneOf(t, "finishing", false, false, true) {
		m.Ends = rapid.SliceOfN(rapid.Custom(drawEnding), 1, 3).Draw(t, "ends")
	}
}

func drawItem(t *rapid.T) itemSketch {
	return itemSketch{
		Key: rapid.IntRange(0, 99).Draw(t, "key"), System: oneOf(t, "system", 0, 0, 0, 0, 1, 2), Source: oneOf(t, "source", 0, 0, 1, 2),
		Type: oneOf(t, "type", 0, 1), Run: oneOf(t, "run", 0, 0, 1, 2, 3), Priority: oneOf(t, "priority", 100, 100, 100, 0, 7, 200, -3),
		NotBefore: oneOf(t, "not before", 0, 0, 0, 0, 0, time.Second, 10*time.Second, 1234567, -time.Second),
		Depth:     rapid.IntRange(0, 3).Draw(t, "depth"), JSON: rapid.IntRange(0, 3).Draw(t, "json"),
	}
}

func drawEnding(t *rapid.T) outcomeSketch {
	e := outcomeSketch{
		Do: oneOf(t, "do", backend.WorkComplete, backend.WorkComplete, backend.WorkRetry, backend.WorkFail, backend.WorkFail, backend.WorkReturn,
			backend.WorkSkip, backend.WorkExtend),
		Which: oneOf(t, "which", 0, 0, 1, 1, 2, 2, 3, 4, 5, 8), Lease: drawLease(t), Delay: oneOf(t, "delay", 0, time.Second, 2500, 20*time.Second),
		Say: rapid.IntRange(0, 7).Draw(t, "say"), Forge: oneOf(t, "forge", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2),
	}
	if e.Do == backend.WorkComplete || e.Do == backend.WorkSkip {
		e.Discovered = rapid.SliceOfN(rapid.Custom(drawItem), 0, 3).Draw(t, "discovered")
	}
	return e
}

func drawWorkQuery(t *rapid.T) querySketch {
	var q querySketch
	switch rapid.IntRange(0, 6).Draw(t, "by") {
	case 1:
		q.IDs = rapid.SliceOfN(rapid.IntRange(1, 40), 0, 5).Draw(t, "ids")
	case 2:
		q.Keys = rapid.SliceOfN(rapid.IntRange(0, 99), 0, 12).Draw(t, "keys")
	case 3:
		q.Status = rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "status")
	case 4:
		q.System, q.Source = oneOf(t, "system", 1, 0, 2, 3), oneOf(t, "source", 1, 0, 2, 3)
	case 5:
		q.Run, q.Type = oneOf(t, "run", 0, 2, 3), oneOf(t, "type", 0, 1, 2)
	case 6:
		q.Parent, q.Error = oneOf(t, "parent", 0, 1, 2, 3, 5, 8), oneOf(t, "error", 0, 1, 2, 3)
	}
	if oneOf(t, "more", false, true) {
		q.Status = append(q.Status, rapid.IntRange(0, 4).Draw(t, "and status"))
		q.Source = oneOf(t, "and source", 0, 0, 1, 2)
	}
	q.Limit, q.Attempts = oneOf(t, "limit", 0, 0, 1, 3), oneOf(t, "attempts", false, true)
	return q
}

// item is the item of a sketch.
func (k itemSketch) item(n int, now time.Time) onto.WorkItem {
	i := onto.WorkItem{
		ID: itemID(n), System: workSystems()[k.System], Source: workSources()[k.Source], Type: workTypes()[k.Type], Resource: fmt.Sprint("r", k.Key),
		Key: workKey(k.Key), URI: fmt.Sprint("https://example.org/", n), Method: "GET", Priority: k.Priority, Run: workRuns()[k.Run], Depth: k.Depth,
		Status: onto.WorkCompleted, Attempt: 7, Revised: 3, Created: now, Updated: now, Error: "ignored", Owner: "ignored", Until: now, // which the queue decides
	}
	if k.Depth > 0 {
		i.Parent = itemID(1 + n%9)
	}
	if k.NotBefore != 0 {
		i.NotBefore = now.Add(k.NotBefore)
	}
	switch k.JSON {
	case 1:
		i.Headers, i.Metadata = fmt.Appendf(nil, `{"accept":"text/%d"}`, n), []byte(`{}`)
	case 2:
		i.Method, i.Body, i.Metadata = "POST", "q=ü", fmt.Appendf(nil, `{"n":%d}`, n)
	}
	return i
}

// workKey is a key; some differ only in their case.
func workKey(n int) string {
	if n%10 == 9 {
		return fmt.Sprint("K:", n-1)
	}
	return fmt.Sprint("k:", n)
}

// query is the query of a sketch.
func (k querySketch) query() backend.WorkQuery {
	nth := func(list []string, n int) string { return append([]string{""}, list...)[n] }
	q := backend.WorkQuery{
		System: nth(workSystems(), k.System), Source: nth(workSources(), k.Source), Type: nth(workTypes(), k.Type), Run: workRuns()[k.Run],
		Error: []string{"", "404", "%_", "status"}[k.Error], Limit: k.Limit, Attempts: k.Attempts,
	}
	if k.Parent > 0 {
		q.Parent = itemID(k.Parent)
	}
	for _, n := range k.IDs {
		q.IDs = append(q.IDs, itemID(n))
	}
	for _, n := range k.Keys {
		q.Keys = append(q.Keys, workKey(n))
	}
	for _, n := range k.Status {
		q.Status = append(q.Status, onto.WorkStatuses()[n])
	}
	return q
}
