package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// describe is a change, without the commits that made its versions.
func describe(c onto.Change) string {
	fields := func(v *onto.Version) json.RawMessage {
		if v == nil || !v.Live() {
			return json.RawMessage("none")
		}
		return v.Fields
	}
	return fmt.Sprintf("%s: %s → %s", c, fields(c.Before), fields(c.After))
}

func describeAll(changes []onto.Change) (list []string) {
	for _, c := range changes {
		list = append(list, describe(c))
	}
	return list
}

// wantPlanned plans a draft and commits it: the commit must do what the plan says, and the
// plan nothing.
func wantPlanned(t *testing.T, s *store.Store, d onto.Draft) store.CommitPlan {
	t.Helper()
	ctx := t.Context()
	before, err := s.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.PlanCommit(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.PlanCommit(ctx, d); err != nil || !slices.Equal(describeAll(again.Changes), describeAll(plan.Changes)) {
		t.Errorf("the plan made again: %v, %v; want %v", again.Changes, err, plan.Changes)
	}
	if head, err := s.Head(ctx); err != nil || head.ID != before.ID || plan.Head != before.ID {
		t.Fatalf("the head is %d after a plan for %d, %v; it was %d", head.ID, plan.Head, err, before.ID)
	}
	wantStreamPlanned(t, s, d, plan)
	res, err := s.Commit(ctx, d)
	if fmt.Sprint(err) != fmt.Sprint(plan.Err) || onto.CodeOf(err) != onto.CodeOf(plan.Err) || onto.HintOf(err).String() != onto.HintOf(plan.Err).String() {
		t.Errorf("the plan fails with %v, the commit with %v", plan.Err, err)
	}
	if res.ID != plan.Result.ID || res.At != plan.Result.At || res.Operations != plan.Result.Operations || res.Repeated != plan.Result.Repeated {
		t.Errorf("the plan says %+v, the commit %+v", plan.Result, res)
	}
	if err == nil && res.Changed() && !res.Repeated {
		var made []string
		for c, err := range s.Changes(ctx, res.ID) {
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, describe(c))
		}
		if got := describeAll(plan.Changes); !slices.Equal(got, made) {
			t.Errorf("the plan changes\n%s\nthe commit\n%s", strings.Join(got, "\n"), strings.Join(made, "\n"))
		}
	}
	return plan
}

