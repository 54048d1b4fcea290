package records_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// policyRow is the effect of a record that puts, and of one that deletes, when its
// identity is absent, the same, different, or deleted before.
type policyRow struct {
	policy       records.Policy
	precondition records.Precondition
	put, remove  string
}

func policyTable() []policyRow {
	return []policyRow{
		{records.Abort, "", "insert unchanged refuse insert", "unchanged delete delete unchanged"},
		{records.Skip, "", "insert unchanged skip insert", "unchanged delete delete unchanged"},
		{records.Upsert, "", "insert unchanged update insert", "unchanged delete delete unchanged"},
		{records.Abort, records.MustExist, "refuse unchanged refuse refuse", "refuse delete delete refuse"},
		{records.Skip, records.MustExist, "refuse unchanged skip refuse", "refuse delete delete refuse"},
		{records.Upsert, records.MustExist, "refuse unchanged update refuse", "refuse delete delete refuse"},
		{records.Abort, records.MustNotExist, "insert refuse refuse insert", "unchanged refuse refuse unchanged"},
		{records.Skip, records.MustNotExist, "insert refuse refuse insert", "unchanged refuse refuse unchanged"},
		{records.Upsert, records.MustNotExist, "insert refuse refuse insert", "unchanged refuse refuse unchanged"},
	}
}

// prepare brings customer c1 into a state.
func prepare(t testing.TB, s *store.Store, state string) {
	t.Helper()
	switch state {
	case "same":
		mustImport(t, s, customer("c1", "Ada", ""), nil)
	case "different", "deleted":
		mustImport(t, s, customer("c1", "Bob", ""), nil)
	}
	if state == "deleted" {
		mustImport(t, s, `{"type":"Customer","key":"c1","op":"delete"}`, nil)
	}
}

func TestPolicies(t *testing.T) {
	states := []string{"absent", "same", "different", "deleted"}
	onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		for _, e := range policyTable() {
			for op, row := range map[string]string{"put": e.put, "delete": e.remove} {
				for i, want := range strings.Fields(row) {
					name := fmt.Sprintf("%s %s: %s of %s", e.policy, e.precondition, op, states[i])
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						s := open(t)
						prepare(t, s, states[i])
						text := customer("c1", "Ada", "")
						if op == "delete" {
							text = `{"type":"Customer","key":"c1","op":"delete"}`
						}
						o := &records.ImportOptions{OnConflict: e.policy, Precondition: e.precondition}
						checkPolicy(t, name, s, text, o, want)
					})
				}
			}
		}
	})
}

// checkPolicy plans and imports one record, and compares the effect with the expected
// one.
func checkPolicy(t *testing.T, name string, s *store.Store, text string, o *records.ImportOptions, want string) {
	t.Helper()
	before := mustExport(t, s, nil)
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := records.Plan(t.Context(), s, strings.NewReader(text), o)
	if err != nil {
		t.Fatalf("%s: plan: %v", name, err)
	}
	if got := effect(plan); got != want {
		t.Errorf("%s: the plan says %s, want %s", name, got, want)
	}
	if after := mustExport(t, s, nil); after != before {
		t.Errorf("%s: the plan changed the store to %s", name, after)
	}
	out, err := records.Import(t.Context(), s, strings.NewReader(text), o)
	if want == "refuse" {
		wantError(t, name, err, onto.Conflict, `line 1: Customer "c1" `)
		if len(plan.First) != 1 || !strings.HasPrefix(err.Error(), plan.First[0].String()) {
			t.Errorf("%s: the plan lists %v, the import says %v", name, plan.First, err)
		}
		wantHead(t, s, head.ID)
		return
	}
	if err != nil {
		t.Fatalf("%s: import: %v", name, err)
	}
	if got := effect(out); got != want {
		t.Errorf("%s: got %s, want %s", name, got, want)
	}
	checkState(t, name, s, head.ID, out, before, want)
}

// effect is what an outcome of one record says.
func effect(out records.Outcome) string {
	var list []string
	for _, c := range []struct {
		n    int64
		name string
	}{
		{out.Inserts, "insert"}, {out.Updates, "update"}, {out.Unchanged, "unchanged"}, {out.Deletes, "delete"},
		{out.Skipped, "skip"}, {out.Conflicts, "refuse"}, {out.Repeated, "repeat"},
	} {
		for range c.n {
			list = append(list, c.name)
		}
	}
	if out.Records != int64(len(list)) {
		list = append(list, fmt.Sprintf("of %d", out.Records))
	}
	return strings.Join(list, " ")
}

