package object_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
)

// asking notes what each shard is asked.
type asking struct {
	mu    sync.Mutex
	calls map[string][]string // by URI
}

func (a *asking) note(uri, call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[uri] = append(a.calls[uri], call)
}

// during returns the calls that f makes, by URI, sorted.
func (a *asking) during(f func()) map[string][]string {
	a.mu.Lock()
	a.calls = map[string][]string{}
	a.mu.Unlock()
	f()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, list := range a.calls {
		slices.Sort(list)
	}
	return a.calls
}

func (a *asking) opener() backend.Opener {
	o := sqlite.Opener
	o.Open = func(ctx context.Context, uri string, create bool) (backend.Backend, error) {
		b, err := sqlite.Opener.Open(ctx, uri, create)
		if err != nil {
			return nil, err
		}
		return &heard{b, a, uri}, nil
	}
	return o
}

// heard is a backend whose calls are noted.
type heard struct {
	backend.Backend
	by  *asking
	uri string
}

func (b *heard) Unwrap() backend.Backend { return b.Backend }

func (b *heard) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	b.by.note(b.uri, "Append")
	return b.Backend.Append(ctx, d)
}

func (b *heard) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	b.by.note(b.uri, "Resolve")
	return b.Backend.Resolve(ctx, p)
}

func (b *heard) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	b.by.note(b.uri, "Get")
	return b.Backend.Get(ctx, id, at)
}

func (b *heard) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	b.by.note(b.uri, "Scan")
	return b.Backend.Scan(ctx, q)
}

func (b *heard) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	b.by.note(b.uri, "Aggregate")
	return b.Backend.Aggregate(ctx, a)
}

func (b *heard) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	b.by.note(b.uri, "Commits")
	return b.Backend.Commits(ctx, q)
}

func (b *heard) Firsts(ctx context.Context, q *backend.FirstsQuery) ([]int64, error) {
	b.by.note(b.uri, "Firsts")
	return b.Backend.Firsts(ctx, q)
}

func (b *heard) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	b.by.note(b.uri, "Schemas")
	return b.Backend.Schemas(ctx)
}

func (b *heard) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	b.by.note(b.uri, "Register")
	return b.Backend.Register(ctx, r)
}

// An operation that knows the shard key asks one shard, and one that does not asks each of them no
// more than it needs.
func TestWhatIsAsked(t *testing.T) {
	ctx, a := t.Context(), &asking{calls: map[string][]string{}}
	uris := layout{"sqlite", 4}.uris(t.TempDir(), "acme")
	v, err := object.Open(ctx, object.Config{"chat": {"acme": uris}}, a.opener())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	must(t, v.Init(ctx, "chat", "acme"))
	acme := object.NewSet[Message](v, "chat").WithIndexes("sent").Ready().Tenant("acme")
	var all []Message
	for i := range 100 {
		all = append(all, Message{ID: MessageID(fmt.Sprint("m", i)), Chat: ChatID(fmt.Sprint("c", i%23)), Sent: int64(i * 37 % 100)})
	}
	must(t, acme.Insert(ctx, all...))
	if _, err := acme.SelectAll(ctx); err != nil { // which notices that types have changed
		t.Fatal(err)
	}
	first := object.All().OrderBy("sent").Limit(20)

	one := func(calls ...string) func(map[string][]string) bool {
		return func(got map[string][]string) bool {
			return len(got) == 1 && slices.Equal(slices.Collect(maps.Values(got))[0], calls)
		}
	}
	each := func(calls ...string) func(map[string][]string) bool {
		return func(got map[string][]string) bool {
			want := map[string][]string{}
			for _, uri := range uris {
				want[uri] = calls
			}
			return reflect.DeepEqual(got, want)
		}
	}
	for _, c := range []struct {
		what string
		do   func() error
		want func(map[string][]string) bool
	}{
		{"a get", func() error { _, err := acme.SelectByID(ctx, "m5", "c5"); return err }, one("Get")},
		{"a get with metadata", func() error { _, err := acme.SelectByIDWithMetadata(ctx, "m5", "c5"); return err }, one("Commits", "Firsts", "Get", "Resolve")},
		{"an insert", func() error { return acme.Insert(ctx, Message{ID: "new", Chat: "c5"}) }, one("Append")},
		{"a part", func() error { _, err := acme.Select(ctx, first, "c5"); return err }, one("Scan")},
		{"an id alone", func() error { _, err := acme.SelectByID(ctx, "m5"); return err }, each("Scan")},
		{"the first", func() error {
			list, err := acme.Select(ctx, first)
			if err == nil && (len(list) != 20 || list[19].Sent != 18) { // with the new one, which is 0
				err = fmt.Errorf("got %v", list)
			}
			return err
		}, each("Scan")},
		{"the first with metadata", func() error { _, err := acme.SelectWithMetadata(ctx, first); return err }, each("Commits", "Firsts", "Resolve", "Scan")},
		{"a page", func() error { _, err := acme.Page(ctx, first); return err }, each("Resolve", "Scan")},
		{"a count", func() error { _, err := acme.Count(ctx, object.All()); return err }, each("Aggregate")},
	} {
		got := a.during(func() {
			if err := c.do(); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		})
		if !c.want(got) {
			t.Errorf("%s asks %v", c.what, got)
		}
	}

	must(t, v.Close())
	again, err := object.Open(ctx, object.Config{"chat": {"acme": uris}}, a.opener())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	set := object.NewSet[Message](again, "chat").WithIndexes("sent").Ready()
	got := a.during(func() {
		if _, err := set.Tenant("acme").SelectByID(ctx, "m5"); err != nil {
			t.Error(err)
		}
	})
	if opening := []string{"Get", "Register", "Scan", "Schemas", "Schemas", "Schemas", "Schemas"}; !each(opening...)(got) {
		t.Errorf("the first use asks %v", got)
	}
}
