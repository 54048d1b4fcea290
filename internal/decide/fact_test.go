package decide_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/typelist"
)

func claims(t testing.TB) onto.Schema {
	s, err := onto.Untyped(onto.Schema{Kind: onto.KindFact, Name: "Claim", Left: "Person", Fields: []onto.Field{{Name: "n", Type: onto.Int, Optional: true}}}).Schema()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// once is a write of a fact that must be new.
func once(id, fields string) backend.Write {
	return backend.Write{Identity: onto.FactID("Claim", "a", "n", id), Op: onto.Put, Fields: json.RawMessage(fields), SchemaVersion: 1, Once: true}
}

func anyhow(w backend.Write) backend.Write {
	w.Once = false
	return w
}

func retract(id string) backend.Write {
	w := anyhow(once(id, ""))
	w.Op, w.Fields = onto.Delete, nil
	return w
}

func derived(w backend.Write) backend.Write {
	w.Derived = true
	return w
}

// factRound starts one at commit 5, where fact 1 is known since commit 4 and fact 2 was
// retracted.
func factRound(t testing.TB) *decide.Round {
	r := round()
	r.Types = decide.NewCatalog(append(stored(), typelist.New(claims(t), 1)))
	known, gone := once("1", `{"n":1,"seq":2}`), retract("2")
	r.Newest[known.Identity] = &onto.Version{Identity: known.Identity, Op: onto.Put, Commit: 4, SchemaVersion: 1, Fields: known.Fields}
	r.Newest[gone.Identity] = &onto.Version{Identity: gone.Identity, Op: onto.Delete, Commit: 5, SchemaVersion: 1, Fields: json.RawMessage("{}")}
	return r
}

func fenced(d *backend.Draft, fence ...onto.Expectation) *backend.Draft {
	d.Fence = fence
	return d
}

func at1(id string, commit int64) onto.Expectation {
	return onto.Expectation{Identity: onto.FactID("Claim", "a", "n", id), Commit: commit}
}

// What earlier drafts of a round will write counts for writes once and for fences.
func TestFactsInRound(t *testing.T) {
	r := factRound(t)
	for _, c := range []struct {
		name   string
		d      *backend.Draft
		code   onto.Code
		commit int64
		ops    int
	}{
		{"as it is", draft(once("1", `{"n":1,"seq":2}`)), "", 0, 0},
		{"at another place", draft(once("1", `{"n":1}`)), "", 0, 0},
		{"another value", draft(once("1", `{"n":2,"seq":2}`)), onto.Conflict, 0, 0},
		{"an id that is used up", draft(once("2", `{"n":1}`)), onto.Conflict, 0, 0},
		{"one of three is refused", draft(once("0", `{"n":1}`), once("1", `{"n":9}`), once("3", `{"n":1}`)), onto.Conflict, 0, 0},
		{"a new one, and a known one", draft(once("1", `{"n":1}`), once("3", `{"n":1}`)), "", 6, 1},
		{"the same from another draft of the round", draft(once("3", `{"n":1,"seq":1}`)), "", 0, 0},
		{"another value from another draft", draft(once("3", `{"n":2}`)), onto.Conflict, 0, 0},
		{"what was computed before the round", fenced(draft(once("4", `{"n":1}`)), at1("3", 0)), onto.Stale, 0, 0},
		{"what was computed after the first draft", fenced(draft(once("4", `{"n":1}`)), at1("3", 6)), "", 7, 1},
		{"a stale draft that would change nothing", fenced(draft(once("1", `{"n":1}`)), at1("4", 0)), onto.Stale, 0, 0},
		{"a retraction", fenced(draft(retract("3")), at1("3", 6)), "", 8, 1},
		{"what the round used up", draft(once("3", `{"n":1}`)), onto.Conflict, 0, 0},
		{"a fence knows the retraction", fenced(draft(once("5", `{"n":1}`)), at1("3", 0), onto.Expectation{Head: true, Commit: 8}), "", 9, 1},
		{"a revert", draft(anyhow(once("3", `{"asserted":6,"n":1}`))), "", 10, 1},
		{"repeats what was brought back", draft(once("3", `{"n":1}`)), "", 0, 0},
	} {
		res, err := r.Append(c.d, nil)
		if onto.CodeOf(err) != c.code || (err == nil) != (c.code == "") || res.ID != c.commit || res.Operations != c.ops {
			t.Errorf("%s: got commit %d with %d operations and %v, want %d with %d and %q", c.name, res.ID, res.Operations, err, c.commit, c.ops, c.code)
		}
	}
	if r.Head() != 10 || len(r.Versions) != 5 {
		t.Errorf("got head %d and %d versions, want 10 and 5", r.Head(), len(r.Versions))
	}
}

// A draft with a fact that is refused and every other reason is refused for each in turn.
func TestFactOrder(t *testing.T) {
	r := factRound(t)
	planted := onto.Errorf(onto.Full, "planted")
	d := fenced(draft(at(9, once("1", `{"n":7}`))), at1("1", 5))
	d.Expect = []onto.Expectation{at1("1", 0)}
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) { return true, planted }
	for _, step := range []struct {
		code onto.Code
		mend func()
	}{
		{onto.VersionMismatch, func() { d.Expect = nil }},
		{onto.Stale, func() { d.Fence[0].Commit = 4 }},
		{onto.SchemaOutdated, func() { d.Writes[0].SchemaVersion = 1 }},
		{onto.Full, func() { d.Admit = nil }},
		{onto.Conflict, func() { d.Writes[0].Once = false }},
	} {
		if res, err := r.Append(d, nil); onto.CodeOf(err) != step.code || res.Changed() {
			t.Fatalf("got %+v, %v; want the code %q", res, err, step.code)
		}
		step.mend()
	}
	if res, err := r.Append(d, nil); err != nil || res.ID != 6 {
		t.Errorf("got %+v, %v; want commit 6", res, err)
	}
}