// checkState fails unless the store shows the effect.
func checkState(t *testing.T, name string, s *store.Store, head int64, out records.Outcome, before, effect string) {
	t.Helper()
	ada := `{"kind":"entity","type":"Customer","key":"c1","fields":{"id":"c1","name":"Ada","tier":"Silver","visits":0}}` + "\n"
	want := map[string]string{"insert": ada, "update": ada, "delete": "", "unchanged": before, "skip": before}[effect]
	if got := mustExport(t, s, nil); got != want {
		t.Errorf("%s: the store has %s, want %s", name, got, want)
	}
	changed := effect == "insert" || effect == "update" || effect == "delete"
	if out.Result.Changed() != changed || changed && (out.Result.ID != head+1 || out.Result.Operations != 1) {
		t.Errorf("%s: got commit %d with %d operations after commit %d", name, out.Result.ID, out.Result.Operations, head)
	}
	if !changed {
		wantHead(t, s, head)
	}
}

// More records than any backend handles at a time.
func TestManyRecords(t *testing.T) {
	onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		const n = 5000
		var first, second strings.Builder
		for i := range n {
			fmt.Fprintln(&first, customer(fmt.Sprintf("c%d", i), "Ada", fmt.Sprintf(`,"age":%d`, i)))
		}
		for i := range n { // a third same, different and new; some twice
			fmt.Fprintln(&second, customer(fmt.Sprintf("c%d", i*2), "Ada", fmt.Sprintf(`,"age":%d`, i*2+i%2)))
			if i%100 == 0 {
				fmt.Fprintln(&second, customer(fmt.Sprintf("c%d", i*2), "Ada", fmt.Sprintf(`,"age":%d`, i*2+i%2)))
			}
		}
		out := mustImport(t, s, first.String(), nil)
		if out.Inserts != n || out.Records != n || out.Result.Operations != n {
			t.Errorf("got %+v, want %d inserts", out, n)
		}
		for policy, want := range map[records.Policy][5]int64{
			records.Skip:   {5050, 2500, 0, 1250, 1250},
			records.Upsert: {5050, 2500, 1250, 1250, 0},
		} {
			o := &records.ImportOptions{OnConflict: policy}
			plan, err := records.Plan(t.Context(), s, strings.NewReader(second.String()), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := [5]int64{plan.Records, plan.Inserts, plan.Updates, plan.Unchanged, plan.Skipped}; got != want || plan.Repeated != 50 {
				t.Errorf("%s: got %v and %d repeated, want %v and 50", policy, got, plan.Repeated, want)
			}
		}
		o := &records.ImportOptions{OnConflict: records.Abort}
		plan, err := records.Plan(t.Context(), s, strings.NewReader(second.String()), o)
		if err != nil || plan.Conflicts != 1250 || len(plan.First) != records.MaxConflicts {
			t.Fatalf("got %d conflicts, %d listed, %v", plan.Conflicts, len(plan.First), err)
		}
		if got, want := plan.First[0].String(), `line 3: Customer "c2" exists with other fields`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		_, err = records.Import(t.Context(), s, strings.NewReader(second.String()), o)
		wantError(t, "abort", err, onto.Conflict, "exists with other fields")
		wantHead(t, s, 1)
		out = mustImport(t, s, second.String(), &records.ImportOptions{OnConflict: records.Upsert})
		if out.Result.Operations != 3750 {
			t.Errorf("got %d operations, want 3750", out.Result.Operations)
		}
	})
}

// An import whose reader fails, or whose context ends, leaves nothing.
func TestInterruptedImports(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintln(&text, customer(fmt.Sprintf("c%d", i), "Ada", ""))
	}
	broken := errors.New("the cable is out")
	onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		_, err := records.Import(t.Context(), s, io.MultiReader(strings.NewReader(text.String()), iotest.ErrReader(broken)), nil)
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 5001: ") {
			t.Errorf("got %v, want the reader's error with its line", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = records.Import(ctx, s, io.MultiReader(strings.NewReader(text.String()), stopper(cancel)), nil)
		if !errors.Is(err, context.Canceled) || onto.CodeOf(err) != "" {
			t.Errorf("got %v (%s), want the context's error", err, onto.CodeOf(err))
		}
		ctx, cancel = context.WithCancel(t.Context())
		o := &records.ImportOptions{Progress: func(n, _ int64) {
			if n == 3000 {
				cancel()
			}
		}}
		_, err = records.Import(ctx, s, strings.NewReader(text.String()), o)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = records.Import(t.Context(), s, io.MultiReader(strings.NewReader(text.String()), panicker{}), nil)
			t.Error("the reader's panic is gone")
		}()
		wantHead(t, s, 0)
		if got := mustExport(t, s, nil); got != "" {
			t.Errorf("the store has %.200s", got)
		}
		mustImport(t, s, text.String(), nil)
		wantHead(t, s, 1)
	})
}

// stopper cancels a context when it is read, and gives blank lines from then on.
type stopper func()

func (s stopper) Read(p []byte) (int, error) {
	s()
	p[0] = '\n'
	return 1, nil
}

