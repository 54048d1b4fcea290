package store_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

// A token is good for a newer head if that is accepted: for the same types and steps, and
// not for a head that is no more.
func TestMigrationAtANewerHead(t *testing.T) {
	b := people(t)
	add := func(field string) *store.Migration {
		return &store.Migration{Types: []onto.Type{entityOf("Person", "name string", "age int?", field)}}
	}
	planned, err := store.PlanMigration(t.Context(), b, add("tier int=1"))
	if err != nil {
		t.Fatal(err)
	}
	s := keepOpen(t, b)
	for i := range 3 {
		mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: fmt.Sprint("p", i), Fields: map[string]any{"name": "P"}}))
	}
	apply := func(m *store.Migration, o store.ApplyOptions) (*store.MigrationPlan, error) {
		_, plan, err := store.Migrate(t.Context(), b, m, &o)
		return plan, err
	}
	unchanged(t, b, func() {
		_, err := apply(add("tier int=1"), store.ApplyOptions{Token: planned.Token})
		wantError(t, err, onto.MigrationToken, "for head 2, and the head is 5 now", "--newer-head")
		_, err = apply(add("tier int=2"), store.ApplyOptions{Token: planned.Token, NewerHead: true})
		wantError(t, err, onto.MigrationToken, "another")
		_, err = apply(&store.Migration{Types: add("tier int=1").Types, Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: ".tier = 7"}}},
			store.ApplyOptions{Token: planned.Token, NewerHead: true})
		wantError(t, err, onto.MigrationToken, "another")
		_, err = apply(add("tier int=1"), store.ApplyOptions{NewerHead: true})
		wantError(t, err, onto.Invalid, "no token")
		_, err = apply(add("tier int=1"), store.ApplyOptions{NewerHead: true, Force: true})
		wantError(t, err, onto.Invalid, "newer head")
	})
	plan, err := apply(add("tier int=1"), store.ApplyOptions{Token: planned.Token, NewerHead: true})
	if err != nil || plan.Head != 5 || plan.Types[0].Live != planned.Types[0].Live+3 {
		t.Errorf("got %+v, %v; want 3 things more at head 5", plan, err)
	}
}

// So is the token of a drop.
func TestDropAtANewerHead(t *testing.T) {
	b := people(t)
	drop := &store.Drop{Kind: onto.KindEntity, Type: "Person", Cascade: true}
	planned, err := store.PlanDrop(t.Context(), b, drop)
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, keepOpen(t, b), onto.Draft{}.Ensure(onto.Entity{Type: "Person", Key: "new", Fields: map[string]any{"name": "P"}}))
	unchanged(t, b, func() {
		_, _, err := store.DropTypes(t.Context(), b, drop, &store.ApplyOptions{Token: planned.Token})
		wantError(t, err, onto.MigrationToken, "for head 2")
		purge := *drop
		purge.Purge = true
		_, _, err = store.DropTypes(t.Context(), b, &purge, &store.ApplyOptions{Token: planned.Token, NewerHead: true})
		wantError(t, err, onto.MigrationToken, "another")
	})
	_, plan, err := store.DropTypes(t.Context(), b, drop, &store.ApplyOptions{Token: planned.Token, NewerHead: true})
	if err != nil || plan.Types[0].Live != planned.Types[0].Live+1 {
		t.Errorf("got %+v, %v; want one thing more", plan, err)
	}
}

// While a migration runs, its lease tells how far it is. A commit waits for it, for longer
// than for others.
func TestMigrationTellsHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people = 4000
		b := memory.New(nil).Open()
		s, err := store.Open(t.Context(), kept{b}, entityOf("Person", "name string"), entityOf("Place"))
		if err != nil {
			t.Fatal(err)
		}
		draft := onto.Draft{}
		for i := range people {
			draft = draft.Ensure(onto.Entity{Type: "Person", Key: fmt.Sprintf("p%04d", i), Fields: map[string]any{"name": "P"}})
		}
		mustCommit(t, s, draft)

		var seen []string
		calls := 0
		waits := make(chan error, 1)
		slow := func(fields map[string]any) (map[string]any, error) {
			if calls++; calls%1500 == 0 {
				time.Sleep(10 * time.Second)
				leases, err := s.Leases(t.Context())
				if err != nil || len(leases) != 1 {
					t.Errorf("got the leases %v, %v", leases, err)
				}
				seen = append(seen, leases[0].Status())
			}
			if calls == 1500 {
				go func() {
					_, err := s.Commit(t.Context(), onto.Draft{}.Ensure(onto.Entity{Type: "Place", Key: "rome"}))
					waits <- err
				}()
			}
			fields["tier"] = int64(1)
			return fields, nil
		}
		m := &store.Migration{
			Types:     []onto.Type{entityOf("Person", "name string", "tier int")},
			Upgraders: []store.Upgrader{{Type: "Person", From: 1, Func: slow}},
		}
		o := &store.ApplyOptions{Force: true, UpgradeTimeout: time.Minute}
		if _, _, err := store.Migrate(t.Context(), b, m, o); err != nil {
			t.Fatal(err)
		}
		if want := []string{"migration, 25% of 4,000", "migration, 50% of 4,000"}; !slices.Equal(seen, want) {
			t.Errorf("got %q, want %q", seen, want)
		}
		if err := <-waits; err != nil {
			t.Errorf("the commit that waited: %v", err)
		}
		if leases, err := s.Leases(t.Context()); err != nil || len(leases) > 0 {
			t.Errorf("afterwards the leases are %v, %v", leases, err)
		}
	})
}

// A lease of a program's own can have a note, too.
func TestNotesOfLeases(t *testing.T) {
	s := keepOpen(t, memory.New(nil).Open())
	l, err := s.Lease(t.Context(), "nightly", &store.LeaseOptions{Note: "begins"})
	if err != nil {
		t.Fatal(err)
	}
	want := func(note string) {
		t.Helper()
		if list, err := s.Leases(t.Context()); err != nil || len(list) != 1 || list[0].Note != note || list[0].Status() != note || l.Current().Note != note {
			t.Errorf("got %+v, %v; want the note %q", list, err, note)
		}
	}
	want("begins")
	if err := l.SetNote(t.Context(), "40% of 10"); err != nil {
		t.Fatal(err)
	}
	want("40% of 10")
	if err := l.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("40% of 10")
	wantError(t, l.SetNote(t.Context(), "a\x00b"), onto.Invalid, "nightly")
	_, err = s.Lease(t.Context(), "other", &store.LeaseOptions{Note: string(make([]byte, onto.MaxLeaseNote+1))})
	wantError(t, err, onto.Invalid, "other")
	want("40% of 10")
}