// An identity of a type that was purged is as new, also within the round.
func TestOncePurged(t *testing.T) {
	r := factRound(t)
	d := draft(once("1", `{"n":7}`), once("2", `{"n":7}`))
	d.Writes[0].SchemaVersion, d.Writes[1].SchemaVersion = 2, 2
	d.Evolve = &backend.Evolution{Base: typelist.Hash(r.Types.All),
		End: []backend.EndedType{{Kind: onto.KindFact, Type: "Claim", Purge: true}}, Add: []backend.NewVersion{{Schema: claims(t)}}}
	if res, err := r.Append(d, nil); err != nil || res.Operations != 2 {
		t.Errorf("got %+v, %v; want 2 operations", res, err)
	}
	if _, err := r.Append(draft(at(2, once("1", `{"n":8}`))), nil); !errors.Is(err, onto.Conflict) {
		t.Errorf("got %v, want a Conflict with what was written after the purge", err)
	}
}

// A group of drafts gets the verdicts that memory, which decides by itself, gives to one
// after the other.
func TestFactsAgainstMemory(t *testing.T) {
	random := effort.Rand(t)
	values := []string{`{"n":1}`, `{"n":1,"seq":1}`, `{"asserted":2,"n":1}`, `{"n":2}`, `{"n":2,"seq":1}`}
	verdicts := map[onto.Code]int{}
	for range 300 {
		reference := memory.New(&memory.Options{Now: func() time.Time { return noon }}).Open()
		registration := &backend.Registration{Schemas: []onto.Schema{claims(t)}}
		if _, err := reference.Register(t.Context(), registration); err != nil {
			t.Fatal(err)
		}
		r := decide.NewRound(decide.Base{Now: noon})
		if _, err := r.Register(registration); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			var writes []backend.Write
			for i := range 3 {
				w := once(fmt.Sprint(i), values[random.IntN(len(values))])
				switch random.IntN(8) {
				case 0, 1, 2:
					continue
				case 3:
					w = retract(fmt.Sprint(i))
				case 4:
					w = anyhow(w)
				case 5:
					w = derived(w)
				}
				writes = append(writes, w)
			}
			d := draft(writes...)
			if random.IntN(4) == 0 {
				d.Fence = []onto.Expectation{at1(fmt.Sprint(random.IntN(3)), max(0, r.Head()-random.Int64N(3)))}
			}
			if random.IntN(3) == 0 {
				d.IdempotencyKey = fmt.Sprint(random.IntN(5))
				d.Digest = backend.DigestOf(d)
			}
			want, wantErr := reference.Append(t.Context(), d)
			got, err := r.Append(d, nil)
			if onto.CodeOf(err) != onto.CodeOf(wantErr) || got.ID != want.ID || got.Operations != want.Operations || got.Repeated != want.Repeated || got.At != want.At {
				t.Fatalf("%+v\n got %+v, %v\nwant %+v, %v", d, got, err, want, wantErr)
			}
			verdicts[onto.CodeOf(err)]++
		}
	}
	t.Logf("verdicts: %v", verdicts)
	for _, code := range []onto.Code{"", onto.Conflict, onto.Stale, onto.IdempotencyConflict} {
		if verdicts[code] < 100 {
			t.Errorf("verdicts with the code %q: got %d, want 100 or more", code, verdicts[code])
		}
	}
}
