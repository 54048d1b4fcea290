package object_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/own"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

// files are the bytes of the stores in a directory, which nobody has open.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.db"))
	for _, path := range paths {
		if err == nil {
			found[path], err = os.ReadFile(path)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantFiles fails if the files are not those of before.
func wantFiles(t *testing.T, what, dir string, before map[string][]byte) {
	t.Helper()
	after := files(t, dir)
	if len(after) != len(before) {
		t.Errorf("%s: there are %v, and were %v", what, sortedNames(after), sortedNames(before))
	}
	for path, text := range before {
		if !bytes.Equal(after[path], text) {
			t.Errorf("%s: %s was written", what, filepath.Base(path))
		}
	}
}

// with opens vaults for a function, and closes them.
func with(t *testing.T, config object.Config, f func(v *object.Vaults)) {
	t.Helper()
	v, err := object.Open(context.Background(), config, sqlite.Opener, memory.Opener)
	if err != nil {
		t.Fatal(err)
	}
	f(v)
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A store that is not the shard that a list takes it for is refused, and not written.
func TestStrangers(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name+".db") }
	uri := func(name string) string { return "sqlite:///" + path(name) }
	config := object.Config{
		"chat":  {"acme": {uri("acme-1"), uri("acme-2"), uri("acme-3")}, "rival": {uri("rival-1"), uri("rival-2")}},
		"other": {"acme": {uri("other-1"), uri("other-2")}},
	}
	with(t, config, func(v *object.Vaults) {
		for _, at := range [][2]string{{"chat", "acme"}, {"chat", "rival"}, {"other", "acme"}} {
			if err := v.Init(t.Context(), at[0], at[1]); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 9 {
			if err := messagesOf(v).Tenant("acme").Insert(t.Context(), message(i)); err != nil {
				t.Fatal(err)
			}
		}
	})
	copyFile(t, path("acme-2"), path("copy"))
	plainStore(t, path("plain"))
	damaged := map[string]string{}
	for name, fields := range map[string]string{
		"beyond": `"buckets": [1, 1024]`, "negative": `"buckets": [-1, 4]`, "unsorted": `"buckets": [4, 1]`, "doubled": `"buckets": [1, 1, 4]`, "none": `"buckets": []`,
		"huge": `"buckets": [` + strings.Repeat("1, ", 50_000) + `1]`, "nameless": `"name": ""`, "renamed": `"name": "shard-1"`, "all": `"buckets": [0, 1, 2, 3, 4]`, "less": `"buckets": [1]`,
	} {
		damaged["placement "+name] = name
		copyFile(t, path("acme-2"), path(name))
		damage(t, path(name), fields)
	}
	before := files(t, dir)

	lists := map[string][]string{
		"a copy as another shard": {uri("acme-1"), uri("acme-2"), uri("copy")},
		"a copy as well":          {uri("acme-1"), uri("acme-2"), uri("acme-3"), uri("copy")},
		"one missing":             {uri("acme-1"), uri("acme-3")},
		"one too many":            {uri("acme-1"), uri("acme-2"), uri("acme-3"), uri("rival-1")},
		"of another tenant":       {uri("acme-1"), uri("rival-2"), uri("acme-3")},
		"of another vault":        {uri("acme-1"), uri("other-2"), uri("acme-3")},
		"all of another tenant":   {uri("rival-1"), uri("rival-2")},
		"a plain store":           {uri("acme-1"), uri("plain"), uri("acme-3")},
		"only a plain store":      {uri("plain")},
	}
	for what, name := range damaged {
		lists[what] = []string{uri("acme-1"), uri(name), uri("acme-3")}
	}
	for what, list := range lists {
		with(t, object.Config{"chat": {"acme": list}}, func(v *object.Vaults) {
			set := messagesOf(v)
			if err := v.Init(t.Context(), "chat", "acme"); err == nil {
				t.Errorf("%s: Init succeeds", what)
			} else if !strings.Contains(err.Error(), "tenant acme of vault chat") || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: Init names nothing: %v", what, err)
			}
			chat := ChatID("c1") // crc32 modulo 3 is that of the second shard, or another
			reads := 0
			for c := range 7 {
				chat = ChatID(fmt.Sprint("c", c))
				if list, err := set.Tenant("acme").SelectAll(t.Context(), chat); err == nil && len(list) > 0 {
					reads++ // of a shard that is what it should be, beside one that is damaged
				}
				if _, isDamaged := damaged[what]; !isDamaged {
					err := set.Tenant("acme").Upsert(t.Context(), Message{ID: "stray", Chat: chat})
					wantOneOf(t, what, err, onto.Conflict, onto.Uninitialized)
				}
			}
			_, err := set.Tenant("acme").SelectAll(t.Context())
			wantOneOf(t, what, err, onto.Conflict, onto.Uninitialized, onto.Corrupt)
			if _, isDamaged := damaged[what]; !isDamaged && reads > 0 {
				t.Errorf("%s: %d reads are answered", what, reads)
			}
		})
		wantFiles(t, what, dir, before)
	}
}

func wantOneOf(t *testing.T, what string, err error, codes ...onto.Code) {
	t.Helper()
	if !slices.Contains(codes, onto.CodeOf(err)) {
		t.Errorf("%s: got %v (%s), want one of %v", what, err, onto.CodeOf(err), codes)
	}
}

// change commits to a store.
func change(t *testing.T, path string, f func(ctx context.Context, s *store.Store) error) {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), b)
	if err == nil {
		err = f(own.Allow(t.Context()), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// plainStore makes a store with chats of its own.
func plainStore(t *testing.T, path string) {
	type Note struct {
		ID string `json:"id" onto:"key"`
	}
	change(t, path, func(ctx context.Context, s *store.Store) error {
		if err := s.Register(ctx, onto.TypeOf[Note]()); err != nil {
			return err
		}
		_, err := s.Commit(ctx, onto.Draft{}.Ensure(Note{"n"}))
		return err
	})
}

// damage replaces a field of the placement of a store.
func damage(t *testing.T, path, fields string) {
	change(t, path, func(ctx context.Context, s *store.Store) error {
		_, err := s.Commit(ctx, onto.Draft{}.Merge(onto.Entity{Type: "onto_placement", Key: "placement", Fields: []byte("{" + fields + "}")}))
		return err
	})
}

// One store by two names is noticed before it is written.
func TestOneStoreTwice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	for what, other := range map[string]string{
		"the same": path, "another spelling": dir + "/./x/../a.db", "escapes": strings.Replace(path, "a.db", "%61.db", 1),
	} {
		_, err := object.Open(t.Context(), object.Config{"chat": {"acme": {"sqlite:///" + path, "sqlite:///" + other}}}, sqlite.Opener)
		if err == nil && what == "escapes" {
			continue // which are none in these URIs
		}
		wantError(t, what, err, onto.Invalid, "twice", "acme")
	}
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	config := object.Config{"chat": {"acme": {"sqlite:///" + path, "sqlite:///" + link}}}
	v, err := object.Open(t.Context(), config, sqlite.Opener) // before the file exists
	if err == nil {
		wantError(t, "a link", v.Init(t.Context(), "chat", "acme"), onto.Conflict, "same store", "acme")
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	} else {
		wantError(t, "a link", err, onto.Invalid, "twice")
	}
	with(t, object.Config{"chat": {"acme": {"sqlite:///" + path}}}, func(v *object.Vaults) {
		if err := v.Init(t.Context(), "chat", "acme"); err != nil {
			t.Errorf("alone: %v", err)
		}
	})
	_, err = object.Open(t.Context(), config, sqlite.Opener)
	wantError(t, "a link to what exists", err, onto.Invalid, "twice")
}

// Programs that make one tenant at once, with their lists in any order, agree.
func TestInitAtOnce(t *testing.T) {
	for round := range 15 {
		dir := t.TempDir()
		uris := layout{"sqlite", 3}.uris(dir, "acme")
		var running sync.WaitGroup
		for i := range 4 {
			list := slices.Clone(uris)
			if i%2 == 1 {
				slices.Reverse(list)
			}
			if i == 2 {
				list[0], list[1] = list[1], list[0]
			}
			v := open(t, object.Config{"chat": {"acme": list}})
			running.Go(func() {
				if err := v.Init(t.Context(), "chat", "acme"); err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
				if err := messagesOf(v).Tenant("acme").Upsert(t.Context(), message(i)); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		running.Wait()
		v := open(t, object.Config{"chat": {"acme": uris}})
		shards, err := v.Shards(t.Context(), "chat", "acme")
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		owned := 0
		for _, s := range shards {
			owned += len(s.Buckets)
			head, err := s.Store.Head(t.Context())
			if err != nil || head.ID == 0 {
				t.Error(head, err)
			}
		}
		if list, err := messagesOf(v).Tenant("acme").SelectAll(t.Context()); err != nil || len(list) != 4 || owned != object.Buckets {
			t.Errorf("round %d: got %d messages, %v; %d buckets", round, len(list), err, owned)
		}
	}
}

// A tenant that was made in part is completed by the same number of shards, in any order, and by no other.
func TestInitAfterFailure(t *testing.T) {
	for fails := range 4 {
		s := &sky{T: t}
		for i := range 4 {
			s.places = append(s.places, &place{store: memory.New(nil)})
			s.uris = append(s.uris, fmt.Sprintf("bad://user:%s@host/%d", secret, i))
		}
		s.reopen()
		s.places[fails].set(broken)
		s.wantNamed("Init", s.vaults.Init(t.Context(), "chat", "acme"), fails)
		_, err := s.acme().SelectAll(t.Context())
		wantError(t, "a tenant that was made in part", err, onto.Uninitialized, "acme")
		s.places[fails].set(calm)

		whole := s.uris
		s.uris = slices.Clone(whole[:3])
		s.places[3].set(down) // which is not in the list
		s.reopen()
		made := 0
		for _, p := range s.places[:3] {
			if headOf(t, p) > 0 {
				made++
			}
		}
		if made > 0 { // otherwise it could be made of three
			wantError(t, "with fewer shards", s.vaults.Init(t.Context(), "chat", "acme"), onto.Conflict, "3 shards")
		}
		s.places[3].set(calm)
		s.uris = slices.Clone(whole)
		slices.Reverse(s.uris)
		s.reopen()
		for range 2 {
			if err := s.vaults.Init(t.Context(), "chat", "acme"); err != nil {
				t.Fatalf("after shard %d failed: %v", fails, err)
			}
		}
		if err := s.acme().Insert(t.Context(), message(1), message(2), message(3)); err != nil {
			t.Error(err)
		}
		for i, p := range s.places {
			if n := headOf(t, p); n == 0 {
				t.Errorf("shard %d has no placement", i)
			}
		}
		if err := s.vaults.Close(); err != nil {
			t.Error(err)
		}
	}
}

// headOf is the newest commit of a place.
func headOf(t *testing.T, p *place) int64 {
	t.Helper()
	c, err := p.store.Open().Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}
