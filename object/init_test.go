package object_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// Init makes a tenant once; a read never does.
func TestInit(t *testing.T) {
	onEachKept(t, func(t *testing.T, uris []string) {
		ctx := object.With(t.Context(), onto.Draft{Actor: onto.Operator("ana"), Comment: "a new tenant"})
		v := open(t, object.Config{"chat": {"acme": uris}})
		acme := messagesOf(v).Tenant("acme")
		_, err := acme.SelectAll(ctx)
		wantCode(t, err, onto.Uninitialized)
		wantCode(t, acme.Insert(ctx, message(1)), onto.Uninitialized)
		if hint := onto.HintOf(err).String(); !strings.Contains(hint, "Vaults.Init") {
			t.Errorf("the hint is %q", hint)
		}
		must(t, v.Init(ctx, "chat", "acme"))
		insert(t, acme, 20)
		must(t, v.Init(ctx, "chat", "acme")) // again, in use
		before := placements(t, v)
		must(t, v.Close())
		wantCode(t, v.Init(ctx, "chat", "acme"), onto.Closed)
		_, err = acme.SelectAll(ctx)
		wantCode(t, err, onto.Closed)

		turned := slices.Clone(uris) // the order of the list means nothing
		slices.Reverse(turned)
		v = open(t, object.Config{"chat": {"acme": turned}})
		must(t, v.Init(ctx, "chat", "acme"))
		if after := placements(t, v); !slices.Equal(before, after) {
			t.Errorf("placements were %v, and are %v", before, after)
		}
		if n, err := messagesOf(v).Tenant("acme").Count(ctx, nil); n != 20 || err != nil {
			t.Errorf("counted %d, %v", n, err)
		}
		if len(uris) > 1 {
			fewer := open(t, object.Config{"chat": {"acme": uris[1:]}})
			wantCode(t, fewer.Init(ctx, "chat", "acme"), onto.Conflict)
			_, err := messagesOf(fewer).Tenant("acme").SelectAll(ctx)
			wantCode(t, err, onto.Conflict)
		}
		more := open(t, object.Config{"chat": {"acme": append(slices.Clone(uris), "memory://")}})
		wantCode(t, more.Init(ctx, "chat", "acme"), onto.Conflict)
		other := open(t, object.Config{"chat": {"rival": uris}, "mail": {"acme": uris}})
		for vault, tenant := range map[string]string{"chat": "rival", "mail": "acme"} {
			wantCode(t, other.Init(ctx, vault, tenant), onto.Conflict)
			_, err := object.NewSet[Message](other, vault).Ready().Tenant(tenant).SelectAll(ctx)
			wantCode(t, err, onto.Conflict)
		}
		if n, err := messagesOf(v).Tenant("acme").Count(ctx, nil); n != 20 || err != nil {
			t.Errorf("after all of this: counted %d, %v", n, err)
		}
	})
}

// placements returns the names and first buckets of the shards of acme.
func placements(t *testing.T, v *object.Vaults) []string {
	t.Helper()
	shards, err := v.Shards(t.Context(), "chat", "acme")
	must(t, err)
	var list []string
	buckets := 0
	for i, s := range shards {
		if s.Buckets[0] != i || s.Err != nil || s.Store == nil {
			t.Errorf("shard %d is %+v", i, s)
		}
		buckets += len(s.Buckets)
		list = append(list, s.Name+" "+filepath.Base(s.URI))
	}
	if buckets != object.Buckets {
		t.Errorf("they own %d buckets", buckets)
	}
	return list
}

// onEachKept runs a test on each layout whose stores outlive the vaults, before they are made.
func onEachKept(t *testing.T, f func(t *testing.T, uris []string)) {
	for _, l := range layouts {
		if l.kind == "memory" || l.kind == "mixed" {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			f(t, l.uris(t.TempDir(), "acme"))
		})
	}
}