// wantStreamPlanned plans the draft as a stream, which says the same.
func wantStreamPlanned(t *testing.T, s *store.Store, d onto.Draft, want store.CommitPlan) {
	t.Helper()
	for in := range d.Intents() {
		if f, ok := in.Value.(onto.Fact); ok || in.Identity.Kind == onto.KindFact || f.ID != "" {
			return
		}
	}
	if d.IdempotencyKey != "" {
		return // the digest of a stream is another
	}
	var changes []string
	plan, err := s.PlanStream(t.Context(), d, things(), func(c onto.Change) error {
		changes = append(changes, describe(c))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(plan.Err) != fmt.Sprint(want.Err) || plan.Result.ID != want.Result.ID || plan.Result.Operations != want.Result.Operations || plan.Head != want.Head {
		t.Errorf("as a stream: got %+v and %v, want %+v and %v", plan.Result, plan.Err, want.Result, want.Err)
	}
	if !slices.Equal(changes, describeAll(want.Changes)) {
		t.Errorf("as a stream it changes\n%s\nwant\n%s", strings.Join(changes, "\n"), strings.Join(describeAll(want.Changes), "\n"))
	}
	if len(plan.Conditions) != len(want.Conditions) {
		t.Errorf("as a stream it has the conditions %v, want %v", plan.Conditions, want.Conditions)
	}
}

// verdicts is the conditions of a plan, each with whether it is met.
func verdicts(p store.CommitPlan) string {
	var list []string
	for _, c := range p.Conditions {
		list = append(list, fmt.Sprintf("%s %t", c.Name, c.Err == nil))
	}
	return strings.Join(list, ", ")
}

func plannedTypes() []onto.Type {
	return []onto.Type{onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription](), onto.TypeOf[person](), onto.TypeOf[contract]()}
}

func TestPlanCommit(t *testing.T) {
	for name, open := range map[string]func(*testing.T, ...onto.Type) *store.Store{"memory": inMemory, "sqlite": newStore} {
		t.Run(name, func(t *testing.T) { planCommits(t, open(t, plannedTypes()...)) })
	}
}

func planCommits(t *testing.T, s *store.Store) {
	ada := Customer{ID: "c1", Name: "Ada", Tier: "Silver"}
	gold := onto.Entity{Type: "Customer", Key: "c1", Fields: map[string]any{"tier": "Gold"}}
	c1 := onto.EntityID("Customer", "c1")
	pay := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "pay", Value: 4000, From: day(1, 1)}
	raise := pay
	raise.Value = 4500
	keyed := onto.Draft{IdempotencyKey: "k"}
	for _, c := range []struct {
		name     string
		d        onto.Draft
		code     onto.Code
		verdicts string
		changes  int
	}{
		{"a new thing", onto.Draft{}.Ensure(ada).ExpectHead(0).ExpectVersion(c1, 0), "", "head true, version true", 1},
		{"the same again", onto.Draft{}.Ensure(ada), "", "", 0},
		{"a merge and a delete of nothing", onto.Draft{Causation: 1}.Merge(gold).Delete(onto.EntityID("Customer", "none")), "", "cause true", 1},
		{"another head", onto.Draft{}.Ensure(ada).ExpectHead(1).ExpectVersion(c1, 2), onto.HeadMismatch, "head false, version true", 1},
		{"another version", onto.Draft{}.Ensure(ada).ExpectVersion(c1, 1).ExpectHead(2), onto.VersionMismatch, "head true, version false", 1},
		{"a cause that is missing", onto.Draft{Causation: 99}.Ensure(ada).ExpectHead(1), onto.NotFound, "cause false, head false", 1},
		{"a merge that lacks a field", onto.Draft{}.Merge(onto.Entity{Type: "Customer", Key: "c9", Fields: map[string]any{"tier": "Gold"}}), onto.Invalid, "", 0},
		{"a key", keyed.Ensure(Product{SKU: "p1", Title: "Lamp"}), "", "idempotency_key true", 1},
		{"its repetition", keyed.Ensure(Product{SKU: "p1", Title: "Lamp"}), "", "idempotency_key true", 0},
		{"the key for another draft", keyed.Ensure(Product{SKU: "p2", Title: "Desk"}), onto.IdempotencyConflict, "idempotency_key false", 1},
		{"a lease that nobody took", onto.Draft{Lease: &onto.Lease{Name: "sync", Owner: "me", Epoch: 1}}.Ensure(Product{SKU: "p2"}), onto.LeaseExpired, "lease false", 1},
		{"facts", onto.Draft{}.Assert(pay).Ensure(Product{SKU: "p3"}), "", "", 2},
		{"a fact that is known", onto.Draft{}.Assert(pay), "", "", 0},
		{"a fact under a known id", onto.Draft{}.Assert(raise), onto.Conflict, "", 0},
		{"a revocation", onto.Draft{}.Revoke(pay.Identity(), day(9, 1), "left"), "", "", 1},
		{"a retraction under another head", onto.Draft{}.Retract(pay.Identity()).ExpectHead(1), onto.HeadMismatch, "head false", 1},
		{"a retraction", onto.Draft{}.Retract(pay.Identity()), "", "", 1},
		{"a revocation of what is retracted", onto.Draft{}.Revoke(pay.Identity(), day(8, 1), nil), onto.NotFound, "", 0},
		{"the same, under another head", onto.Draft{}.Revoke(pay.Identity(), day(8, 1), nil).ExpectHead(1), onto.HeadMismatch, "head false", 0},
		{"a delete", onto.Draft{}.Delete(c1), "", "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := wantPlanned(t, s, c.d)
			if onto.CodeOf(plan.Err) != c.code {
				t.Errorf("got the error %v, want %q", plan.Err, c.code)
			}
			if got := verdicts(plan); got != c.verdicts {
				t.Errorf("got the verdicts %q, want %q", got, c.verdicts)
			}
			if len(plan.Changes) != c.changes {
				t.Errorf("got the changes %v, want %d", plan.Changes, c.changes)
			}
		})
	}
}

