package laketest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/typelist"
)

// contracts is a type of facts about persons.
func contracts(attributes ...string) onto.Schema {
	s := onto.Schema{Kind: onto.KindFact, Name: "Contract", Left: "Person", Fields: onto.FactFields(false)}
	for _, name := range attributes {
		s.Fields = append(s.Fields, onto.Field{Name: name, Type: onto.Int, Optional: true})
	}
	s.SortFields()
	return s
}

func persons(name string) onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
}

func salary(subject, id string, n int) backend.Write {
	return backend.Write{Identity: onto.FactID("Contract", subject, "salary", id), Op: onto.Put, Fields: fmt.Appendf(nil, `{"salary":%d}`, n), SchemaVersion: 1, Once: true}
}

func named(typ, key string) backend.Write {
	return write(onto.EntityID(typ, key), fmt.Sprintf(`{"id":%q}`, key))
}

// counting is a bucket that counts the requests of a lake, but for the objects that are
// written beside commits.
type counting struct {
	bucket.Bucket
	mu sync.Mutex // guards n
	n  map[string]int
}

func (c *counting) count(op, key string) {
	if strings.HasPrefix(key, "meta/indices/") || strings.HasPrefix(key, "meta/schema/") || key == engineKey {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[op]++
}

func (c *counting) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	c.count("get", key)
	return c.Bucket.Get(ctx, key, r, ifNot)
}

func (c *counting) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	c.count("create", key)
	return c.Bucket.Create(ctx, key, data)
}

func (c *counting) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	c.count("swap", key)
	return c.Bucket.Swap(ctx, key, data, old)
}

func (c *counting) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	c.count("list", prefix)
	return c.Bucket.List(ctx, prefix, after, limit)
}

func (c *counting) Delete(ctx context.Context, key string) error {
	c.count("delete", key)
	return c.Bucket.Delete(ctx, key)
}

// A commit of facts makes the requests that one of entities makes, and no other: also
// with a fence on something of which there is no file, with a state that is derived from
// the facts, in a process that has just started, and after a compaction.
func TestRequestsOfFacts(t *testing.T) {
	guard := []onto.Expectation{{Identity: onto.EntityID("onto_folds", "Contract")}}
	fenced := func(key string, writes ...backend.Write) *backend.Draft {
		return &backend.Draft{Header: backend.Header{IdempotencyKey: key}, Digest: "d" + key, Writes: writes, Fence: guard}
	}
	derived := func(w backend.Write) backend.Write { w.Derived = true; return w }
	for _, c := range []struct {
		name            string
		entities, facts func(key string) *backend.Draft
	}{
		{"one", func(key string) *backend.Draft {
			return &backend.Draft{Writes: []backend.Write{named("Person", key)}}
		}, func(key string) *backend.Draft { return fenced("", salary(key, "first", 1)) }},
		{"several, with a key", func(key string) *backend.Draft {
			return &backend.Draft{Header: backend.Header{IdempotencyKey: key}, Digest: key, Writes: []backend.Write{named("Person", key), named("Person", key+"x")}}
		}, func(key string) *backend.Draft { return fenced(key, salary(key, "first", 1), salary(key, "second", 2)) }},
		{"with a state", func(key string) *backend.Draft {
			return &backend.Draft{Writes: []backend.Write{named("Person", key), named("State", key)}}
		}, func(key string) *backend.Draft {
			d := fenced("", derived(named("State", key)), salary(key, "first", 1))
			d.Fence = append(d.Fence, onto.Expectation{Identity: onto.EntityID("State", key)})
			return d
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := requestsOf(t, c.entities)
			got := requestsOf(t, c.facts)
			for step := range want {
				if !maps.Equal(got[step], want[step]) {
					t.Errorf("%s: facts made %v, entities %v", step, got[step], want[step])
				}
			}
			if once := want["alone"]; once["get"]+once["list"]+once["delete"] > 0 || once["swap"] != 20 {
				t.Errorf("20 commits of a sole writer made %v, want a swap each and no reads", once)
			}
			t.Logf("requests: %v", got)
		})
	}
}

