package decide_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/typelist"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func person(flag bool) onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "name", Type: onto.String, Optional: true, Index: flag},
	}}
}

func city() onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: "City", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
}

// stored is the types Person, with two versions, and City, which has ended.
func stored() []onto.SchemaVersion {
	ended := typelist.New(city(), 1)
	ended.End = &onto.End{Commit: 3, Time: noon}
	return []onto.SchemaVersion{ended, typelist.New(person(false), 1), typelist.New(person(false), 2)}
}

// round starts one at commit 5, where a lives since commit 4 and b was deleted.
func round() *decide.Round {
	types := stored()
	r := decide.NewRound(decide.Base{Head: 5, Time: noon, Now: noon.Add(time.Second), Types: decide.NewCatalog(types)})
	a, b := put("a", 1), remove("b")
	r.Newest[a.Identity] = &onto.Version{Identity: a.Identity, Op: onto.Put, Commit: 4, SchemaVersion: 2, Fields: a.Fields}
	r.Newest[b.Identity] = &onto.Version{Identity: b.Identity, Op: onto.Delete, Commit: 5, SchemaVersion: 2, Fields: json.RawMessage("{}")}
	return r
}

func put(key string, n int) backend.Write {
	return backend.Write{Identity: onto.EntityID("Person", key), Op: onto.Put, SchemaVersion: 2,
		Fields: json.RawMessage(fmt.Sprintf(`{"id":%q,"name":"%d"}`, key, n))}
}

func remove(key string) backend.Write {
	return backend.Write{Identity: onto.EntityID("Person", key), Op: onto.Delete, SchemaVersion: 2}
}

func at(version int, w backend.Write) backend.Write {
	w.SchemaVersion = version
	return w
}

func draft(writes ...backend.Write) *backend.Draft { return &backend.Draft{Writes: writes} }

// A draft with every reason to be refused is refused for each of them in turn.
func TestOrder(t *testing.T) {
	barred := onto.Errorf(onto.LeaseExpired, "it is not held")
	planted := onto.Errorf(onto.Full, "planted")
	r := round()
	r.Keys["k"] = decide.Commit{Commit: onto.Commit{ID: 2}, Digest: "another"}
	d := draft(at(9, put("a", 2)))
	d.IdempotencyKey, d.Digest, d.Metadata = "k", "this", json.RawMessage("[]")
	d.Fence = []onto.Expectation{{Identity: onto.EntityID("Person", "b"), Commit: 5}}
	d.Expect = []onto.Expectation{{Identity: onto.EntityID("Person", "a"), Commit: 5}, {Head: true, Commit: 4}}
	d.Evolve, d.Causation = &backend.Evolution{}, 6
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) { return false, planted }
	for _, step := range []struct {
		code onto.Code
		mend func()
	}{
		{onto.IdempotencyConflict, func() { delete(r.Keys, "k") }},
		{onto.LeaseExpired, func() { barred = nil }},
		{onto.NotFound, func() { d.Causation = 5 }},
		{onto.HeadMismatch, func() { d.Expect[1].Commit = 5 }},
		{onto.VersionMismatch, func() { d.Expect[0].Commit = 4 }},
		{onto.Stale, func() { d.Fence[0].Commit = 0 }}, // what was deleted does not exist
		{onto.MigrationToken, func() { d.Evolve = nil }},
		{onto.Corrupt, func() { d.Metadata = json.RawMessage(`{"n":1}`) }},
		{onto.SchemaOutdated, func() { d.Writes[0].SchemaVersion = 2 }},
		{onto.Full, func() { d.Admit = nil }},
	} {
		var why error
		if barred != nil {
			why = barred
		}
		res, err := r.Append(d, why)
		if err == nil || onto.CodeOf(err) != step.code || res.Changed() {
			t.Fatalf("got %+v, %v; want the code %q", res, err, step.code)
		}
		step.mend()
	}
	if res, err := r.Append(d, nil); err != nil || res.ID != 6 || res.Operations != 1 || res.Metadata["n"] == nil {
		t.Errorf("got %+v, %v; want commit 6", res, err)
	}
}

