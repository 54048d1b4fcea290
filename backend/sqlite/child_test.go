package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

func TestMain(m *testing.M) {
	jobs := backendtest.Children{
		Open:    func(ctx context.Context, path string) (backend.Backend, error) { return sqlite.Open(ctx, path, nil) },
		Draft:   thingDraft,
		Prepare: killAtPoint,
	}.Jobs()
	jobs["faulty"] = runFaulty
	jobs["bus"] = workOnBus
	jobs["work"] = workOnItems
	jobs["copy"] = copyKilled
	jobs["read"] = readBesideUpgrade
	child.Main(jobs)
	os.Exit(effort.Main(m))
}

// killAtPoint makes a writer kill itself at a point of its 20th commit or group, if one
// is named.
func killAtPoint(b backend.Backend, point []string) {
	if len(point) == 0 {
		return
	}
	left := 20
	b.(*sqlite.Backend).CallAt(point[0], func() {
		if left--; left == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
}

// thingDraft writes an entity of its own, one that all writers share, and a
// relation between them.
func thingDraft(key string, i int) *backend.Draft {
	fields := fmt.Appendf(nil, `{"id":%q,"n":%d}`, key, i)
	return &backend.Draft{Writes: []backend.Write{
		{Identity: onto.EntityID("Thing", key), Op: onto.Put, Fields: fields, SchemaVersion: 1},
		{Identity: onto.EntityID("Thing", "~shared"), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":"~shared","last":%q,"n":%d}`, key, i), SchemaVersion: 1},
		{Identity: onto.RelationID("Touches", key, "~shared"), Op: onto.Put, Fields: []byte(`{}`), SchemaVersion: 1},
	}}
}

// makeThings makes a store with the types the children write.
func makeThings(t *testing.T, path string) {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.Register(t.Context(), &backend.Registration{Reason: "initial", Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{
			{Name: "id", Type: onto.String, Search: true}, {Name: "last", Type: onto.String, Optional: true, Search: true},
			{Name: "n", Type: onto.Int, Index: true}}},
		{Kind: onto.KindRelation, Name: "Touches", Left: "Thing", Right: "Thing"},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// wantAcknowledged fails for each acknowledged commit that is not there.
func wantAcknowledged(t *testing.T, b *sqlite.Backend, acks map[string]int64) {
	t.Helper()
	for key, commit := range acks {
		v, err := b.Get(t.Context(), onto.EntityID("Thing", key), backend.Head)
		if err != nil || v.Commit != commit {
			t.Errorf("commit %d was acknowledged for %s: got commit %d, error %v", commit, key, v.Commit, err)
		}
	}
}