type panicker struct{}

func (panicker) Read([]byte) (int, error) { panic("read") }

func TestWhatIsSaidAboutTheCommit(t *testing.T) {
	onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		text := customer("c1", "Ada", "")
		o := &records.ImportOptions{Draft: onto.Draft{
			Actor: onto.Daemon("crm"), Comment: "sync", Metadata: map[string]any{"source": "crm"}, IdempotencyKey: "sync-1",
		}}
		first := mustImport(t, s, text, o)
		if c := first.Result.Commit; c.Actor != onto.Daemon("crm") || c.Comment != "sync" || c.ID != 1 {
			t.Errorf("got commit %+v", c)
		}
		again := mustImport(t, s, text, o)
		if !again.Result.Repeated || again.Result.ID != 1 || again.Records != 1 || again.Inserts+again.Unchanged != 0 {
			t.Errorf("repeated: got %+v", again)
		}
		_, err := records.Import(t.Context(), s, strings.NewReader(customer("c1", "Bob", "")), o)
		wantError(t, "another import with the same key", err, onto.IdempotencyConflict, "sync-1")
		for _, run := range []func(context.Context, *store.Store, io.Reader, *records.ImportOptions) (records.Outcome, error){records.Plan, records.Import} {
			o := &records.ImportOptions{OnConflict: records.Upsert, Draft: onto.Draft{}.ExpectHead(7)}
			_, err = run(t.Context(), s, strings.NewReader(customer("c1", "Bob", "")), o)
			wantError(t, "head", err, onto.HeadMismatch, "expected head 7, but the head is 1")
			o.Draft = onto.Draft{}.ExpectVersion(onto.EntityID("Customer", "c1"), 0)
			_, err = run(t.Context(), s, strings.NewReader(customer("c1", "Bob", "")), o)
			wantError(t, "version", err, onto.VersionMismatch, `Customer "c1"`)
			o.Draft = onto.Draft{}.Delete(onto.EntityID("Customer", "c1"))
			_, err = run(t.Context(), s, strings.NewReader(text), o)
			wantError(t, "intents", err, onto.Invalid, "intents of its own")
			o.Draft = onto.Draft{Actor: onto.Actor{Kind: "ghost", ID: "x"}}
			_, err = run(t.Context(), s, strings.NewReader(text), o)
			wantError(t, "actor", err, onto.Invalid, "actor kind")
		}
		wantHead(t, s, 1)
		o = &records.ImportOptions{OnConflict: records.Upsert, Draft: onto.Draft{}.ExpectHead(1).ExpectVersion(onto.EntityID("Customer", "c1"), 1)}
		if _, err := records.Plan(t.Context(), s, strings.NewReader(customer("c1", "Bob", "")), o); err != nil {
			t.Error(err)
		}
		mustImport(t, s, customer("c1", "Bob", ""), o)
	})
}

func TestImportOptionsAreChecked(t *testing.T) {
	s := inMemory(t)
	for _, c := range []struct {
		o    records.ImportOptions
		want string
		hint string
	}{
		{records.ImportOptions{Format: "xml"}, `format "xml" is unknown`, "use jsonl or csv"},
		{records.ImportOptions{Format: "json"}, `format "json" is unknown`, "did you mean jsonl?"},
		{records.ImportOptions{OnConflict: "upset"}, `conflict policy "upset" is unknown`, "did you mean upsert?"},
		{records.ImportOptions{Precondition: "must_exit"}, `precondition "must_exit" is unknown`, "did you mean must_exist?"},
		{records.ImportOptions{Type: "Custmer"}, "type Custmer does not exist", "did you mean Customer?"},
	} {
		_, err := records.Import(t.Context(), s, strings.NewReader(""), &c.o)
		wantError(t, c.want, err, onto.Invalid, c.want)
		if hint := onto.HintOf(err).String(); !strings.Contains(hint, c.hint) {
			t.Errorf("got hint %q, want %q", hint, c.hint)
		}
	}
}

func TestProgress(t *testing.T) {
	s := inMemory(t)
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintln(&text, customer(fmt.Sprintf("c%d", i), "Ada", ""))
	}
	var seen []int64
	var last int64
	report := func(n, bytes int64) {
		seen = append(seen, n)
		if bytes <= last {
			t.Errorf("%d bytes after %d", bytes, last)
		}
		last = bytes
	}
	mustImport(t, s, text.String(), &records.ImportOptions{Progress: report})
	if got, want := fmt.Sprint(seen), "[1000 2000]"; got != want {
		t.Errorf("import: got %s, want %s", got, want)
	}
	seen, last = nil, 0
	mustExport(t, s, &records.ExportOptions{Progress: report})
	if got, want := fmt.Sprint(seen), "[1000 2000]"; got != want {
		t.Errorf("export: got %s, want %s", got, want)
	}
}
