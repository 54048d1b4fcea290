package memory_test

import (
	"testing"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/buckettest"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

func TestContract(t *testing.T) {
	for name, opts := range map[string]*memory.Options{"a tag per write": nil, "same tags": {SameTag: true}} {
		t.Run(name, func(t *testing.T) {
			buckettest.Run(t, func(testing.TB) bucket.Bucket { return memory.New(opts) })
		})
	}
}

func TestTags(t *testing.T) {
	for _, same := range []bool{false, true} {
		b := memory.New(&memory.Options{SameTag: same})
		one, err := b.Create(t.Context(), "a", []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		two, err := b.Swap(t.Context(), "a", []byte("x"), one)
		if err != nil {
			t.Fatal(err)
		}
		if (one == two) != same {
			t.Errorf("SameTag %v: equal bytes got the tags %s and %s", same, one, two)
		}
	}
}

func TestClosed(t *testing.T) {
	b := memory.New(nil)
	if _, err := b.Create(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	b.Close()
	_, getErr := b.Get(t.Context(), "a", bucket.Range{}, "")
	_, listErr := b.List(t.Context(), "", "", 1)
	_, createErr := b.Create(t.Context(), "b", nil)
	if getErr == nil || listErr == nil || createErr == nil {
		t.Errorf("after Close: got errors %v, %v, %v, want one each", getErr, listErr, createErr)
	}
}