// A lease that another holder has is a condition that is not met; the holder's own is.
func TestPlanCommitUnderLease(t *testing.T) {
	s := crm(t)
	held, err := s.Lease(t.Context(), onto.WriteLease, &store.LeaseOptions{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	p1 := Product{SKU: "p1", Title: "Lamp"}
	plan, err := s.PlanCommit(t.Context(), onto.Draft{}.Ensure(p1))
	if err != nil || onto.CodeOf(plan.Err) != onto.LockContention || verdicts(plan) != "lease false" || len(plan.Changes) != 1 {
		t.Errorf("without the lease: got %+v, %v", plan, err)
	}
	mine := held.Current()
	plan, err = s.PlanCommit(t.Context(), onto.Draft{Lease: &mine}.Ensure(p1))
	if err != nil || plan.Err != nil || verdicts(plan) != "lease true" || plan.Result.ID != 1 {
		t.Errorf("with the lease: got %+v, %v", plan, err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantPlanned(t, s, onto.Draft{}.Ensure(p1))
}

// What does not fit its type, and what cannot be planned, fails as it is.
func TestPlanCommitRefused(t *testing.T) {
	s := crm(t)
	for name, d := range map[string]onto.Draft{
		"an unknown type":  onto.Draft{}.Ensure(onto.Entity{Type: "Cutsomer", Key: "c1"}),
		"an unknown field": onto.Draft{}.Ensure(onto.Entity{Type: "Customer", Key: "c1", Fields: map[string]any{"nam": "Ada"}}),
		"a bad header":     {Causation: -1},
	} {
		_, planned := s.PlanCommit(t.Context(), d)
		_, streamed := s.PlanStream(t.Context(), d, things(), nil)
		_, err := s.Commit(t.Context(), d)
		if err == nil || fmt.Sprint(planned) != err.Error() || fmt.Sprint(streamed) != err.Error() {
			t.Errorf("%s: the plans fail with %v and %v, the commit with %v", name, planned, streamed, err)
		}
	}
	_, err := s.PlanCommit(t.Context(), onto.Draft{Advance: &onto.Advance{Name: "mirror", To: 1}})
	wantError(t, err, onto.Invalid, "cannot be planned")
	stop := errors.New("enough")
	if _, err = s.PlanStream(t.Context(), onto.Draft{}.Ensure(Product{SKU: "p1"}), things(), func(onto.Change) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of the caller", err)
	}
}

// A plan is of one moment: commits between its reads have it made anew.
func TestPlanCommitAmongCommits(t *testing.T) {
	s := inMemory(t, plannedTypes()...)
	pay := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "pay", Value: 4000}
	mustCommit(t, s, onto.Draft{}.Assert(pay))
	busy := &meddling{Backend: s.Backend()}
	other, err := store.Open(t.Context(), busy, plannedTypes()...)
	if err != nil {
		t.Fatal(err)
	}
	busy.then = func() { mustCommit(t, s, onto.Draft{}.Retract(pay.Identity())) }
	plan, err := other.PlanCommit(t.Context(), onto.Draft{}.Revoke(pay.Identity(), day(5, 1), nil))
	if err != nil || plan.Head != 2 || onto.CodeOf(plan.Err) != onto.NotFound {
		t.Errorf("got %+v, %v; want that the fact was retracted by commit 2", plan, err)
	}
}

// meddling calls a function once, after the first version was read.
type meddling struct {
	backend.Backend
	then func()
}

func (m *meddling) Unwrap() backend.Backend { return m.Backend }

func (m *meddling) Find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error) {
	list, err := backend.Find(ctx, m.Backend, ids, at)
	m.meddle()
	return list, err
}

func (m *meddling) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	v, err := m.Backend.Get(ctx, id, at)
	m.meddle()
	return v, err
}

func (m *meddling) meddle() {
	if then := m.then; then != nil {
		m.then = nil
		then()
	}
}
