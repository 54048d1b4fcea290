package laketest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/parquet/parquettest"
)

// leftBy is a document of a lake that nothing leads to.
func leftBy(t *testing.T, l *lake.Backend) []byte {
	t.Helper()
	return fmt.Appendf(nil, `{"store_id":%q}`, storeOf(t, l))
}

func storeOf(t *testing.T, l *lake.Backend) string {
	t.Helper()
	info, err := l.Describe(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return info.StoreID
}

// thingFile is a data file of a store; "" for one of the first programs.
func thingFile(t *testing.T, store string) []byte {
	t.Helper()
	layout := parquet.NewLayout(onto.KindEntity, "Thing", nil)
	layout.Store = store
	body, _, err := parquet.Encode(layout, []onto.Version{
		{Identity: onto.EntityID("Thing", "k"), Op: onto.Put, Commit: 9, SchemaVersion: 1, Fields: []byte("{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// knownFile is a data file of facts of a store.
func knownFile(t *testing.T, store string) []byte {
	t.Helper()
	layout := parquet.NewLayout(onto.KindFact, "Known", nil)
	layout.Store = store
	body, _, err := parquet.Encode(layout, []onto.Version{
		{Identity: onto.FactID("Known", "k", "a", "1"), Op: onto.Put, Commit: 9, SchemaVersion: 1, Fields: []byte("{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Objects that others have put below the folders of a lake stay there, and are
// findings: names that no writer gives, objects of other stores, files of other
// programs.
func TestJanitorSparesWhatIsForeign(t *testing.T) {
	ctx, clock := t.Context(), &hours{}
	b := memory.New(&memory.Options{Now: clock.now})
	l := openThings(t, b, lake.Options{})
	other := openThings(t, memory.New(nil), lake.Options{})
	store := storeOf(t, l)
	const attempt, lost = "ABCDEFGHIJKLMNOP", "PONMLKJIHGFEDCBA"
	theirs, err := parquettest.Entities{Type: "Thing", Rows: 3, Fields: "{}"}.File()
	if err != nil {
		t.Fatal(err)
	}
	foreign := map[string][]byte{
		"commits/readme.txt":                                      []byte("keep me"),
		"commits/2024-backup/manifest.json":                       leftBy(t, l),
		"commits/9-" + attempt + "/notes.txt":                     []byte("keep me"),
		"commits/9-" + attempt + "/manifest.json.bak":             leftBy(t, l),
		"commits/09-" + attempt + "/manifest.json":                leftBy(t, l),
		"commits/9-" + attempt + "/manifest.json":                 leftBy(t, other),
		"commits/8-" + attempt + "/manifest.json":                 []byte("left behind"),
		"commits/7-" + attempt + "/entities/Thing.parquet":        theirs,
		"commits/7-" + attempt + "/entities/Other.parquet":        thingFile(t, store),
		"commits/6-" + attempt + "/entities/Thing.parquet":        thingFile(t, "ANOTHERSTORE"),
		"commits/5-" + attempt + "/entities/Thing.parquet":        []byte("PAR1"),
		"snapshots/entities/Thing-1-9-" + attempt + ".parquet":    thingFile(t, "ANOTHERSTORE"),
		"snapshots/entities/Thing-latest.parquet":                 thingFile(t, store),
		"snapshots/entities/Thing-9-1-" + attempt + ".parquet":    thingFile(t, store),
		"snapshots/things/Thing-1-9-" + attempt + ".parquet":      thingFile(t, store),
		"commits/4-" + attempt + "/facts/Thing.parquet":           thingFile(t, store),
		"commits/4-" + attempt + "/entities/Known.parquet":        knownFile(t, store),
		"commits/4-" + attempt + "/facts/Known.parquet":           knownFile(t, "ANOTHERSTORE"),
		"commits/4-" + attempt + "/Facts/Known.parquet":           knownFile(t, store),
		"commits/4-" + attempt + "/facts/2/Known.parquet":         knownFile(t, store),
		"snapshots/fact/Known-1-9-" + attempt + ".parquet":        knownFile(t, store),
		"snapshots/facts/Known-1-9-" + attempt + ".1.parquet":     knownFile(t, store),
		"meta/catalog/mine.json":                                  leftBy(t, l),
		"meta/catalog/3-" + attempt + ".json":                     leftBy(t, other),
		"meta/checkpoints/64-" + attempt + ".json":                leftBy(t, other),
		"meta/probe-results/2026.txt":                             []byte("keep me"),
		"meta/probe-" + attempt + "/probe-" + attempt + "/read-0": []byte("keep me"),
	}
	own := map[string][]byte{
		"commits/9-" + lost + "/manifest.json":                leftBy(t, l),
		"commits/9-" + lost + "/entities/Thing.parquet":       thingFile(t, store),
		"commits/9-" + lost + "/2/entities/Thing.parquet":     thingFile(t, ""),
		"snapshots/entities/Thing-1-9-" + lost + ".parquet":   thingFile(t, store),
		"snapshots/entities/Thing-1-9-" + lost + ".2.parquet": thingFile(t, store),
		"commits/9-" + lost + "/facts/Known.parquet":          knownFile(t, store),
		"commits/9-" + lost + "/2/facts/Known.parquet":        knownFile(t, store),
		"snapshots/facts/Known-1-9-" + lost + ".parquet":      knownFile(t, store),
		"meta/catalog/9-" + lost + ".json":                    leftBy(t, l),
		"meta/checkpoints/9-" + lost + ".json":                leftBy(t, l),
	}
	for _, list := range []map[string][]byte{foreign, own} {
		for key, body := range list {
			if _, err := b.Create(ctx, key, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	clock.pass(2)
	if _, err := l.Append(ctx, putThings("k")); err != nil { // tells the bucket's time
		t.Fatal(err)
	}
	plan, err := l.PlanJanitor(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Foreign) != len(foreign) {
		t.Errorf("got %d foreign objects, want %d: %v", len(plan.Foreign), len(foreign), plan.Foreign)
	}
	for _, f := range plan.Foreign {
		if foreign[f.Key] == nil || f.Reason == "" {
			t.Errorf("%s is said to be foreign: %q", f.Key, f.Reason)
		}
		plan.Orphans = append(plan.Orphans, backend.Orphan{Key: f.Key, Size: f.Size}) // a plan that was changed by hand
	}
	if _, err := l.Sweep(ctx, plan); err != nil {
		t.Fatal(err)
	}
	for key, body := range foreign {
		if o, err := b.Get(ctx, key, bucket.Range{}, ""); err != nil || !bytes.Equal(o.Data, body) {
			t.Errorf("%s: it was removed or changed: %v", key, err)
		}
	}
	for key := range own {
		if _, err := b.Get(ctx, key, bucket.Range{}, ""); !errors.Is(err, bucket.ErrNotFound) {
			t.Errorf("%s: got %v, want that it was removed", key, err)
		}
	}
	codes := ""
	for f, err := range l.Survey(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		codes += f.Code + " "
	}
	if codes != "objects_unknown " {
		t.Errorf("the survey found %q, want objects_unknown", codes)
	}
	backendtest.Check(t, l)
}
