package buckettest

import (
	"crypto/rand"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/effort"
)

// histories draws operations at random and compares each answer with that of a
// plain map.
func histories(t *tester) {
	count := 0
	effort.Check(t.T, 500, func(rt *rapid.T) {
		run := &tester{T: t.T, b: t.b, folder: t.folder + rand.Text() + "/"}
		h := &history{T: rt, t: run, objects: map[string]stored{}}
		for range rapid.IntRange(1, 30).Draw(rt, "length") {
			h.step()
			count++
		}
		h.compare("", "", 1000)
	})
	t.Logf("%d operations", count)
}

// history is a bucket and a map that should be equal.
type history struct {
	*rapid.T
	t       *tester
	objects map[string]stored
	tags    []bucket.Tag // all that were seen
}

type stored struct {
	data string
	tag  bucket.Tag
}

func (h *history) step() {
	key := rapid.SampledFrom([]string{"a", "b", "b-c", "d/e", "d/f", "d.g", "h/i/j"}).Draw(h.T, "key")
	data := rapid.SampledFrom([]string{"", "x", "y", "longer", "0123456789"}).Draw(h.T, "data")
	switch rapid.SampledFrom([]string{"get", "create", "swap", "swap", "delete", "list"}).Draw(h.T, "call") {
	case "get":
		h.get(key)
	case "create":
		h.create(key, data)
	case "swap":
		h.swap(key, data)
	case "delete":
		if err := h.t.delete(key); err != nil {
			h.Fatalf("delete %s: %v", key, err)
		}
		delete(h.objects, key)
	case "list":
		h.compare(rapid.SampledFrom([]string{"", "b", "d", "d/", "h/i/", "z"}).Draw(h.T, "prefix"),
			rapid.SampledFrom([]string{"", "a", "b", "b-c", "d/e", "zz"}).Draw(h.T, "after"), rapid.IntRange(1, 8).Draw(h.T, "limit"))
	}
}

// tag draws a tag that was seen, or that of the object.
func (h *history) tag(o stored, there bool) bucket.Tag {
	if there && rapid.Bool().Draw(h.T, "present") || len(h.tags) == 0 {
		return o.tag
	}
	return rapid.SampledFrom(h.tags).Draw(h.T, "tag")
}

func (h *history) get(key string) {
	o, there := h.objects[key]
	var ifNot bucket.Tag
	if rapid.Bool().Draw(h.T, "conditional") {
		ifNot = h.tag(o, there)
	}
	r := bucket.Range{Offset: rapid.Int64Range(0, 11).Draw(h.T, "offset"), Length: rapid.Int64Range(0, 11).Draw(h.T, "length")}
	got, err := h.t.get(key, r, ifNot)
	switch {
	case !there:
		h.want("get "+key, err, bucket.ErrNotFound)
	case ifNot != "" && ifNot == o.tag:
		h.want("get "+key, err, bucket.ErrNotModified)
	default:
		h.want("get "+key, err, nil)
		from, to, _ := r.Cut(int64(len(o.data)))
		if string(got.Data) != o.data[from:to] || got.Size != int64(len(o.data)) || got.Tag != o.tag {
			h.Fatalf("get %s %+v: got %q, size %d, tag %q, want %q, size %d, tag %q", key, r, got.Data, got.Size, got.Tag, o.data[from:to], len(o.data), o.tag)
		}
	}
}

func (h *history) create(key, data string) {
	tag, err := h.t.create(key, []byte(data))
	if _, there := h.objects[key]; there {
		h.want("create "+key, err, bucket.ErrExists)
		return
	}
	h.want("create "+key, err, nil)
	h.keep(key, data, tag)
}

func (h *history) swap(key, data string) {
	o, there := h.objects[key]
	old := h.tag(o, there)
	if old == "" {
		return
	}
	tag, err := h.t.swap(key, []byte(data), old)
	switch {
	case !there:
		h.want("swap "+key, err, bucket.ErrNotFound)
	case old != o.tag:
		h.want("swap "+key, err, bucket.ErrChanged)
	default:
		h.want("swap "+key, err, nil)
		h.keep(key, data, tag)
	}
}

func (h *history) keep(key, data string, tag bucket.Tag) {
	if tag == "" {
		h.Fatalf("%s was written without a tag", key)
	}
	h.objects[key] = stored{data, tag}
	h.tags = append(h.tags, tag)
}

// want compares an error with the one of the contract, or none.
func (h *history) want(what string, err, want error) {
	if (err == nil) != (want == nil) {
		h.Fatalf("%s: got error %v, want %v", what, err, want)
	}
	if want != nil {
		h.t.wantError(what, err, want)
	}
}

// compare lists and compares keys and sizes.
func (h *history) compare(prefix, after string, limit int) {
	want := chosen(slices.Sorted(maps.Keys(h.objects)), prefix, after, limit)
	list, err := h.t.list(prefix, after, limit)
	if got := h.t.keysOf(list); err != nil || !slices.Equal(got, want) {
		h.Fatalf("list %q after %q, at most %d: got %q, error %v, want %q", prefix, after, limit, got, err, want)
	}
	for _, e := range list {
		if size := int64(len(h.objects[e.Key].data)); e.Size != size {
			h.Fatalf("list: %s has the size %d, want %d", e.Key, e.Size, size)
		}
	}
}