// requestsOf makes commits on a new lake and counts the requests of each step.
func requestsOf(t *testing.T, draft func(key string) *backend.Draft) map[string]map[string]int {
	t.Helper()
	b := memory.New(nil)
	steps := map[string]map[string]int{}
	step := func(name string, first, commits int, compact bool) {
		t.Helper()
		c := &counting{Bucket: kept{b}, n: map[string]int{}}
		l, err := lake.Open(t.Context(), c, &lake.Options{Trusted: true})
		must(t, err)
		defer func() { must(t, l.Close()) }()
		_, err = l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{persons("Person"), persons("State"), contracts("salary")}})
		must(t, err)
		if name == "alone" {
			for _, err := range l.Survey(t.Context()) { // waits for what is derived from the types
				must(t, err)
			}
			c.mu.Lock()
			clear(c.n)
			c.mu.Unlock()
		}
		for i := range commits {
			_, err := l.Append(t.Context(), draft(fmt.Sprintf("%02d", (first+i)*37%100)))
			must(t, err)
		}
		c.mu.Lock()
		steps[name] = maps.Clone(c.n)
		c.mu.Unlock()
		if compact {
			plan, err := l.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
			must(t, err)
			_, err = l.Compact(t.Context(), plan, nil)
			must(t, err)
		}
	}
	step("alone", 0, 20, false)
	step("started again", 20, 1, true)
	step("after a compaction", 21, 2, false)
	return steps
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readDocument reads a JSON object of a bucket.
func readDocument(t *testing.T, b bucket.Bucket, key string) map[string]any {
	t.Helper()
	o, err := b.Get(t.Context(), key, bucket.Range{}, "")
	must(t, err)
	var doc map[string]any
	must(t, json.Unmarshal(o.Data, &doc))
	return doc
}

// A lake is of the first format until it has a type of facts, so that older programs
// read and write it, and its objects look as they always did. From then on, also when the
// type is gone, an older program is told that the format is too new for it.
func TestFormatOfLakes(t *testing.T) {
	b := memory.New(nil)
	open := func() *lake.Backend {
		l, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true})
		must(t, err)
		return l
	}
	l := open()
	want := func(when string, format int, typeLists, registries int) {
		t.Helper()
		must(t, l.Close()) // what is written beside commits is there then
		if got := readDocument(t, b, "meta/head.json")["format"]; got != float64(format) {
			t.Errorf("%s: got format %v, want %d", when, got, format)
		}
		if got := readDocument(t, b, "meta/schema/types.json"); len(got) != typeLists+1 { // and updated_at
			t.Errorf("%s: got %v, want %d lists of types", when, got, typeLists)
		}
		if got := readDocument(t, b, "meta/schema/registry.json"); len(got) != registries {
			t.Errorf("%s: got %v, want %d kinds", when, got, registries)
		}
		l = open()
		info, err := l.Describe(t.Context(), false)
		must(t, err)
		if info.Format != format {
			t.Errorf("%s: the lake says that its format is %d, want %d", when, info.Format, format)
		}
	}
	register := func(s onto.Schema) {
		t.Helper()
		_, err := l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{s}})
		must(t, err)
	}
	commit := func(writes ...backend.Write) {
		t.Helper()
		_, err := l.Append(t.Context(), &backend.Draft{Writes: writes})
		must(t, err)
	}
	register(persons("Person"))
	commit(named("Person", "ada"))
	want("without facts", 1, 2, 2)
	register(contracts("salary"))
	want("with a type of facts", 2, 3, 3)
	commit(salary("ada", "first", 4000))
	want("with a fact", 2, 3, 3)

	all, err := l.Schemas(t.Context())
	must(t, err)
	_, err = l.AppendStream(t.Context(), &backend.Draft{Evolve: &backend.Evolution{
		Base: typelist.Hash(all), End: []backend.EndedType{{Kind: onto.KindFact, Type: "Contract", Purge: true}},
	}}, func(func(backend.Write, error) bool) {})
	must(t, err)
	want("after the type has ended", 2, 2, 2)
	must(t, l.Close())
}

