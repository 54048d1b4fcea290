package laketest

import (
	"bytes"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/typelist"
)

// A janitor removes what no head leads to, when it is old enough, and nothing
// else.
func TestJanitor(t *testing.T) {
	ctx, now := t.Context(), time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)
	b := memory.New(&memory.Options{Now: func() time.Time { return now }})
	l, err := lake.Open(ctx, b, &lake.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = l.Register(ctx, &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	orphan := func(key string) {
		t.Helper()
		if _, err := b.Create(ctx, key, leftBy(t, l)); err != nil {
			t.Fatal(err)
		}
	}
	const (
		old   = "commits/1-OLDOLDOLDOLDOLD0/manifest.json"
		young = "commits/2-YOUNGYOUNGYOUNG0/manifest.json"
		probe = "meta/probe-OLDOLDOLDOLDOLD0/probe-ABCDEFGHIJKLMNOPQRSTUVWXYZ/read-0"
	)
	orphan(old)
	orphan(probe)
	now = now.Add(2 * time.Hour)
	orphan(young)
	for _, key := range []string{"a", "b"} {
		if _, err := l.Append(ctx, thing(key)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.PlanJanitor(ctx, time.Second); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("a short grace period: got %v, want Invalid", err)
	}
	plan, err := l.PlanJanitor(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range plan.Orphans {
		keys = append(keys, o.Key)
	}
	if len(keys) != 3 || keys[0] != old || keys[2] != probe {
		t.Errorf("got %q, want the old attempt, the catalog that was replaced and what a probe left", keys)
	}
	if n, err := l.Sweep(ctx, plan); n != len(keys) || err != nil {
		t.Errorf("removed %d, %v; want %d", n, err, len(keys))
	}
	if _, err := b.Get(ctx, young, bucket.Range{}, ""); err != nil {
		t.Errorf("the young attempt: %v", err)
	}
	again, err := lake.Open(ctx, kept{b}, &lake.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Check(t, again)
}

// Purged data is gone for good: no object of the bucket has its text any more. A reader
// that was about to read it uses the newest head.
func TestJanitorPurges(t *testing.T) {
	clock := &hours{}
	b := memory.New(&memory.Options{Now: clock.now})
	w := openThings(t, b, lake.Options{})
	for _, key := range []string{"secret-one", "secret-two"} {
		if _, err := w.Append(t.Context(), putThings(key)); err != nil {
			t.Fatal(err)
		}
	}
	r := openThings(t, b, lake.Options{})
	schemas, err := w.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.AppendStream(t.Context(), &backend.Draft{Evolve: &backend.Evolution{
		Base: typelist.Hash(schemas), End: []backend.EndedType{{Kind: onto.KindEntity, Type: "Thing", Purge: true}},
	}}, func(func(backend.Write, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	clock.pass(2)
	if _, err := w.Register(t.Context(), things()); err != nil { // tells the bucket's time
		t.Fatal(err)
	}
	plan, err := w.PlanJanitor(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	purged := 0
	for _, o := range plan.Orphans {
		if o.Reason == "purged" {
			purged++
		}
	}
	if purged != 2 {
		t.Errorf("got %d purged files, want 2: %v", purged, plan.Orphans)
	}
	if _, err := w.Sweep(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if got := count(t, r); got != 0 {
		t.Errorf("a reader finds %d things, want none", got)
	}
	if _, err := w.Append(t.Context(), &backend.Draft{Writes: []backend.Write{{
		Identity: onto.EntityID("Thing", "new"), Op: onto.Put, Fields: []byte(`{"id":"new"}`), SchemaVersion: 2,
	}}}); err != nil {
		t.Fatal(err)
	}
	if got := count(t, r); got != 1 {
		t.Errorf("a reader finds %d things, want 1", got)
	}
	found, err := b.List(t.Context(), "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		if o, err := b.Get(t.Context(), e.Key, bucket.Range{}, ""); err != nil || bytes.Contains(o.Data, []byte("secret-")) {
			t.Errorf("%s: %v, or it still holds what was purged", e.Key, err)
		}
	}
	backendtest.Check(t, w)
}