// What earlier drafts of a round will write counts for later ones.
func TestRound(t *testing.T) {
	r := round()
	keyed := draft(put("a", 2), put("b", 1))
	keyed.IdempotencyKey, keyed.Digest, keyed.Metadata = "k", "digest", json.RawMessage(`{"n":1}`)
	expecting := draft(remove("a"))
	expecting.Expect = []onto.Expectation{{Identity: onto.EntityID("Person", "a"), Commit: 6}, {Head: true, Commit: 6}}
	for _, c := range []struct {
		name     string
		d        *backend.Draft
		barred   error
		commit   int64
		ops      int
		repeated bool
		at       int64
	}{
		{"as it is", draft(put("a", 1), remove("b"), remove("c")), nil, 0, 0, false, 5},
		{"changes", keyed, nil, 6, 2, false, 6},
		{"again", keyed, errors.New("not held"), 6, 2, true, 6},
		{"as the round has it", draft(put("a", 2), put("b", 1)), nil, 0, 0, false, 6},
		{"expects the round", expecting, nil, 7, 1, false, 7},
		{"what the round deleted", draft(remove("a")), nil, 0, 0, false, 7},
		{"an older one again", keyed, nil, 6, 2, true, 6},
	} {
		res, err := r.Append(c.d, c.barred)
		if err != nil || res.ID != c.commit || res.Operations != c.ops || res.Repeated != c.repeated || res.At != c.at {
			t.Errorf("%s: got %+v, %v", c.name, res, err)
		}
		if res.Repeated {
			res.Metadata["n"] = "the caller's own"
		}
	}
	var got []string
	for _, v := range r.Versions {
		before := int64(0)
		if v.Before != nil {
			before = v.Before.Commit
		}
		got = append(got, fmt.Sprint(v.Key, " ", v.Op, " ", v.Commit, " after ", before))
	}
	if want := []string{"a put 6 after 4", "b put 6 after 5", "a delete 7 after 6"}; !slices.Equal(got, want) {
		t.Errorf("got versions %q, want %q", got, want)
	}
	if len(r.Commits) != 2 || r.Head() != 7 || string(r.Commits[0].Metadata) != `{"n":1}` || !r.Commits[1].Time.Equal(noon.Add(time.Second)) {
		t.Errorf("got commits %+v", r.Commits)
	}
	if want := []decide.Touched{{TypeName: person(false).TypeName(), Version: 2, Operations: 2}}; !reflect.DeepEqual(r.Commits[0].Touched, want) {
		t.Errorf("commit 6 touched %+v, want %+v", r.Commits[0].Touched, want)
	}
}

// Times do not go back with the clock.
func TestTimes(t *testing.T) {
	types := stored()
	r := decide.NewRound(decide.Base{Head: 5, Time: noon, Now: noon.Add(-time.Hour), Types: decide.NewCatalog(types)})
	if res, err := r.Append(draft(put("a", 1)), nil); err != nil || !res.Time.Equal(noon) {
		t.Errorf("got %v, %v; want noon", res.Time, err)
	}
}

// A draft that is refused or panics leaves the round as it was.
func TestNoTrace(t *testing.T) {
	for _, end := range []func() (bool, error){
		func() (bool, error) { return false, errors.New("planted") },
		func() (bool, error) { panic("planted") },
	} {
		r, want := round(), round()
		d := draft(put("a", 2), put("b", 2), put("c", 2))
		d.IdempotencyKey = "k"
		d.Evolve = &backend.Evolution{Base: typelist.Hash(r.Types.All), End: []backend.EndedType{{Kind: onto.KindEntity, Type: "City", Purge: true}}}
		d.Admit = func(w *backend.Write, _ *onto.Version) (bool, error) {
			if w.Key == "c" {
				return end()
			}
			return true, nil
		}
		func() {
			defer func() { _ = recover() }()
			if _, err := r.Append(d, nil); err == nil {
				t.Error("it was not refused")
			}
		}()
		if !reflect.DeepEqual(r, want) {
			t.Errorf("got %+v, want %+v", r, want)
		}
	}
}

// A draft that is decided in chunks makes the same as at once.
func TestChunks(t *testing.T) {
	var writes []backend.Write
	for i := range 6 {
		writes = append(writes, put(fmt.Sprint("a", i), i))
	}
	writes = slices.Insert(writes, 0, put("a", 1)) // as it is
	whole := round()
	want, err := whole.Append(draft(writes...), nil)
	if err != nil || want.Operations != 6 {
		t.Fatal(want, err)
	}
	for size := 1; size <= len(writes); size++ {
		r, begun := round(), 0
		d := draft()
		d.Begin = func() { begun++ }
		c, _, err := r.Begin(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		var made []decide.Version
		for piece := range slices.Chunk(writes, size) {
			if made, err = c.Chunk(made, piece); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.End(); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(made, whole.Versions) || !reflect.DeepEqual(r.Commits, whole.Commits) || begun != 1 {
			t.Errorf("in chunks of %d: got %+v and %+v, begun %d times; want %+v and %+v", size, got, made, begun, want, whole.Versions)
		}
	}
}

// The stored form is returned with metadata of its own, or with the reason why it
// cannot be.
func TestHandOut(t *testing.T) {
	c := decide.Commit{Commit: onto.Commit{ID: 3, Operations: 5}, Touched: []decide.Touched{
		{TypeName: city().TypeName(), Version: 1, Operations: 2}, {TypeName: city().TypeName(), Version: 2, Operations: 3},
	}}
	if got, err := c.HandOut(map[onto.TypeName]int{city().TypeName(): 1}); err != nil || got.Operations != 3 || got.Metadata != nil {
		t.Errorf("got %+v, %v; want 3 operations", got, err)
	}
	c.Metadata = json.RawMessage("[]")
	if _, err := c.HandOut(nil); onto.CodeOf(err) != onto.Corrupt {
		t.Errorf("got %v, want corrupt", err)
	}
}