// A lake is of the fourth format from the first type on that says what is inside a field, or
// has an enum or a date: older programs would read these as fields of any values.
func TestFormatOfLakesWithNestedTypes(t *testing.T) {
	text := &onto.Field{Type: onto.String}
	for name, c := range map[string]struct {
		field onto.Field
		want  float64
	}{
		"an object of any values": {onto.Field{Name: "items", Type: onto.Object, Optional: true}, 1},
		"a list of any values":    {onto.Field{Name: "date", Type: onto.List, Optional: true}, 1},
		"declared fields":         {onto.Field{Name: "home", Type: onto.Object, Optional: true, Fields: []onto.Field{{Name: "city", Type: onto.String}}}, 4},
		"an object without any":   {onto.Field{Name: "home", Type: onto.Object, Optional: true, Fields: []onto.Field{}}, 4},
		"elements":                {onto.Field{Name: "tags", Type: onto.List, Optional: true, Items: text}, 4},
		"a map":                   {onto.Field{Name: "labels", Type: onto.Object, Optional: true, Values: text}, 4},
		"an enum":                 {onto.Field{Name: "tier", Type: onto.String, Optional: true, Enum: []json.RawMessage{json.RawMessage(`"Gold"`)}}, 4},
		"a date":                  {onto.Field{Name: "born", Type: onto.DateOnly, Optional: true}, 4},
	} {
		b := memory.New(nil)
		l, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true})
		must(t, err)
		s := persons("Person")
		_, err = l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{s}})
		must(t, err)
		if got := readDocument(t, b, "meta/head.json")["format"]; got != 1.0 {
			t.Errorf("before %s: got format %v, want 1", name, got)
		}
		s.Name, s.Fields = "Other", append(slices.Clone(s.Fields), c.field)
		slices.SortFunc(s.Fields, func(a, b onto.Field) int { return strings.Compare(a.Name, b.Name) })
		_, err = l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{s}})
		must(t, err)
		must(t, l.Close())
		if got := readDocument(t, b, "meta/head.json")["format"]; got != c.want {
			t.Errorf("%s: got format %v, want %v", name, got, c.want)
		}
	}
}

// What is derived for other programs is there for facts, is missed when it is gone, and is
// made anew.
func TestDerivedObjectsOfFacts(t *testing.T) {
	b := memory.New(nil)
	l := openTrusted(t, kept{b}, 0).(*lake.Backend)
	_, err := l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{persons("Person"), contracts("salary")}})
	must(t, err)
	_, err = l.Append(t.Context(), &backend.Draft{Writes: []backend.Write{salary("ada", "first", 4000)}})
	must(t, err)
	must(t, l.Close())

	const index, versions = "meta/indices/facts/Contract.json", "meta/schema/versions/fact/Contract.json"
	x := readDocument(t, b, index)
	path := x["entries"].([]any)[0].(map[string]any)["path"].(string)
	if x["kind"] != "fact" || x["type_name"] != "Contract" || !strings.HasPrefix(path, "commits/1-") || !strings.HasSuffix(path, "/facts/Contract.parquet") {
		t.Errorf("got the index %v", x)
	}
	must(t, b.Delete(t.Context(), index))
	must(t, b.Delete(t.Context(), versions))
	l = openTrusted(t, kept{b}, 0).(*lake.Backend)
	defer l.Close()
	for _, want := range []string{"index_object_missing schema_object_stale", ""} {
		found, err := l.VerifyIndex(t.Context())
		must(t, err)
		var codes []string
		for _, f := range found {
			codes = append(codes, f.Code)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		plan, err := l.PlanIndexRepair(t.Context())
		must(t, err)
		_, err = l.RepairIndex(t.Context(), plan)
		must(t, err)
	}
	readDocument(t, b, index)
}
