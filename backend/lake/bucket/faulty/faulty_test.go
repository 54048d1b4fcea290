package faulty_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/buckettest"
	"github.com/ontologia/onto/backend/lake/bucket/faulty"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// broken returns a bucket with a plan and its inner bucket.
func broken(t *testing.T, text string) (*faulty.Bucket, *memory.Bucket) {
	t.Helper()
	plan, err := faulty.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	inner := memory.New(nil)
	return faulty.New(inner, plan), inner
}

func create(t *testing.T, b bucket.Bucket, key, data string) bucket.Tag {
	t.Helper()
	tag, err := b.Create(t.Context(), key, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// read is what a bucket says about an object, in a word.
func read(t *testing.T, b bucket.Bucket, key string) string {
	t.Helper()
	o, err := b.Get(t.Context(), key, bucket.Range{}, "")
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		return "none"
	case err != nil:
		return "error"
	}
	return string(o.Data)
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func TestContract(t *testing.T) {
	for _, text := range []string{"", "get[never-this-key]:stale,list[never-this-key]:old", "any:delay", "any:slow", "write:twice", "any:throttled%20,write:conflict%20"} {
		t.Run("plan "+text, func(t *testing.T) {
			buckettest.Run(t, func(tb testing.TB) bucket.Bucket {
				plan, err := faulty.ParsePlan(text)
				if err != nil {
					tb.Fatal(err)
				}
				return faulty.New(memory.New(nil), plan)
			})
		})
	}
}

func TestNotApplied(t *testing.T) {
	for text, cause := range map[string]error{
		"write:fail": faulty.ErrInjected, "write:throttled": bucket.ErrThrottled, "write:conflict": bucket.ErrConflict, "write:cut": bucket.ErrUnknown,
	} {
		b, inner := broken(t, text)
		tag := create(t, inner, "a", "one")
		_, err := b.Create(t.Context(), "b", []byte("two"))
		wantError(t, text+" create", err, cause)
		_, err = b.Swap(t.Context(), "a", []byte("two"), tag)
		wantError(t, text+" swap", err, cause)
		wantError(t, text+" delete", b.Delete(t.Context(), "a"), cause)
		want(t, text+" a", read(t, inner, "a"), "one")
		want(t, text+" b", read(t, inner, "b"), "none")
	}
	b, _ := broken(t, "get:fail,list:throttled")
	_, err := b.Get(t.Context(), "a", bucket.Range{}, "")
	wantError(t, "get", err, faulty.ErrInjected)
	_, err = b.List(t.Context(), "", "", 1)
	wantError(t, "list", err, bucket.ErrThrottled)
}

// A refusal says nothing about what was applied.
func TestRefused(t *testing.T) {
	for text, causes := range map[string][2]error{
		"conflict": {bucket.ErrConflict, bucket.ErrConflict}, "throttled": {bucket.ErrThrottled, bucket.ErrThrottled},
		"changed": {bucket.ErrExists, bucket.ErrChanged}, "missing": {nil, bucket.ErrNotFound},
	} {
		for prefix, now := range map[string][2]string{"": {"none", "one"}, "done": {"two", "two"}} {
			fault := prefix + text
			plan := "swap:" + fault
			if causes[0] != nil {
				plan += ",create:" + fault
			}
			b, inner := broken(t, plan)
			tag := create(t, inner, "a", "one")
			if causes[0] != nil {
				_, err := b.Create(t.Context(), "b", []byte("two"))
				wantError(t, fault+" create", err, causes[0])
				want(t, fault+" b", read(t, inner, "b"), now[0])
			}
			_, err := b.Swap(t.Context(), "a", []byte("two"), tag)
			wantError(t, fault+" swap", err, causes[1])
			want(t, fault+" a", read(t, inner, "a"), now[1])
		}
	}
}

// A wrong tag is no object's; the next read has the right one.
func TestMistag(t *testing.T) {
	b, inner := broken(t, "create:mistag,get:mistag@1")
	wrong, err := b.Create(t.Context(), "a", []byte("one"))
	wantError(t, "create", err, nil)
	_, err = b.Swap(t.Context(), "a", []byte("two"), wrong)
	wantError(t, "swap", err, bucket.ErrChanged)
	if o, err := b.Get(t.Context(), "a", bucket.Range{}, ""); err != nil || o.Tag != wrong || string(o.Data) != "one" {
		t.Errorf("the first read: got %q, tag %s, error %v", o.Data, o.Tag, err)
	}
	o, err := b.Get(t.Context(), "a", bucket.Range{}, "")
	wantError(t, "the second read", err, nil)
	_, err = b.Swap(t.Context(), "a", []byte("two"), o.Tag)
	wantError(t, "swap with the right tag", err, nil)
	want(t, "a", read(t, inner, "a"), "two")
}

// A slow call is applied before it is answered.
func TestSlow(t *testing.T) {
	plan, err := faulty.ParsePlan("swap:slow+50")
	if err != nil {
		t.Fatal(err)
	}
	inner := memory.New(nil)
	slept := 0
	plan.Sleep = func(_ context.Context, d time.Duration) error {
		slept++
		want(t, "while it sleeps", read(t, inner, "a"), "two")
		want(t, "sleep", d, 50*time.Millisecond)
		return context.DeadlineExceeded
	}
	b := faulty.New(inner, plan)
	tag := create(t, b, "a", "one")
	_, err = b.Swap(t.Context(), "a", []byte("two"), tag)
	wantError(t, "swap", err, nil)
	want(t, "sleeps", slept, 1)
}

// A write that could not be made durable is applied; a sync fails in the same way.
func TestUnsynced(t *testing.T) {
	b, inner := broken(t, "swap:unsynced@1,sync:unsynced@2,sync:fail@3")
	tag := create(t, b, "a", "one")
	_, err := b.Swap(t.Context(), "a", []byte("two"), tag)
	wantError(t, "swap", err, bucket.ErrUnsynced)
	want(t, "a", read(t, inner, "a"), "two")
	wantError(t, "the first sync", b.Sync(t.Context(), "a"), nil)
	wantError(t, "the second sync", b.Sync(t.Context(), "a"), bucket.ErrUnsynced)
	wantError(t, "the third sync", b.Sync(t.Context(), "a"), faulty.ErrInjected)
	want(t, "how many were not synced", b.Count()[faulty.Unsynced], 2)
}

func TestLost(t *testing.T) {
	b, inner := broken(t, "swap:lost@2,create:lost@2,delete:lost")
	one := create(t, b, "a", "one")
	_, err := b.Create(t.Context(), "b", []byte("b"))
	wantError(t, "create", err, bucket.ErrUnknown)
	want(t, "b", read(t, inner, "b"), "b")
	two, err := b.Swap(t.Context(), "a", []byte("two"), one)
	wantError(t, "the first swap", err, nil)
	_, err = b.Swap(t.Context(), "a", []byte("three"), two)
	wantError(t, "the second swap", err, bucket.ErrUnknown)
	want(t, "a", read(t, inner, "a"), "three")
	_, err = b.Swap(t.Context(), "a", []byte("three"), two)
	wantError(t, "the second swap once more", err, bucket.ErrChanged)
	wantError(t, "delete", b.Delete(t.Context(), "b"), bucket.ErrUnknown)
	want(t, "b", read(t, inner, "b"), "none")
	want(t, "how many were lost", b.Count()[faulty.Lost], 3)
}

func TestLate(t *testing.T) {
	b, inner := broken(t, "swap:late@1+2,create[x]:late")
	tag := create(t, b, "a", "one")
	data := []byte("two")
	_, err := b.Swap(t.Context(), "a", data, tag)
	wantError(t, "swap", err, bucket.ErrUnknown)
	copy(data, "???") // the slice belongs to the caller again
	for i, now := range []string{"one", "one", "two", "two"} {
		want(t, fmt.Sprintf("read %d", i+1), read(t, b, "a"), now)
	}
	_, err = b.Create(t.Context(), "x", []byte("x"))
	wantError(t, "create", err, bucket.ErrUnknown)
	want(t, "x before", read(t, inner, "x"), "none")
	b.Land(t.Context())
	want(t, "x after", read(t, inner, "x"), "x")
	trace := b.Trace()
	want(t, "the last line", trace[len(trace)-1], "7 late create x: <nil>")
}

// A late swap whose tag is stale by then changes nothing.
func TestLateAndOvertaken(t *testing.T) {
	b, inner := broken(t, "swap:late@1+1")
	tag := create(t, b, "a", "one")
	_, err := b.Swap(t.Context(), "a", []byte("two"), tag)
	wantError(t, "swap", err, bucket.ErrUnknown)
	_, err = b.Swap(t.Context(), "a", []byte("three"), tag)
	wantError(t, "the overtaking swap", err, nil)
	b.Land(t.Context())
	want(t, "a", read(t, inner, "a"), "three")
}

func TestTwiceAndAgain(t *testing.T) {
	b, inner := broken(t, "swap:twice@1,swap:again@2,create:again@2")
	one := create(t, b, "a", "one")
	two, err := b.Swap(t.Context(), "a", []byte("two"), one)
	wantError(t, "twice", err, nil)
	_, err = b.Swap(t.Context(), "a", []byte("three"), two)
	wantError(t, "again", err, bucket.ErrChanged)
	want(t, "a", read(t, inner, "a"), "three")
	_, err = b.Create(t.Context(), "b", []byte("b"))
	wantError(t, "create again", err, bucket.ErrExists)
	want(t, "b", read(t, inner, "b"), "b")
}

func TestDamagedReads(t *testing.T) {
	text := strings.Repeat("0123456789", 10)
	b, inner := broken(t, "get[a]:short,get[b]:flip,get[empty]:flip")
	create(t, inner, "a", text)
	create(t, inner, "b", text)
	create(t, inner, "empty", "")
	for range 50 {
		o, err := b.Get(t.Context(), "a", bucket.Range{}, "")
		if err != nil || len(o.Data) >= 100 || !strings.HasPrefix(text, string(o.Data)) || o.Size != 100 {
			t.Fatalf("short: got %q, size %d, error %v", o.Data, o.Size, err)
		}
		if o, err = b.Get(t.Context(), "b", bucket.Range{}, ""); err != nil || len(o.Data) != 100 {
			t.Fatalf("flip: got %q, error %v", o.Data, err)
		}
		wrong := 0
		for i := range o.Data {
			wrong += bits.OnesCount8(o.Data[i] ^ text[i])
		}
		want(t, "wrong bits", wrong, 1)
	}
	want(t, "an empty object", read(t, b, "empty"), "")
	want(t, "a missing object", read(t, b, "ab"), "none")
	want(t, "within", read(t, inner, "b"), text)
	want(t, "short reads", b.Count()[faulty.Short], 50)
	want(t, "flipped reads", b.Count()[faulty.Flip], 50)
}

func TestStale(t *testing.T) {
	b, inner := broken(t, "get:stale+3")
	one := create(t, b, "a", "one")
	want(t, "right after create", read(t, b, "a"), "none")
	two, err := inner.Swap(t.Context(), "a", []byte("two"), one) // by another writer
	wantError(t, "swap", err, nil)
	got := []string{read(t, b, "a"), read(t, b, "a"), read(t, b, "a")}
	if !slices.Contains(got, "one") || slices.Contains(got, "two") {
		t.Errorf("right after another's swap: got %q, want one, and never two", got)
	}
	for range 4 {
		read(t, b, "other")
	}
	want(t, "some calls later", read(t, b, "a"), "two")
	if _, err = b.Swap(t.Context(), "a", []byte("three"), two); err != nil {
		t.Fatal(err)
	}
	o, err := b.Get(t.Context(), "a", bucket.Range{Offset: 1, Length: 1}, one)
	if err != nil || string(o.Data) != "w" || o.Tag != two {
		t.Errorf("a part: got %q, tag %s, error %v, want w of two, tag %s", o.Data, o.Tag, err, two)
	}
	_, err = b.Get(t.Context(), "a", bucket.Range{}, two)
	wantError(t, "if the stale one is known", err, bucket.ErrNotModified)
}

func TestOldListing(t *testing.T) {
	b, _ := broken(t, "list:old+3")
	keys := func(prefix, after string, limit int) string {
		t.Helper()
		list, err := b.List(t.Context(), prefix, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, e := range list {
			text = append(text, e.Key)
		}
		return strings.Join(text, " ")
	}
	for _, key := range []string{"a", "b", "c"} {
		create(t, b, key, key)
	}
	for range 4 {
		read(t, b, "other")
	}
	want(t, "what is long there", keys("", "", 10), "a b c")
	create(t, b, "d", "d")
	wantError(t, "delete", b.Delete(t.Context(), "a"), nil)
	want(t, "soon after", keys("", "", 10), "a b c")
	want(t, "the first two", keys("", "", 2), "a b")
	for range 4 {
		read(t, b, "other")
	}
	want(t, "later", keys("", "", 10), "b c d")
}

func TestCut(t *testing.T) {
	b, inner := broken(t, "get:cut@2+3")
	tag := create(t, b, "a", "one")
	want(t, "before", read(t, b, "a"), "one")
	want(t, "cut 1", read(t, b, "a"), "error")
	_, err := b.Swap(t.Context(), "a", []byte("two"), tag)
	wantError(t, "cut 2", err, bucket.ErrUnknown)
	_, err = b.List(t.Context(), "", "", 1)
	wantError(t, "cut 3", err, faulty.ErrInjected)
	want(t, "after", read(t, b, "a"), "one")
	b.Cut()
	for range 5 {
		want(t, "cut by hand", read(t, b, "a"), "error")
	}
	b.Heal()
	want(t, "healed", read(t, b, "a"), "one")
	want(t, "within", read(t, inner, "a"), "one")
	want(t, "calls cut off", b.Count()[faulty.Cut], 8)
}

func TestCalm(t *testing.T) {
	b, inner := broken(t, "get:cut,create:late@1")
	_, err := b.Create(t.Context(), "a", []byte("one"))
	wantError(t, "create", err, bucket.ErrUnknown)
	want(t, "before", read(t, b, "a"), "error")
	b.Calm(t.Context())
	want(t, "after", read(t, b, "a"), "one")
	want(t, "within", read(t, inner, "a"), "one")
}

func TestDelay(t *testing.T) {
	plan, err := faulty.ParsePlan("swap:delay+50")
	if err != nil {
		t.Fatal(err)
	}
	inner := memory.New(nil)
	var slept []time.Duration
	plan.Sleep = func(_ context.Context, d time.Duration) error {
		want(t, "while it sleeps", read(t, inner, "a"), "one")
		if slept = append(slept, d); len(slept) == 2 {
			return context.DeadlineExceeded
		}
		return nil
	}
	b := faulty.New(inner, plan)
	tag := create(t, b, "a", "one")
	_, err = b.Swap(t.Context(), "a", []byte("one"), tag)
	wantError(t, "swap", err, nil)
	_, err = b.Swap(t.Context(), "a", []byte("two"), tag)
	wantError(t, "swap past the deadline", err, context.DeadlineExceeded)
	want(t, "a", read(t, inner, "a"), "one")
	want(t, "sleeps", fmt.Sprint(slept), "[50ms 50ms]")
}

// story makes many calls with many faults.
func story(t *testing.T, seed uint64) *faulty.Bucket {
	t.Helper()
	b, _ := broken(t, fmt.Sprintf("seed=%d,any:fail%%5,any:cut%%1+3,write:lost%%10,write:unsynced%%5,write:late%%10+4,swap:twice%%5,swap:again%%5,any:throttled%%5,"+
		"write:conflict%%5,create:changed%%5,swap:changed%%5,swap:missing%%5,write:doneconflict%%5,write:donethrottled%%5,create:donechanged%%5,"+
		"swap:donechanged%%5,swap:donemissing%%5,get:mistag%%5,any:slow%%5,get:short%%10,get:flip%%10,get:stale%%20,list:old%%30,any:delay%%5", seed))
	for i := range 600 {
		key := fmt.Sprintf("k%d", i%5)
		o, err := b.Get(t.Context(), key, bucket.Range{}, "")
		if err == nil && i%7 == 0 {
			b.Delete(t.Context(), key)
		} else if err == nil {
			b.Swap(t.Context(), key, fmt.Append(nil, i), o.Tag)
		} else {
			b.Create(t.Context(), key, fmt.Append(nil, i))
		}
		b.List(t.Context(), "k", "", 3)
	}
	return b
}

func TestSameSeedSameTrace(t *testing.T) {
	one, same, other := story(t, 1), story(t, 1), story(t, 2)
	if !slices.Equal(one.Trace(), same.Trace()) {
		t.Error("the same seed gave another trace")
	}
	if slices.Equal(one.Trace(), other.Trace()) {
		t.Error("another seed gave the same trace")
	}
	for _, f := range faulty.Faults() {
		if one.Count()[f] == 0 {
			t.Errorf("%s never happened in %d lines", f, len(one.Trace()))
		}
	}
	t.Logf("%d lines, %v", len(one.Trace()), one.Count())
}

// Calls may come from many goroutines; what was acknowledged is there.
func TestConcurrentUse(t *testing.T) {
	b, inner := broken(t, "seed=3,write:lost%20,write:late%10,any:fail%10,get:stale%20,list:old%20")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				key, data := fmt.Sprintf("%d/%d", g, i), fmt.Appendf(nil, "%d-%d", g, i)
				_, err := b.Create(t.Context(), key, data)
				b.Get(t.Context(), key, bucket.Range{}, "")
				b.List(t.Context(), "", "", 3)
				if o, found := inner.Get(t.Context(), key, bucket.Range{}, ""); err == nil && (found != nil || !bytes.Equal(o.Data, data)) {
					t.Errorf("%s was acknowledged: got %q, error %v", key, o.Data, found)
				}
			}
		})
	}
	wg.Wait()
	b.Land(t.Context())
	if b.Count()[faulty.Lost] == 0 || b.Count()[faulty.Late] == 0 {
		t.Errorf("nothing went wrong: %v", b.Count())
	}
}