// A tenant that was made in part is completed, with the shards that it has where they are.
func TestInitCompletes(t *testing.T) {
	dir := t.TempDir()
	var uris []string
	for _, name := range []string{"a", "b", "c"} {
		uris = append(uris, "sqlite:///"+filepath.Join(dir, name+".db"))
	}
	v := open(t, object.Config{"chat": {"acme": uris}})
	must(t, v.Init(t.Context(), "chat", "acme"))
	before := placements(t, v)
	must(t, v.Close())
	must(t, os.Remove(filepath.Join(dir, "b.db")))

	v = open(t, object.Config{"chat": {"acme": {uris[2], uris[1], uris[0]}}})
	_, err := messagesOf(v).Tenant("acme").SelectAll(t.Context())
	wantCode(t, err, onto.Uninitialized)
	if err == nil || !strings.Contains(err.Error(), "b.db") || strings.Contains(err.Error(), "a.db") {
		t.Errorf("the error does not name the shard: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.db")); err == nil {
		t.Error("a read made the shard")
	}
	must(t, v.Init(t.Context(), "chat", "acme"))
	if after := placements(t, v); !slices.Equal(before, after) {
		t.Errorf("placements were %v, and are %v", before, after)
	}
}

// A store that is in use does not become a shard, and the shards beside it stay as they are.
func TestInitOfAUsedStore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "used.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	must(t, err)
	type Note struct {
		ID string `json:"id" onto:"key"`
	}
	s, err := store.Open(t.Context(), db, onto.TypeOf[Note]())
	must(t, err)
	_, err = s.Commit(t.Context(), onto.Draft{}.Ensure(Note{"n"}))
	must(t, err)
	must(t, s.Close())
	fresh := "sqlite:///" + filepath.Join(dir, "fresh.db")
	v := open(t, object.Config{"chat": {"acme": {fresh, "sqlite:///" + path}}})
	err = v.Init(t.Context(), "chat", "acme")
	wantCode(t, err, onto.Conflict)
	if err == nil || !strings.Contains(err.Error(), "used.db is a store of its own") {
		t.Errorf("got %v", err)
	}
	must(t, os.Remove(path))
	must(t, v.Init(t.Context(), "chat", "acme"))
}

// With a power of two of shards, an object is where crc32 of its shard key modulo their number
// says.
func TestShardOfAKey(t *testing.T) {
	for _, n := range []int{1, 2, 4, 8} {
		v := open(t, object.Config{"chat": {"acme": slices.Repeat([]string{"memory://"}, n)}})
		must(t, v.Init(t.Context(), "chat", "acme"))
		acme := messagesOf(v).Tenant("acme")
		var all []Message
		for i := range 100 {
			m := message(i)
			m.Chat = ChatID(fmt.Sprintf("chat-%d", i))
			all = append(all, m)
		}
		must(t, acme.Insert(t.Context(), all...))
		list, err := acme.SelectAllWithMetadata(t.Context())
		must(t, err)
		for _, o := range list {
			if want := fmt.Sprintf("shard-%d", crc32.ChecksumIEEE([]byte(o.Object.Chat))%uint32(n)+1); o.Metadata.Shard != want {
				t.Errorf("of %d shards, %s is on %s, want %s", n, o.Object.Chat, o.Metadata.Shard, want)
			}
		}
	}
}

// A shard can move to another place, and to another backend: its copy takes its part, and the
// store itself may no longer be listed beside it.
func TestShardMoves(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	uris := layout{"lake", 2}.uris(dir, "acme")
	v := open(t, object.Config{"chat": {"acme": uris}})
	must(t, v.Init(ctx, "chat", "acme"))
	want := insert(t, messagesOf(v).Tenant("acme"), 30)
	must(t, v.Close())

	moved := filepath.Join(dir, "moved.db")
	from, err := backend.OpenURI(ctx, uris[1], false, lake.Opener)
	must(t, err)
	to, err := sqlite.Open(ctx, moved, &sqlite.Options{Target: true})
	must(t, err)
	must(t, archive.Copy(ctx, from.(backend.LogSource), to))
	must(t, errors.Join(from.Close(), to.Close()))

	v = open(t, object.Config{"chat": {"acme": {"sqlite:///" + moved, uris[0]}}})
	acme := messagesOf(v).Tenant("acme")
	if n, err := acme.Count(ctx, object.Where().Search("hello")); n != int64(len(want)) || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
	for _, m := range want {
		m.Text = "moved"
		must(t, acme.Update(ctx, m))
	}
	both := open(t, object.Config{"chat": {"acme": {"sqlite:///" + moved, uris[0], uris[1]}}})
	_, err = messagesOf(both).Tenant("acme").SelectAll(ctx)
	wantCode(t, err, onto.Conflict)
}
